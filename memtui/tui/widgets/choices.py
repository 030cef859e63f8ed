"""A list of choices, each with glyph, label, note and count; one or several can be selected."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from memtui import text
from memtui.dataclass import dataclass, replace
from memtui.tui.widgets.list_window import EntryList

NAMES_MOST = 16
"""Columns of the longest label up to which the notes stand below each other."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of the list."""

    value: str
    words: str
    count: int | None = None
    chosen: bool = False
    note: str = ""
    sign: str = ""
    tail: str = ""
    """Shown at the right instead of a count: a key."""
    field: str = ""
    """The filter field whose colours its glyph takes."""


class ChoiceList(EntryList):
    """Checkboxes if several may be chosen, plain lines otherwise."""

    class Accepted(Message):
        """A line was clicked."""

    def __init__(self, choices: Sequence[Choice], *, several: bool) -> None:
        super().__init__()
        self._all = list(choices)
        self._column = _label_column(self._all)
        self._several = several
        self.began_selected = any(choice.chosen for choice in choices)
        """Some choice was selected at first, so that none selected now means none is wanted."""
        self.shown = list(choices)
        self.cursor = next((i for i, choice in enumerate(choices) if choice.chosen), 0)

    def narrow(self, words: str) -> None:
        """Show only the choices that contain all these words."""
        parts = text.fold(words).split()
        self.shown = [
            choice
            for choice in self._all
            if all(part in text.fold(f"{choice.words} {choice.note}") for part in parts)
        ]
        self.reset()
        self.refresh(layout=True)

    def toggle(self) -> None:
        """Select or deselect the choice under the cursor."""
        if self.shown:
            now = self.shown[self.cursor]
            self._replace(now, replace(now, chosen=not now.chosen))

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of choices, by value."""
        for choice in list(self._all):
            if choice.value in counts:
                self._replace(choice, replace(choice, count=counts[choice.value]))

    def _replace(self, old: Choice, new: Choice) -> None:
        self._all = [new if choice == old else choice for choice in self._all]
        self._column = _label_column(self._all)
        self.shown = [new if choice == old else choice for choice in self.shown]
        self.redraw()

    @property
    def selected(self) -> tuple[str, ...]:
        return tuple(choice.value for choice in self._all if choice.chosen)

    @property
    def current(self) -> Choice | None:
        return self.shown[self.cursor] if self.cursor < len(self.shown) else None

    @property
    def widest(self) -> int:
        """Columns in which every choice can be read whole."""
        return max((self._needed(choice) for choice in self._all), default=0)

    def cut_choice(self, width: int) -> str:
        """The whole of the choice under the cursor where a line of `width` cannot show all."""
        choice = self.current
        if choice is None or self._needed(choice) < width:
            return ""
        note = f"  {text.one_line(choice.note)}" if choice.note else ""
        return text.one_line(choice.words) + note

    def _needed(self, choice: Choice) -> int:
        count = choice.tail if choice.count is None else text.number(choice.count)
        note = text.width(text.one_line(choice.note)) + 2 if choice.note else 0
        used = (5 if self._several else 3) + (2 if choice.sign else 0)
        words = text.width(text.one_line(choice.words))
        words = max(words, self._column) if note else words
        return used + words + note + text.width(count) + 2

    def line_count(self) -> int:
        return len(self.shown)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self.shown))

    def draw_key(self, index: int) -> Hashable:
        return self.shown[index]

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if self._several and not double:
            self.toggle()
        else:
            self.post_message(self.Accepted())

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        choice, palette = self.shown[index], self.palette
        ground = palette.cursor(focused=True) if selected else Style.null()
        segments = [Segment("▌" if selected else " ", palette.accent + ground)]
        if self._several:
            box = "[✓] " if choice.chosen else "[ ] "
            segments.append(
                Segment(box, (palette.chosen if choice.chosen else palette.faint) + ground)
            )
        else:
            box = "✓ " if choice.chosen else "  "
            segments.append(Segment(box, palette.chosen + ground))
        if choice.sign:
            sign = palette.glyph(choice.field, choice.value) if choice.field else palette.accent
            segments.append(Segment(choice.sign + " ", sign + ground))
        used = sum(text.width(segment.text) for segment in segments)
        count = choice.tail if choice.count is None else text.number(choice.count)
        room = max(1, width - used - text.width(count) - 2)
        words = text.cut(text.one_line(choice.words), room)
        if choice.note and 0 < self._column < room:
            words = text.pad(words, self._column)
        empty = choice.count == 0 and not choice.chosen
        segments.append(Segment(words, (palette.faint if empty else palette.text) + ground))
        left = room - text.width(words)
        if choice.note and left > 6:
            note = text.cut("  " + text.one_line(choice.note), left)
            segments.append(Segment(note, palette.faint + ground))
            left -= text.width(note)
        segments.append(Segment(" " * (left + 1), ground))
        ink = palette.key if choice.tail else palette.dim
        segments.append(Segment(count + " ", ink + ground))
        return Strip(segments)

    def draw_empty(self, y: int, width: int) -> Strip:
        words = text.cut(" no matches", width)
        return Strip([Segment(words, self.palette.faint)] if y == 0 else [])


def _label_column(choices: Sequence[Choice]) -> int:
    """Columns of the labels, so that the notes stand below each other; 0 where one is long."""
    widest = max((text.width(text.one_line(each.words)) for each in choices), default=0)
    return widest if widest <= NAMES_MOST else 0
