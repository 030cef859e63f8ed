"""memtui's keystroke beside SQLite FTS5, tantivy, plain Whoosh and ripgrep, on one corpus.

    python -m tests.bench.peers [N ...]        33,000 and 100,000 unless told; needs tantivy

Every engine gets the same documents and the same keystrokes (all complete words, the last as a
prefix, best 50), one after the other for each, so that the load of the machine is the same for all.
Times are CPU time of the calling thread, the better of two. memtui's line `and all` is what the
screen asks for: any word with all words first, filters, full ranking, how many there are, the best
in order and facet counts. ripgrep and plain Whoosh are asked a sample, for they are slow.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from memtui.query import parse
from memtui.search import columns as columns_module
from memtui.search import postings
from memtui.search.documents import Document, document
from memtui.search.matching import match
from memtui.search.whoosh_index import WhooshIndex
from tests.bench import corpus
from tests.bench.speed import keystroke, timed

BEST = 50
_WORD = re.compile(r"\w+")


class Engine(Protocol):
    """One program or library under test."""

    name: str
    every: int
    """Asked every so manieth keystroke."""

    def build(self, documents: Sequence[Document]) -> None: ...
    def open(self) -> None: ...
    def ask(self, line: str) -> int: ...
    def change(self, changed: Document) -> None: ...


class Memtui:
    """The arrays, best 50 of any word, all words first, by text alone."""

    name = "memtui"
    every = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "arrays"
        self.folder.mkdir()
        self.segments: list[postings.Segment] = []
        self.size = 0

    def build(self, documents: Sequence[Document]) -> None:
        postings.save(postings.build(documents), self.folder, "x")

    def open(self) -> None:
        loaded = postings.load(self.folder, "x")
        assert loaded is not None
        self.segments, self.size = [loaded], loaded.count

    def ask(self, line: str) -> int:
        for segment in self.segments:
            segment.recent.clear()  # as if nothing had been typed before
        found = match(self.segments, self.size, parse(line, corpus.NOW, typing=True).terms)
        scores = found.text + found.all_words
        least = np.partition(scores, -BEST)[-BEST] if len(scores) > BEST else 0.0
        best = np.flatnonzero(scores >= least)
        return len(found.slots[best[np.argsort(-scores[best])[:BEST]]])

    def change(self, changed: Document) -> None:
        self.segments = [*self.segments[:1], postings.build([changed], self.size)]
        match(self.segments, self.size + 1, parse("memory", corpus.NOW).terms)


class MemtuiAll(Memtui):
    """All that the screen asks for."""

    name = "  and all"

    def __init__(self, folder: Path, columns: columns_module.Columns, filters: str = "") -> None:
        self.columns = columns
        self.filters = filters
        super().__init__(folder / "all" if not filters else folder / "filtered")
        self.name = "  and filters" if filters else self.name

    def ask(self, line: str) -> int:
        keystroke(self.segments, self.columns, line, self.filters)
        return 0


class Fts5:
    """SQLite's full-text search."""

    every = 1

    def __init__(self, folder: Path, prefixes: str) -> None:
        self.name = "FTS5 + prefix index" if prefixes else "FTS5"
        self.prefixes = f", prefix='{prefixes}'" if prefixes else ""
        self.file = folder / f"fts{len(prefixes)}.db"
        self.connection = sqlite3.connect(self.file)

    def build(self, documents: Sequence[Document]) -> None:
        run = self.connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        run("CREATE TABLE d(id INTEGER PRIMARY KEY, body TEXT)")
        run(
            "CREATE VIRTUAL TABLE f USING fts5(body, content='d', content_rowid='id'"
            f", tokenize='unicode61'{self.prefixes})"
        )
        rows = ((at, "\n".join(each.fields())) for at, each in enumerate(documents))
        self.connection.executemany("INSERT INTO d VALUES(?, ?)", rows)
        run("INSERT INTO f(f) VALUES('rebuild')")
        self.connection.commit()
        self.connection.close()

    def open(self) -> None:
        self.connection = sqlite3.connect(self.file)
        self.ask("zzz")

    def ask(self, line: str) -> int:
        *words, last = _WORD.findall(line.lower()) or ["zzz"]
        text = " ".join([*(f'"{word}"' for word in words), f'"{last}"*'])
        query = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
        return len(self.connection.execute(query, (text, BEST)).fetchall())

    def change(self, changed: Document) -> None:
        text = "\n".join(changed.fields())
        row = self.connection.execute("INSERT INTO d(body) VALUES(?)", (text,)).lastrowid
        self.connection.execute("INSERT INTO f(rowid, body) VALUES(?, ?)", (row, text))
        self.connection.commit()


class Tantivy:
    """The Rust library, one Python call per query."""

    name = "tantivy"
    every = 1

    def __init__(self, folder: Path) -> None:
        import tantivy

        self.tantivy = tantivy
        self.folder = folder / "tantivy"
        self.folder.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", stored=False)
        builder.add_integer_field("n", stored=True)
        self.schema = builder.build()
        self.index: Any = tantivy.Index(self.schema, str(self.folder))

    def _add(self, writer: Any, number: int, each: Document) -> None:
        made = self.tantivy.Document()
        made.add_text("body", "\n".join(each.fields()))
        made.add_integer("n", number)
        writer.add_document(made)

    def build(self, documents: Sequence[Document]) -> None:
        writer = self.index.writer(256_000_000, 2)
        for number, each in enumerate(documents):
            self._add(writer, number, each)
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> None:
        self.index = self.tantivy.Index.open(str(self.folder))
        self.searcher = self.index.searcher()

    def ask(self, line: str) -> int:
        query, must = self.tantivy.Query, self.tantivy.Occur.Must
        *words, last = _WORD.findall(line.lower()) or ["zzz"]
        parts = [(must, query.term_query(self.schema, "body", word)) for word in words]
        parts.append((must, query.regex_query(self.schema, "body", f"{last}.*")))
        return len(self.searcher.search(query.boolean_query(parts), BEST).hits)

    def change(self, changed: Document) -> None:
        writer = self.index.writer(50_000_000, 1)
        self._add(writer, 0, changed)
        writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()


class PlainWhoosh:
    """Whoosh's own And, Term and Prefix, on memtui's index."""

    name = "Whoosh Prefix"
    every = 60

    def __init__(self, folder: Path) -> None:
        self.home = folder / "whoosh-home"
        self.home.mkdir(mode=0o700)
        self.index = WhooshIndex(self.home)

    def build(self, documents: Sequence[Document]) -> None:
        self.index.build(documents)

    def open(self) -> None:
        from whoosh import index

        from memtui.search.whoosh_fields import schema

        self.searcher = index.open_dir(str(self.index.folder), schema=schema()).searcher()

    def ask(self, line: str) -> int:
        from whoosh import query, scoring

        *words, last = _WORD.findall(line.lower()) or ["zzz"]
        parts = [*(query.Term("text", word) for word in words), query.Prefix("text", last)]
        self.searcher.weighting = scoring.TF_IDF()
        return len(self.searcher.search(query.And(parts), limit=BEST))

    def change(self, changed: Document) -> None:
        self.index.update([changed])


class Ripgrep:
    """The files themselves; a line is looked for as it stands. Wall time, process included."""

    name = "ripgrep"
    every = 30

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder / "files"
        corpus.write_agent_memory(self.folder, count)

    def build(self, documents: Sequence[Document]) -> None:
        """Nothing to build."""

    def open(self) -> None:
        """Nothing to open."""

    def ask(self, line: str) -> int:
        words = _WORD.findall(line.lower()) or ["zzz"]
        command = ["rg", "-i", "-c", "-e", rf"\b{words[-1]}", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    def change(self, changed: Document) -> None:
        """Nothing to change."""


def _cpu(act: Callable[[], object], wall: bool) -> float:
    clock = time.perf_counter if wall else time.thread_time
    start = clock()
    act()
    return (clock() - start) * 1000


def run(count: int) -> None:
    memories = list(corpus.memories(count))
    documents = [document(memory) for memory in memories]
    columns = columns_module.build(memories)
    del memories
    lines = corpus.keystrokes(documents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "all").mkdir()
        (folder / "filtered").mkdir()
        engines: list[Engine] = [
            Memtui(folder),
            MemtuiAll(folder, columns),
            MemtuiAll(folder, columns, "type:decision,bugfix since:1y"),
            Tantivy(folder),
            Fts5(folder, "2 3 4"),
            Fts5(folder, ""),
            PlainWhoosh(folder),
        ]
        if shutil.which("rg"):
            engines.append(Ripgrep(folder, count))
        builds = {each.name: timed(lambda each=each: each.build(documents)) for each in engines}  # type: ignore[misc]
        opens = {each.name: timed(each.open) for each in engines}
        times: dict[str, list[float]] = {each.name: [] for each in engines}
        for number, line in enumerate(lines):
            for each in engines:
                if number % each.every == 0:
                    wall = each.name == "ripgrep"
                    act = lambda each=each, line=line: each.ask(line)  # noqa: E731
                    times[each.name].append(min(_cpu(act, wall), _cpu(act, wall)))
        print(f"\n{count:,} memories, {len(lines)} keystrokes; ms")
        print(f"{'':22}{'build':>8}{'open':>7}{'p50':>9}{'p95':>9}{'max':>9}{'update':>9}")
        for each in engines:
            p50, p95 = np.percentile(times[each.name], (50, 95))
            update = timed(lambda each=each: each.change(documents[0]))  # type: ignore[misc]
            print(
                f"{each.name:22}{builds[each.name]:8.0f}{opens[each.name]:7.1f}"
                f"{p50:9.2f}{p95:9.2f}{max(times[each.name]):9.1f}{update:9.1f}"
            )


def main() -> None:
    for count in [int(text.replace(",", "")) for text in sys.argv[1:]] or [33_000, 100_000]:
        run(count)


if __name__ == "__main__":
    main()
