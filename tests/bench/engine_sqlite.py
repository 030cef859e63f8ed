"""SQLite's full-text search, FTS5, doing the jobs of `tests.bench.engines`.

The screen's job is one statement: the matches are joined once with a table of what filters and
counts need, and taken from there three times (best, combinations, entities). It was the fastest of
three ways tried; three statements of their own took up to 1.6 times as long. Adding up the few
combinations for each filter is left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from memtui.search.documents import IndexedDocument
from tests.bench.engines import BEST, Screen, job, words

PREFIXES = "2 3 4"
_TABLE = """
    CREATE TABLE m(
        id INTEGER PRIMARY KEY,
        type INT, status INT, time REAL, entity INT, joint INT, factor REAL)
"""
_TEXT = "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
_SCREEN = """
    WITH hit AS MATERIALIZED (
        SELECT m.*, bm25(f) * m.factor AS score
        FROM f CROSS JOIN m ON m.id = f.rowid
        WHERE f MATCH ? AND m.time >= ?),
    best AS (SELECT id, score FROM hit WHERE {wanted} ORDER BY score LIMIT ?)
    SELECT 0, id, score FROM best
    UNION ALL SELECT 1, joint, count(*) FROM hit GROUP BY joint
    UNION ALL SELECT 2, entity, count(*) FROM hit WHERE {wanted} GROUP BY entity
"""


class Fts5:
    """With an index of beginnings or without; by text alone or as the screen asks."""

    every = 1

    def __init__(self, folder: Path, prefixes: str = "", screen: Screen | None = None) -> None:
        self.name = f"{'FTS5 + prefix index' if prefixes else 'FTS5'}, {job(screen)}"
        self.prefixes = f", prefix='{prefixes}'" if prefixes else ""
        self.file = folder / f"{self.name.replace(' ', '-')}.db"
        self.screen = screen
        self.since = screen.since if screen else 0.0
        wanted = "status IN (0, 1)"  # active, proposed
        if screen and screen.types:
            wanted += f" AND type IN ({', '.join(map(str, screen.types))})"
        self.statement = _SCREEN.format(wanted=wanted)

    def build(self, documents: Sequence[IndexedDocument]) -> None:
        connection = sqlite3.connect(self.file)
        run = connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        run("CREATE TABLE d(id INTEGER PRIMARY KEY, body TEXT)")
        run(
            "CREATE VIRTUAL TABLE f USING fts5(body, content='d', content_rowid='id'"
            f", tokenize='unicode61'{self.prefixes})"
        )
        rows = ((at, "\n".join(each.fields())) for at, each in enumerate(documents))
        connection.executemany("INSERT INTO d VALUES(?, ?)", rows)
        run("INSERT INTO f(f) VALUES('rebuild')")
        if self.screen is not None:
            run(_TABLE)
            numbered = ((at, *row) for at, row in enumerate(self.screen.rows))
            connection.executemany("INSERT INTO m VALUES(?, ?, ?, ?, ?, ?, ?)", numbered)
            run("CREATE INDEX by_type ON m(type, time)")
            run("ANALYZE")
        connection.commit()
        connection.close()

    def open(self) -> None:
        self.connection = sqlite3.connect(self.file)
        self.ask("zzz")

    def ask(self, line: str) -> int:
        *whole, last = words(line)
        link = " OR " if self.screen and self.screen.any_word else " "
        text = link.join([*(f'"{word}"' for word in whole), f'"{last}"*'])
        run = self.connection.execute
        if self.screen is None:
            return len(run(_TEXT, (text, BEST)).fetchall())
        rows = run(self.statement, (text, self.since, BEST)).fetchall()
        return sum(count for which, _, count in rows if which == 2)

    def change(self, changed: IndexedDocument) -> None:
        text = "\n".join(changed.fields())
        row = self.connection.execute("INSERT INTO d(body) VALUES(?)", (text,)).lastrowid
        self.connection.execute("INSERT INTO f(rowid, body) VALUES(?, ?)", (row, text))
        if self.screen is not None:
            insert = "INSERT INTO m VALUES(?, ?, ?, ?, ?, ?, ?)"
            self.connection.execute(insert, (row, *self.screen.rows[0]))
        self.connection.commit()
