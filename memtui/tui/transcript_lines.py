"""The messages of a session as lines to draw, laid out only near what is in view.

A session may have tens of thousands of messages, so the height of one that was not laid out yet is
an estimate. What is in view, and a page around it, is always exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.sessions import Kind, Message, Role
from memtui.tui.appearance import Palette, marked_segments
from memtui.tui.memory_detail import is_markdown, link_definitions

WIDEST = 112
"""Columns of a text: longer lines are hard to read."""
GUTTER = 20
"""Columns of time and role before a text."""
GUTTER_FROM = 64
"""Columns of the screen from which there is a gutter; below, time and role have a line."""
INDENT = 3
"""Columns before a text without a gutter, and before what is unfolded."""
TOOL_CHARS = 16_384
"""Characters of a call or a result that are kept: `$PAGER` shows all that was read."""
MAX_RENDERED = 20_000
"""Characters of an answer up to which its Markdown is rendered."""
MAX_DRAWN = 60_000
"""Characters of one message that are drawn."""

Line = tuple[Segment, ...]


class HeadLine(NamedTuple):
    """A line above the messages: a memory that the session wrote, or a subagent."""

    sign: str
    words: str
    note: str = ""
    ref: str = ""
    """Of a memory."""
    session: str = ""
    """Id of a subagent's session."""
    offset: int = -1
    """Of the message that wrote the memory; -1 for none."""


class Entry:
    """One message; of a call with what the tool answered."""

    __slots__ = ("day", "has_gap", "message", "result")

    def __init__(self, message: Message, *, day: str, has_gap: bool) -> None:
        self.message = message
        self.result: Message | None = None
        self.day = day
        """The date, where the message before it is of another day."""
        self.has_gap = has_gap
        """A blank line stands before it."""

    @property
    def is_tool(self) -> bool:
        """Whether it can be folded."""
        return self.message.kind in (Kind.CALL, Kind.RESULT)

    @property
    def shown_text(self) -> str:
        """All its text, as it is shown when it is unfolded."""
        result = f"\n{self.result.text}" if self.result is not None else ""
        return text.visible(f"{self.message.text}{result}")


class Transcript:
    """The messages of a session in their order, results joined to their calls."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._calls: dict[str, Entry] = {}
        self._day = ""

    def add(self, messages: Iterable[Message]) -> None:
        """Add messages that follow the others."""
        for message in messages:
            call = message.call
            if message.kind is Kind.RESULT and call is not None and call.id in self._calls:
                self._calls.pop(call.id).result = _shortened(message)
                continue
            day = text.date(message.time)[:10] if message.time else ""
            before = self.entries[-1] if self.entries else None
            entry = Entry(
                _shortened(message),
                day=day if day != self._day else "",
                has_gap=before is not None
                and not (before.is_tool and message.kind in (Kind.CALL, Kind.RESULT)),
            )
            self._day = day or self._day
            self.entries.append(entry)
            if message.kind is Kind.CALL and call is not None and call.id:
                self._calls[call.id] = entry

    def find(self, offset: int, words: str = "") -> int:
        """The number of the message at this offset, of several the one with this text; -1 for
        none."""
        found = -1
        for number, entry in enumerate(self.entries):
            for message in filter(None, (entry.message, entry.result)):
                if message.place.offset != offset:
                    continue
                if words[:TOOL_CHARS] == message.text[:TOOL_CHARS]:
                    return number
                found = number if found < 0 else found
        return found

    def step_person(self, at: int, step: int) -> int:
        """The next (1) or previous (-1) message of a person; -1 where there is none."""
        numbers = range(at + step, len(self.entries) if step > 0 else -1, step)
        return next((n for n in numbers if self.entries[n].message.is_from_person), -1)


def _shortened(message: Message) -> Message:
    if message.kind is Kind.TEXT or len(message.text) <= TOOL_CHARS:
        return message
    from msgspec.structs import replace

    call = replace(message.call, arguments={}) if message.call is not None else None
    return replace(message, text=message.text[:TOOL_CHARS], is_cut=True, call=call)


class TranscriptLines:
    """Lays out the messages for a width. Block 0 is the head, block n the entry n - 1."""

    def __init__(
        self,
        transcript: Transcript,
        head: Sequence[HeadLine],
        agent: str,
        palette: Palette,
        columns: int,
    ) -> None:
        """`agent`: the name of the program, for its answers."""
        self._transcript, self._head, self._agent = transcript, head, agent
        self._palette, self._columns = palette, max(20, columns)
        self.words: tuple[str, ...] = ()
        """They are highlighted."""
        self.all_unfolded = False
        self._toggled: set[int] = set()
        self._drawn: dict[int, list[Line]] = {}
        self._heights: list[int] = [len(head) + bool(head)]
        self._starts: list[int] | None = None
        if head:
            self._drawn[0] = self._draw_head()
        self.follow()

    @property
    def has_gutter(self) -> bool:
        """Whether time and role stand beside the text."""
        return self._columns >= GUTTER_FROM

    @property
    def _room(self) -> int:
        indent = GUTTER if self.has_gutter else INDENT
        return max(12, min(WIDEST, self._columns - indent - 1))

    # Places

    def follow(self) -> None:
        """Take in the entries that were added to the transcript."""
        entries = self._transcript.entries
        for number in range(len(self._heights) - 1, len(entries)):
            self._heights.append(self._estimate(entries[number], number + 1))
            self._starts = None

    @property
    def starts(self) -> list[int]:
        """The first line of each block, and the number of all lines."""
        if self._starts is None:
            self._starts = [0, *accumulate(self._heights)]
        return self._starts

    def __len__(self) -> int:
        return self.starts[-1]

    def place_of(self, line: int) -> tuple[int, int]:
        """The block of a line, and its number in the block."""
        starts = self.starts
        block = min(bisect_right(starts, max(0, line)) - 1, len(self._heights) - 1)
        return block, line - starts[block]

    def line_at(self, place: tuple[int, int]) -> int:
        """The line at a place that `place_of` gave before blocks were laid out."""
        block = min(place[0], len(self._heights) - 1)
        return self.starts[block] + max(0, min(place[1], self._heights[block] - 1))

    def body_of(self, block: int) -> int:
        """The first line of a block that is no blank and no date."""
        self.lay_out(block)
        lead = self._lead(self._transcript.entries[block - 1], block) if block else 0
        return self.starts[block] + lead

    def line(self, index: int) -> Line:
        """The line with this number; lays out its block."""
        block, offset = self.place_of(index)
        lines = self._lines_of(block)
        return lines[offset] if offset < len(lines) else ()

    def lay_out_around(self, block: int, rows: int) -> bool:
        """Lay out so many rows before and behind a block; whether any height changed."""
        changed = False
        for step in (1, -1):
            left, at = rows, block
            while left > 0 and 0 <= at < len(self._heights):
                changed |= self.lay_out(at)
                left -= self._heights[at]
                at += step
        return changed

    def lay_out(self, block: int) -> bool:
        """Lay out one block; whether its height was another."""
        height = len(self._lines_of(block))
        if height == self._heights[block]:
            return False
        self._heights[block], self._starts = height, None
        return True

    # Folding

    def is_unfolded(self, block: int) -> bool:
        """Whether the whole text of a tool is shown."""
        return self.all_unfolded != (block in self._toggled)

    def toggle(self, block: int) -> None:
        """Unfold the tool of a block, or fold it."""
        self._toggled ^= {block}
        self._drawn.pop(block, None)
        self.lay_out(block)

    def toggle_all(self) -> None:
        """Unfold all tools, or fold them."""
        self.all_unfolded, self._toggled = not self.all_unfolded, set()
        self.forget_drawn()
        for block in range(1, len(self._heights)):
            entry = self._transcript.entries[block - 1]
            if entry.is_tool:
                self._heights[block] = self._estimate(entry, block)
        self._starts = None

    def highlight(self, words: tuple[str, ...]) -> None:
        """Highlight these words from now on."""
        if words != self.words:
            self.words = words
            self.forget_drawn()

    def forget_drawn(self) -> None:
        """Draw every block again when it is needed."""
        self._drawn = {0: self._drawn[0]} if 0 in self._drawn else {}

    def find_highlight(self, block: int, after: int, step: int) -> int:
        """The next (1) or previous (-1) line of a block with a highlighted word; -1 for none."""
        lines = self._lines_of(block)
        order = (
            range(after + 1, len(lines)) if step > 0 else range(min(after, len(lines)) - 1, -1, -1)
        )
        for number in order:
            if text.highlights("".join(each.text for each in lines[number]), self.words):
                return number
        return -1

    # Drawing

    def _lines_of(self, block: int) -> list[Line]:
        lines = self._drawn.get(block)
        if lines is None:
            lines = self._draw_head() if not block else self._draw(block)
            self._drawn[block] = lines
        return lines

    def _lead(self, entry: Entry, block: int) -> int:
        """Lines before the text of an entry: a blank, a date and a blank."""
        return 2 * bool(entry.day) + (entry.has_gap or (bool(entry.day) and block > 1))

    def _estimate(self, entry: Entry, block: int) -> int:
        body = 1
        if not entry.is_tool or self.is_unfolded(block):
            content = entry.message.text[:MAX_DRAWN]
            body = 1 + content.count("\n") + len(content) // self._room
        return self._lead(entry, block) + body + (not self.has_gutter and not entry.is_tool)

    def _draw_head(self) -> list[Line]:
        palette, width = self._palette, self._columns
        lines: list[Line] = []
        for each in self._head:
            note = f"  {each.note}" if each.note else ""
            room = max(8, width - 4 - text.width(note))
            words = text.cut_line(each.words, room)
            gap = " " * (room - text.width(words))
            lines.append(
                (
                    Segment(f" {each.sign} ", palette.accent),
                    Segment(words, palette.link if each.ref else palette.text),
                    Segment(gap + note, palette.faint),
                )
            )
        return [*lines, ()] if lines else []

    def _draw(self, block: int) -> list[Line]:
        entry = self._transcript.entries[block - 1]
        palette = self._palette
        lines: list[Line] = [()] if entry.has_gap or (entry.day and block > 1) else []
        if entry.day:
            rule = "─" * max(0, min(self._columns, self._room + GUTTER) - text.width(entry.day) - 5)
            lines += [(Segment(f" ── {entry.day} {rule}", palette.rule),), ()]
        return lines + (self._draw_tool(entry, block) if entry.is_tool else self._draw_text(entry))

    def _gutter(self, message: Message, who: str, style: Style) -> list[Segment]:
        when = text.date(message.time)[11:] if message.time else ""
        if not self.has_gutter:
            return [Segment(f" {who}", style), Segment(f"  {when}", self._palette.faint)]
        return [
            Segment(f" {when:<6}", self._palette.faint),
            Segment(text.column(who, GUTTER - 8), style),
            Segment(" "),
        ]

    def _draw_text(self, entry: Entry) -> list[Line]:
        message, palette = entry.message, self._palette
        who, style, base = self._agent, palette.dim, palette.text
        if message.kind is Kind.SUMMARY:
            who, style, base = "summary", palette.faint, palette.dim
        elif message.is_from_person:
            who, style = "you", palette.accent + Style(bold=True)
        elif message.role is Role.USER:
            who, style = "agent above", palette.faint
        gutter = self._gutter(message, who, style)
        body = self._body(message, base)
        if not self.has_gutter:
            return [tuple(gutter), *((Segment(" " * INDENT), *line) for line in body)]
        return [(*gutter, *body[0]), *((Segment(" " * GUTTER), *line) for line in body[1:])]

    def _body(self, message: Message, base: Style) -> list[list[Segment]]:
        content = message.text.strip("\n")[:MAX_DRAWN]
        if message.role is Role.ASSISTANT and len(content) <= MAX_RENDERED and is_markdown(content):
            from memtui.tui.markdown_lines import MarkdownRenderer  # takes 0.1 s

            renderer = MarkdownRenderer(
                self._palette,
                self._room,
                base=base,
                words=self.words,
                definitions=link_definitions(content),
            )
            lines = [list(line) for line in renderer.lines(content)]
        else:
            lines = self._plain(content, base)
        if message.is_cut or len(message.text) > MAX_DRAWN:
            lines.append([Segment("… cut", self._palette.faint)])
        return lines or [[]]

    def _plain(self, content: str, style: Style, room: int = 0) -> list[list[Segment]]:
        return [
            marked_segments(line, self.words, style, self._palette.match)
            for line in text.wrap(text.visible(content), room or self._room)
        ]

    def _draw_tool(self, entry: Entry, block: int) -> list[Line]:
        palette, message = self._palette, entry.message
        is_open = self.is_unfolded(block)
        name = text.one_line(message.call.name) if message.call and message.call.name else "result"
        lead = f"{' ' * (GUTTER if self.has_gutter else 1)}{'▾' if is_open else '▸'} "
        count = ""
        if entry.result is not None and (answer := entry.result.text.strip("\n")):
            count = f"  {text.counted(answer.count(chr(10)) + 1, 'line')}"
        wide = min(self._columns, WIDEST + GUTTER)
        name = text.cut(name, max(6, wide // 3))
        room = max(0, wide - text.width(lead) - text.width(name) - text.width(count) - 3)
        first = _first_line(message, room) if room > 4 else ""
        head: list[Segment] = [
            Segment(lead, palette.faint),
            Segment(name, palette.heading),
            Segment("  "),
            *marked_segments(first, self.words, palette.dim, palette.match),
            Segment(count if room else "", palette.faint),
        ]
        if not is_open:
            return [tuple(head)]
        head = [*head[:2], Segment(count, palette.faint)]
        lines: list[Line] = [tuple(head)]
        indent = " " * ((GUTTER if self.has_gutter else 1) + 2)
        width = max(12, wide - len(indent) - 3)
        bar = Segment(f"{indent}│ ", palette.rule)
        for part, style in ((message, palette.dim), (entry.result, palette.text)):
            content = part.text.strip("\n")[:MAX_DRAWN] if part is not None else ""
            if not content:
                continue
            if part is entry.result:
                lines.append((Segment(f"{indent}├ answer", palette.rule),))
            lines += [(bar, *line) for line in self._plain(content, style, width)]
            if part is not None and part.is_cut:
                lines.append((bar, Segment("… cut", palette.faint)))
        return lines


def _first_line(message: Message, room: int) -> str:
    """The first line of a call; a path from the working folder, and cut at its beginning."""
    line, *_ = message.text.strip().split("\n", 1)
    if message.cwd:
        line = line.replace(f"{message.cwd.rstrip('/')}/", "")
    shown = text.one_line(line, 4 * room)
    if " " not in shown and "/" in shown and text.width(shown) > room:
        return "…" + text.cut(shown[::-1], room - 1).rstrip("…")[::-1].lstrip("…")
    return text.cut(shown, room)
