"""Base classes of dialogs: in a box, with text to read, on the whole screen; lists in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult, RenderResult
from textual.await_complete import AwaitComplete
from textual.color import Color
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.css.styles import RulesMap
from textual.events import DescendantFocus
from textual.geometry import Size
from textual.message_pump import Callback
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.visual import RenderOptions, Visual
from textual.widget import Widget
from textual.widgets import Static

from memtui import text
from memtui.tui.app_interface import AppInterface
from memtui.tui.appearance import Palette
from memtui.tui.widgets.line_api import SelectingScreen
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, TextWindow, drawn

Answer = TypeVar("Answer")
Result = TypeVar("Result")
WIDTH_SHARE, HEIGHT_SHARE = 94, 90
"""Percent of the screen that a dialog takes at most, as in dialogs.tcss."""
MIN_WIDTH = 36
BORDER_COLUMNS = 4
"""Borders and padding of a box."""
FRAME_COLUMNS, FRAME_ROWS = 5, 4
"""Borders, padding and scrollbar; borders, a blank line and the keys."""
OUTCOME_SHARE = 34
"""Percent of a small screen's height that outcome lines take at most, as in dialogs.tcss."""
MIN_TEXT_WIDTH = 20
SMALL_WIDTH, SMALL_HEIGHT = 90, 26
"""Below either of them a dialog fills the whole screen."""


@lru_cache(maxsize=4096)
def _tint(style: Style | None, color: Color) -> Style:
    """The style under a translucent color, without links and actions."""
    below = Style() if style is None else style.clear_meta_and_links()
    front, back = (
        None if shown is None else (Color.from_rich_color(shown) + color).rich_color
        for shown in (below.color, below.bgcolor)
    )
    return below + Style.from_color(front, back)


class TintedScreen(Visual):
    """The screen behind a dialog, under a translucent color.

    Looks like Textual's `BackgroundScreen`, which passes every segment through Rich's console and
    adds the color to it anew, for most of the time that a dialog takes to draw. Here a style is
    tinted once.
    """

    def __init__(self, screen: Screen[object], color: Color) -> None:
        self._screen, self._color = screen, color

    def render_strips(
        self, width: int, height: int | None, style: VisualStyle, options: RenderOptions
    ) -> list[Strip]:
        base, color = style.rich_style, self._color
        return [
            Strip([Segment(text, base + _tint(below, color)) for text, below, _ in strip])
            for strip in self._screen._compositor.render_strips()[:height]
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._screen.size.height


class Dialog(SelectingScreen[Result], ModalScreen[Result]):
    """A modal screen, dismissed once; keys of the browse screen do not reach through."""

    BINDINGS = [("ctrl+c", "app.simulate_key('escape')"), ("escape", "dismiss")]
    app: AppInterface
    _is_answered = False
    _filled_for = Size(0, 0)
    """Size of the terminal that `fill` was called for."""

    @property
    def is_open(self) -> bool:
        """Whether the dialog is neither dismissed nor closed by the end of the app."""
        return not (self._is_answered or self.app.is_ending)

    def render(self) -> RenderResult:  # type: ignore[override]  # a Visual is one
        behind = super().render()
        if isinstance(behind, BackgroundScreen) and behind.color.a:
            return TintedScreen(behind.screen, behind.color)
        return behind

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close the dialog, and the screens over it, with this result; does nothing if closed.

        Textual would close whatever is on top, so a second answer would close another screen.
        """
        stack = self.app.screen_stack
        if self._is_answered or self not in stack:
            return AwaitComplete()
        self._is_answered = True
        for above in reversed(stack[stack.index(self) + 1 :]):
            above.dismiss(None)
        return super().dismiss(result)

    def if_open(self, tell: Callable[[Answer], None]) -> Callable[[Answer], None]:
        """Wrap a callback of a job so that it does nothing once the dialog is closed.

        A job that is quicker than the dialog is answered once that has its widgets.
        """

        def told(answer: Answer) -> None:
            if self.is_open and not self.is_mounted:
                self.call_later(told, answer)
            elif self.is_open:
                tell(answer)

        return told

    def call_after_refresh(self, callback: Callback, *args: Any, **kwargs: Any) -> bool:
        """As Textual does, unless the dialog is closed by then: its widgets may be gone."""
        call = partial(callback, *args, **kwargs)
        return super().call_after_refresh(lambda: call() if self.is_open else None)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.fill())
        self._fill_once()

    def on_unmount(self) -> None:
        # The signal keeps the function, and with it the dialog: 0.4 MiB for each that was open.
        self.app.theme_changed_signal.unsubscribe(self)
        self.app.note_closed()

    def on_resize(self) -> None:
        self._fill_once()

    def _fill_once(self) -> None:
        if self.app.size != self._filled_for:
            self._filled_for = self.app.size
            self.fill()

    def fill(self) -> None:
        """Lay out the content for the size of the terminal.

        Called before the first layout, so that the dialog has its size when it is first painted,
        and after every resize.
        """

    @property
    def inner_width(self) -> int:
        """Columns inside the box as the style sheet has it, known before the first layout."""
        styles, screen = self.query_one(".box").styles, self.app.size
        lengths = [styles.width, styles.max_width]
        if self.has_class("-small"):  # its style may not have been applied yet
            lengths = [styles.inline.width] if styles.inline.has_rule("width") else []
        cells = [int(each.resolve(screen, screen)) for each in lengths if each is not None]
        return max(0, min([screen.width, *cells]) - BORDER_COLUMNS)

    def fit(self, *, columns: int = 0, rows: int = 0) -> None:
        """Make the box as large as its content, within the screen; 0 leaves it as it is."""
        box = self.query_one(".box")
        width, height = self.app.size
        small = self.has_class("-small")
        most = width if small else width * WIDTH_SHARE // 100
        if columns:
            box.styles.width = min(most, max(MIN_WIDTH, columns + FRAME_COLUMNS))
        if rows:
            most = height if small else height * HEIGHT_SHARE // 100
            box.styles.height = min(most, rows + FRAME_ROWS - small)
            self.is_cut = rows + FRAME_ROWS - small > most

    def fit_lines(self, rows: int) -> None:
        """As `fit`, with the outcome lines and the gap below them added to the rows."""
        small = self.has_class("-small")
        for outcome in self.query(OutcomeLines):
            drawn_lines = drawn(
                outcome.outcome_lines, outcome.palette, max(12, self.inner_width - 1)
            )
            most = outcome.MAX_HEIGHT
            if small:
                most = min(most, self.app.size.height * OUTCOME_SHARE // 100)
            rows += min(most, len(drawn_lines)) + (not small)
        self.fit(rows=rows)

    leave = "cancel"
    """What escape does."""
    is_cut = False
    """The content is longer than the box can be."""

    def keys(self) -> list[tuple[str, str]]:
        """The keys that work now, and their labels."""
        return []

    def update_keys(self) -> None:
        """Name the keys that work now in the last line."""
        keys = [(key, label, "") for key, label in self.keys()]
        self.query_one(KeyLine).show(keys, [("esc", self.leave, "")])

    @on(DescendantFocus)
    @on(RowList.Moved)
    def _focus_or_row_changed(self) -> None:
        self.update_keys()

    def action_act(self, action_id: str) -> None:
        if action_id in ("escape", "quit"):
            self.dismiss(None)


def labelled_row(label: str, widget: Widget, note: str = "") -> Horizontal:
    """A field of a dialog behind its label, before a note."""
    notes = [Static(Content(note), classes="note", markup=False)] if note else []
    named = Static(Content(label), classes="label", markup=False)
    return Horizontal(named, widget, *notes, classes="row")


class FittingDialog(Dialog[Result]):
    """A box with a title and keys, which fills small screens; opening it clears the toasts."""

    CSS_PATH = "dialogs.tcss"
    box_classes = ""
    """Style classes of the box."""
    heading = ""
    """Title in the border of the box."""
    summary: Sequence[OutcomeLine] = ()
    """Lines above the content."""

    def compose(self) -> ComposeResult:
        with Vertical(classes=f"box {self.box_classes}") as box:
            box.border_title = Content(text.one_line(self.heading))
            if self.summary:
                yield OutcomeLines()
            yield from self.content()
            yield KeyLine(id="dialog-keys")

    @abstractmethod
    def content(self) -> ComposeResult:
        """The widgets between title and keys."""

    def on_mount(self) -> None:
        self.app.clear_notifications()
        if self.summary:
            self.say(*self.summary)
        self._fit()
        self.update_keys()

    def say(self, *lines: OutcomeLine) -> None:
        """Show these lines as the outcome of what was typed or chosen."""
        self.query_one(OutcomeLines).say(*lines)

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self.update_keys)  # other lines may be cut

    def _fit(self) -> None:
        width, height = self.app.size
        self.set_class(width < SMALL_WIDTH or height < SMALL_HEIGHT, "-small")


class TextDialog(FittingDialog[Result]):
    """Scrollable lines, which a subclass lays out for a width."""

    AUTO_FOCUS = "TextWindow"
    box_classes = "full"
    leave = "back"

    def content(self) -> ComposeResult:
        yield TextWindow()

    def keys(self) -> list[tuple[str, str]]:
        return [("↑↓", "scroll")] if self.is_cut else []

    def fill(self) -> None:
        sheet = self.query_one(TextWindow)
        lines = self.lines(max(MIN_TEXT_WIDTH, self.inner_width - 2), sheet.palette)
        sheet.show(lines)
        self.fit_lines(max(1, len(lines)))
        self.update_keys()

    def action_move(self, action_id: str) -> None:
        self.query_one(TextWindow).action_move(action_id)

    @abstractmethod
    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        """The lines to show, each at most `width` cells."""


class PageDialog(Dialog[Result]):
    """A dialog of the whole screen: a line about it, two panes, the keys.

    The panes stand side by side from `WIDE_FROM` columns on, else below each other; with less than
    `STACKED_FROM` rows the first is alone.
    """

    CSS_PATH = "dialogs.tcss"
    WIDE_FROM: ClassVar[int]
    STACKED_FROM: ClassVar[int]
    leave = "back"

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static("", classes="head", markup=False)
            with Container(classes="split"):
                yield from self.panes()
            yield KeyLine(id="dialog-keys")

    @abstractmethod
    def panes(self) -> ComposeResult:
        """The widgets between the first line and the keys."""

    @abstractmethod
    def lay_out(self) -> None:
        """Lay out the content once the panes have their sizes."""

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.update_keys()

    def on_resize(self) -> None:
        width, height = self.app.size
        self.set_class(width < self.WIDE_FROM, "-stacked")
        self.set_class(width < self.WIDE_FROM and height < self.STACKED_FROM, "-alone")
        self.call_after_refresh(self.lay_out)  # the classes come first, which give the sizes

    def say_head(self, parts: Iterable[str]) -> None:
        """Show these parts in the first line."""
        head = text.cut(" · ".join(parts), max(1, self.app.size.width - 2))
        self.query_one(".head", Static).update(Content(head))
