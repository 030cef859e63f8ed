"""The link index of open stores: from files, from cached rows, after changes, as of a time."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.config import HistorySettings
from memtui.insight.links import Edge, LinkIndex, Node, NodeKind
from memtui.library import Library, loaded_stores
from memtui.library.past_library import library_at
from memtui.library.text_looks import keep_texts
from memtui.model import Memory
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts


def opened(place: Path, *stores: Path) -> Library:
    library = Library.open(list(stores), cache=place / "cache", state=place / "state")
    library.load()
    return library


def stores_of(sample: Path) -> list[Path]:
    return [sample / name for name in ("agent-memory", "engram", "simple-memory", "workspace")]


def edges_of(library: Library) -> dict[str, tuple[set[Edge], set[Edge]]]:
    """Ref -> edges from and to it."""
    with library.links.reading() as index:
        nodes = [Node(NodeKind.MEMORY, ref) for ref in library.snapshot.slot_of]
        nodes += [Node(NodeKind.ENTITY, one.entity) for one in memories(library)]
        return {node.name: (set(index.outgoing(node)), set(index.incoming(node))) for node in nodes}


def memories(library: Library) -> list[Memory]:
    return [one for store in library.stores for one in library.memories(store.label)]


@pytest.fixture
def sample_links(tmp_path: Path) -> tuple[Library, dict[str, tuple[set[Edge], set[Edge]]]]:
    for store in stores_of(tmp_path / "sample"):
        shutil.copytree(SAMPLES / store.name, store)
    library = opened(tmp_path, *stores_of(tmp_path / "sample"))
    return library, edges_of(library)


@pytest.mark.slow
def test_from_memories_and_from_cached_rows_it_is_the_same(
    sample_links: tuple[Library, dict[str, tuple[set[Edge], set[Edge]]]], tmp_path: Path
) -> None:
    _, expected = sample_links
    assert sum(len(out) for out, _ in expected.values()) > 100
    again = opened(tmp_path, *stores_of(tmp_path / "sample"))
    assert edges_of(again) == expected


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed and saved"])
def test_a_source_that_becomes_a_memory_is_linked_to(tmp_path: Path, is_open: bool) -> None:
    source = fact(9, "the talk")
    facts = [fact(1, "tea", source=source["id"]), fact(2, "no coffee", source=source["id"])]
    write_facts(tmp_path / "m", "bo", [*facts, fact(3, "see [[bo]]")])
    opened(tmp_path, tmp_path / "m").links.build()
    library = opened(tmp_path, tmp_path / "m")
    node = Node(NodeKind.MEMORY, f"agent-memory:{source['id']}")
    with library.links.reading() as index:
        assert index.incoming(node) == ()
    write_facts(tmp_path / "m", "talks", [source])
    if is_open:
        library.refresh()
    else:
        library = opened(tmp_path, tmp_path / "m")
    with library.links.reading() as index:
        sources = {edge.source.name for edge in index.incoming(node)}
    assert sources == {f"agent-memory:{one['id']}" for one in facts}
    past = library_at(library, datetime(2026, 3, 20, tzinfo=UTC))
    with past.links.reading() as index:
        assert {edge.source.name for edge in index.incoming(node)} == sources


def test_in_the_past_a_source_that_is_gone_since_is_linked_to(tmp_path: Path) -> None:
    source = fact(9, "the talk")
    facts = [fact(1, "tea", source=source["id"]), fact(2, "no coffee", source=source["id"])]
    write_facts(tmp_path / "m", "bo", facts)
    write_facts(tmp_path / "m", "talks", [source])
    library = opened(tmp_path, tmp_path / "m")
    keep_texts(library, HistorySettings())
    done, ref = datetime.now(UTC), f"agent-memory:{source['id']}"
    time.sleep(0.02)
    library.apply(library.plan([Change(Act.DELETE, "agent-memory", ref)]))
    later = opened(tmp_path, tmp_path / "m")
    keep_texts(later, HistorySettings())
    node = Node(NodeKind.MEMORY, ref)
    with later.links.reading() as index:
        assert index.incoming(node) == ()
    with library_at(later, done).links.reading() as index:
        assert {edge.source.name for edge in index.incoming(node)} == {
            f"agent-memory:{one['id']}" for one in facts
        }


def test_as_of_a_time_the_links_are_those_of_the_memories_of_then(
    sample_links: tuple[Library, object],
) -> None:
    library, _ = sample_links
    present = library
    for at in (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)):
        past = library_at(present, at)
        there = memories(past)
        fresh = LinkIndex({memory.ref: slot for slot, memory in enumerate(there)}, there)
        found = edges_of(past)
        assert any(out for out, _ in found.values())
        for ref in past.snapshot.slot_of:
            node = Node(NodeKind.MEMORY, ref)
            out, to = found[ref]
            assert {e for e in fresh.incoming(node) if e.source.kind != "unknown"} == to
            assert set(fresh.outgoing(node)) == out


def test_the_detail_is_told_who_links_to_a_memory_from_another_store(tmp_path: Path) -> None:
    first = write_facts(tmp_path / "a", "bo", [fact(1, "the harbour")]).parents[2]
    second = write_facts(
        tmp_path / "b", "bo", [fact(2, f"see [[agent-memory:{fact(1, '')['id']}]]")]
    ).parents[2]
    library = opened(tmp_path, first, second)
    harbour = library.resolve("00000001")
    (back,) = library.lineage(harbour, backlinks=True).backlinks
    assert back.memory is not None
    assert back.memory.content.startswith("see")
    assert back.id == back.memory.ref


def test_rows_from_the_cache_are_those_that_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):  # three entities have the same ids
        facts = [fact(10 * (number % 7) + at, f"{number} é\u2028 {at}") for at in range(3)]
        write_facts(tmp_path / "m", f"entity-{number}", facts)

    def rows_of(cache: Path | None) -> dict[str, Memory]:
        library = Library.open([tmp_path / "m"], cache=cache)
        library.load()
        library.index()
        (label,) = (store.label for store in library.stores)
        found = {memory.ref: memory for memory in library.memories(label)}
        assert all(library.get(ref) == memory for ref, memory in found.items())
        assert library.resolve("00000028").id == fact(40, "")["id"]
        rows = library.snapshot.rows
        assert {ref: rows[slot] for ref, slot in library.snapshot.slot_of.items()} == found
        return found

    expected = rows_of(None)
    monkeypatch.setattr(loaded_stores, "PUBLISH_EVERY", 0.0)
    assert rows_of(None) == expected
    assert rows_of(tmp_path / "cache") == expected
    assert rows_of(tmp_path / "cache") == expected
    assert len([path for path in tmp_path.glob("cache/stores/*/*") if path.is_dir()]) == 1
