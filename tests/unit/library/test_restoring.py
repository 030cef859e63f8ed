"""What agents delete and rewrite is given back, and what they wrote since stays."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.config import HistorySettings
from memtui.errors import RefError, Refused
from memtui.library import Library
from memtui.library.past_library import library_at
from memtui.library.restoring import plan_restore
from memtui.library.text_looks import forget_texts, keep_texts
from memtui.library.time_views import compare_times
from memtui.model import Memory
from memtui.stores.format import Format
from tests.formats import FORMATS
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts
from tests.unit.stores.engram.invented import build

MASKED = "a secret in it was masked when it was kept"
SETTINGS = HistorySettings()
BEFORE, AFTER = (datetime.now(UTC) + timedelta(days=days) for days in (1, 2))
"""Times of two looks, later than now."""


def opened(root: Path, state: Path, at: datetime, format: str = "") -> Library:
    library = Library.open([root], state=state, now=lambda: at, formats=[format])
    library.load()
    return library


def look(root: Path, state: Path, at: datetime, format: str = "") -> Library:
    """A look at a time at which the files were written that have been since the last one."""
    for file in (each for each in [root, *root.rglob("*")] if each.is_file()):
        if file.stat().st_mtime < BEFORE.timestamp():
            os.utime(file, (at.timestamp(), at.timestamp()))
    library = opened(root, state, at, format)
    keep_texts(library, SETTINGS)
    return library


def texts(library: Library) -> dict[str, str]:
    return {memory.ref: memory.full_text for memory in every(library)}


def every(library: Library) -> list[Memory]:
    return [each for store in library.stores for each in library.memories(store.label)]


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".memtui" not in path.parts
    }


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_what_a_program_deletes_is_given_back(tmp_path: Path, known: Format) -> None:
    """Each format: some of the memories are deleted behind memtui's back, and one is written."""
    shutil.copytree(SAMPLES / known.name, tmp_path / "store")
    root = known.detect(tmp_path / "store") or tmp_path / "store"
    state = tmp_path / "state"
    before = texts(look(root, state, BEFORE, known.name))
    program = opened(root, tmp_path / "other", BEFORE, known.name)
    gone: list[str] = []
    for memory in every(program)[::3]:
        change = Change(Act.DELETE, memory.store, memory.ref, force=True)
        try:
            program.apply(program.plan([change]))
        except (Refused, RefError):  # it went with another
            continue
        gone.append(memory.ref)
    library = look(root, state, AFTER, known.name)
    left = texts(library)
    gone = [ref for ref in gone if ref not in left]
    if not gone:
        pytest.fail(f"{known.name}: nothing could be deleted")
    past = library_at(library, BEFORE + timedelta(seconds=1))
    assert texts(past) == before
    found = plan_restore(library, past, only_deleted=True)
    masked = {each.memory.ref for each in found.refused}
    assert {each.reason for each in found.refused} <= {MASKED}
    written = library.apply(found.planned)
    now = texts(library)
    wanted = {before[ref] for ref in gone if ref not in masked}
    assert wanted <= set(now.values())
    for ref, text in left.items():  # a note has its lines again
        lines = iter(now[ref].split("\n"))
        assert all(line in lines for line in text.split("\n"))
    library.undo(written.id)
    assert texts(library) == left


def test_files_and_lines_come_back_byte_for_byte(tmp_path: Path) -> None:
    root, state = tmp_path / "claude", tmp_path / "state"
    shutil.copytree(SAMPLES / "claude-code", root)
    look(root, state, BEFORE)
    before = files(root)
    memory = next(path for path in root.rglob("MEMORY.md") if len(path.read_text()) > 300)
    removed = [path for path in memory.parent.glob("*.md") if path != memory][:3]
    lines = memory.read_text().split("\n")
    names = {path.name for path in removed}
    for path in removed:
        path.unlink()
    memory.write_text("\n".join(line for line in lines if not any(n in line for n in names)))
    library = look(root, state, AFTER)
    memory.write_text(memory.read_text() + "- a line that was written since\n")
    library.refresh()
    past = library_at(library, BEFORE + timedelta(seconds=1))
    library.apply(plan_restore(library, past, only_deleted=True).planned)
    after = files(root)
    name = str(memory.relative_to(root))
    assert after.pop(name) == before.pop(name) + b"- a line that was written since\n"
    assert after == before


@pytest.mark.slow
def test_many_entries_that_became_few(tmp_path: Path) -> None:
    """A consolidation that writes its own summary: all former entries are back, and it stays."""
    root, state = tmp_path / "hermes", tmp_path / "state"
    shutil.copytree(SAMPLES / "hermes", root)
    before = texts(look(root, state, BEFORE))
    file = root / "memories" / "MEMORY.md"
    file.write_text("The towers ring at noon.\n§\nAll towers are in Europe.\n")
    library = look(root, state, AFTER)
    past = library_at(library, BEFORE + timedelta(seconds=1))
    found = plan_restore(library, past, only_deleted=True)
    library.apply(found.planned)
    now = set(texts(library).values())
    masked = {each.memory.full_text for each in found.refused}
    assert set(before.values()) - masked <= now
    assert {"The towers ring at noon.", "All towers are in Europe."} <= now


def test_a_comparison_names_only_what_differs(tmp_path: Path) -> None:
    """The file was rewritten, and most of its memories are as they were."""
    root, state = tmp_path / "hermes", tmp_path / "state"
    shutil.copytree(SAMPLES / "hermes", root)
    look(root, state, BEFORE)
    file = root / "memories" / "MEMORY.md"
    entries = file.read_text().split("\n§\n")
    file.write_text("\n§\n".join(entries[1:]))
    library = look(root, state, AFTER)
    found = compare_times(library, BEFORE + timedelta(seconds=1))
    assert [(str(each.kind), each.memory.content) for each in found] == [("removed", entries[0])]


@pytest.mark.slow
def test_a_text_that_only_its_file_dates_was_there_before_it_was_changed(tmp_path: Path) -> None:
    root, state = tmp_path / "notes", tmp_path / "state"
    folder = root / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- [Deploys](deploys.md)\n")
    file = folder / "deploys.md"
    file.write_text("---\nname: Deploys\n---\n\nOn Mondays.\n")
    look(root, state, BEFORE)
    file.write_text("---\nname: Deploys\n---\n\nOn Tuesdays.\n")
    library = look(root, state, AFTER)
    at = BEFORE + timedelta(seconds=1)
    (found,) = compare_times(library, at)
    assert (str(found.kind), found.fields) == ("changed", ("content",))
    past = library_at(library, at)
    assert all(each.when is None or each.when <= at for each in every(past))
    library.apply(plan_restore(library, past).planned)
    assert file.read_text().endswith("On Mondays.\n")


def test_a_memory_has_the_versions_that_were_seen(tmp_path: Path) -> None:
    root, state = tmp_path / "notes", tmp_path / "state"
    (root / "memory").mkdir(parents=True)
    shutil.copytree(SAMPLES / "claude-code", root, dirs_exist_ok=True)
    file = next(path for path in root.rglob("project_*.md"))
    head, mark, _ = file.read_text().rpartition("---\n")
    at, expected = BEFORE, []
    for number in range(4):
        file.write_text(f"{head}{mark}text number {number}\n")
        look(root, state, at)
        expected.append(f"text number {number}\n")
        at += timedelta(hours=1)
    library = opened(root, state, at)
    memory = next(m for m in every(library) if m.origin.file == str(file))
    found = library.history(memory)
    assert [v.memory.content for v in found.versions] == expected
    assert str(found.versions[1].origin) == "seen"


def test_a_text_that_was_kept_masked_is_no_version_of_its_own(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with_secret = "The deploy key is ghp_" + "Q7x" * 12 + ", from GitHub.\n"
    file = tmp_path / "claude" / "projects" / "-srv-shop" / "memory" / "deploys.md"
    file.parent.mkdir(parents=True)
    file.write_text(with_secret)
    library = look(tmp_path / "claude", state, datetime.now(UTC))
    (memory,) = every(library)
    assert [v.memory.content for v in library.history(memory).versions] == [with_secret]
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "It is in the vault.\n"})
    library.apply(library.plan([change]))
    library = look(tmp_path / "claude", state, datetime.now(UTC))
    versions = library.history(library.get(memory.ref)).versions
    assert [v.memory.content for v in versions] == [with_secret, "It is in the vault.\n"]


def test_what_was_kept_masked_and_is_there_still_is_no_difference(tmp_path: Path) -> None:
    """In a list, which names a text by itself, and in records with ids, of files and of a row."""
    state, secret = tmp_path / "state", "The deploy key is ghp_" + "Q7x8dF" * 6 + ", of GitHub."
    index = tmp_path / "claude" / "projects" / "-srv-shop" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    rows = build(tmp_path / "engram", "july")

    def written(text: str) -> Library:
        index.write_text(f"- {secret}\n- {text}\n")
        write_facts(tmp_path / "facts", "bo", [fact(1, secret), fact(2, text)])
        with closing(sqlite3.connect(rows / "engram.db")) as db, db:
            db.execute(
                "UPDATE observations SET content = ?, title = ? WHERE id = 1", (secret, text)
            )
        library = Library.open([tmp_path / n for n in ("claude", "facts", "engram")], state=state)
        library.load()
        keep_texts(library, SETTINGS)
        return library

    written("Bo sails.")
    since = datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    library = written("Bo rows.")
    found = compare_times(library, since)
    assert sorted((str(each.kind), each.fields, each.memory.headline) for each in found) == [
        ("added", (), "Bo rows."),
        ("changed", ("content",), "Bo rows."),
        ("changed", ("title",), "Bo rows."),
        ("removed", (), "Bo sails."),
    ]
    assert not plan_restore(library, library_at(library, since)).refused


def test_a_secret_is_kept_masked_and_not_given_back(tmp_path: Path) -> None:
    root, state = tmp_path / "hermes", tmp_path / "state"
    shutil.copytree(SAMPLES / "hermes", root)
    secret = "ghp_" + "Q7x" * 12
    file = root / "memories" / "MEMORY.md"
    file.write_text(f"{file.read_text().rstrip()}\n§\nThe deploy key is {secret}, from GitHub.\n")
    look(root, state, BEFORE)
    file.write_text("Nothing else.\n")
    library = look(root, state, AFTER)
    assert all(secret.encode() not in each.read_bytes() for each in state.iterdir())
    past = library_at(library, BEFORE + timedelta(seconds=1))
    found = plan_restore(library, past, only_deleted=True)
    assert [each.reason for each in found.refused] == [MASKED]
    assert found.planned.has_edits


@pytest.mark.parametrize("gone", [["token"], ["token", "port"]], ids=len)
def test_an_index_gets_no_line_back_of_a_note_that_stays_away(
    tmp_path: Path, gone: list[str]
) -> None:
    root, state = tmp_path / "claude", tmp_path / "state"
    folder = root / "projects" / "-home-x-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "token.md").write_text("The deploy key is ghp_" + "Q7x" * 12 + ", from GitHub.\n")
    (folder / "port.md").write_text("The shop listens on port 8081.\n")
    index = folder / "MEMORY.md"
    lines = {"token": "- [Key](token.md) of GitHub\n", "port": "- [Port](port.md) of it\n"}
    index.write_text("# Memory\n" + "".join(lines.values()))
    look(root, state, BEFORE)
    for name in gone:
        (folder / f"{name}.md").unlink()
    index.write_text("# Memory\n" + "".join(lines[name] for name in lines if name not in gone))
    library = look(root, state, AFTER)
    past = library_at(library, BEFORE + timedelta(seconds=1))
    found = plan_restore(library, past, only_deleted=True)
    assert [each.reason for each in found.refused] == [MASKED]
    assert found.planned.has_edits == ("port" in gone)
    library.apply(found.planned)
    assert index.read_text() == "# Memory\n" + lines["port"]
    assert [file.name for file in sorted(folder.iterdir())] == ["MEMORY.md", "port.md"]


def test_what_is_forgotten_is_known_no_more(tmp_path: Path) -> None:
    root, state = tmp_path / "hermes", tmp_path / "state"
    shutil.copytree(SAMPLES / "hermes", root)
    look(root, state, BEFORE)
    (root / "memories" / "MEMORY.md").write_text("Nothing else.\n")
    library = look(root, state, AFTER)
    assert forget_texts(library, library.stores)
    assert not forget_texts(library, library.stores)
    past = library_at(library, BEFORE + timedelta(seconds=1))
    assert not plan_restore(library, past, only_deleted=True).planned.has_edits
