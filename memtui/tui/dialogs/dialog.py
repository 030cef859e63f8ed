"""Base classes of dialogs: in a box, with text to read, on the whole screen; lists in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.geometry import Size
from textual.message_pump import Callback
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from memtui import text
from memtui.errors import MemtuiError
from memtui.tui import key_bindings
from memtui.tui.act_runner import ActApp, ActRunner
from memtui.tui.appearance import Palette
from memtui.tui.library_worker import LibraryWorker
from memtui.tui.widgets.line_api import SelectingScreen
from memtui.tui.widgets.list_window import ListWindow
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, TextWindow, drawn

Answer = TypeVar("Answer")
Result = TypeVar("Result")
STYLE_SHEET = Path(__file__).parent / "dialogs.tcss"
WIDTH_SHARE, HEIGHT_SHARE = 94, 90
"""Percent of the screen that a dialog takes at most, as in dialogs.tcss."""
FOOTER_KEYS = 7
"""Keys that the last line names at most, beside escape."""
FEW_KEYS = 3
"""So few need no list: the narrowest line names them."""
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


class Key(NamedTuple):
    """A key of a dialog, declared once: its binding, its place in the footer, and what it does."""

    keys: str
    """Textual key names, separated by commas."""
    label: str
    """In the footer; empty: not shown there."""
    run: Callable[[Any], object]
    """Called with the dialog; a coroutine is run as an act."""
    when: Callable[[Any], object] = lambda _: True
    """Called with the dialog: whether the key does something now; a text is its label then."""
    why: str = ""
    """Said where it does nothing now; empty: nothing is said."""
    id: str = ""
    """Of the action whose keys in the settings are used here too."""
    first: bool = False
    """Before the widget that has the focus, which may be an input."""


class Dialog(SelectingScreen[Result], ModalScreen[Result]):
    """A modal screen, dismissed once; keys of the browse screen do not reach through."""

    BINDINGS = [
        ("ctrl+c", "app.simulate_key('escape')"),
        ("escape", "dismiss"),
        ("question_mark", "list_keys"),
    ]
    KEYS: ClassVar[tuple[Key, ...]] = ()
    app: ActApp
    _is_answered = False
    _filled_for = Size(0, 0)
    """Size of the terminal that `fill` was called for."""

    def __init_subclass__(cls, **options: Any) -> None:
        if keys := cls.__dict__.get("KEYS"):
            bindings = [
                Binding(
                    key.keys,
                    f"key({number})",
                    key.label,
                    show=bool(key.label),
                    id=key.id or None,
                    priority=key.first,
                )
                for number, key in enumerate(keys)
            ]
            cls.BINDINGS = [*bindings, *cls.__dict__.get("BINDINGS", ())]
        super().__init_subclass__(**options)

    def action_key(self, number: int) -> None:
        """Do what this one of the `KEYS` does, if it does something now, or say why not."""
        key = self.KEYS[number]
        if not key.when(self):
            if key.why:
                self.app.report_refusal(key.why)
            return
        try:
            act = key.run(self)
        except MemtuiError as error:
            self.acts.failed(error)
        else:
            if isinstance(act, Coroutine):
                self.acts.start(act)

    @property
    def acts(self) -> ActRunner:
        """Runs what a key does until it is done."""
        return self.app.acts

    @property
    def worker(self) -> LibraryWorker:
        """Runs background jobs and asks the library in them."""
        return self.app.worker

    @property
    def is_open(self) -> bool:
        """Whether the dialog is neither dismissed nor closed by the end of the app."""
        return not (self._is_answered or self.app.is_ending)

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

    def if_open(self, tell: Callable[[Answer], object]) -> Callable[[Answer], None]:
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
        """Make the box as large as its content, within the screen; 0 leaves it as it is.

        Outcome lines, and the gap below them, are added to the rows.
        """
        box, (width, height) = self.query_one(".box"), self.app.size
        small = self.has_class("-small")
        if columns:
            most = width if small else width * WIDTH_SHARE // 100
            box.styles.width = min(most, max(MIN_WIDTH, columns + FRAME_COLUMNS))
        for outcome in self.query(OutcomeLines) if rows else ():
            most = min(outcome.MAX_HEIGHT, height * OUTCOME_SHARE // 100 if small else height)
            lines = drawn(outcome.outcome_lines, outcome.palette, max(12, self.inner_width - 1))
            rows += min(most, len(lines)) + (not small)
        if rows:
            most = height if small else height * HEIGHT_SHARE // 100
            rows += FRAME_ROWS - small
            box.styles.height = min(most, rows)
            self.is_cut = rows > most

    leave = "cancel"
    """What escape does."""
    is_cut = False
    """The content is longer than the box can be."""

    def labels(self) -> Mapping[str, object]:
        """Action -> whether its key is shown now; or its label, where its binding has another."""
        return {f"key({at})": key.label and key.when(self) for at, key in enumerate(self.KEYS)}

    def keys(self) -> list[tuple[str, str]]:
        """The keys that work now, and their labels: the bindings that have a description."""
        shown: dict[str, tuple[str, str]] = {}
        labels, active = self.labels(), self.active_bindings.values()
        order = {f"key({at})": at for at in range(len(self.KEYS))}
        own_first = lambda one: (one.node is not self, order.get(one.binding.action, len(order)))  # noqa: E731
        for _, binding, *_ in sorted(active, key=own_first):
            label = labels.get(binding.action, True)
            if binding.show and label and binding.action not in shown:
                key = binding.key_display or key_bindings.show_key(binding.key)
                words = label if isinstance(label, str) else binding.description
                shown[binding.action] = key, words
        return list(shown.values())

    def update_keys(self) -> None:
        """Name the keys that work now in the last line, and the one that lists them where they may
        be too many for it."""
        keys = [(key, label, "") for key, label in self.keys()[:FOOTER_KEYS]]
        lists = [("?", "keys", "")] * (len(self.KEYS) > FEW_KEYS)
        self.query_one(KeyLine).show(keys, [*lists, ("esc", self.leave, "")])

    def action_list_keys(self) -> None:
        """List the keys that work now."""
        if len(self.KEYS) > FEW_KEYS:
            self.app.push_screen(KeyList(self.keys()))

    @on(DescendantFocus)
    @on(RowList.Moved)
    def _focus_or_row_changed(self) -> None:
        self.update_keys()

    def action_act(self, action_id: str) -> None:
        if action_id in ("escape", "quit"):
            self.dismiss(None)

    def action_move(self, action_id: str) -> None:
        """Move in what the dialog lists or says, also where an input has the focus."""
        lists = (each for each in self._windows if not isinstance(each, OutcomeLines))
        next(lists, self._windows[0]).action_move(action_id)

    @property
    def _windows(self) -> list[ListWindow]:
        return [each for each in self.query() if isinstance(each, ListWindow)]


def labelled_row(label: str, widget: Widget, note: str = "") -> Horizontal:
    """A field of a dialog behind its label, before a note."""
    notes = [Static(Content(note), classes="note", markup=False)] if note else []
    named = Static(Content(label), classes="label", markup=False)
    return Horizontal(named, widget, *notes, classes="row")


class FittingDialog(Dialog[Result]):
    """A box with a title and keys, which fills small screens; opening it clears the toasts."""

    CSS_PATH = STYLE_SHEET
    box_classes = ""
    """Style classes of the box."""
    heading = ""
    """Title in the border of the box."""
    summary: Sequence[OutcomeLine] = ()
    """Lines above the content."""

    def compose(self) -> ComposeResult:
        with Vertical(classes=f"box {self.box_classes}") as box:
            box.border_title = Content(text.one_line(self.heading))
            if self.has_summary():
                yield OutcomeLines()
            yield from self.content()
            yield KeyLine(id="dialog-keys")

    def has_summary(self) -> bool:
        """Whether there are lines above the content, or there may be later."""
        return bool(self.summary)

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
        self.call_after_refresh(self.update_keys)  # only then it is known what is cut

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
        return [*super().keys(), *[("↑↓", "scroll")] * self.is_cut]

    def fill(self) -> None:
        sheet = self.query_one(TextWindow)
        lines = self.lines(max(MIN_TEXT_WIDTH, self.inner_width - 2), sheet.palette)
        sheet.show(lines)
        self.fit(rows=max(1, len(lines)))
        self.update_keys()

    @abstractmethod
    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        """The lines to show, each at most `width` cells."""


class KeyList(TextDialog[None]):
    """The keys of the dialog below, a line each."""

    heading = "Keys"
    box_classes = ""
    BINDINGS = [("question_mark,q,enter", "dismiss")]

    def __init__(self, named: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._named = named

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        column = 2 + max(text.width(key) for key, _ in self._named)
        return [
            [Segment(f" {text.pad(key, column)}", palette.key), Segment(label, palette.text)]
            for key, label in self._named
        ]
