"""A file that is said to have changed is read at once; the look at all files is the truth."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, KeysView
from pathlib import Path
from queue import Queue
from threading import Thread
from time import sleep
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.files.reading import file_stamp
from memtui.library import Library
from memtui.stores import scanning
from memtui.stores.agent_memory.store import AgentMemory
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


def refs_of(library: Library) -> dict[str, str]:
    return {memory.content: memory.ref for memory in library.memories(library.stores[0].label)}


def said(library: Library) -> KeysView[str]:
    return refs_of(library).keys()


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


@pytest.mark.parametrize("moment", ["scan", "read"])
def test_what_memtui_writes_during_a_look_stays(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A look at many files takes a while, and an edit may be saved meanwhile."""
    library = Library.open([home], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    changes = {
        "scan": Change(Act.ADD, label, "", {"content": "mine", "entity": "aardvark"}, force=True),
        "read": Change(Act.EDIT, label, refs_of(library)["fact 0"], {"content": "mine"}),
    }
    save = Thread(target=lambda: library.apply(library.plan([changes[moment]])))

    def is_saved(file: Path) -> bool:
        return "mine" in file.read_text()

    def then_save(at: str, look: Callable[..., Any]) -> Callable[..., Any]:
        def looks(*given: Any) -> Any:
            found = look(*given)
            if at == moment and save.ident is None:
                save.start()
                while save.is_alive() and not any(map(is_saved, home.rglob("items.json"))):
                    sleep(0.001)
                save.join(0.3)  # it ends if it does not wait for the look
            return found

        return looks

    monkeypatch.setattr(scanning, "file_stamp", then_save("scan", file_stamp))
    monkeypatch.setattr(AgentMemory, "read_files", then_save("read", AgentMemory.read_files))
    os.utime(file_of(home, 0), (1, 1))
    library.refresh()
    save.join()
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
        while watcher.is_watching and told.empty():  # what comes before it watches is not told
            say(file_of(home, 2), "new")
            sleep(0.3)
        if watcher.is_watching:
            paths = told.get()
        assert library.refresh_files(paths) if paths else library.refresh()
    finally:
        watcher.end()
