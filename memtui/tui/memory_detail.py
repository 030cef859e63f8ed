"""One memory as lines to draw: text, fields, location, references.

Pure: a memory and a width in, styled lines out. Every string of a store passes `text.visible`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.model import UNTYPED, Memory, Place
from memtui.tui import appearance
from memtui.tui.appearance import Palette, marked_segments

LONGEST = 60_000
"""Characters of a content that are shown."""
LONGEST_VALUE = 4_000
LABEL_MAX = 18
AGO_FROM = 44
"""Columns from which a time is followed by its age, such as "8 months ago"."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A memory that this one refers to."""

    relation: str
    """`replaces`, `replaced by`, or the link's own word."""
    words: str
    """Its headline, or its id if it is not in the open stores."""
    ref: str = ""
    """Empty if it is not in the open stores."""
    note: str = ""
    age: str = ""


@dataclass(frozen=True, slots=True)
class DetailLine:
    """One line; `ref` if it is a reference to another memory."""

    segments: tuple[Segment, ...]
    ref: str = ""


class MemoryDetail:
    """Lays out one memory for a width."""

    def __init__(
        self,
        memory: Memory,
        references: Sequence[Reference],
        words: Sequence[str],
        palette: Palette,
        now: datetime,
        width: int,
        source_hint: str = "",
    ) -> None:
        """`source_hint`: the key that opens the memory's file, as `key_bindings.hint` words it."""
        self._memory = memory
        self._references = references
        self._words = words
        self._palette = palette
        self._now = now
        self._width = max(8, width - 2)
        self._source_hint = source_hint

    def lines(self) -> list[DetailLine]:
        """All lines, top to bottom."""
        parts = (self._head(), self._content(), self._related(), self._fields(), self._extra())
        lines: list[DetailLine] = []
        for part in parts:
            block = list(part)
            if block and lines:
                lines.append(_line())
            lines.extend(block)
        return lines

    def _head(self) -> Iterator[DetailLine]:
        memory, palette = self._memory, self._palette
        if memory.title:
            for part in text.wrap(text.one_line(memory.title), self._width):
                yield _line(*marked_segments(part, self._words, palette.title, palette.match))
        kind = text.one_line(memory.type) or UNTYPED
        bits = [
            (kind, palette.type(memory.type) if memory.type else palette.faint),
            (
                f"{appearance.IMPORTANCE_GLYPHS.get(memory.importance, '')} {memory.importance}",
                palette.importance(memory.importance),
            ),
            (
                f"{appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, '')} {memory.status}",
                palette.status(memory.status),
            ),
        ]
        if memory.pinned:
            bits.append((f"{appearance.PINNED_GLYPH} pinned", palette.pin))
        if memory.when:
            bits.append((text.ago(memory.when, self._now), palette.dim))
        yield from self._flow(bits)
        hidden = text.hidden_count(f"{memory.title}{memory.content}")
        if hidden:
            plural = "" if hidden == 1 else "s"
            badge = f" {text.number(hidden)} hidden character{plural} "
            yield _line(Segment(text.cut(badge, self._width), palette.badge))

    def _flow(self, bits: Sequence[tuple[str, Style]]) -> Iterator[DetailLine]:
        """Short pieces separated by dots, wrapped to lines."""
        line: list[Segment] = []
        used = 0
        for words, style in bits:
            words = text.cut(words, self._width)
            if line and used + 3 + text.width(words) > self._width:
                yield _line(*line)
                line, used = [], 0
            if line:
                line.append(Segment(" · ", self._palette.faint))
                used += 3
            line.append(Segment(words, style))
            used += text.width(words)
        if line:
            yield _line(*line)

    def _content(self) -> Iterator[DetailLine]:
        content = self._memory.content
        shown = text.visible(content[:LONGEST])
        style, match = self._palette.text, self._palette.match
        if self._memory.status in appearance.INACTIVE_STATUSES:
            style = self._palette.dim
        if not shown.strip():
            if not self._memory.title:
                yield _line(Segment("(empty)", self._palette.faint))
            return
        for part in text.wrap(shown.strip("\n"), self._width):
            yield _line(*marked_segments(part, self._words, style, match))
        if len(content) > LONGEST:
            rest = text.number(len(content) - LONGEST)
            more = f"… {rest} more characters{self._source_hint}"
            yield _line(Segment(text.cut(more, self._width), self._palette.warning))

    def _fields(self) -> Iterator[DetailLine]:
        memory = self._memory
        entities = (memory.entity, *memory.also_entities)
        pairs: list[tuple[str, str]] = [("Entity", ", ".join(entities))]
        if memory.created:
            pairs.append(("Created", self._time(memory.created)))
        if memory.updated and memory.updated != memory.created:
            pairs.append(("Updated", self._time(memory.updated)))
        if memory.confidence is not None:
            pairs.append(("Confidence", f"{memory.confidence:g}"))
        pairs += [
            ("Tags", ", ".join(memory.tags)),
            ("Source", memory.source),
            ("Kind", memory.kind),
            ("Store", memory.store),
            ("Id", memory.id),
            ("File", _place(memory.origin)),
            *(("Also in", _place(place)) for place in memory.also),
        ]
        yield from self._table([(label, value) for label, value in pairs if value])

    def _time(self, time: datetime) -> str:
        date = text.date(time)
        return f"{date}  {text.ago(time, self._now)}" if self._width >= AGO_FROM else date

    def _extra(self) -> Iterator[DetailLine]:
        pairs = [(str(key), _value(value)) for key, value in self._memory.extra.items()]
        if pairs:
            yield _line(Segment("Other fields", self._palette.heading))
            yield from self._table(pairs)

    def _table(self, pairs: Sequence[tuple[str, str]]) -> Iterator[DetailLine]:
        """Labels in one column, values wrapped in the other."""
        palette = self._palette
        shown = [(text.one_line(label), text.visible(value)) for label, value in pairs]
        column = min(LABEL_MAX, max((text.width(label) for label, _ in shown), default=0)) + 2
        if column > self._width // 2:
            column = self._width // 2
        for label, value in shown:
            label = text.pad(text.cut(label, column - 1), column)
            for number, part in enumerate(text.wrap(value, self._width - column)):
                lead = label if not number else " " * column
                yield _line(
                    Segment(lead, palette.dim),
                    *marked_segments(part, self._words, palette.text, palette.match),
                )

    def _related(self) -> Iterator[DetailLine]:
        palette = self._palette
        heading = ""
        for reference in self._references:
            if reference.relation != heading:
                if heading:
                    yield _line()
                heading = reference.relation
                words = text.cut(text.one_line(heading), self._width)
                yield _line(Segment(words[:1].upper() + words[1:], palette.heading))
            if not reference.ref:
                words = f"{text.one_line(reference.words)} (not found)"
                yield _line(Segment(text.cut(f"  {words}", self._width), palette.faint))
                continue
            words = text.cut(text.one_line(reference.words), self._width - 3 - len(reference.age))
            gap = " " * max(1, self._width - 2 - text.width(words) - len(reference.age))
            yield _line(
                Segment("→ ", palette.accent),
                Segment(words, palette.link),
                Segment(gap + reference.age, palette.faint),
                ref=reference.ref,
            )
            if reference.note:
                note = text.one_line(reference.note)
                yield _line(Segment(text.cut(f"  {note}", self._width), palette.dim))


def _line(*segments: Segment, ref: str = "") -> DetailLine:
    return DetailLine((Segment(" "), *segments), ref)


def _place(place: Place) -> str:
    if not place.file:
        return ""
    line = f":{place.line}" if place.line else ""
    key = f"  {place.key}" if place.key else ""
    return f"{text.file_name(place.file)}{line}{key}"


def _value(value: Any) -> str:
    """A JSON value as readable text."""
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if (isinstance(value, Mapping) and not value) or (isinstance(value, list) and not value):
        return "–"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)[:LONGEST_VALUE]
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)[:LONGEST_VALUE]
    if value is None:
        return "–"
    if isinstance(value, bool):  # by type, since 1 and 1.0 are equal to True
        return "yes" if value else "no"
    return f"{value}"
