"""Dialogs: the base classes, and small ones to confirm, to ask for a line and to show text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult, RenderResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.color import Color
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.visual import RenderOptions, Visual
from textual.widgets import Input, Static

from memtui import text
from memtui.tui.app_interface import AppInterface
from memtui.tui.appearance import Palette
from memtui.tui.widgets.list_window import TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, drawn
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_selection import SelectingScreen

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.css.styles import RulesMap
    from textual.style import Style as VisualStyle

Answer = TypeVar("Answer")
Result = TypeVar("Result")
WIDTH_SHARE, HEIGHT_SHARE = 94, 90
"""Percent of the screen that a dialog takes at most, as in dialogs.tcss."""
LEAST_WIDTH = 36
BORDER_COLUMNS = 4
"""Borders and padding of a box."""
FRAME_COLUMNS, FRAME_ROWS = 5, 4
"""Borders, padding and scrollbar; borders, a blank line and the keys."""
OUTCOME_SMALL = 4
"""Most rows of outcome lines on a small screen, as in dialogs.tcss."""
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
        """Wrap a callback of a job so that it does nothing once the dialog is closed."""

        def told(answer: Answer) -> None:
            if self.is_open:
                tell(answer)

        return told

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.fill())
        self._fill_once()

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
        """Make the box as large as its content, within the screen.

        Args:
            columns: Widest line; 0 leaves the width as the style sheet has it.
            rows: Lines between title and keys; 0 leaves the height.
        """
        box = self.query_one(".box")
        width, height = self.app.size
        small = self.has_class("-small")
        most = width if small else width * WIDTH_SHARE // 100
        if columns:
            box.styles.width = min(most, max(LEAST_WIDTH, columns + FRAME_COLUMNS))
        if rows:
            most = height if small else height * HEIGHT_SHARE // 100
            box.styles.height = min(most, rows + FRAME_ROWS - small)

    def fit_lines(self, rows: int) -> None:
        """As `fit`, with the outcome lines and the gap below them added to the rows."""
        small = self.has_class("-small")
        for outcome in self.query(OutcomeLines):
            drawn_lines = drawn(
                outcome.outcome_lines, outcome.palette, max(12, self.inner_width - 1)
            )
            rows += min(OUTCOME_SMALL if small else outcome.MAX_HEIGHT, len(drawn_lines)) + (
                not small
            )
        self.fit(rows=rows)

    def keep_draft(self, *, last: bool = False) -> bool:
        """Save unsaved input as a draft; returns whether there is any. Raises SaveError.

        `last`: the app ends, so that another program may offer it.
        """
        return False

    def action_act(self, action_id: str) -> None:
        if action_id in ("escape", "quit"):
            self.dismiss(None)


class FittingDialog(Dialog[Result]):
    """A dialog with the CSS class `-small` on small screens; opening it clears the toasts."""

    CSS_PATH = "dialogs.tcss"

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.app.size
        self.set_class(width < SMALL_WIDTH or height < SMALL_HEIGHT, "-small")


@dataclass(frozen=True, slots=True)
class Reply:
    """A key of a confirm dialog, its label and the value it returns."""

    key: str
    words: str
    value: str


QUESTION_MOST = 76
"""Columns of a question before its lines are wrapped."""


class ConfirmDialog(FittingDialog[str]):
    """A question answered with one key; dismissed with its value, None on escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        body: Sequence[OutcomeLine],
        replies: Sequence[Reply],
        cancel: str = "cancel",
    ) -> None:
        super().__init__()
        self._title, self._body, self._replies = title, body, replies
        self._cancel = cancel

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(text.one_line(self._title))
            yield OutcomeLines()
            yield KeyLine(id="confirm-keys")

    def on_mount(self) -> None:
        self.query_one(OutcomeLines).say(*self._body)
        keys = [(reply.key, reply.words, "") for reply in self._replies]
        self.query_one(KeyLine).show(keys, [("esc", self._cancel, "")])

    def fill(self) -> None:
        line_widths = [
            text.width(text.one_line(f"{line.head} {line.words}")) for line in self._body
        ]
        keys = sum(len(reply.key) + text.width(reply.words) + 3 for reply in self._replies)
        title = text.width(text.one_line(self._title)) + 4
        widest = max([*line_widths, keys + len(self._cancel) + 8, title], default=0)
        self.fit(columns=min(widest, QUESTION_MOST))

    def on_key(self, event: events.Key) -> None:
        for reply in self._replies:
            if event.key == reply.key or event.character == reply.key:
                event.stop()
                self.dismiss(reply.value)


class PromptDialog(FittingDialog[str]):
    """Asks for one line of text; dismissed with it, None on escape."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        *,
        hint: str = "",
        value: str = "",
        placeholder: str = "Name",
        accept: str = "save",
    ) -> None:
        super().__init__()
        self._placeholder, self._accept = placeholder, accept
        self._title, self._hint, self._value = title, hint, value

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            if self._hint:
                hint = Content(text.one_line(self._hint))
                yield Static(hint, classes="line", markup=False)
            yield Input(self._value, placeholder=self._placeholder, compact=True)
            yield KeyLine(id="prompt-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("enter", self._accept, "")], [("esc", "cancel", "")])

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


MIN_TEXT_WIDTH = 20


class TextDialog(FittingDialog[None]):
    """A read-only dialog of scrollable lines, which a subclass lays out for a width."""

    AUTO_FOCUS = "TextWindow"

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall") as box:
            box.border_title = Content(self.box_title())
            yield TextWindow()
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("↑↓", "scroll", "")], [("esc", "back", "")])

    def fill(self) -> None:
        sheet = self.query_one(TextWindow)
        lines = self.lines(max(MIN_TEXT_WIDTH, self.inner_width - 2), sheet.palette)
        sheet.show(lines)
        self.fit(rows=max(1, len(lines)))

    @abstractmethod
    def box_title(self) -> str: ...

    @abstractmethod
    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        """The lines to show, each at most `width` cells."""
