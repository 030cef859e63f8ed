"""A secret is found wherever memtui itself keeps it, and erased there."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from memtui.changes import Edit, StoreEdits, row_edit, sidecar_edit, text_edit
from memtui.config import HistorySettings
from memtui.files.text_history import StoreKey, TextHistory
from memtui.journal import Journal
from memtui.journal.purging import OwnCopies, find_copies, purge

SECRET = "hunter2-hunter2"


def recorded(journal: Journal, title: str, *edits: Edit, store: str = "/s") -> int:
    """The id of an action that is recorded as done; no file is written."""
    with journal.begin(title, [StoreEdits(store, edits)]) as recording:
        pass
    return recording.action


HOLDERS: dict[str, tuple[str, tuple[Edit, ...], str]] = {
    "title": (f"Add {SECRET}", (), "/s"),
    "store": ("x", (), f"/{SECRET}"),
    "text before": ("x", (text_edit("/a", f"key {SECRET}\n", "b"),), "/s"),
    "text after": ("x", (text_edit("/a", None, f"key {SECRET}\n"),), "/s"),
    "path": ("x", (text_edit(f"/{SECRET}.md", None, "a"),), "/s"),
    "tag of a note": ("x", (sidecar_edit("/s", "m", None, {"tags": [[SECRET]]}),), "/s"),
    "name of a note's field": ("x", (sidecar_edit("/s", "m", None, {SECRET: True}),), "/s"),
    "column": ("x", (row_edit("/db", "t", {"id": 1}, None, {"content": SECRET, "n": 1}),), "/s"),
    "second edit": ("x", (text_edit("/a", None, "a"), text_edit("/b", None, SECRET)), "/s"),
}


@pytest.mark.parametrize(("title", "edits", "store"), HOLDERS.values(), ids=HOLDERS)
def test_a_secret_anywhere_in_an_action_is_found_and_erased(
    tmp_path: Path, title: str, edits: tuple[Edit, ...], store: str
) -> None:
    journal = Journal(tmp_path / "state")
    harmless = recorded(journal, "harmless", text_edit("/c", None, "1, true and null"))
    action = recorded(journal, title, *edits, store=store)
    copies = find_copies(journal, None, {"not-in-it", SECRET})
    assert (copies, bool(copies)) == (OwnCopies(actions=(action,)), True)
    purge(journal, copies)
    assert [entry.id for entry in journal.log()] == [harmless]
    assert not find_copies(journal, None, {SECRET})
    held = [path.read_bytes() for path in journal.state.rglob("*") if path.is_file()]
    assert not [data for data in held if SECRET.encode() in data]


def test_of_the_texts_that_were_taken_out_only_those_with_the_secret_are_erased(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "state")
    file = tmp_path / "state" / "kept" / "MEMORY.md-0123456789abcdef.jsonl"
    file.parent.mkdir(parents=True)
    lines = [
        json.dumps({"id": name, "set": {"kept": {"memory": {"content": text}}}})
        for name, text in (("a", "Anna rows"), ("b", f"key {SECRET}"), ("c", "Cleo \u2028 swims"))
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    copies = find_copies(journal, None, {SECRET})
    assert copies == OwnCopies(kept=((file, lines[1]),))
    purge(journal, copies)
    assert file.read_text() == f"{lines[0]}\n{lines[2]}\n"
    assert not find_copies(journal, None, {SECRET})
    file.write_text(f"{lines[1]}\n")
    purge(journal, find_copies(journal, None, {SECRET}))
    assert not file.exists()


def test_a_secret_in_the_name_of_a_written_file_is_found(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with journal.begin("x", []) as recording:
        recording.intend(f"/{SECRET}.md", "", "0" * 64)
    assert find_copies(journal, None, [SECRET]).actions == (recording.action,)


def test_former_texts_are_erased(tmp_path: Path) -> None:
    journal, history = Journal(tmp_path / "state"), TextHistory(tmp_path / "state")
    journal.log()
    key, keeps = StoreKey("notes", str(tmp_path)), HistorySettings(secrets=True)
    for at, text in ((1.0, "harmless"), (2.0, f"key {SECRET}"), (3.0, "harmless again")):
        history.look(
            key, text, {"a": text}, lambda _, text=text, at=at: (text.encode(), at), keeps, at
        )
    copies = find_copies(journal, None, [SECRET])
    assert len(copies.texts) == 1
    assert copies == OwnCopies(texts=copies.texts)
    purge(journal, copies)
    left = [each.text for each in history.versions(key, "a")]
    assert left == [b"harmless again", b"harmless"]
    assert not find_copies(journal, None, [SECRET])


def test_backups_and_caches_are_erased_and_what_a_person_typed_is_named(tmp_path: Path) -> None:
    journal, cache = Journal(tmp_path / "state"), tmp_path / "cache"
    journal.log()
    files = {
        name: tmp_path / name
        for name in ("state/kept/a/1", "state/kept/a/2", "state/drafts/d", "cache/x/y", "cache/z")
    }
    for name, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "nothing" if name.endswith(("2", "z")) else f"\udcff{SECRET}"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    (cache / "link").symlink_to(outside)
    (tmp_path / "state" / "kept" / "link").symlink_to(outside)
    copies = find_copies(journal, cache, [SECRET])
    assert copies == OwnCopies(
        files=(files["state/kept/a/1"], files["cache/x/y"]), others=(files["state/drafts/d"],)
    )
    assert copies, "there is something to erase without any action"
    assert not OwnCopies(others=copies.others)
    files["cache/x/y"].unlink()  # in the meantime
    purge(journal, copies)
    left = [name for name, file in files.items() if file.exists()]
    assert left == ["state/kept/a/2", "state/drafts/d", "cache/z"]
    assert (outside.read_text(), (cache / "link").is_symlink()) == (SECRET, True)
    assert not find_copies(journal, cache, [SECRET])


def test_a_cache_that_cannot_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))

    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "a").write_text(SECRET)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert find_copies(Journal(tmp_path / "state"), cache, [SECRET]) == OwnCopies()


@pytest.mark.parametrize(
    ("secret", "text", "is_found"),
    [
        ("abcdef", "xabcdefx", True),  # long enough to be looked for as it is
        ("abcd1", "xabcd1x", False),  # a short one is a part of words
        ("a\"b\nc'd", json.dumps({"k": "a\"b\nc'd"}), True),
        ("schlüssel-ü", json.dumps("ein schlüssel-ü"), True),
        ("schlüssel-ü", "ein schlüssel", False),
    ],
)
def test_a_secret_is_found_as_it_is_and_within_json(
    tmp_path: Path, secret: str, text: str, is_found: bool
) -> None:
    journal = Journal(tmp_path)
    recorded(journal, "x", text_edit("/a", None, text))
    assert bool(find_copies(journal, None, [secret])) == is_found


@pytest.mark.slow
def test_all_of_a_journal_is_searched(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    actions = [recorded(journal, SECRET) for _ in range(120)]
    assert sorted(find_copies(journal, None, [SECRET]).actions) == actions
    copies = find_copies(Journal(tmp_path / "none"), None, [SECRET])
    assert not copies
    purge(Journal(tmp_path / "none"), copies)
    assert not (tmp_path / "none").exists()
