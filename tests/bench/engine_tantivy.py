"""The Rust library tantivy, doing the jobs of `tests.bench.engines`.

The screen's job is one search and two aggregations, each a Python call. Filters are queries over
indexed fields that add nothing to the score. tantivy multiplies a score with `log2(2 + field)`, so
the field holds what makes that the factor (on a scale that starts at 1). A beginning is a regular
expression, every match of which counts the same: tantivy does not rank by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from memtui.search.documents import IndexedDocument
from tests.bench.engines import BEST, Screen, job, words

_FIELDS = ("type", "status", "time", "entity", "joint")
_ALL = 1 << 16
"""More values than any field has: counts are wanted of all."""


class Tantivy:
    """By text alone or as the screen asks."""

    every = 1

    def __init__(self, folder: Path, screen: Screen | None = None) -> None:
        self.name = f"tantivy, {job(screen)}"
        self.folder = folder / self.name.replace(" ", "-")
        self.folder.mkdir()
        self.screen = screen

    def _schema(self) -> Any:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", stored=False)
        builder.add_integer_field("n", stored=True)
        for name in _FIELDS if self.screen else ():
            builder.add_integer_field(name, indexed=True, fast=True)
        if self.screen:
            builder.add_float_field("factor", fast=True)
        return builder.build()

    def _add(self, writer: Any, number: int, each: IndexedDocument, row: Sequence[float]) -> None:
        import tantivy

        made = tantivy.Document()
        made.add_text("body", "\n".join(each.fields()))
        made.add_integer("n", number)
        for name, value in zip(_FIELDS, row, strict=False):
            made.add_integer(name, int(value))
        if row:
            made.add_float("factor", float(row[-1]))
        writer.add_document(made)

    @cached_property
    def _rows(self) -> list[tuple[float, ...]]:
        if self.screen is None:
            return []
        factors = np.array(self.screen.factors)
        weights = np.exp2(factors / factors.min()) - 2
        found = zip(self.screen.rows, weights.tolist(), strict=True)
        return [(*row[: len(_FIELDS)], weight) for row, weight in found]

    def build(self, documents: Sequence[IndexedDocument]) -> None:
        import tantivy

        writer = tantivy.Index(self._schema(), str(self.folder)).writer(256_000_000, 2)
        rows = self._rows
        for number, each in enumerate(documents):
            self._add(writer, number, each, rows[number] if rows else ())
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(self.folder))
        self.schema = self.index.schema
        self.searcher = self.index.searcher()
        self.query, self.must, self.should = tantivy.Query, tantivy.Occur.Must, tantivy.Occur.Should
        self.since, self.wanted = self._filters(tantivy.FieldType.Integer)

    def _filters(self, integer: Any) -> tuple[list[Any], list[Any]]:
        """What lies late enough; what passes the filters over values."""
        if self.screen is None:
            return [], []
        query = self.query
        wanted = [query.term_set_query(self.schema, "status", [0, 1])]  # active, proposed
        if self.screen.types:
            wanted.append(query.term_set_query(self.schema, "type", self.screen.types))
        since = []
        if self.screen.since:
            first = int(self.screen.since)
            since.append(query.range_query(self.schema, "time", integer, first, None))
        return [self._silent(one) for one in since], [self._silent(one) for one in wanted]

    def _silent(self, query: Any) -> Any:
        return self.must, self.query.const_score_query(query, 0.0)

    def ask(self, line: str) -> int:
        make, must = self.query, self.must
        *whole, last = words(line)
        parts = [make.term_query(self.schema, "body", word) for word in whole]
        parts.append(make.regex_query(self.schema, "body", f"{last}.*"))
        if self.screen is None:
            every = make.boolean_query([(must, part) for part in parts])
            return len(self.searcher.search(every, BEST).hits)
        occur = self.should if self.screen.any_word else must
        text = make.boolean_query([(occur, part) for part in parts])
        late = [(must, text), *self.since]
        among, passing = make.boolean_query(late), make.boolean_query([*late, *self.wanted])
        found: Any = self.searcher.search(passing, BEST, weight_by_field="factor")
        for query, field in ((among, "joint"), (passing, "entity")):
            self.searcher.aggregate(query, {field: {"terms": {"field": field, "size": _ALL}}})
        return int(found.count)

    def change(self, changed: IndexedDocument) -> None:
        writer = self.index.writer(50_000_000, 1)
        rows = self._rows
        self._add(writer, 0, changed, rows[0] if rows else ())
        writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()
