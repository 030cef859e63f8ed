"""One-line widgets: the filter chips with hint and counts, the footer of keys, a progress bar."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from memtui import text
from memtui.tui.messages import ChipRemoved
from memtui.tui.view_state import Chip
from memtui.tui.widgets.line_api import ThemedWidget

CHIP_MAX = 34
MIN_FILTER_CELLS = 12
"""Columns that filters and hint keep before the news are shortened."""
MIN_HINT_CELLS = 16
"""Columns below which a hint beside chips would say nothing."""


class ClickableLine(ThemedWidget):
    """A line of pieces, some of which can be clicked; a subclass puts them."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._segments: list[Segment] = []
        self._used = 0
        """Cells of the segments."""
        self._spans: list[tuple[int, int, str]] = []

    def render_line(self, y: int) -> Strip:
        self._segments, self._used, self._spans = [Segment(" ")], 1, []
        self.put_pieces(self.size.width)
        strip = Strip(self._segments).adjust_cell_length(self.size.width)
        return strip.apply_style(self.ground)

    @abstractmethod
    def put_pieces(self, width: int) -> None:
        """Put the pieces of a line of this width."""

    def put(self, words: str, style: Style | None = None, key: str = "") -> None:
        """Add a piece; a click on it calls `piece_clicked` if it has a key."""
        end = self._used + text.width(words)
        self._segments.append(Segment(words, style))
        self._spans += [(self._used, end, key)] if key else []
        self._used = end

    async def on_click(self, event: events.Click) -> None:
        key = next((key for start, end, key in self._spans if start <= event.x < end), None)
        if key is not None:
            await self.app.key_queue.wait_for_release()  # as a key does
            await self.piece_clicked(key)

    async def piece_clicked(self, key: str) -> None:
        await self.run_action(f"screen.act('{key}')")


class News(NamedTuple):
    """A piece of the status line, whose key, or a click on it, opens what it counts."""

    action_id: str
    words: str
    more: str = ""
    """Behind the words, where there is room."""
    is_alert: bool = False


class ChipLine(ClickableLine):
    """What a person came for, then filter chips and a hint at the left; counts at the right."""

    def __init__(self) -> None:
        super().__init__(id="chips")
        self._chips: Sequence[Chip] = ()
        self._quiet = ""
        self._hint = ""
        self._right = ""
        self._news: Sequence[News] = ()
        self._order = ""

    def show(
        self,
        chips: Sequence[Chip],
        quiet: str,
        hint: str,
        right: str,
        order: str = "",
    ) -> None:
        """Show the line: `quiet` where there are no chips, a highlighted `hint` and the `order`
        behind them, counts at the `right`."""
        self._chips, self._quiet, self._hint, self._right = chips, quiet, hint, right
        self._order = order
        self.refresh()

    def show_news(self, news: Sequence[News]) -> None:
        """Show these pieces at the beginning of the line."""
        if news != self._news:
            self._news = news
            self.refresh()

    def put_pieces(self, width: int) -> None:
        palette = self.palette
        right = text.cut(self._right, width * 2 // 3)
        start = width - text.width(right) - 1
        room = start - 2
        self._put_news(room)
        for number, chip in enumerate(self._chips):
            label, value, close = _chip_words(chip)
            if not number:
                value = text.cut(value, max(1, room - self._used - text.width(label + close)))
            if self._used + text.width(label + value + close) > room:
                self.put("…", palette.dim)
                break
            self.put(label, palette.chip_label, chip.key)
            self.put(value, palette.chip, chip.key)
            self.put(close, palette.chip_label, chip.key)
            self.put(" ")
        note, style = (self._hint, palette.warning)
        if not note and not self._chips:
            note, style = self._quiet, palette.faint
        if self._chips and self._order:
            order = self._order + (" · " if note else " ")
            if self._used + text.width(order) <= room:
                self.put(order, palette.faint)
        room -= self._used
        self.put(_fitting_note(text.one_line(note), max(0, room), whole=not self._chips), style)
        self.put(" " * (start - self._used))
        self.put(right, palette.dim)

    def _put_news(self, room: int) -> None:
        """Put as many of the news as leave room for the filters, each action's behind its key."""
        filters = " ".join("".join(_chip_words(chip)) for chip in self._chips)
        least = max(MIN_FILTER_CELLS, text.width(filters) + 1) if self._chips else 0
        if not self._chips:  # what the filters hide matters more than what could be reviewed
            least = text.width(text.one_line(self._hint).partition(" · ")[0])
        palette, news = self.palette, list(self._news)
        if self._news_width(news) > room - least:
            news = [each._replace(more="") for each in news]
        while news and self._news_width(news) > room - least:
            news.pop()
        before = ""
        for each in news:
            if each.action_id != before:
                self.put("  " if before else "")
                self.put(
                    f"{self.app.key_of(each.action_id)} ".lstrip(), palette.key, each.action_id
                )
            else:
                self.put(" · ", palette.faint)
            style = palette.badge if each.is_alert else palette.text
            self.put(each.words + each.more, style, each.action_id)
            before = each.action_id
        self.put("   " if news else "")

    def _news_width(self, news: Sequence[News]) -> int:
        keys = {each.action_id: self.app.key_of(each.action_id) for each in news}
        words = sum(text.width(each.words + each.more) + 3 for each in news)
        return words + sum(text.width(key) + 1 for key in keys.values())

    async def piece_clicked(self, key: str) -> None:
        if any(key == each.action_id for each in self._news):
            await super().piece_clicked(key)
        else:
            self.post_message(ChipRemoved(key))


def _chip_words(chip: Chip) -> tuple[str, str, str]:
    """Label, value and cross of a chip."""
    label = f" {chip.label} " if chip.label else " "
    return label, text.cut_line(chip.value, CHIP_MAX), " × " if chip.key else " "


def _fitting_note(note: str, room: int, *, whole: bool) -> str:
    """As many of a note's parts as fit; of the first at least its beginning.

    `whole`: the note has the line for itself, however short that is.
    """
    while text.width(note) > room and " · " in note:
        note = note.rpartition(" · ")[0]
    if text.width(note) > room < MIN_HINT_CELLS and not whole:
        return ""
    return text.cut(note, room)


class Banner(ThemedWidget):
    """A prominent line across the screen, hidden while it is empty."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self.display = False
        self._words: Sequence[str] = ()

    def show(self, words: Sequence[str]) -> bool:
        """Show as many of these parts as fit; none hides the line. Return whether it appears or
        goes."""
        is_other = self.display != bool(words)
        if is_other or words != self._words:
            self._words = words
            self.display = bool(words)
            self.refresh()
        return is_other

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        words = list(self._words)
        while len(words) > 1 and text.width(" · ".join(words)) > width - 2:
            words.pop(1 if len(words) > 2 else -1)  # what and the way back stay longest
        message = text.cut(" · ".join(words), max(1, width - 2))
        space = max(0, width - text.width(message))
        line = f"{' ' * (space // 2)}{message}{' ' * (space - space // 2)}"
        return Strip([Segment(line, self.palette.badge + Style(bold=True))])


class KeyLine(ClickableLine):
    """Footer: as many keys with their labels as fit; a click runs the action."""

    def __init__(self, *, id: str = "keys") -> None:
        super().__init__(id=id)
        self._keys: Sequence[tuple[str, str, str]] = ()
        self._always: Sequence[tuple[str, str, str]] = ()

    def show(
        self,
        keys: Sequence[tuple[str, str, str]],
        always: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """Triples of key, label and action id; `always` are at the right and always shown."""
        if (keys, always) != (self._keys, self._always):
            self._keys, self._always = keys, always
            self.refresh()

    def put_pieces(self, width: int) -> None:
        tail = sum(len(key) + len(word) + 3 for key, word, _ in self._always)
        most = width + 2  # the gap after the last key may be cut
        for key, word, action_id in self._keys:
            if self._used + text.width(key) + text.width(word) + 3 + tail > most:
                break
            self._put_key(key, word, action_id)
        if tail and self._used + tail <= most:
            self.put(" " * (width - self._used - tail))
            for key, word, action_id in self._always:
                self._put_key(key, word, action_id)

    def _put_key(self, key: str, word: str, action_id: str) -> None:
        self.put(key, self.palette.key, action_id)
        self.put(f" {word}", self.palette.dim, action_id)
        self.put("  ")


class ProgressLine(ThemedWidget):
    """A progress bar on one line, empty while there is no work."""

    def __init__(self) -> None:
        super().__init__()
        self._what, self._done, self._total = "", 0, 0

    def show(self, what: str, done: int = 0, total: int = 0) -> None:
        if (what, done, total) != (self._what, self._done, self._total):
            self._what, self._done, self._total = what, done, total
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if not self._what:
            return Strip.blank(width, self.ground)
        share = f"{self._done * 100 // self._total:>3} %" if self._total else "  …  "
        words = text.cut_line(self._what, max(8, width // 3))
        room = max(4, width - text.width(words) - text.width(share) - 4)
        full = room * self._done // self._total if self._total else 0
        segments = [
            Segment(f" {words} ", self.palette.text),
            Segment("━" * full, self.palette.bar),
            Segment("─" * (room - full), self.palette.rule),
            Segment(f" {share} ", self.palette.dim),
        ]
        return Strip(segments).adjust_cell_length(width).apply_style(self.ground)
