"""The index of the first start; its cache lacks the memories with a secret."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from memtui.cli.store_selection import index_library
from memtui.library import Library, indexing
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search.documents import IndexedDocument, to_document
from memtui.search.index import memory_index
from tests.secrets_for_tests import PLANTED
from tests.unit.library.stores_for_tests import agent_memory

QUERIES = ("password", "the vault password", '"as Ada said"', "queue retry", "ses", "known team")


def _find(library: Library, text: str) -> list[tuple[str, float]]:
    found = library.find(parse_query(text, library.now()))
    assert found.scores is not None
    refs = [found.rows[slot].ref for slot in found.slots]
    return list(zip(refs, map(float, found.scores), strict=True))


@pytest.mark.parametrize("secrets", [1, len(PLANTED)])
def test_memories_with_a_secret_are_found_among_those_of_the_cache(
    tmp_path: Path, secrets: int
) -> None:
    planted = list(PLANTED.values())[:secrets]
    facts = [f"the session {n} waits for a retry of queue {n % 7}" for n in range(60)]
    for at, text in enumerate(planted):
        facts.insert(10 * at + 3, text)
    home = agent_memory(tmp_path / "memory", {"a": facts[:30], "b": facts[30:]})

    def open_indexed(cache: Path | None) -> Library:
        library = Library.open([home], cache=cache, state=None)
        library.load()
        library.index()
        return library

    alone = open_indexed(None)
    for _ in ("cold", "warm"):
        library = open_indexed(tmp_path / "cache")
        (folder,) = (tmp_path / "cache" / "stores").glob("*/*/")
        segment = memory_index.load(folder)
        assert segment is not None
        assert segment.count == len(facts) - len(planted)
        for text in QUERIES:
            found, expected = _find(library, text), _find(alone, text)
            assert [ref for ref, _ in found] == [ref for ref, _ in expected], text
            assert [score for _, score in found] == pytest.approx([s for _, s in expected])


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_read_while_others_are_indexed_can_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """The first index is made, or a look at the stores has read what another then asks for."""
    first, zebra = {"a": ["tea in the morning"]}, {"b": ["the zebra is late"]}
    library = Library.open([agent_memory(tmp_path / "memory", first)], state=None)
    library.load()
    if not is_first:
        library.index()
        agent_memory(tmp_path / "memory", first | zebra)
    is_indexing, goes_on = Event(), Event()

    def indexed_late(memory: Memory) -> IndexedDocument:
        is_indexing.set()
        assert goes_on.wait(60)
        return to_document(memory)

    monkeypatch.setattr(indexing, "to_document", indexed_late)
    found: list[int] = []

    def look() -> None:
        library.refresh()
        if not is_first:
            found.append(len(_find(library, "zebra")))

    index = Thread(target=library.index if is_first else library.refresh)
    index.start()
    assert is_indexing.wait(60)
    if is_first:
        agent_memory(tmp_path / "memory", first | zebra)
    other = Thread(target=look)
    other.start()
    other.join(0.3)  # it ends if it does not wait for the index
    goes_on.set()
    index.join()
    other.join()
    assert [len(_find(library, "zebra")), *found] == [1, *([] if is_first else [1])]


def test_a_command_writes_the_index_anew_once_much_has_changed(tmp_path: Path) -> None:
    """Few changes are indexed in memory, and nothing is written."""
    facts = {f"e{n}": [f"the ferry {n} waits at the pier"] for n in range(12)}
    place, cache = agent_memory(tmp_path / "memory", facts), tmp_path / "cache"

    def run(changed: range) -> tuple[int, set[Path]]:
        """What a command finds of the changes, and the indexes on disk after it."""
        if changed:
            agent_memory(place, {f"e{n}": [f"the ferry {n} at the pier anew"] for n in changed})
        library = Library.open([place], cache=cache, state=None)
        library.load()
        index_library(library)
        found = len(_find(library, '"pier anew"'))
        library.close()
        return found, {*(cache / "stores").glob("*/*/whoosh-*")}

    nothing, first = run(range(0))
    few, same = run(range(2))
    many, other = run(range(2, 6))
    again, last = run(range(0))
    assert (nothing, few, many, again) == (0, 2, 6, 6)
    assert len(first) == 1
    assert same == first
    assert other != first
    assert last == other
