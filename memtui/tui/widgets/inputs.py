"""Form inputs: a text, a line, a choice, a list of choices with notes and counts.

Texts may hold any character a store holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.suggester import SuggestFromList
from textual.widgets import Input, TextArea

from memtui import text
from memtui.tui.output import InputSanitizer
from memtui.tui.view_state import Choice
from memtui.tui.widgets.line_api import FocusableWidget
from memtui.tui.widgets.text_window import RowList


class TextInput(TextArea):
    """A text of several lines; tab moves to the next field."""

    ALLOW_SELECT = False
    BINDINGS = [
        ("ctrl+home", "go_to_end(False)"),
        ("ctrl+end", "go_to_end(True)"),
        ("ctrl+shift+home", "go_to_end(False, True)"),
        ("ctrl+shift+end", "go_to_end(True, True)"),
    ]

    def __init__(self, raw: str, *, name: str) -> None:
        self._sanitizer = InputSanitizer()
        super().__init__(
            self._sanitizer.encode(raw),
            name=name,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
        )

    @property
    def raw(self) -> str:
        """The text to save."""
        return self._sanitizer.decode(self.text)

    def set_raw(self, raw: str) -> None:
        """Replace the text."""
        self._sanitizer = InputSanitizer()
        self.text = self._sanitizer.encode(raw)

    def action_go_to_end(self, last: bool, select: bool = False) -> None:
        """Go to the end of the text, or to its beginning."""
        self.move_cursor(self.document.end if last else (0, 0), select=select)

    def _rewrap_and_refresh_virtual_size(self) -> None:
        # Textual draws anew only if the number of lines has changed, not if their words have.
        super()._rewrap_and_refresh_virtual_size()
        self.refresh()

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        # Textual's undo calls it before the cursor is back inside the text, which ends the app.
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return "page" not in action or self.max_scroll_y > 0  # else the dialog takes page keys

    def get_line(self, line_index: int) -> Text:
        encoded = self.document.get_line(line_index)
        return Text(self._sanitizer.display(encoded), end="", no_wrap=True)


class LineInput(Input):
    """One line, with suggestions from known values while typing."""

    def __init__(
        self, raw: str, *, name: str, known: Iterable[str] = (), placeholder: str = ""
    ) -> None:
        self._sanitizer = InputSanitizer(lines=False)
        fit = [value for value in known if value and not text.has_hidden(value)]
        super().__init__(
            self._sanitizer.encode(raw),
            name=name,
            placeholder=placeholder,
            compact=True,
            select_on_focus=False,
            suggester=SuggestFromList(fit, case_sensitive=False) if fit else None,
        )

    @property
    def raw(self) -> str:
        return self._sanitizer.decode(self.value)

    @property
    def _value(self) -> Text:
        return Text(self._sanitizer.display(self.value), no_wrap=True, overflow="ignore", end="")


class FilterInput(Input):
    """A search line above a list; its up and down keys move in the list."""

    BINDINGS = [
        ("down", "screen.move('move.down')"),
        ("up", "screen.move('move.up')"),
        ("pagedown", "screen.move('move.page_down')"),
        ("pageup", "screen.move('move.page_up')"),
    ]


class ChoiceInput(FocusableWidget):
    """A few values side by side, chosen with left and right."""

    BINDINGS = [
        Binding("left,h", "step(-1)", "choose", key_display="←→"),
        Binding("right,l,space", "step(1)", show=False),
    ]

    class Changed(Message):
        """Another value was chosen."""

    def __init__(
        self,
        values: Sequence[str],
        chosen: str,
        *,
        name: str,
        shown: Callable[[str], str] = str,
    ) -> None:
        """`shown`: how a value is written."""
        super().__init__(name=name)
        self._values, self._shown = list(values), shown
        if chosen not in self._values:
            self._values.insert(0, chosen)
        self._spans: list[tuple[int, int, str]] = []
        self.raw = chosen

    def offer(self, values: Sequence[str]) -> None:
        """Offer other values; the chosen one stays if it is among them, else it is the first."""
        self._values = list(values)
        if self.raw not in self._values:
            self.raw = self._values[0]
        self.refresh()

    def action_step(self, step: int) -> None:
        at = self._values.index(self.raw) + step
        self._choose(self._values[at % len(self._values)])

    def _choose(self, value: str) -> None:
        if value != self.raw:
            self.raw = value
            self.refresh()
            self.post_message(self.Changed())

    def on_key(self, event: events.Key) -> None:
        """Choose a value of one character, such as a rating, by typing it."""
        if event.character in self._values:
            event.stop()
            self._choose(event.character or "")

    def on_click(self, event: events.Click) -> None:
        for start, end, value in self._spans:
            if start <= event.x < end:
                self._choose(value)

    def _words(self, value: str) -> str:
        return text.one_line(self._shown(value)) or "none"

    def _first(self) -> int:
        """Index of the first drawn value, so that the chosen one is visible."""
        cells = [text.width(self._words(value)) + 4 for value in self._values]
        chosen, first = self._values.index(self.raw), 0
        while first < chosen and sum(cells[first : chosen + 1]) + 2 > self.size.width:
            first += 1
        return first

    def render_line(self, y: int) -> Strip:
        palette = self.palette
        first = self._first()
        more, last = first > 0, self._values[-1]
        segments = [Segment("‹", palette.dim)] if more else []
        self._spans, used = [], int(more)
        for value in self._values[first:]:
            chosen = value == self.raw
            words = f" {'●' if chosen else '○'} {self._words(value)} "
            if self._spans and used + text.width(words) > self.size.width - (value != last):
                segments.append(Segment("›", palette.dim))
                break
            style = palette.text if chosen else palette.dim
            if chosen and self.has_focus:
                style = palette.cursor_text + palette.cursor(focused=True)
            segments.append(Segment(words, style))
            self._spans.append((used, used + text.width(words), value))
            used += text.width(words)
        strip = Strip(segments).adjust_cell_length(self.size.width)
        return strip.apply_style(self.ground)


MAX_LABEL_CELLS = 16
"""Columns of the longest label up to which the notes stand below each other."""


class ChoiceList(RowList[Choice]):
    """Checkboxes if several may be chosen, plain lines otherwise."""

    class Accepted(Message):
        """A line was clicked."""

    def __init__(self, choices: Sequence[Choice], *, several: bool) -> None:
        super().__init__(choices)
        self._all = list(choices)
        self._column = _label_column(self._all)
        self._several = several
        self.began_selected = any(choice.chosen for choice in choices)
        """Some choice was selected at first, so that none selected now means none is wanted."""
        self.cursor = next((i for i, choice in enumerate(choices) if choice.chosen), 0)

    def narrow(self, words: str) -> None:
        """Show only the choices that contain all these words, those that begin so first."""
        start = text.fold(words).strip()
        known = [(each, text.fold(f"{each.words} {each.note}")) for each in self._all]
        parts = start.split()
        found = [pair for pair in known if all(part in pair[1] for part in parts)]
        if start:
            found.sort(key=lambda pair: (not pair[1].startswith(start), start not in pair[1]))
        self.show_rows([choice for choice, _ in found])

    def toggle(self) -> None:
        """Select or deselect the choice under the cursor."""
        if (now := self.current) is not None:
            self._replace(now, now._replace(chosen=not now.chosen))

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of choices, by value."""
        for choice in list(self._all):
            if choice.value in counts:
                self._replace(choice, choice._replace(number=counts[choice.value]))

    def _replace(self, old: Choice, new: Choice) -> None:
        self._all = [new if choice == old else choice for choice in self._all]
        self._column = _label_column(self._all)
        self.rows = [new if choice == old else choice for choice in self.rows]
        self.redraw()

    @property
    def selected(self) -> tuple[str, ...]:
        return tuple(choice.value for choice in self._all if choice.chosen)

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
        count = choice.tail if choice.number is None else text.number(choice.number)
        note = text.width(text.one_line(choice.note)) + 2 if choice.note else 0
        used = (5 if self._several else 3) + (2 if choice.sign else 0)
        words = text.width(text.one_line(choice.words))
        words = max(words, self._column) if note else words
        return used + words + note + text.width(count) + 2

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if self._several and not double:
            self.toggle()
        else:
            self.post_message(self.Accepted())

    def draw_row(self, row: Choice, width: int) -> Sequence[tuple[str, Style]]:
        palette, pieces = self.palette, []
        if self._several:
            pieces.append(("[✓] ", palette.chosen) if row.chosen else ("[ ] ", palette.faint))
        else:
            pieces.append(("✓ ", palette.chosen) if row.chosen else ("  ", palette.text))
        if row.sign:
            sign = palette.glyph(row.field, row.value) if row.field else palette.accent
            pieces.append((row.sign + " ", sign))
        used = 1 + sum(text.width(words) for words, _ in pieces)
        count = row.tail if row.number is None else text.number(row.number)
        room = max(1, width - used - text.width(count) - 2)
        words = text.cut_line(row.words, room)
        if row.note and 0 < self._column < room:
            words = text.pad(words, self._column)
        is_empty = row.number == 0 and not row.chosen
        left = room - text.width(words)
        note = text.cut("  " + text.one_line(row.note), left) if row.note and left > 6 else ""
        gap = " " * (left - text.width(note) + 1)
        return [
            *pieces,
            (words, palette.faint if is_empty else palette.text),
            (note + gap, palette.faint),
            (count + " ", palette.key if row.tail else palette.dim),
        ]


def _label_column(choices: Sequence[Choice]) -> int:
    """Columns of the labels, so that the notes stand below each other; 0 where one is long."""
    widest = max((text.width(text.one_line(each.words)) for each in choices), default=0)
    return widest if widest <= MAX_LABEL_CELLS else 0
