"""Settings dialog: what config.toml holds, changed here and used at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content

from memtui import text
from memtui.config import SCHEMA, Settings
from memtui.config.loading import find_setting
from memtui.config.settings import Setting
from memtui.errors import MemtuiError
from memtui.model import Place
from memtui.tui import terminal
from memtui.tui.actions import works_here
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.picker import Picker
from memtui.tui.dialogs.prompts import PromptDialog
from memtui.tui.view_state import Choice
from memtui.tui.widgets.inputs import ChoiceList
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, Tone

KEY_WIDTH = max(len(setting.key) for setting in SCHEMA)
ABOUT_ROWS = 3
"""Lines about a setting, beside the first."""
TYPED = (str, int, float)
"""Types of values that are typed in a line."""


def shown_value(setting: Setting, settings: Settings) -> str:
    """A setting's value as a person reads it."""
    value = getattr(settings, setting.field)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ", ".join(str(getattr(each, "path", each)) for each in value) or "none"
    if isinstance(value, str):
        return value
    return "default" if is_default(setting, settings) else "in the file"


def is_default(setting: Setting, settings: Settings) -> bool:
    return bool(getattr(settings, setting.field) == getattr(Settings(), setting.field))


def file_value(setting: Setting, words: str) -> Any:
    """Convert what was typed for a setting to the type that the file holds."""
    if isinstance(getattr(Settings(), setting.field), float):
        try:
            number = float(words)
        except ValueError:
            return words
        return int(number) if number.is_integer() else number
    return words


class SettingList(ChoiceList):
    """One setting per line: key and value, those with a mark that are not the default."""

    def __init__(self) -> None:
        super().__init__((), several=False)
        self._column = KEY_WIDTH

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if again:
            self.post_message(self.Accepted())


class SettingsScreen(FittingDialog[None]):
    """Changes settings one at a time; each is saved at once, and the file's comments stay."""

    AUTO_FOCUS = "SettingList"
    box_classes = "tall"
    heading = "Settings"
    leave = "back"
    BINDINGS = [
        ("escape,q", "dismiss"),
        ("enter,space", "change", "change"),
        Binding("delete,backspace", "reset", "default", key_display="⌫"),
        ("e", "edit_file", "edit the file"),
    ]

    def content(self) -> ComposeResult:
        yield SettingList()
        yield OutcomeLines()

    def on_mount(self) -> None:
        path = self.app.launch.config_file
        where = text.file_name(str(path)) if path else "not saved in this session"
        self.query_one(".box").border_subtitle = Content(text.cut(where, 60))
        self._show()

    @property
    def _setting(self) -> Setting:
        """The setting under the cursor."""
        return SCHEMA[self.query_one(SettingList).cursor]

    def fill(self) -> None:
        self.fit(rows=len(SCHEMA) + ABOUT_ROWS)

    def _show(self) -> None:
        settings, shown = self.app.settings, self.query_one(SettingList)
        choices = [
            Choice(
                each.key,
                each.key,
                note=shown_value(each, settings) or "automatic",
                chosen=not is_default(each, settings),
            )
            for each in SCHEMA
        ]
        shown.show_rows(choices, cursor=shown.cursor)
        self._explain()

    @on(SettingList.Moved)
    def _explain(self) -> None:
        """Describe the setting under the cursor, and show the keys that change it."""
        setting = self._setting
        warning = OutcomeLine("takes effect at the next start", Tone.WARNING)
        self.say(OutcomeLine(setting.about.replace("\n", " ")), *[warning] * setting.at_start)
        self.update_keys()

    def labels(self) -> Mapping[str, object]:
        setting = self._setting
        can_change = not self._is_in_file_only(setting)
        return {
            "change": can_change,
            "reset": can_change and not is_default(setting, self.app.settings),
            "edit_file": works_here("source") and self.app.launch.config_file,
        }

    @staticmethod
    def _is_in_file_only(setting: Setting) -> bool:
        """Whether the setting is a table or a list, which can be changed in the file only."""
        one = isinstance(getattr(Settings(), setting.field), TYPED)
        return not one and not setting.choices

    # Changing

    @on(SettingList.Accepted)
    def action_change(self) -> None:
        """Change the setting under the cursor: toggle, choose or type."""
        setting, settings = self._setting, self.app.settings
        value = getattr(settings, setting.field)
        if self._is_in_file_only(setting):
            self.action_edit_file()
        elif isinstance(value, bool):
            self._save(setting, not value)
        elif setting.key == "theme" or setting.choices:
            self._pick(setting, value)
        else:
            default = shown_value(setting, Settings()) or "automatic"
            dialog = PromptDialog(
                setting.key,
                hint=f"default: {default}",
                value=shown_value(setting, settings),
                placeholder=default,
            )
            self.app.ask(dialog, lambda words: self._save(setting, file_value(setting, words)))

    def _pick(self, setting: Setting, value: Any) -> None:
        several = type(value) is tuple
        chosen = value if several else (value,)
        named = (
            self.app.colours.choices()
            if setting.key == "theme"
            else [(each, "") for each in setting.choices]
        )
        choices = [
            Choice(name, name or "automatic", note=about, chosen=name in chosen)
            for name, about in named
        ]

        def picked(values: tuple[str, ...]) -> None:
            if values:
                self._save(setting, list(values) if several else values[0])

        self.app.ask(Picker(setting.key, choices, several=several), picked)

    def action_reset(self) -> None:
        """Remove the setting from the file, so that its default holds."""
        setting = self._setting
        if not self._is_in_file_only(setting):
            self._save(setting, None)

    def _save(self, setting: Setting, value: Any) -> None:
        try:
            if value is not None:
                setting.check(value)
            self.app.save_setting(setting, value)
        except ValueError as error:
            self.app.notify(f"{setting.key} {error}.", severity="warning")
        except MemtuiError as error:
            self.app.report_error(error)
        self._show()

    def action_edit_file(self) -> None:
        """Open config.toml in the editor at the setting; what is saved there is used at once."""
        path = self.app.launch.config_file
        if path is None:
            return
        try:
            line = find_setting(path, self._setting.key)
        except MemtuiError as error:
            self.app.report_error(error)
            return
        terminal.open_source(self.app, Place(str(path), line))
        for problem in self.app.reload_settings():
            self.app.notify(str(problem), title="Settings", severity="warning", timeout=12)
        self._show()
