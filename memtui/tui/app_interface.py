"""The app as screens, dialogs, controllers and widgets see it; `MemtuiApp` implements it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from textual.app import App

from memtui.config import LoadedSettings, Settings
from memtui.dataclass import replace
from memtui.tui import key_bindings
from memtui.tui.actions import BY_ID
from memtui.tui.first_frame import TakenTerminal

if TYPE_CHECKING:
    from signal import Signals

    from textual.screen import Screen

    from memtui.config.settings import Setting
    from memtui.errors import MemtuiError
    from memtui.library import Library
    from memtui.library.store_catalog import StoreCatalog
    from memtui.tui.appearance import Palette, ThemeRegistry
    from memtui.tui.key_queue import KeyQueue

Answer = TypeVar("Answer")
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
    sixteen_colours: bool = False
    """The terminal has no more: the theme of its own colours is used."""
    catalog: Callable[[], StoreCatalog] | None = None
    """The stores to choose from; called in a worker. None: there is nothing to choose."""
    roots: Sequence[Path] = ()
    """The stores, to tell their session from others'."""
    now: Callable[[], datetime] = _utc_now
    terminal: TakenTerminal | None = None
    """As `first_frame` has left it."""


class Choice(NamedTuple):
    """One line of a list to choose from."""

    value: str
    words: str
    number: int | None = None
    """Shown at the right, such as how many memories have the value."""
    chosen: bool = False
    note: str = ""
    sign: str = ""
    tail: str = ""
    """Shown there instead: a key."""
    field: str = ""
    """The filter field whose colours its glyph takes."""


class AppInterface(App[None]):
    """Settings, clock, colours and life cycle of the app."""

    launch: Launch
    settings: Settings
    now: Callable[[], datetime]
    key_overrides: Mapping[str, tuple[str, ...]]
    """Action id -> its keys."""
    key_queue: KeyQueue
    _refused: tuple[str, float] = ("", 0.0)
    """The last refusal, and when it was shown."""
    colours: ThemeRegistry
    is_starting: bool
    """The first rows are not there yet; keys wait for them."""
    is_ending = False
    """The screens are about to be taken down: results of jobs are dropped."""

    def ask(self, dialog: Screen[Answer], then: Callable[[Answer], object]) -> None:
        """Open a dialog; `then` gets its answer, unless it was cancelled."""

        def answered(answer: Answer | None) -> None:
            if answer is not None:
                then(answer)

        self.push_screen(dialog, answered)

    @abstractmethod
    def pick(
        self, title: str, choices: Sequence[Choice], then: Callable[[str], object], **labels: str
    ) -> None:
        """Let one value be chosen; `then` gets it. `labels`: those of `Picker`."""

    def clear_notifications(self) -> None:
        """Clear the toasts, also those of the screens behind a dialog, which Textual leaves."""
        super().clear_notifications()
        self._refused = ("", 0.0)
        for screen in self.screen_stack[:-1]:
            screen.query("ToastRack").set(display=False)

    def report(self, words: str, action_id: str = "undo") -> None:
        """Say in a toast, in place of earlier ones, what was done, and the key of an action."""
        self.clear_notifications()
        self.notify(f"{words}{self.hint(action_id)}", timeout=4)

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
        """The key of an action as the footer shows it; empty when it has none."""
        keys = self.key_overrides[action_id]
        return key_bindings.show_key(keys[0]) if keys else ""

    def hint(self, action_id: str) -> str:
        """The end of a toast that names a key: ` · u undo`; empty if the action has none."""
        key = key_bindings.spell_first_key(action_id, self.key_overrides)
        return f" · {key} {BY_ID[action_id].label}" if key else ""

    def press(self, *purposes: tuple[str, str]) -> str:
        """A sentence that names the keys of (action id, purpose) pairs; empty without keys."""
        return key_bindings.press(self.key_overrides, *purposes)

    @property
    def palette(self) -> Palette:
        return self.colours.palette(self.theme)

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

    @abstractmethod
    def save_setting(self, setting: Setting, value: Any) -> None:
        """Save a setting, None for its default, and use it from now on. Raises ConfigError."""

    @abstractmethod
    def reload_settings(self) -> Sequence[MemtuiError]:
        """Read config.toml again and use it; returns its faults."""

    @abstractmethod
    def copy_text(self, words: str, done: Callable[[bool], None]) -> None:
        """Copy to the clipboard in a job; `done` gets whether a program has taken the text.

        Else it was sent to the terminal, which does not say whether it took it.
        """

    @abstractmethod
    def redraw(self) -> None:
        """Draw every widget and every cell of the terminal again."""

    @abstractmethod
    def end_start(self) -> None:
        """Draw the screen, which has rows now, and deliver the keys that waited for them."""

    @abstractmethod
    def reopen(self, open_library: Callable[[], Library]) -> None:
        """Show other stores, on a screen made anew; what was searched for stays."""

    @abstractmethod
    def note_closed(self) -> None:
        """Count a closed dialog; the memory of several is freed once the user presses no keys."""

    @abstractmethod
    def leave(self) -> None:
        """Save the session and exit."""

    @abstractmethod
    def give_up(self, error: Exception) -> None:
        """Exit because of a programming error; `start` raises it once the terminal is restored."""

    @abstractmethod
    def end_by(self, number: Signals) -> None:
        """Exit because of a signal, with the exit code that shells give it."""
