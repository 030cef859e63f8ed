"""A file that is said to have changed is read at once; the look at all files is the truth."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from queue import Empty, Queue

import pytest

from memtui.changes import Act, Change
from memtui.files.reading import file_stamp
from memtui.library import Library
from memtui.stores import scanning
from memtui.tui.jobs import FileWatcher
from tests.bench.corpus import write_facts

PLACES = 3


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "memory"
    write_facts(home, [f"fact {number}" for number in range(PLACES * 2)], each=2)
    return home


@pytest.fixture
def library(home: Path) -> Library:
    library = Library.open([home])
    library.load()
    library.index()
    return library


def file_of(home: Path, place: int) -> Path:
    return home / "entities" / f"place-{place:04}" / "items.json"


def say(file: Path, content: str) -> None:
    facts = json.loads(file.read_text())
    facts[0]["content"] = content
    file.write_text(json.dumps(facts))


def said(library: Library) -> set[str]:
    return {memory.content for memory in library.memories(library.stores[0].label)}


def test_only_the_named_file_is_looked_at(home: Path, library: Library) -> None:
    for place in range(PLACES):
        say(file_of(home, place), f"new {place}")
    assert library.refresh_files([str(file_of(home, 1)), str(home / "nothing")])
    assert {text for text in said(library) if text.startswith("new")} == {"new 1"}
    assert not library.refresh_files([str(file_of(home, 1))])
    assert library.refresh()
    assert {text for text in said(library) if text.startswith("new")} == {"new 0", "new 1", "new 2"}
    assert not library.refresh()


def test_what_is_gone_or_new_is_for_the_look_at_all(home: Path, library: Library) -> None:
    gone, new = file_of(home, 0), file_of(home, PLACES)
    new.parent.mkdir()
    new.write_bytes(file_of(home, 1).read_bytes().replace(b"fact", b"late"))
    gone.unlink()
    assert not library.refresh_files([str(gone), str(new)])
    assert {"fact 0", "fact 1"} <= said(library)
    assert library.refresh()
    assert "fact 0" not in said(library)
    assert "late 2" in said(library)


def test_what_memtui_writes_during_a_look_stays(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at many files takes a while, and an edit may be saved meanwhile."""
    library = Library.open([home], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    looks = 0

    def adds_once(files: tuple[str, ...]) -> str:
        nonlocal looks
        looks += 1
        if looks == 2:
            text = {"content": "mine", "entity": "aardvark", "type": "person"}
            library.apply(library.plan([Change(Act.ADD, label, "", text, force=True)]))
        return file_stamp(files)

    monkeypatch.setattr(scanning, "file_stamp", adds_once)
    library.refresh()
    assert "mine" in said(library)
    assert not library.refresh()


def test_what_came_and_went(home: Path, library: Library) -> None:
    before = library.snapshot
    gone, come = library.diff_memories(None, before)
    assert (gone.tolist(), come.tolist()) == ([], list(range(PLACES * 2)))
    say(file_of(home, 0), "new")
    library.refresh_files([str(file_of(home, 0))])
    now = library.snapshot
    gone, come = library.diff_memories(before, now)
    was, new = before.take(gone), now.take(come)
    assert [memory.content for memory in was.values()] == ["fact 0"], "the other one is as it was"
    assert [memory.content for memory in new.values()] == ["new"]


def test_the_system_names_files_as_the_stores_do(home: Path, library: Library) -> None:
    """Where the system has no watch left to give, the look at all sees the change anyway."""
    told: Queue[frozenset[str]] = Queue()
    watcher = FileWatcher([store.root for store in library.stores], told.put)
    paths: frozenset[str] = frozenset()
    try:
        for number in range(5):  # until the watching has begun
            say(file_of(home, 2), f"new {number}")
            with contextlib.suppress(Empty):
                paths = told.get(timeout=0.5)
                break
        assert library.refresh_files(paths) if paths else library.refresh()
    finally:
        watcher.end()
