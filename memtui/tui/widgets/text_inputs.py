"""Form inputs: a text, a line, a choice; texts may hold any character a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.suggester import SuggestFromList
from textual.widgets import Input, TextArea

from memtui import text
from memtui.tui.sanitizing import InputSanitizer
from memtui.tui.widgets.themed_widget import ThemedWidget

if TYPE_CHECKING:
    from textual.binding import BindingType


class TextInput(TextArea):
    """A text of several lines; tab moves to the next field."""

    ALLOW_SELECT = False

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


class ChoiceInput(ThemedWidget, can_focus=True):
    """A few values side by side, chosen with left and right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", show=False),
        Binding("right,l,space", "step(1)", show=False),
    ]

    class Changed(Message):
        """Another value was chosen."""

    def __init__(self, values: Sequence[str], chosen: str, *, name: str) -> None:
        super().__init__(name=name)
        self._values = list(values)
        if chosen not in self._values:
            self._values.insert(0, chosen)
        self._spans: list[tuple[int, int, str]] = []
        self.raw = chosen

    def action_step(self, step: int) -> None:
        at = self._values.index(self.raw) + step
        self._choose(self._values[at % len(self._values)])

    def _choose(self, value: str) -> None:
        if value != self.raw:
            self.raw = value
            self.refresh()
            self.post_message(self.Changed())

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        for start, end, value in self._spans:
            if start <= event.x < end:
                self._choose(value)

    def _first(self) -> int:
        """Index of the first drawn value, so that the chosen one is visible."""
        cells = [text.width(text.one_line(value) or "none") + 4 for value in self._values]
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
            words = f" {'●' if chosen else '○'} {text.one_line(value) or 'none'} "
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
