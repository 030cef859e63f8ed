"""What `tests.bench.peers` compares: the interface, memtui itself, plain Whoosh and ripgrep.

Each engine does one of two jobs. *Text*: the best 50 by text alone. *Screen*: what a letter asks
of the screen, which is the best 50 by text times a factor for each memory (recency, importance,
status, pins: `memtui.search.ranking`), only current ones, how many there are, and how many a filter
on each value would leave; with or without the person's own filters.

memtui looks for any of the words, those with all first, and for other forms of a word. The others
look for all words as they are, which is less work; in the lines *any word* for any of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.query import filter_values, parse_query
from memtui.search import columns as columns_module
from memtui.search import postings, ranking, segment_files
from memtui.search.columns import Columns
from memtui.search.documents import IndexedDocument
from memtui.search.matching import Match
from memtui.search.whoosh_index import WhooshIndex
from tests.bench import corpus
from tests.bench.speed import keystroke
from tests.unit.search.finding_for_tests import match

BEST = 50
FILTERS = "type:decision,bugfix since:1y"
"""A type in two values, and half of the corpus by time."""
_WORD = re.compile(r"\w+")


class Engine(Protocol):
    """One program or library doing one job. Picklable until it is opened."""

    name: str
    every: int
    """Asked every so manieth keystroke."""

    def build(self, documents: Sequence[IndexedDocument]) -> None: ...
    def open(self) -> None: ...
    def ask(self, line: str) -> int: ...
    def change(self, changed: IndexedDocument) -> None: ...


def words(line: str) -> list[str]:
    """The words of what was typed; the last may go on."""
    return _WORD.findall(line.lower()) or ["zzz"]


def job(screen: Screen | None) -> str:
    """What a line of the table is called, after the engine."""
    if screen is None:
        return "text"
    return f"screen{' + filters' * bool(screen.filters)}{', any word' * screen.any_word}"


@dataclass(frozen=True)
class Screen:
    """What every engine is told for the second job."""

    columns: Columns
    filters: str = ""
    any_word: bool = False
    """One of the words is enough; the last counts as a beginning either way."""

    @cached_property
    def factors(self) -> list[float]:
        """What the text score of each memory is multiplied with, at this minute."""
        size = len(self.columns)
        ones, none = np.ones(size, np.float32), np.zeros(size, np.bool_)
        everything = Match(size, np.arange(size), ones, none)
        factors: list[float] = ranking.score_matches(everything, self.columns, corpus.NOW).tolist()
        return factors

    @property
    def types(self) -> list[int]:
        """Codes of the types that pass; empty: all do."""
        wanted = filter_values(parse_query(self.filters, corpus.NOW), "type")
        return [code for code, name in enumerate(self.columns.types) if name in wanted]

    @property
    def since(self) -> float:
        """Unix seconds; 0: whenever."""
        since = parse_query(self.filters, corpus.NOW).since
        return since.time.timestamp() if since else 0.0

    @cached_property
    def rows(self) -> list[tuple[int, int, float, int, int, float]]:
        """Type, status, time, entity, combination of what has few values, factor."""
        table = self.columns
        arrays: tuple[Any, ...] = (
            table.type, table.status, table.when, table.entity, _combine(table),
        )  # fmt: skip
        return list(zip(*(array.tolist() for array in arrays), self.factors, strict=True))


def _combine(table: Columns) -> NDArray[np.int64]:
    """The number of each memory's combination of the values that are counted."""
    names = ("type", "importance", "status", "kind", "store")
    codes = np.stack([getattr(table, name).astype(np.int64) for name in names])
    found: NDArray[np.int64] = np.unique(codes, axis=1, return_inverse=True)[1].ravel()
    return found


class Memtui:
    """The arrays, by text alone."""

    name = "memtui, text"
    every = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name.replace(" ", "-")
        self.folder.mkdir()
        self.segments: list[postings.Segment] = []
        self.size = 0

    def build(self, documents: Sequence[IndexedDocument]) -> None:
        segment_files.save_segment(postings.build(documents), self.folder)

    def open(self) -> None:
        loaded = segment_files.load_segment(self.folder)
        assert loaded is not None
        self.segments, self.size = [loaded], loaded.count

    def ask(self, line: str) -> int:
        found = match(self.segments, self.size, parse_query(line, corpus.NOW, typing=True).terms)
        scores = found.text + found.all_words
        least = np.partition(scores, -BEST)[-BEST] if len(scores) > BEST else 0.0
        best = np.flatnonzero(scores >= least)
        return len(found.slots[best[np.argsort(-scores[best])[:BEST]]])

    def change(self, changed: IndexedDocument) -> None:
        self.segments = [*self.segments[:1], postings.build([changed], self.size)]
        match(self.segments, self.size + 1, parse_query("memory", corpus.NOW).terms)


class MemtuiScreen(Memtui):
    """All that the screen asks for, by the functions it asks with."""

    def __init__(self, folder: Path, screen: Screen) -> None:
        self.name = f"memtui, {job(screen)}"
        self.screen = screen
        super().__init__(folder)

    def ask(self, line: str) -> int:
        return keystroke(self.segments, self.screen.columns, line, self.screen.filters)

    def change(self, changed: IndexedDocument) -> None:
        super().change(changed)
        more = columns_module.take(self.screen.columns, [0])
        columns_module.concat([self.screen.columns, more])


class PlainWhoosh:
    """Whoosh's own And, Term and Prefix, on memtui's index."""

    name = "Whoosh Prefix, text"
    every = 60

    def __init__(self, folder: Path) -> None:
        self.home = folder / "whoosh-home"
        self.home.mkdir(mode=0o700)

    def build(self, documents: Sequence[IndexedDocument]) -> None:
        self.documents = {document.ref: document for document in documents}
        with WhooshIndex(self.home) as index:
            index.update(documents)

    def open(self) -> None:
        from whoosh import index

        from memtui.search.whoosh_index import make_schema

        folder = str(WhooshIndex(self.home).folder)
        self.searcher = index.open_dir(folder, schema=make_schema()).searcher()

    def ask(self, line: str) -> int:
        from whoosh import query, scoring

        *whole, last = words(line)
        parts = [*(query.Term("text", word) for word in whole), query.Prefix("text", last)]
        self.searcher.weighting = scoring.TF_IDF()
        return len(self.searcher.search(query.And(parts), limit=BEST))

    def change(self, changed: IndexedDocument) -> None:
        self.documents[changed.ref] = changed
        with WhooshIndex(self.home) as index:
            index.update(self.documents.values())


class Ripgrep:
    """The files themselves: the last word, every line with it. Wall time, process included."""

    name = "ripgrep"
    every = 30

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder / "files"
        corpus.write_agent_memory(self.folder, count)

    @staticmethod
    def installed() -> bool:
        return shutil.which("rg") is not None

    def build(self, documents: Sequence[IndexedDocument]) -> None:
        """Nothing to build."""

    def open(self) -> None:
        """Nothing to open."""

    def ask(self, line: str) -> int:
        command = ["rg", "-i", "-c", "-e", rf"\b{words(line)[-1]}", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    def change(self, changed: IndexedDocument) -> None:
        """Nothing to change."""
