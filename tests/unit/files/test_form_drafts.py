"""Drafts of forms: kept beside the journal, offered to one program at a time, gone when saved."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.errors import SaveError
from memtui.files import drafts
from memtui.files.drafts import FormDraft, claim, find_drafts, new_form_draft

ROOT = Path("/stores/one")
DRAFT = FormDraft(Act.EDIT, str(ROOT), ((str(ROOT), "7"),), {"content": "half \ud800 a text"}, {})


def _abandoned(state: Path, draft: FormDraft = DRAFT) -> Path:
    """A draft whose process has ended: nobody holds its lock."""
    file = new_form_draft(state)
    child = os.fork()
    if child == 0:
        file.save(draft)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return file.path


def test_a_draft_is_offered_when_its_process_has_ended(tmp_path: Path) -> None:
    path = _abandoned(tmp_path)
    ((found, draft),) = find_drafts(tmp_path, [ROOT])
    assert (found, draft.act, draft.about, draft.values) == (
        path,
        DRAFT.act,
        DRAFT.about,
        DRAFT.values,
    )
    assert abs(draft.time - time.time()) < 3600
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_drafts(tmp_path, [Path("/stores/two")]) == []


def test_an_open_form_is_not_offered_to_another_program(tmp_path: Path) -> None:
    file = new_form_draft(tmp_path)
    file.save(DRAFT)
    file.save(DRAFT)
    assert find_drafts(tmp_path, [ROOT]) == []
    assert claim(file.path) is None
    file.discard()
    assert not file.path.exists()


def test_what_was_saved_is_not_kept_again(tmp_path: Path) -> None:
    file = new_form_draft(tmp_path)
    file.save(DRAFT)
    file.discard()
    file.save(DRAFT)
    assert list((tmp_path / "drafts").iterdir()) == []


def test_a_draft_goes_on_in_its_own_file(tmp_path: Path) -> None:
    path = _abandoned(tmp_path)
    file = claim(path)
    assert file is not None
    assert claim(path) is None
    file.save(DRAFT)
    assert find_drafts(tmp_path, [ROOT]) == []
    file.discard()
    assert not path.exists()


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b'{"act": "fly"}', b"\xff"])
def test_a_damaged_draft_is_passed_over(tmp_path: Path, damage: bytes) -> None:
    _abandoned(tmp_path).write_bytes(damage)
    assert find_drafts(tmp_path, [ROOT]) == []


def test_a_folder_that_takes_no_draft_is_told(tmp_path: Path) -> None:
    (tmp_path / "drafts").write_text("a file where the folder should be")
    with pytest.raises(SaveError):
        new_form_draft(tmp_path).save(DRAFT)


@pytest.mark.slow
def test_drafts_are_offered_with_all_they_hold_the_latest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = []
    for number in range(3):
        monkeypatch.setattr(time, "time", lambda number=number: 1000.0 + number)
        values = {"content": f"text {number}", "tags": ""}
        draft = FormDraft(Act.ADD, str(ROOT), (), values, {"content": "was"})
        expected.insert(0, (_abandoned(tmp_path, draft), {**values}, 1000.0 + number))
    found = find_drafts(tmp_path, [Path("/stores/two"), ROOT])
    assert [(path, draft.values, draft.time) for path, draft in found] == expected
    assert all(draft.before == {"content": "was"} for _, draft in found)
    assert find_drafts(tmp_path / "none", [ROOT]) == []


def test_a_draft_that_is_released_or_cleared_is_free_again(tmp_path: Path) -> None:
    file = new_form_draft(tmp_path)
    file.save(DRAFT)
    file.release()
    ((path, _),) = find_drafts(tmp_path, [ROOT])
    assert path == file.path
    taken = claim(path)
    assert taken is not None
    taken.clear()
    assert not path.exists()
    taken.save(DRAFT)  # the form has changes again
    assert path.exists()
    assert claim(path) is None
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_saving_again_and_again_opens_no_more_files(tmp_path: Path) -> None:
    file = new_form_draft(tmp_path)
    file.save(DRAFT)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        file.save(DRAFT)
        assert find_drafts(tmp_path, [ROOT]) == []
    assert len(os.listdir("/dev/fd")) == before
    file.discard()
    assert len(os.listdir("/dev/fd")) == before - 1


@pytest.mark.parametrize("name", ["act", "root", "about", "values", "before"])
def test_a_draft_without_one_of_its_parts_is_passed_over(tmp_path: Path, name: str) -> None:
    path = _abandoned(tmp_path)
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({key: value for key, value in record.items() if key != name}))
    assert find_drafts(tmp_path, [ROOT]) == []
    path.write_text(json.dumps(record))
    assert len(find_drafts(tmp_path, [ROOT])) == 1


@pytest.mark.parametrize(("extra", "count"), [(0, 1), (1, 0)])
def test_a_draft_is_read_up_to_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int, count: int
) -> None:
    path = _abandoned(tmp_path)
    monkeypatch.setattr(drafts, "MAX_DRAFT_BYTES", path.stat().st_size - extra)
    assert len(find_drafts(tmp_path, [ROOT])) == count


def test_a_link_in_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    path = _abandoned(tmp_path)
    link = path.with_name("form-link.json")
    link.symlink_to(path)
    assert claim(link) is None
    assert [found for found, _ in find_drafts(tmp_path, [ROOT])] == [path]


def test_a_draft_that_cannot_be_kept_is_told_with_the_folder(tmp_path: Path) -> None:
    file = new_form_draft(tmp_path)
    file.save(DRAFT)
    before = len(os.listdir("/dev/fd"))
    file.path.with_suffix(".new").mkdir()
    with pytest.raises(SaveError, match="no draft can be kept") as caught:
        file.save(DRAFT)
    assert caught.value.where == str(file.path.parent)
    assert len(os.listdir("/dev/fd")) == before
    assert claim(file.path) is None  # the former draft is there, and still ours
