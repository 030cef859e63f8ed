"""The app: wiring only. Screens and workers do the work, themes and keys come from the settings."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ScreenStackError
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widgets import Input
from textual.worker import WorkerFailed

from memtui.config import Settings
from memtui.tui import actions, first_frame, key_bindings
from memtui.tui.act_runner import ActApp, ActRunner
from memtui.tui.app_base import Launch
from memtui.tui.controllers.session import SessionState
from memtui.tui.key_queue import LONGEST_HOLD, KeyHold, KeyQueue
from memtui.tui.library_worker import LibraryWorker
from memtui.tui.output import (
    BLANK_TERMINAL,
    CompositorUpdate,
    NearestColours,
    OutputFilter,
    ShownLines,
    draw_lines,
)
from memtui.tui.screens.browse import BrowseScreen
from memtui.tui.widgets.line_api import SelectableText, SelectingScreen, ThemedWidget

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.driver import Driver
    from textual.geometry import Size
    from textual.screen import Screen

    from memtui.library import Library
    from memtui.tui.dialogs.picker import Picker
    from memtui.tui.view_state import Choice

LONGEST_PAINT = 0.5
"""Seconds after which the stores are opened though a dialog, opened at once, hides the screen."""
LONGEST_KEPT = 5.0
"""Seconds for which the last session's frame waits for its rows; keys are for the rows it shows."""
MOUNT_WAIT = 0.01
"""Seconds between two looks whether the screen is made, when the app is to end before."""
NOT_SAVED = "memtui: past searches were not saved: the state folder cannot be written"
"""Printed at the end, where nothing is seen of a notification any more."""
_FOLDER = Path(__file__).parent
STYLE_SHEETS = (_FOLDER / "app.tcss", _FOLDER / "screens" / "browse.tcss")


class MemtuiApp(ActApp):
    """memtui on a terminal."""

    TITLE = "memtui"
    BINDINGS = [
        *key_bindings.bindings(actions.EVERYWHERE),
        Binding("y", "copy_selection", show=False, id="copy", priority=True),
        Binding("ctrl+c", "copy_selection", show=False, priority=True),
        Binding("ctrl+c", "leave_input", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True

    def __init__(self, launch: Launch) -> None:
        self.backstop = OutputFilter()
        """Last-resort filter: a hit means that a `visible()` call is missing; tests assert none."""
        self.shown_lines = ShownLines()
        self._shows_kept_frame = launch.terminal is not None and launch.terminal.has_frame
        """The terminal shows the last session's last frame until then."""
        self._start_size: Size | None = None
        super().__init__(launch)
        self.key_queue = KeyQueue(self, self._deliver, self.give_up)
        self._start_hold = KeyHold(self.key_queue)
        self.sessions = SessionState(launch)
        self.animation_level = "none"
        self.browse: BrowseScreen
        self._is_painted = False
        self.has_draft = False
        """A form was open with a text that is kept for the next start."""

    # What the app is made of

    def get_default_screen(self) -> Screen[None]:
        # With `CSS_PATH` they would be parsed twice: Textual parses what it has read, sets the
        # theme, and parses all again with the theme's colours.
        self.stylesheet.read_all(STYLE_SHEETS)
        self.browse = BrowseScreen(self.launch.open_library, self.sessions, self.now())
        return self.browse

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's own line filters and ours."""
        filters = [*super().get_line_filters(), self.backstop]
        return [*filters, NearestColours()] if self.console.color_system == "256" else filters

    # Output to the terminal

    def get_driver_class(self) -> type[Driver]:
        from memtui.tui.terminal import TerminalDriver

        return TerminalDriver

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        # The only place where Textual hands over what it is about to write.
        if not self._shows_kept_frame:
            if isinstance(renderable, CompositorUpdate):
                renderable = self.shown_lines.reduced(renderable)
            super()._display(screen, renderable)

    def end_start(self) -> None:
        """Draw the screen in place of the kept frame, and deliver the keys typed meanwhile."""
        self.is_starting = False
        if self._shows_kept_frame:
            self._shows_kept_frame = False
            self._draw_whole()
        self._start_hold.let_go()

    def _draw_whole(self) -> None:
        self.shown_lines.forget()
        self.screen.refresh()

    def on_resize(self, event: events.Resize) -> None:
        if self._start_size not in (None, event.size):
            self.end_start()  # the kept frame was for another size
        self._start_size = event.size
        self.shown_lines.forget()

    def _resumed(self, _: App[Any]) -> None:
        self._draw_whole()

    def redraw(self) -> None:
        """Draw every widget and write every cell anew: another program may have written on the
        terminal, and nothing that was drawn before is trusted."""
        self.shown_lines.forget(BLANK_TERMINAL)
        for screen in self.screen_stack:
            for widget in screen.walk_children():
                if isinstance(widget, ThemedWidget):
                    widget.recolour()
                widget.refresh()
        self.screen.refresh()

    def action_act(self, action_id: str) -> None:
        """Run an action that works in dialogs too."""
        if action_id == "redraw":
            self.redraw()

    # What the terminal tells

    async def on_event(self, event: events.Event) -> None:
        """Put incoming keys and pastes into the queue; handle events that bubbled up as usual."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self.key_queue.put(event)
        else:
            if isinstance(event, events.MouseEvent):
                self.key_queue.last_input = monotonic()
            await super().on_event(event)

    async def _deliver(self, event: events.Event) -> None:
        """Deliver a key or a paste; lines that are pasted into one line become one, of which
        Textual would take the first."""
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            event = events.Paste(" ".join(event.text.split()))
        await super().on_event(event)

    def on_app_focus(self) -> None:
        """Refresh when the terminal gets the focus back: another program may have written."""
        if self.browse.is_ready:
            self.browse.worker.refresh()

    # Starting

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)
        longest = LONGEST_KEPT if self._shows_kept_frame else LONGEST_HOLD
        self._start_hold.take(longest)
        self.set_timer(longest, self.end_start)
        for problem in self._problems:
            self.notify(str(problem), title="Settings", severity="warning", timeout=12)
        self.call_after_refresh(self._painted)
        self.set_timer(LONGEST_PAINT, self._painted)

    def _painted(self) -> None:
        """After the first paint, exclude everything imported so far from garbage collection, and
        open the stores."""
        if self._is_painted:
            return
        self._is_painted = True
        if not self.is_headless:  # a process with one app after another would keep every one
            gc.freeze()
        gc.enable()
        self.browse.worker.open()

    def reopen(self, open_library: Callable[[], Library]) -> None:
        former = self.browse
        self._keep_session(last=False)
        self.sessions = SessionState(self.launch)
        self.browse = BrowseScreen(open_library, self.sessions, self.now())
        former.worker.close()
        # `switch_screen` takes a callback off the former screen; only the first screen has none.
        former._push_result_callback(former, None)
        self.switch_screen(self.browse)
        self.call_after_refresh(self.browse.worker.open)

    async def action_quit(self) -> None:
        self.leave()

    @property
    def _can_keep_session(self) -> bool:
        """Whether the first screen has its widgets and its size, which a session is kept from.

        An end before that waits for them: else the former session would be lost.
        """
        return hasattr(self, "browse") and self.browse.is_mounted and bool(self.browse.size)

    def leave(self) -> None:
        if self._can_keep_session:
            self.exit(message=None if self._keep_session() else NOT_SAVED)
        else:
            asyncio.get_running_loop().call_later(MOUNT_WAIT, self.leave)

    def store_name(self, label: str) -> str:
        """The name under which the store with this label is shown."""
        library = self.browse.worker.library
        return label if library is None else library.names.of(label)

    def _keep_session(self, *, last: bool = True) -> bool:
        """Save what the next start begins with; False when it could not be written."""
        is_saved = self.sessions.keep(self.browse, self.theme)
        if last:
            self.browse.worker.keep_look()
        if last and self.launch.cache is not None:
            self._keep_frame(self.launch.cache)
        return is_saved

    def _keep_frame(self, cache: Path) -> None:
        """Keep what the main screen shows for the next start, unless that will show another."""
        launch, lines = self.launch, list[Strip]()
        if self.screen is self.browse and launch.loaded.settings.restore:
            lines = self.browse.draw_for_next_start()
        library = self.browse.worker.library
        stores = [store.root for store in library.stores] if library is not None else []
        files = [folder / f"{self.theme}.toml" for folder in launch.themes]
        if launch.config_file is not None:
            files.append(launch.config_file)
        frame = draw_lines(lines, self.console)
        first_frame.save(cache, launch.roots, frame, self.size, stores, files)

    def exit(
        self,
        result: None = None,
        return_code: int = 0,
        message: RenderableType | None = None,
    ) -> None:
        self.is_ending = True
        self.key_queue.stop()
        for screen in self.screen_stack:
            if isinstance(screen, SelectingScreen):
                try:
                    self.has_draft |= screen.keep_draft(last=True)
                except Exception as error:
                    self.fault = self.fault or error
        super().exit(result, return_code, message)

    def wait_for_writes(self) -> None:
        """Wait for jobs that write, once the screens are gone."""
        if hasattr(self, "browse"):  # it ended before there was a screen otherwise
            self.browse.worker.wait()

    def end_by(self, number: signal.Signals) -> None:
        if not self._can_keep_session:
            asyncio.get_running_loop().call_later(MOUNT_WAIT, self.end_by, number)
        elif not self.is_ending:
            self._keep_session()
            self.exit(return_code=128 + number)

    def panic(self, *_: RenderableType) -> None:
        """Exit because the thread that reads keys has failed."""
        self.end_by(signal.SIGHUP)

    def _handle_exception(self, error: Exception) -> None:
        """Pass an exception to `give_up`; Textual would print all variables, thus memories."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if self.is_ending and isinstance(cause, NoMatches | ScreenStackError):
            return  # a dialog that was just being made lost its widgets
        self.give_up(cause if isinstance(cause, Exception) else error)

    # Clipboard and settings

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let the keys that copy or leave a line act only where they can."""
        if action == "leave_input":
            return isinstance(self.focused, Input) and not self.focused.selected_text
        if action != "copy_selection":
            return True
        # A text that fits its window takes no focus when it is clicked.
        is_text = self.focused is None or isinstance(self.focused, SelectableText)
        return bool(self.screen.selections) and is_text

    def action_leave_input(self) -> None:
        """What ^C does in a line without a selection, as in a shell."""
        self.simulate_key("escape")

    def action_copy_selection(self) -> None:
        """Copy the text that is selected with the mouse."""
        from memtui.tui.clipboard import copy_text

        words = self.screen.get_selected_text()
        self.screen.clear_selection()
        if words:
            copy_text(self, words, "the selected text")

    def picker(self, title: str, choices: Sequence[Choice], **labels: str) -> Picker:
        """The dialog in which one of these is chosen."""
        from memtui.tui.dialogs.picker import Picker

        return Picker(title, choices, several=False, **labels)

    @property
    def acts(self) -> ActRunner:
        return self.browse.acts

    @property
    def worker(self) -> LibraryWorker:
        return self.browse.worker

    def use_settings(self, before: Settings, now: Settings) -> None:
        self.browse.use_settings(before, now)
