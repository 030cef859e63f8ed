"""Drafts of forms: kept beside the journal, offered to one program at a time, gone when saved."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.errors import SaveError
from memtui.files.drafts import FormDraft, claim, find_drafts, new_form_draft

ROOT = Path("/stores/one")
DRAFT = FormDraft(Act.EDIT, str(ROOT), ((str(ROOT), "7"),), {"content": "half \ud800 a text"})


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
