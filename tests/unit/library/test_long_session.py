"""A library open while an agent works neither grows nor answers otherwise than a new one.

`python -m tests.bench.day` measures a whole day.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread

import pytest

from memtui.library import Library, SearchResult, slots
from memtui.model import Memory
from memtui.query import parse_query
from tests.bench import corpus, day

pytestmark = pytest.mark.slow

FILES = 6
EACH = 20
CHANGES = 130
MAX_ROWS = 3 * FILES * EACH + 1_024
"""What is there in the cache, what is there now, and what is not yet worth letting go of."""
QUERIES = (
    "",
    "status:all",
    "step",
    "went ag",
    '"agent went"',
    "sta*",
    "wnt~",
    "number -went",
    "zzz",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "memory"
    texts = [f"memory number {at} stays for {at % 7} days" for at in range(FILES * EACH)]
    corpus.write_facts(home, texts, each=EACH)
    return home


@contextlib.contextmanager
def opened(home: Path, cache: Path | None = None) -> Iterator[Library]:
    with contextlib.closing(Library.open([home], cache=cache)) as library:
        library.load()
        library.index()
        yield library


def work(home: Path, library: Library, changes: int, look: Callable[[], object] = int) -> None:
    """As many changes by an agent, each seen by the library."""
    files = sorted(home.glob("entities/*/items.json"))
    for number in range(1, changes + 1):
        file = files[number * 5 % FILES]
        day.change(file, number)
        assert library.refresh_files([str(file)])
        look()


def said(memories: Sequence[Memory]) -> list[str]:
    return [f"{memory.ref} {memory.content}" for memory in memories]


def shown(found: SearchResult) -> list[str]:
    return said([found.rows[slot] for slot in found.slots])


@pytest.mark.parametrize("cached", [True, False])
def test_many_changes_leave_what_a_fresh_library_has(
    home: Path, tmp_path: Path, cached: bool
) -> None:
    with opened(home, tmp_path / "cache" if cached else None) as library:
        work(home, library, CHANGES)
        assert len(library.snapshot.rows) <= MAX_ROWS
        assert len(library._index.state.segments) <= 16
        with opened(home) as fresh:
            for text in QUERIES:
                query = parse_query(text, corpus.NOW, typing=True)
                one, other = library.find(query), fresh.find(query)
                assert shown(one) == shown(other), text
                assert (one.facets, one.hint) == (other.facets, other.hint), text
                assert list(one.scores or ()) == pytest.approx(list(other.scores or ()))
                assert library.statistics(one) == fresh.statistics(other)
                assert library.timeline(one) == fresh.timeline(other)
            for memory in fresh.memories(fresh.stores[0].label):
                assert library.resolve(memory.ref) == memory
            first = fresh.find(parse_query("step", corpus.NOW))
            ref = first.rows[first.slots[0]].ref
            one_like, other_like = library.similar(ref), fresh.similar(ref)
            assert said([one_like.rows[slot] for slot in one_like.slots[:1]]) == said(
                [other_like.rows[slot] for slot in other_like.slots[:1]]
            )
            assert one_like.scores == pytest.approx(other_like.scores)


def test_files_that_are_written_anew_each_time_leave_few_memories_behind(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MAX_DEAD", 30)
    with opened(home) as library:
        for number in range(20):
            texts = [f"memory {at} of day {number}" for at in range(FILES * EACH)]
            shutil.rmtree(home / "entities")
            corpus.write_facts(home, texts, each=EACH)
            assert library.refresh()
        held = [memory for memory in library.snapshot.rows if memory.content]
        assert len(held) <= 2 * FILES * EACH + 30
        with opened(home) as fresh:
            for text in ("", "memory day", "19", "status:all"):
                query = parse_query(text, corpus.NOW)
                assert shown(library.find(query)) == shown(fresh.find(query))


def test_an_answer_keeps_its_rows_after_changes(home: Path) -> None:
    with opened(home) as library:
        found = library.find(parse_query("number", corpus.NOW))
        before, parts = shown(found), library.explain(found, 0)
        present = library.snapshot
        work(home, library, CHANGES)
        assert len(library.snapshot.rows) < FILES * EACH + EACH * CHANGES
        assert shown(found) == before
        assert library.explain(found, 0) == parts
        gone, come = library.diff_memories(present, library.snapshot)
        was, now = present.take(gone), library.snapshot.take(come)
        label = library.stores[0].label
        kept = set(said(library.memories(label)))
        assert set(said(list(was.values()))) == set(before) - kept
        assert set(said(list(now.values()))) == kept - set(before)


def test_who_asks_during_changes_gets_what_was_asked_for(home: Path) -> None:
    """Every answer to another thread holds what was asked for."""
    wrong: list[str] = []
    over = Event()
    with opened(home) as library:

        def ask() -> None:
            while not over.is_set():
                one = library.find(parse_query("stays", corpus.NOW))
                wrong.extend(text for text in shown(one) if "stays" not in text)
                named = library.find(parse_query("00000067-0000", corpus.NOW))
                wrong.extend(text for text in shown(named) if "00000067-0000" not in text)

        asking = Thread(target=ask)
        asking.start()
        try:
            work(home, library, CHANGES)
        finally:
            over.set()
            asking.join()
        assert len(library.snapshot.rows) <= MAX_ROWS
    assert not wrong
