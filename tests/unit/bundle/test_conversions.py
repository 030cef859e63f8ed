"""Converting between any two formats: what is lost is named before, and nothing else is lost."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.import_plan import ImportPlan, MappedMemory, plan_import
from memtui.errors import AmbiguousPlace
from memtui.files.sidecar_lines import read_entries, sidecar_path
from memtui.library import Library
from memtui.library.planning import planned_import
from memtui.model import Memory
from memtui.stores.format import IncomingStore
from memtui.stores.registry import format_of
from memtui.testing.act_tests import plain
from memtui.testing.conversion_tests import find_lost, named
from memtui.testing.fixtures import contents, memories
from tests.formats import FORMATS
from tests.long_run import share
from tests.samples import SAMPLES

NAMES = [known.name for known in FORMATS]
PAIRS = [
    pytest.param(
        source,
        target,
        id=f"{source}-to-{target}",
        marks=[] if NAMES[number - 1] == target else pytest.mark.slow,
    )
    for number, source in enumerate(NAMES)
    for target in {NAMES[number - 1]: 0} | dict.fromkeys(share(NAMES, number, 8))
    if source != target
]
"""Each with each, in the usual run each into an eighth of the formats: what a format can hold does
not depend on where it comes from. The fast ones are a ring of all formats."""
MOST = 8
"""Memories of a source, each of another shape."""
DERIVED = {"agent-memory": {"importance", "type"}, "claude-code": {"importance"}}
"""What a format derives, or takes from what it has already: it may come out as it was."""

FILE_TIME = 1_790_000_000
"""When the files were changed: a fresh checkout is as new as what is written."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Library]]:
    """The sample store of every format, opened."""
    place = tmp_path_factory.mktemp("stores")
    libraries = {}
    for name in NAMES:
        ignored = shutil.ignore_patterns("*-wal", "*-shm")
        shutil.copytree(SAMPLES / name, place / name, ignore=ignored)
        for file in (place / name).rglob("*"):
            os.utime(file, (FILE_TIME, FILE_TIME))
        libraries[name] = Library.open([place / name], state=place / "state" / name)
        libraries[name].load()
        chosen(libraries[name])  # before an undo makes its files as new as what is written
    yield libraries
    for library in libraries.values():
        library.close()


@cache
def chosen(library: Library) -> tuple[Memory, ...]:
    """One memory of each shape, and one with all that memtui keeps beside a store."""
    found: dict[object, Memory] = {}
    for memory in library.memories(library.stores[0].label):
        has = (memory.tags, memory.links, memory.supersedes, memory.title, memory.entity)
        shape = (memory.kind, memory.status, memory.importance, *map(bool, has))
        found.setdefault(shape, memory)
    first, *others = list(found.values())[:MOST]
    marked = replace(first, tags=("hammer", "a b é"), pinned=True, importance="low", confidence=0.4)
    return (*others, replace(marked, title="A title", content="Text of its own\n\nand more of it."))


def state(library: Library) -> object:
    """All bytes of the store, and what is noted beside it; the memories of a database."""
    store = library.stores[0]
    known = format_of(store.format)
    assert known is not None
    path = sidecar_path(store.root)
    noted = read_entries(path.read_text() if path.exists() else "")
    if known.database:  # its program logs every write, an undoing one too
        return plain(memories(library), known)
    return contents(store.root), {id: entry for id, entry in noted.items() if entry}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_is_lost_is_named_and_nothing_else(
    source: str, target: str, opened: dict[str, Library]
) -> None:
    library, incoming = opened[target], chosen(opened[source])
    document = ImportDocument(Path(), "copy", (IncomingStore(source, source, incoming),))
    before, there = state(library), memories(library)
    try:
        plan_import(document, library, target)
        entity = ""
    except AmbiguousPlace:
        entity = next(iter(library.stores[0].projects))
    plan = plan_import(document, library, target, entity=entity)
    assert state(library) == before, "planning writes nothing"
    (part,) = plan.imports
    assert not part.conflicts
    assert not part.refused
    assert len(part.new) + len(part.same) == len(incoming)
    library.apply(planned_import(plan))
    try:
        library.refresh()
        assert not library.snapshot.stores[0].unreadable
        after = memories(library)
        assert all(after[ref].content == memory.content for ref, memory in there.items())
        for item, now in written(plan, library):
            assert find_lost(item.memory, now) <= named(item), item.memory.ref
            lost = find_lost(item.memory, now) | DERIVED.get(target, set())
            assert named(item) <= lost, item.memory.ref
        again = plan_import(document, library, target, entity=entity)
        assert again.counts == {**dict.fromkeys(again.counts, 0), "same": len(incoming)}
        assert not again.has_edits, "what is there already is not written again"
    finally:
        library.undo()
        library.refresh()
    assert state(library) == before


def test_an_episode_begins_when_its_memory_did_in_any_zone(
    opened: dict[str, Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start is written in local time and read so."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        test_what_is_lost_is_named_and_nothing_else("workspace", "simple-memory", opened)
    finally:
        monkeypatch.undo()
        time.tzset()


def written(plan: ImportPlan, library: Library) -> Iterator[tuple[MappedMemory, Memory]]:
    """Each new memory as it was, and as the target's own reader has it."""
    refs = {id(one.changes[0]): one.refs[0] for one in plan.plans if one.refs}
    for item in plan.imports[0].new:
        yield item, library.get(refs[id(item.change)])
