"""A link between every two formats, to a memory and to an entity: made, ended, undone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.insight.links import Edge, Node, NodeKind
from memtui.library import Library
from memtui.model import CURRENT, ENDED_LINKS, Memory
from memtui.testing.fixtures import sample
from tests.formats import FORMATS
from tests.long_run import share

RELATION = "relates_to"
NAMES = [known.name for known in FORMATS]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.fixture(scope="module")
def library(home: Path) -> Iterator[Library]:
    roots = [sample(known, home / known.name) for known in FORMATS]
    opened = Library.open(roots, cache=None, state=home / "state")
    opened.load()
    yield opened
    opened.close()


def bytes_of(home: Path) -> dict[str, str]:
    """Digest of each file of the stores, without those of memtui's own and SQLite's log."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.rglob("*")
        if path.is_file()
        and "state" not in path.relative_to(home).parts[:1]
        and ".memtui" not in path.parts
        and not path.name.endswith(("-wal", "-shm", ".db"))
    }


def one_of(library: Library, format_: str, act: Act) -> Memory:
    """The first memory of a format on which the act is possible."""
    labels = {store.label for store in library.stores if store.format == format_}
    return next(
        memory
        for label in labels
        for memory in library.memories(label)
        if memory.status in CURRENT and not library.refusal(act, memory)
    )


def edges(library: Library, ref: str) -> dict[str, Edge]:
    """Name of the target -> edge of the links that the test makes."""
    with library.links.reading() as index:
        found = index.outgoing(Node(NodeKind.MEMORY, ref))
    return {edge.target.name: edge for edge in found if edge.relation == RELATION}


@pytest.mark.slow
@pytest.mark.parametrize("name", share(NAMES, 0, 3))
def test_a_memory_is_linked_to_one_and_to_an_entity_of_every_format(
    library: Library, home: Path, name: str
) -> None:
    memory = one_of(library, name, Act.LINK)
    at = NAMES.index(name)
    others = [one_of(library, other, Act.LINK) for other in (*NAMES[at + 1 :], *NAMES[:at])]
    near = next((m for m in library.memories(memory.store) if m.id != memory.id), memory)
    own = [name for m in library.memories(memory.store) for name in (m.id, m.entity)]
    known_here = {name.rpartition("/")[2] for name in own}  # these would be meant instead
    elsewhere = next(
        other.entity for other in others if other.entity.rpartition("/")[2] not in {"", *known_here}
    )
    groups = [[other.ref for other in others], [near.ref], [elsewhere]]
    targets = {target for group in groups for target in group}
    before, known = bytes_of(home), edges(library, memory.ref)
    for act in (Act.LINK, Act.UNLINK):
        for group in groups:
            library.apply(library.plan([change(library, act, memory, name) for name in group]))
        linked = edges(library, memory.ref)
        assert linked.keys() - known.keys() == targets - known.keys()
        assert {linked[target].valid_to is not None for target in targets} == {act is Act.UNLINK}
    assert library.get(memory.ref).links == memory.links
    for _ in groups:
        library.undo()
    assert edges(library, memory.ref).keys() == linked.keys()
    for _ in groups:
        library.undo()
    assert edges(library, memory.ref) == known
    assert bytes_of(home) == before
    assert library.get(memory.ref) == memory


def change(library: Library, act: Act, memory: Memory, name: str) -> Change:
    target = library.link_target(memory, name)
    return Change(act, memory.store, memory.ref, {"relation": RELATION, "target": target})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent-memory", "engram", "mcp-memory", "simple-memory"])
def test_a_link_of_the_stores_own_is_kept_as_ended(library: Library, home: Path, name: str) -> None:
    """The link stands in the store's own form, or the store has been asked to write it so."""
    memory, link = next(
        (memory, link)
        for store in library.stores
        if store.format == name
        for memory in library.memories(store.label)
        for link in memory.links
        if memory.status in CURRENT and not library.refusal(Act.UNLINK, memory)
    )
    before, text = library.get(memory.ref), bytes_of(home)
    node = Node(NodeKind.MEMORY, memory.ref)
    fields = {"relation": link.relation, "target": link.target}
    now = library.now()
    library.apply(library.plan([Change(Act.UNLINK, memory.store, memory.ref, fields)]))
    with library.links.reading() as index:
        (edge,) = (e for e in index.outgoing(node) if e.relation == link.relation)
    assert edge.valid_to is not None
    assert edge.valid_to >= now.replace(microsecond=0)
    library.undo()
    after = library.get(memory.ref)  # in Engram the relation has a new time of change
    assert (after.links, after.content, after.status) == (
        before.links,
        before.content,
        before.status,
    )
    assert after.extra.get(ENDED_LINKS) == before.extra.get(ENDED_LINKS)
    assert bytes_of(home) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_link_ends_with_the_memory_that_states_it(library: Library, name: str) -> None:
    """Retired, or superseded where nothing can be retired, and in use again after undo."""
    act, memory = next(
        (act, memory)
        for act in (Act.RETIRE, Act.SUPERSEDE, Act.DELETE)
        for store in library.stores
        if store.format == name
        for memory in library.memories(store.label)
        if memory.status in CURRENT
        and not library.refusal(act, memory)
        and not library.refusal(Act.LINK, memory)
    )
    other = next(each for store in library.stores for each in library.memories(store.label))
    library.apply(library.plan([change(library, Act.LINK, memory, other.ref)]))
    linked = library.now() - timedelta(seconds=1)
    fields = {"content": f"{memory.content} now"} if act is Act.SUPERSEDE else {}
    library.apply(library.plan([Change(act, memory.store, memory.ref, fields, force=True)]))
    edge = edges(library, memory.ref).get(other.ref)
    assert edge is None or not edge.is_valid(library.now())
    if edge is not None:  # the memory is not deleted: before, the link did hold
        assert edge._replace(since=None).is_valid(linked)
    library.undo()
    assert edges(library, memory.ref)[other.ref].is_valid(library.now())
    library.undo()
