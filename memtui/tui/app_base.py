"""What screens, widgets and jobs ask of the app: its settings, theme, keys, toasts, and its end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace
from textual._styles_cache import StylesCache
from textual.app import App

from memtui import text
from memtui.config import LoadedSettings, Settings
from memtui.errors import ConfigError, did_you_mean
from memtui.tui import key_bindings, themes
from memtui.tui.actions import BY_ID
from memtui.tui.appearance import Palette
from memtui.tui.key_queue import KEY_REST, KeyQueue

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.screen import Screen

    from memtui.config.settings import ReviewSettings
    from memtui.errors import MemtuiError
    from memtui.library import Library
    from memtui.library.store_catalog import StoreCatalog
    from memtui.tui.first_frame import TakenTerminal
    from memtui.tui.view_state import Choice

Answer = TypeVar("Answer")
CLOSED_DIALOGS = 10
"""Closed dialogs after which their memory, 0.3 MiB each, is collected, which takes 30 ms."""
TOAST_CELLS, TOAST_LINES = 57, 6
"""Columns of a toast's text, and lines that it may have in a low window too."""
log = logging.getLogger(__name__)
REFUSAL_SECONDS = 4.0
"""Seconds for which a toast says why something cannot be done."""


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


class AppBase(App[None]):
    """The app as its parts see it; `MemtuiApp` adds the screens."""

    key_queue: KeyQueue
    is_starting = True
    """The first rows are not there yet; keys wait for them."""
    is_ending = False
    """The screens are about to be taken down: results of jobs are dropped."""
    fault: Exception | None = None
    """What ends the app."""
    next_arguments: tuple[str, ...] = ()
    """memtui begins again with these once the screen is left."""
    key_overrides: Mapping[str, tuple[str, ...]]
    """Action id -> its keys."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.settings = launch.loaded.settings
        text.reveal_secrets(False)
        # Textual decides when it is made, before it knows our themes, whether NO_COLOR takes the
        # colours away or makes them grey; it takes those of the terminal away.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.now = launch.now
        problems = self._use_keys()
        self.themes, faults = themes.load_themes(() if self.no_color else launch.themes)
        for theme in self.themes.values():
            self.register_theme(theme)
        self._problems = [*launch.loaded.problems, *problems, *faults]
        self._problems += self._use_theme(self.settings.theme)
        self.palette = Palette(self.themes[self.theme])
        self._refused = ("", 0.0)
        """The last refusal, and when it was shown."""
        self._closed_dialogs = 0
        """Since garbage was collected."""

    # What the app with its screens does

    @abstractmethod
    def store_name(self, label: str) -> str:
        """The name under which the store with this label is shown."""

    @abstractmethod
    def use_settings(self, before: Settings, now: Settings) -> None:
        """Use settings that were changed while the screen is open."""

    @abstractmethod
    def picker(
        self, title: str, choices: Sequence[Choice], **labels: str
    ) -> Screen[tuple[str, ...]]:
        """The dialog in which one of these is chosen."""

    @abstractmethod
    def redraw(self) -> None:
        """Draw every widget and write every cell anew."""

    @abstractmethod
    def end_start(self) -> None:
        """Draw the screen in place of the kept frame, and deliver the keys typed meanwhile."""

    @abstractmethod
    def reopen(self, open_library: Callable[[], Library]) -> None:
        """Show other stores."""

    @abstractmethod
    def leave(self) -> None:
        """Keep the session and end."""

    def restart(self, *arguments: str) -> None:
        """Leave, and begin again as `memtui` with these arguments does."""
        self.next_arguments = arguments
        self.leave()

    @abstractmethod
    def end_by(self, number: signal.Signals) -> None:
        """Keep the session and end, because of a signal."""

    # Toasts and dialogs

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

    # Its end

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

    def give_up(self, error: Exception) -> None:
        self.fault = self.fault or error
        self.exit(return_code=1)

    # Keys and settings

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
        self.use_settings(before, settings)
        return [*problems, *(self._use_keys() if settings.keys != before.keys else ())]
