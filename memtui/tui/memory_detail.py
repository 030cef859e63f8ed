"""One memory as lines to draw: text, fields, location, references.

Pure: a memory and a width in, styled lines out. Every string of a store passes `text.visible`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.model import UNTYPED, Memory, Place
from memtui.tui import appearance
from memtui.tui.appearance import Palette, marked_segments
from memtui.tui.text_blocks import Block, LazyLines, is_markdown, link_definitions, split_blocks

MAX_COUNTED = 60_000
"""Characters of a text in which hidden ones are counted."""
TRAIL_NAME = 24
"""Columns of one memory in the breadcrumb."""
LONGEST_VALUE = 4_000
LABEL_MAX = 18
AGO_FROM = 44
"""Columns from which a time is followed by its age, such as "8 months ago"."""


class Reference(NamedTuple):
    """A memory that this one refers to."""

    relation: str
    """`supersedes`, `superseded by`, or the link's own word."""
    words: str
    """Its headline, or its id if it is not in the open stores."""
    ref: str = ""
    """Empty if it is no memory of the open stores."""
    note: str = ""
    age: str = ""
    is_missing: bool = False
    """It is no entity of the open stores either."""


class DetailLine(NamedTuple):
    """One line; `ref` if it is a reference to another memory."""

    segments: tuple[Segment, ...]
    ref: str = ""
    folds: bool = False
    """It shows or hides the raw fields."""

    @property
    def is_target(self) -> bool:
        return bool(self.ref) or self.folds


class DetailLines:
    """All lines of the detail: a head, the text, drawn as it comes into view, and the rest."""

    def __init__(
        self, head: Sequence[DetailLine], body: LazyLines[DetailLine], tail: Sequence[DetailLine]
    ) -> None:
        self._head, self._body, self._tail = head, body, tail

    def __len__(self) -> int:
        return len(self._head) + len(self._body) + len(self._tail)

    def __getitem__(self, index: int) -> DetailLine:
        if index < len(self._head):
            return self._head[index]
        index -= len(self._head)
        if index < len(self._body):
            return self._body[index]
        return self._tail[index - len(self._body)]

    @property
    def targets(self) -> list[int]:
        """The lines that can be chosen; they stand below the text."""
        first = len(self._head) + len(self._body)
        return [first + at for at, line in enumerate(self._tail) if line.is_target]

    def find_passage(self, words: Sequence[str]) -> tuple[int, int]:
        """The first and the last line of the passage with most of the words; (0, 0) without one."""

        def rate(block: str) -> int:
            passage = text.find_passage(block, words)
            return passage.words if passage else 0

        at = self._body.best_block(rate, text.MAX_PASSAGE_CHARS)
        if at < 0:
            return 0, 0
        first, lines = self._body.lines_of(at)
        shown = "\n".join("".join(part.text for part in line.segments) for line in lines)
        passage = text.find_passage(shown, words)
        if passage is None:
            return 0, 0
        first += len(self._head) + passage.line
        return first, first + shown.count("\n", passage.start, passage.end)

    def find_match(self, words: Sequence[str], start: int, step: int) -> int:
        """The next line of the text below (1) or above (-1) `start` with a word; -1 for none."""

        def has_word(shown: str) -> bool:
            return bool(text.count_words(shown, words))

        def in_line(line: DetailLine) -> bool:
            return has_word("".join(part.text for part in line.segments))

        found = self._body.find_line(
            start - len(self._head),
            step,
            lambda block: bool(text.count_words(block, words)),
            in_line,
        )
        return found + len(self._head) if found >= 0 else -1

    def take_heights(self, before: DetailLines) -> None:
        """Reuse the heights of the text's blocks from an earlier drawing of this memory."""
        self._body.take_heights(before._body)

    def line_like(self, line: int, before: DetailLines) -> int:
        """The line that shows what this line of an earlier drawing shows.

        That was of another width, or of a text that was longer.
        """
        line -= len(before._head)
        if line < 0:
            return line + len(before._head)
        if line >= len(before._body) or not self._body.block_count:
            return line - len(before._body) + len(self._head) + len(self._body)
        at, share = before._body.place_of(line)
        return self.line_at((min(at, self._body.block_count - 1), share))

    def place_of(self, line: int) -> tuple[int, float]:
        """The block of the text that a line belongs to, and its place in it from 0 to 1."""
        return self._body.place_of(line - len(self._head))

    def line_at(self, place: tuple[int, float]) -> int:
        first, lines = self._body.lines_of(place[0])
        return len(self._head) + first + round(place[1] * len(lines))

    def settle(self, top: int, rows: int) -> int:
        """Draw the lines in view and return the top line at which the view stays."""
        at_end = top > 0 and top >= len(self) - rows  # what fits whole stays at its beginning
        top = self._body.settle(top - len(self._head), rows) + len(self._head)
        while at_end and top != (end := max(0, len(self) - rows)):
            top = self._body.settle(end - len(self._head), rows) + len(self._head)
            at_end = len(self) - rows > top
        return max(0, min(top, len(self) - rows))


class MemoryDetail(NamedTuple):
    """Lays out one memory for a width."""

    memory: Memory
    references: Sequence[Reference]
    words: Sequence[str]
    """They are highlighted."""
    palette: Palette
    now: datetime
    columns: int
    root: Path | None = None
    """Folder of its store, which its file is named from."""
    trail: Sequence[str] = ()
    """Headlines of the memories that references were followed from."""
    raw: bool = False
    folded: bool = True
    """Without the raw fields."""
    findings: Sequence[str] = ()

    @property
    def width(self) -> int:
        """Columns of a line behind its blank."""
        return max(8, self.columns - 2)

    def lines(self) -> DetailLines:
        """All lines, top to bottom."""
        body = self._content()
        tail: list[DetailLine] = []
        for part in (self._related(), self._field_lines(), self._extra()):
            block = list(part)
            if block and (len(body) or tail):
                tail.append(_line())
            tail.extend(block)
        head = list(self._head())
        return DetailLines([*head, _line()] if len(body) or tail else head, body, tail)

    def _head(self) -> Iterator[DetailLine]:
        memory, palette = self.memory, self.palette
        yield from self._breadcrumb()
        title = text.one_line(memory.title)
        if title and not memory.is_title_in_text:
            for part in text.wrap(title, self.width):
                yield _line(*marked_segments(part, self.words, palette.title, palette.match))
        kind = text.one_line(memory.type) or UNTYPED
        importance = appearance.IMPORTANCE_GLYPHS.get(memory.importance, "")
        status = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, "")
        bits = [
            (kind, palette.type(memory.type) if memory.type else palette.faint),
            (f"{importance} {memory.importance}", palette.importance(memory.importance)),
            (f"{status} {memory.status}", palette.status(memory.status)),
        ]
        if memory.pinned:
            bits.append((f"{appearance.PINNED_GLYPH} pinned", palette.pin))
        if memory.when:
            bits.append((text.ago(memory.when, self.now), palette.dim))
        yield from self._wrap_pieces(bits)
        hidden = text.hidden_count(f"{memory.title}{memory.content[:MAX_COUNTED]}")
        badge = text.counted(hidden, "hidden character")
        if hidden:
            yield _line(Segment(text.cut(f" {badge} ", self.width), palette.badge))
        for found in self.findings:
            if found.endswith(f": {badge}"):
                continue  # the badge says it
            words = f"{appearance.FINDING_GLYPH} {text.one_line(found)}"
            yield from (_line(Segment(p, palette.warning)) for p in text.wrap(words, self.width))

    def _breadcrumb(self) -> Iterator[DetailLine]:
        """The memories that references were followed from, the nearest last."""
        if not self.trail:
            return
        names = [text.cut_line(name, TRAIL_NAME) for name in self.trail]
        words = " › ".join(names)
        while len(names) > 1 and text.width(words) > self.width - 4:
            del names[0]
            words = "… › " + " › ".join(names)
        yield _line(
            Segment("‹ ", self.palette.accent),
            Segment(text.cut(words, self.width - 4), self.palette.dim),
            Segment(" ›", self.palette.accent),
        )

    def _wrap_pieces(self, bits: Sequence[tuple[str, Style]]) -> Iterator[DetailLine]:
        """Short pieces separated by dots, wrapped to lines."""
        line: list[Segment] = []
        used = 0
        for words, style in bits:
            words = text.cut(words, self.width)
            if line and used + 3 + text.width(words) > self.width:
                yield _line(*line)
                line, used = [], 0
            if line:
                line.append(Segment(" · ", self.palette.faint))
                used += 3
            line.append(Segment(words, style))
            used += text.width(words)
        if line:
            yield _line(*line)

    def _content(self) -> LazyLines[DetailLine]:
        content = text.mask_secrets(self.memory.content).strip("\n")
        if not content.strip():
            blocks = [] if self.memory.title else [Block("")]
            empty = _line(Segment("(empty)", self.palette.faint))
            return LazyLines(blocks, lambda _: [empty], self.width)
        style = self.palette.text
        if self.memory.status in appearance.INACTIVE_STATUSES:
            style = self.palette.dim
        if self.raw or not is_markdown(content):
            return LazyLines(split_blocks(content), partial(self._plain, style), self.width)
        # Imported here: most memories have no Markdown, and it takes 0.1 s.
        from memtui.tui.markdown_lines import MarkdownRenderer

        renderer = MarkdownRenderer(
            self.palette,
            self.width,
            base=style,
            words=self.words,
            definitions=link_definitions(content),
        )

        def draw(block: Block) -> list[DetailLine]:
            return [_line(*line) for line in renderer.lines(block)]

        return LazyLines(split_blocks(content), draw, self.width)

    def _plain(self, style: Style, block: Block) -> list[DetailLine]:
        """A block as it is written, with the blank lines before it."""
        shown, match = text.visible(block.text), self.palette.match
        return [_line()] * block.blanks + [
            _line(*marked_segments(part, self.words, style, match))
            for part in text.wrap(shown, self.width)
        ]

    def _field_lines(self) -> Iterator[DetailLine]:
        """Entity, dates and location; what the head says is not repeated."""
        memory = self.memory
        file = _place(memory.origin, self.root)
        updated = memory.updated if memory.updated != memory.created else None
        pairs = [
            ("Entity", ", ".join((memory.entity, *memory.also_entities))),
            ("Tags", ", ".join(memory.tags)),
            ("Created", self._time(memory.created) if memory.created else ""),
            ("Updated", self._time(updated) if updated else ""),
            ("Confidence", "" if memory.confidence is None else f"{memory.confidence:g}"),
            ("Source", memory.source),
            ("Kind", memory.kind if memory.kind != memory.type else ""),
            ("Store", memory.store),
            ("Id", "" if file.startswith(memory.id) else memory.id),
            ("File", file),
            *(("Also in", _place(place, self.root)) for place in memory.also),
        ]
        yield from self._table([(label, value) for label, value in pairs if value])

    def _time(self, time: datetime) -> str:
        date = text.date(time)
        if time == self.memory.when or self.width < AGO_FROM:  # the head says how long ago
            return date
        return f"{date}  {text.ago(time, self.now)}"

    def _extra(self) -> Iterator[DetailLine]:
        pairs = [(str(key), _value(value)) for key, value in self.memory.extra.items()]
        if not pairs:
            return
        sign = "▸" if self.folded else "▾"
        words = f"{sign} Raw fields ({text.number(len(pairs))})"
        yield DetailLine((Segment(" "), Segment(words, self.palette.heading)), folds=True)
        if not self.folded:
            yield from self._table(pairs)

    def _table(self, pairs: Sequence[tuple[str, str]]) -> Iterator[DetailLine]:
        """Labels in one column, values wrapped in the other."""
        palette = self.palette
        shown = [
            (text.one_line(label), text.visible(text.mask_value(label, value)))
            for label, value in pairs
        ]
        column = min(LABEL_MAX, max((text.width(label) for label, _ in shown), default=0)) + 2
        if column > self.width // 2:
            column = self.width // 2
        for label, value in shown:
            label = text.pad(text.cut(label, column - 1), column)
            for number, part in enumerate(text.wrap(value, self.width - column)):
                lead = label if not number else " " * column
                yield _line(
                    Segment(lead, palette.dim),
                    *marked_segments(part, self.words, palette.text, palette.match),
                )

    def _related(self) -> Iterator[DetailLine]:
        palette = self.palette
        heading = ""
        for reference in self.references:
            if reference.relation != heading:
                if heading:
                    yield _line()
                heading = reference.relation
                words = text.cut_line(heading, self.width)
                yield _line(Segment(words[:1].upper() + words[1:], palette.heading))
            if not reference.ref:
                name = text.one_line(reference.words)
                line = f"  {name} (not found)" if reference.is_missing else f"  {name}"
                style = palette.faint if reference.is_missing else palette.text
                yield _line(Segment(text.cut(line, self.width), style))
                continue
            words = text.cut_line(reference.words, self.width - 3 - len(reference.age))
            gap = " " * max(1, self.width - 2 - text.width(words) - len(reference.age))
            yield _line(
                Segment("→ ", palette.accent),
                Segment(words, palette.link),
                Segment(gap + reference.age, palette.faint),
                ref=reference.ref,
            )
            if reference.note:
                note = text.one_line(reference.note)
                yield _line(Segment(text.cut(f"  {note}", self.width), palette.dim))


def _line(*segments: Segment, ref: str = "") -> DetailLine:
    return DetailLine((Segment(" "), *segments), ref)


def _place(place: Place, root: Path | None) -> str:
    """File, line and position; the file from the folder of the store, where it lies in it."""
    if not place.file:
        return ""
    file = place.file
    if root is not None and file.startswith(f"{root}{os.sep}"):
        file = file[len(str(root)) + 1 :]
    line = f":{place.line}" if place.line else ""
    key = f"  {place.key}" if place.key else ""
    return f"{text.file_name(file)}{line}{key}"


def _value(value: Any) -> str:
    """A JSON value as readable text."""
    value = text.mask_record(value)
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if value is None or value == {} or value == []:
        return "–"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)[:LONGEST_VALUE]
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)[:LONGEST_VALUE]
    if isinstance(value, bool):  # by type, since 1 and 1.0 are equal to True
        return "yes" if value else "no"
    return f"{value}"
