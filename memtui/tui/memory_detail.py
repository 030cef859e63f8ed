"""One memory as lines to draw: text, fields, location, references.

Pure: a memory and a width in, styled lines out. Every string of a store passes `text.visible`.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.model import HIDDEN, PROJECT_PATH, READ_BY, SCOPE, Memory, Place
from memtui.search.documents import MAX_INDEXED, is_cut
from memtui.tui import appearance
from memtui.tui.appearance import Palette, marked_segments

MAX_COUNTED = 60_000
"""Characters of a text in which hidden ones are counted."""
MAX_SHOWN = 400_000
"""Characters of a text that are shown: they are drawn within half a second."""
MAX_MASKED = MAX_SHOWN + 10_000
"""Characters in which secrets are looked for, so that one which the cut divides is known."""
MAX_RENDERED = 100_000
"""Characters up to which the Markdown of a text is rendered."""
PART_CHARS = 1_000
"""Characters from which a part of a text ends where it can."""
MAX_LINE = 8_000
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

    @property
    def words(self) -> str:
        return "".join(segment.text for segment in self.segments)


class Match(NamedTuple):
    """A searched word in the text."""

    line: int
    start: int
    """Its first character."""
    end: int


class DetailLines:
    """The lines of the detail: a head, the text and the rest.

    The text is drawn from its beginning, as far as its lines are asked for; until it is drawn to
    its end, the number of lines is an estimate.
    """

    def __init__(
        self,
        head: Sequence[DetailLine],
        parts: Sequence[str],
        draw: Callable[[str], list[DetailLine]],
        tail: Sequence[DetailLine],
        width: int,
    ) -> None:
        self._lines = list(head)
        self._parts, self._draw, self.tail = parts, draw, tail
        self._starts = [len(head)]
        """The line at which each drawn part begins, and the one behind the last of them."""
        self._heights = [1 + part.count("\n") + len(part) // max(8, width) for part in parts]
        self._undrawn = sum(self._heights) + len(tail)
        """Lines that are expected below those that are drawn."""
        self._add_tail_if_whole()

    def __len__(self) -> int:
        return len(self._lines) + self._undrawn

    def __getitem__(self, index: int) -> DetailLine:
        self.draw_to(index)
        return self._lines[index]

    @property
    def is_whole(self) -> bool:
        """Whether the text is drawn to its end."""
        return len(self._starts) > len(self._parts)

    def draw_to(self, line: int) -> None:
        """Draw the text up to this line, or to its end."""
        while len(self._lines) <= line and not self.is_whole:
            at = len(self._starts) - 1
            self._lines += self._draw(self._parts[at])
            self._starts.append(len(self._lines))
            self._undrawn -= self._heights[at]
            self._add_tail_if_whole()

    def draw_all(self) -> None:
        while not self.is_whole:
            self.draw_to(len(self._lines))

    def _add_tail_if_whole(self) -> None:
        if self.is_whole:
            self._lines += self.tail
            self._undrawn = 0

    @property
    def targets(self) -> list[DetailLine]:
        """The lines that can be chosen; they are below the text."""
        return [line for line in self.tail if line.is_target]

    @property
    def target_lines(self) -> list[int]:
        """Where they are; none until the text is drawn to its end."""
        first = self._starts[-1]
        return [first + at for at, line in enumerate(self.tail) if line.is_target and self.is_whole]

    def find_passage(self, words: Sequence[str]) -> tuple[int, int]:
        """The first and the last line of the passage with most of the words; (0, 0) without one."""
        best, most, chars = -1, 0, 0
        for at, part in enumerate(self._parts):
            passage = text.find_passage(part, words)
            if passage is not None and passage.words > most:
                best, most = at, passage.words
            if (chars := chars + len(part)) > text.MAX_PASSAGE_CHARS:
                break
        if best < 0:
            return 0, 0
        first = self.line_at((best, 0))
        self.draw_to(first)
        shown = "\n".join(line.words for line in self._lines[first : self._starts[best + 1]])
        passage = text.find_passage(shown, words)
        if passage is None:
            return 0, 0
        first += passage.line
        return first, first + shown.count("\n", passage.start, passage.end)

    def find_matches(self, words: Sequence[str]) -> list[Match]:
        """Each place in the text that has one of the words; draws it to its end."""
        self.draw_all()
        return [
            Match(line, start, end)
            for line in range(self._starts[0], self._starts[-1])
            for start, end in text.highlights(self._lines[line].words, words)
        ]

    def place_of(self, line: int) -> tuple[int, float]:
        """The part of the text that a line belongs to, and its place in it from 0 to 1.

        Of a line in the head (part -1) or below the text, how many lines it is from the edge.
        """
        self.draw_to(line)
        at = bisect_right(self._starts, line) - 1
        if at < 0:
            return at, line
        start, *end = self._starts[at : at + 2]
        return at, (line - start) / (end[0] - start if end else 1)

    def line_at(self, place: tuple[int, float]) -> int:
        """The line at a place that `place_of` gives, of this drawing of the memory or another."""
        at, share = min(place[0], len(self._parts)), place[1]
        if at < 0:
            return round(share)
        while len(self._starts) <= at + 1 and not self.is_whole:
            self.draw_to(len(self._lines))
        start, *end = self._starts[at : at + 2]
        return min(start + round(share * (end[0] - start if end else 1)), len(self) - 1)


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
    link_to: str = ""
    """Where the folder of its store lies, if that is a link."""
    store_name: str = ""
    trail: Sequence[str] = ()
    """Headlines of the memories that references were followed from."""
    raw: bool = False
    folded: bool = True
    """Without the raw fields."""
    findings: Sequence[str] = ()
    learned: tuple[str, str] = ("", "")
    """When and in what session it was learned; how often it was used, and when last."""

    @property
    def width(self) -> int:
        """Columns of a line behind its blank."""
        return max(8, self.columns - 2)

    def lines(self) -> DetailLines:
        """All lines, top to bottom."""
        parts, draw, left_out = self._content()
        tail: list[DetailLine] = []
        if left_out:
            words = f"… {text.number(left_out)} characters more: $PAGER shows the whole text"
            if is_cut(self.memory):
                words += f"; a search reads the first {text.number(MAX_INDEXED)}"
            tail = [
                _line(Segment(line, self.palette.faint)) for line in text.wrap(words, self.width)
            ]
        for part in (self._related(), self._field_lines(), self._extra()):
            block = list(part)
            if block and (parts or tail):
                tail.append(_line())
            tail.extend(block)
        head = list(self._head())
        if parts or tail:
            head.append(_line())
        return DetailLines(head, parts, draw, tail, self.width)

    def _head(self) -> Iterator[DetailLine]:
        memory, palette = self.memory, self.palette
        yield from self._breadcrumb()
        title = text.one_line(memory.title)
        if title and not memory.is_title_in_text:
            for part in text.wrap(title, self.width):
                yield _line(*marked_segments(part, self.words, palette.title, palette.match))
        kind = text.one_line(memory.shown_type)
        importance = appearance.IMPORTANCE_GLYPHS.get(memory.importance, "")
        status = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, "")
        bits = [
            *([(text.one_line(self.store_name), palette.heading)] if self.store_name else []),
            (kind, palette.type(memory.shown_type)),
            (f"{importance} {memory.importance}", palette.importance(memory.importance)),
            (f"{status} {memory.shown_status}", palette.status(memory.status)),
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
        hidden_here = f"only memtui hides it; {self.store_name or 'its program'} still reads it"
        for found in (*([hidden_here] if HIDDEN in memory.extra else []), *self.findings):
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

    def _content(self) -> tuple[list[str], Callable[[str], list[DetailLine]], int]:
        """The parts of the text, what draws one, and the number of characters left out."""
        whole = self.memory.content
        beyond = max(0, len(whole) - MAX_MASKED)
        content = text.mask_secrets(whole[:MAX_MASKED]).strip("\n")
        if not content.strip():
            empty = _line(Segment("(empty)", self.palette.faint))
            return [] if self.memory.title else [""], lambda _: [empty], 0
        style = self.palette.text
        if self.memory.status in appearance.INACTIVE_STATUSES:
            style = self.palette.dim
        if self.raw or len(content) > MAX_RENDERED or not is_markdown(content):
            parts = split_parts(content[:MAX_SHOWN])
            return parts, partial(self._plain, style), beyond + max(0, len(content) - MAX_SHOWN)
        # Imported here: most memories have no Markdown, and it takes 0.1 s.
        from memtui.tui.markdown_lines import MarkdownRenderer

        definitions = link_definitions(content)
        renderer = MarkdownRenderer(
            self.palette, self.width, base=style, words=self.words, definitions=definitions
        )

        def draw(part: str) -> list[DetailLine]:
            return [_line(*line) for line in renderer.lines(part)]

        return split_parts(content, markdown=True), draw, 0

    def _plain(self, style: Style, part: str) -> list[DetailLine]:
        """A part of the text as it is written."""
        return [
            _line(*marked_segments(line, self.words, style, self.palette.match))
            for line in text.wrap(text.visible(part), self.width)
        ]

    def _field_lines(self) -> Iterator[DetailLine]:
        """Entity, dates and location; what the head says is not repeated."""
        memory = self.memory
        file = _place(memory.origin, self.root)
        updated = memory.updated if memory.updated != memory.created else None
        read_by = memory.extra.get(READ_BY)
        source = memory.dated_by
        pairs = [
            *zip(("Learned", "Used"), self.learned, strict=True),
            ("Entity", ", ".join((memory.entity, *memory.also_entities))),
            ("Tags", ", ".join(memory.tags)),
            ("Created", self._time(memory.created) if memory.created else ""),
            ("Updated", self._time(updated) if updated else ""),
            ("Dated", "" if source in ("", "its own time") else f"by {source}"),
            ("Text", memory.later_text),
            ("Confidence", "" if memory.confidence is None else f"{memory.confidence:g}"),
            ("Source", memory.source),
            ("Kind", memory.kind if memory.kind != memory.shown_type else ""),
            ("Project", str(memory.extra.get(PROJECT_PATH) or "")),
            ("Scope", str(memory.extra.get(SCOPE) or "")),
            ("Read by", ", ".join(map(str, read_by if isinstance(read_by, list) else ()))),
            ("Id", "" if _names(file, memory.id) else memory.id),
            ("File", file),
            ("Link to", text.file_name(self.link_to)),
            *(("Also in", _place(place, self.root)) for place in memory.also),
        ]
        yield from self._table([(label, value) for label, value in pairs if value])

    def _time(self, time: datetime) -> str:
        date = text.date(time, zoned=True)
        if time == self.memory.when or self.width < AGO_FROM:  # the head says how long ago
            return date
        return f"{date}  {text.ago(time, self.now)}"

    def _extra(self) -> Iterator[DetailLine]:
        extra = self.memory.extra
        if not extra:
            return
        sign = "▸" if self.folded else "▾"
        words = f"{sign} Raw fields ({text.number(len(extra))})"
        yield DetailLine((Segment(" "), Segment(words, self.palette.heading)), folds=True)
        if not self.folded:
            yield from self._table(
                [(str(key), text.value_text(value)[:LONGEST_VALUE]) for key, value in extra.items()]
            )

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


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)$")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]{1,200})\]:[ \t]*(\S{1,500})", re.MULTILINE)
_MARKDOWN = re.compile(
    r"^ {0,3}(#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|`{3}|~{3}|\||-{3,}[ \t]*$|={3,}[ \t]*$)"
    r"|\*\*|__|~~|`|\]\(|\]\[|(?<!\w)\*\w|(?<!\w)_\w|\\[*_`\[]",
    re.MULTILINE,
)


def is_markdown(content: str) -> bool:
    """Whether a text has any sign of Markdown; without one it is drawn as it is."""
    return _MARKDOWN.search(content) is not None


def link_definitions(content: str) -> Mapping[str, str]:
    """Return label (upper case) -> target of `[label]: target`, which other parts refer to."""
    found = _DEFINITION.findall(content) if "]:" in content else []
    return {" ".join(label.split()).upper(): target for label, target in found}


def split_parts(content: str, *, markdown: bool = False) -> list[str]:
    """Split a text into parts that are drawn by themselves; joined by newlines they are the text.

    A line that is too long is split, too. With `markdown`, parts end at blank lines outside of
    fenced code and before a line that is not indented, and front matter is a part.
    """
    parts: list[str] = []
    part: list[str] = []
    size = 0
    fence = ""
    cuts = (
        line[at : at + MAX_LINE]
        for line in content.split("\n")
        for at in range(0, max(1, len(line)), MAX_LINE)
    )
    opening = re.match(r"---[ \t]*\n(?:.*\n){0,200}?---[ \t]*\n", content) if markdown else None
    front_matter = opening[0].count("\n") if opening else 0
    for number, line in enumerate(cuts):
        is_edge, blank = size >= PART_CHARS, []
        if markdown and is_edge:
            is_edge = not fence and not part[-1].strip() and line[:1].strip() != ""
            blank = [part.pop()] if is_edge else []
        if is_edge or (part and number == front_matter):
            parts.append("\n".join(part))
            part, size = blank, 0
        if markdown and (found := _FENCE.match(line)):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not found[2].strip():
                fence = ""
        part.append(line)
        size += len(line) + 1
    return [*parts, "\n".join(part)]


def _line(*segments: Segment, ref: str = "") -> DetailLine:
    return DetailLine((Segment(" "), *segments), ref)


def _names(place: str, id: str) -> bool:
    """Whether a place in a file says the whole id: `notes/tea.md:3` says `notes/tea.md`."""
    return place == id or place.startswith(f"{id}:")


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
