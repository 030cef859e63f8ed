"""The app: wiring only. Screens and workers do the work, themes and keys come from the settings."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace
from textual import events
from textual._styles_cache import StylesCache
from textual.app import App, ScreenStackError
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widgets import Input
from textual.worker import WorkerFailed

from memtui import text
from memtui.config import LoadedSettings, Settings
from memtui.errors import ConfigError, did_you_mean
from memtui.tui import actions, first_frame, key_bindings, themes
from memtui.tui.actions import BY_ID
from memtui.tui.appearance import Palette
from memtui.tui.controllers.session import SessionState
from memtui.tui.jobs import KEY_REST
from memtui.tui.key_queue import LONGEST_HOLD, KeyQueue
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
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from memtui.config.settings import ReviewSettings
    from memtui.errors import MemtuiError
    from memtui.library import Library
    from memtui.library.store_catalog import StoreCatalog
    from memtui.tui.dialogs.picker import Picker
    from memtui.tui.first_frame import TakenTerminal
    from memtui.tui.view_state import Choice

Answer = TypeVar("Answer")
CLOSED_DIALOGS = 10
"""Closed dialogs after which their memory, 0.3 MiB each, is collected, which takes 30 ms."""
LONGEST_PAINT = 0.5
"""Seconds after which the stores are opened though a dialog, opened at once, hides the screen."""
MOUNT_WAIT = 0.01
"""Seconds between two looks whether the screen is made, when the app is to end before."""
NOT_SAVED = "memtui: past searches were not saved: the state folder cannot be written"
"""Printed at the end, where nothing is seen of a notification any more."""
TOAST_CELLS, TOAST_LINES = 57, 6
"""Columns of a toast's text, and lines that it may have in a low window too."""
log = logging.getLogger(__name__)
REFUSAL_SECONDS = 4.0
"""Seconds for which a toast says why something cannot be done."""
_FOLDER = Path(__file__).parent
STYLE_SHEETS = (_FOLDER / "app.tcss", _FOLDER / "screens" / "browse.tcss")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Launch(NamedTuple):
    """What the app is started with."""

    open_library: Callable[[], Library]
    """Called once, in a worker."""
    loaded: LoadedSettings = LoadedSettings()
    config_file: Path | None = None
    """None: settings changed on the screen are not saved."""
    state: Path | None = None
    """Folder of the session; None: nothing is remembered, and nothing can be written."""
    cache: Path | None = None
    """Folder of what can be made again; None: the screen is not kept for the next start."""
    themes: Sequence[Path] = ()
    """Folders of theme files, later ones over earlier ones."""
    catalog: Callable[[], StoreCatalog] | None = None
    """The stores to choose from; called in a worker. None: there is nothing to choose."""
    roots: Sequence[Path] = ()
    """The stores, to tell their session from others'."""
    now: Callable[[], datetime] = _utc_now
    terminal: TakenTerminal | None = None
    """As `first_frame` has left it."""


class MemtuiApp(App[None]):
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
    key_overrides: Mapping[str, tuple[str, ...]]
    """Action id -> its keys."""
    is_ending = False
    """The screens are about to be taken down: results of jobs are dropped."""

    def __init__(self, launch: Launch) -> None:
        self.backstop = OutputFilter()
        """Last-resort filter: a hit means that a `visible()` call is missing; tests assert none."""
        self.shown_lines = ShownLines()
        self.is_starting = True
        """The first rows are not there yet; keys wait for them."""
        self._shows_kept_frame = launch.terminal is not None and launch.terminal.has_frame
        """The terminal shows the last session's last frame until then."""
        self._start_size: Size | None = None
        self.launch = launch
        self.settings = launch.loaded.settings
        text.reveal_secrets(False)
        # Textual decides when it is made, before it knows our themes, whether NO_COLOR takes the
        # colours away or makes them grey; it takes those of the terminal away.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.now = launch.now
        self.key_queue = KeyQueue(self, self._deliver, self.give_up)
        self._release_keys: Callable[[], None] = lambda: None
        problems = self._use_keys()
        self.themes, faults = themes.load_themes(() if self.no_color else launch.themes)
        for theme in self.themes.values():
            self.register_theme(theme)
        self.sessions = SessionState(launch)
        self._problems = [*launch.loaded.problems, *problems, *faults]
        self.animation_level = "none"
        self._problems += self._use_theme(self.settings.theme)
        self.palette = Palette(self.themes[self.theme])

        self.browse: BrowseScreen
        self.fault: Exception | None = None
        self._is_painted = False
        self._refused = ("", 0.0)
        """The last refusal, and when it was shown."""
        self._closed_dialogs = 0
        """Since garbage was collected."""
        self.has_draft = False
        """A form was open with a text that is kept for the next start."""
        self.next_arguments: tuple[str, ...] = ()
        """memtui begins again with these once the screen is left."""

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

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast; its text is shown as it is, without markup or escape sequences, and cut
        to a third of the screen."""
        words, most = text.visible(message), max(TOAST_LINES, self.size.height // 3)
        lines = text.wrap(words, min(TOAST_CELLS, self.size.width - 3))
        if len(lines) > most:
            log.warning("%s", words)
            words = "\n".join([*lines[: most - 1], "… the whole text is in memtui.log"])
        for screen in self.screen_stack:  # above the keys and the error of a form, or below the box
            regions = [line.region for line in screen.query("KeyLine, FormScreen OutcomeLines")]
            below = self.size.height - max((region.bottom for region in regions), default=0)
            above = self.size.height - min((region.y for region in regions), default=0)
            screen.query("ToastRack").set_styles(f"margin-bottom: {above if below <= most else 1};")
        super().notify(words, title=title, severity=severity, timeout=timeout, markup=False)

    def watch_theme(self, name: str) -> None:
        self.palette = Palette(self.themes[name])

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
        self._release_keys()

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
        self._release_keys = self.key_queue.hold()
        self.set_timer(LONGEST_HOLD, self.end_start)
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

    def note_closed(self) -> None:
        # Textual remembers in it the drawn lines of a thousand widgets that are long gone.
        StylesCache.get_inner_outer.cache_clear()
        self._closed_dialogs += 1
        if self._closed_dialogs == CLOSED_DIALOGS and not self.is_headless:
            self._collect_at_rest()

    def _collect_at_rest(self) -> None:
        """Free what closed dialogs leave: they refer to themselves, and the collector looks at
        what has outlived two of its rounds so rarely that hundreds of them would wait for it."""
        if monotonic() - self.key_queue.last_input < KEY_REST:
            asyncio.get_running_loop().call_later(KEY_REST, self._collect_at_rest)
        else:
            self._closed_dialogs = 0
            gc.collect()

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

    def restart(self, *arguments: str) -> None:
        """Leave, and begin again as `memtui` with these arguments does."""
        self.next_arguments = arguments
        self.leave()

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

    def give_up(self, error: Exception) -> None:
        self.fault = self.fault or error
        self.exit(return_code=1)

    def _handle_exception(self, error: Exception) -> None:
        """Pass an exception to `give_up`; Textual would print all variables, thus memories."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if self.is_ending and isinstance(cause, NoMatches | ScreenStackError):
            return  # a dialog that was just being made lost its widgets
        self.give_up(cause if isinstance(cause, Exception) else error)

    # Toasts and dialogs

    def ask(self, dialog: Screen[Answer], then: Callable[[Answer], object]) -> None:
        """Open a dialog; `then` gets its answer, unless it was cancelled."""

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                then(answer)

        self.push_screen(dialog, answered)

    def clear_notifications(self) -> None:
        """Clear the toasts, also those of the screens behind a dialog, which Textual leaves."""
        super().clear_notifications()
        self._refused = ("", 0.0)
        for screen in self.screen_stack[:-1]:
            screen.query("ToastRack").set(display=False)

    def report(self, words: str, action_id: str = "undo") -> None:
        """Say in a toast, in place of earlier ones, what was done, and the key of an action; empty:
        of none."""
        self.clear_notifications()
        self.notify(f"{words}{self.hint(action_id) if action_id else ''}", timeout=4)

    def report_refusal(self, reason: str) -> None:
        """Say in a toast why something cannot be done; once, while the same is being said."""
        words = f"{reason[:1].upper()}{reason[1:].rstrip('. ')}."
        if self._refused[0] != words or monotonic() - self._refused[1] > REFUSAL_SECONDS:
            self._refused = (words, monotonic())
            self.notify(words, timeout=REFUSAL_SECONDS)

    def report_error(self, error: MemtuiError) -> None:
        """Say in a toast what failed."""
        self.notify(str(error), severity="error", timeout=8)

    def key_of(self, action_id: str) -> str:
        """The first key of an action, as the footer shows it; empty for none."""
        return key_bindings.show_key(next(iter(self.key_overrides[action_id]), ""))

    def hint(self, action_id: str) -> str:
        """The end of a toast that names a key: ` · u undo`; empty if the action has none."""
        key = key_bindings.spell_first_key(action_id, self.key_overrides)
        return f" · {key} {BY_ID[action_id].label}" if key else ""

    def press(self, *purposes: tuple[str, str]) -> str:
        """A sentence that names the keys of (action id, purpose) pairs; empty without keys."""
        return key_bindings.press(self.key_overrides, *purposes)

    def _use_theme(self, name: str) -> list[ConfigError]:
        """Use the theme of the settings, or the terminal's own where it can show no other."""
        problems = list[ConfigError]()
        if self.no_color:
            name = themes.TERMINAL
        elif name not in self.themes:
            hint = did_you_mean(name, self.themes, lead="; ")
            fault = f"there is no theme {text.one_line(name)!r}{hint}"
            problems.append(ConfigError(fault, where="theme", do="T shows all themes"))
            name = themes.DEFAULT if themes.DEFAULT in self.themes else themes.TERMINAL
        if self.console.color_system == "standard" and not self.themes[name].ansi:
            name = themes.TERMINAL
        self.theme = name
        return problems

    def keep_theme(self, name: str) -> None:
        """Use a theme now and in later sessions. Raises ConfigError."""
        self.theme = name
        self.save_value("theme", name)

    @property
    def saved(self) -> Mapping[str, str]:
        """Name -> query of each saved filter, as last read."""
        return self.settings.saved

    def read_saved(self) -> Mapping[str, str]:
        """Return the saved filters; another memtui may have saved one in config.toml."""
        if self.launch.config_file is not None:
            from memtui.config import load

            loaded = load(self.launch.config_file)
            if loaded.settings.saved or not loaded.problems:
                self.settings = replace(self.settings, saved=loaded.settings.saved)
        return self.saved

    def save_filter(self, name: str, query: str) -> None:
        """Save a search under a name. Raises ConfigError."""
        self.save_value(("saved", name), query)
        self.settings = replace(self.settings, saved={**self.saved, name: query})

    def remove_filter(self, name: str) -> None:
        """Delete a saved search. Raises ConfigError."""
        self.save_value(("saved", name), None)
        others = {other: query for other, query in self.saved.items() if other != name}
        self.settings = replace(self.settings, saved=others)

    def save_value(self, key: str | tuple[str, ...], value: Any) -> None:
        """Save a value in config.toml, where there is one. Raises ConfigError."""
        if self.launch.config_file is not None:
            from memtui.config import save_value

            save_value(self.launch.config_file, key, value)

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
        from memtui.tui.controllers.viewing import copy_text

        words = self.screen.get_selected_text()
        self.screen.clear_selection()
        if words:
            copy_text(self, words, "the selected text")

    def pick(
        self, title: str, choices: Sequence[Choice], then: Callable[[str], object], **labels: str
    ) -> None:
        picker = self.picker(title, choices, **labels)
        self.ask(picker, lambda values: then(values[0]) if values else None)

    def picker(self, title: str, choices: Sequence[Choice], **labels: str) -> Picker:
        """The dialog in which one of these is chosen."""
        from memtui.tui.dialogs.picker import Picker

        return Picker(title, choices, several=False, **labels)

    def copy_text(self, words: str, done: Callable[[bool], None]) -> None:
        from memtui.tui.terminal import copy_with_tools

        self.copy_to_clipboard(words)
        self.browse.worker.start("copy", lambda _: copy_with_tools(words), done)

    def _use_keys(self) -> Sequence[ConfigError]:
        """Use the keys of the settings; returns the faults in them."""
        keys = key_bindings.resolve(self.settings.keys)
        self.key_overrides = keys.keys
        # Textual looks through all of these at every key, which takes 2 ms.
        usual = key_bindings.DEFAULT_KEYS
        own = {name: key_list for name, key_list in keys.keys.items() if key_list != usual[name]}
        self.set_keymap({name: ",".join(key_list) for name, key_list in own.items()})
        return keys.problems

    def save_review(self, review: ReviewSettings) -> None:
        """Save and use constants of the findings. Raises ConfigError."""
        table = {**to_builtins(review), "off": [*review.off]}
        self.save_value("review.findings", table)
        self._use_settings(replace(self.settings, review=review))

    def remember_retiring(self, value: str) -> None:
        """Save in which of `RETIRING` ways a person retired what its format cannot retire."""
        if value != self.settings.retire:
            self.settings = replace(self.settings, retire=value)
            from memtui.errors import ConfigError

            with suppress(ConfigError):
                self.save_value("retire", value)

    def reload_settings(self) -> Sequence[MemtuiError]:
        if self.launch.config_file is None:
            return ()
        from memtui.config import load

        loaded = load(self.launch.config_file)
        return [*loaded.problems, *self._use_settings(loaded.settings)]

    def _use_settings(self, settings: Settings) -> Sequence[MemtuiError]:
        before, self.settings = self.settings, settings
        problems: list[MemtuiError] = []
        if settings.theme != before.theme:
            problems += self._use_theme(settings.theme)
        self.browse.use_settings(before, settings)
        return [*problems, *(self._use_keys() if settings.keys != before.keys else ())]
