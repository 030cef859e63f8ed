"""Settings dialog: what config.toml holds, changed here and used at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.content import Content

from memtui import text
from memtui.config import SCHEMA, Settings
from memtui.config.loading import find_setting
from memtui.config.settings import Setting
from memtui.errors import MemtuiError
from memtui.model import Place
from memtui.tui import terminal
from memtui.tui.app_interface import Choice
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.picker import Picker
from memtui.tui.dialogs.prompts import PromptDialog
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, Tone

KEY_WIDTH = max(len(setting.key) for setting in SCHEMA) + 1
TYPED = (str, int, float)
"""Types of values that are typed in a line."""


def shown_value(setting: Setting, settings: Settings) -> str:
    """A setting's value as a person reads it."""
    value = getattr(settings, setting.field)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return f"{len(value)} in the file" if value else "default"
    if type(value) is tuple:  # not one with names, as `Embedding`
        return ", ".join(str(getattr(each, "path", each)) for each in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, TYPED) and not is_default(setting, settings):
        return "in the file"
    return str(value) if isinstance(value, TYPED) else "default"


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


def _describe(setting: Setting) -> list[str]:
    """What a setting is, and when it takes effect unless at once."""
    about = " ".join(setting.about.split("\n"))
    return [about, "takes effect at the next start"] if setting.at_start else [about]


class SettingList(RowList[Setting]):
    """One setting per line: key, value, and whether it is the default."""

    def __init__(self) -> None:
        super().__init__(SCHEMA)
        self.settings = Settings()

    @property
    def setting(self) -> Setting:
        """The setting under the cursor."""
        return SCHEMA[self.cursor]

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if again:
            self.post_message(self.Opened())

    def draw_row(self, row: Setting, width: int) -> Sequence[tuple[str, Style]]:
        palette, settings = self.palette, self.settings
        room = max(1, width - KEY_WIDTH - 3)
        value = text.cut(text.one_line(shown_value(row, settings)) or "automatic", room)
        style = palette.dim if is_default(row, settings) else palette.chosen
        return [
            (text.pad(row.key, KEY_WIDTH) + " ", palette.text),
            (text.pad(value, room) + " ", style),
        ]


class SettingsScreen(FittingDialog[None]):
    """Changes settings one at a time; each is saved at once, and the file's comments stay."""

    AUTO_FOCUS = "SettingList"
    box_classes = "tall"
    heading = "Settings"
    leave = "back"
    BINDINGS = [
        ("escape,q", "dismiss"),
        ("enter,space", "change"),
        ("delete,backspace", "reset"),
        ("e", "edit_file"),
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
    def _list(self) -> SettingList:
        return self.query_one(SettingList)

    def fill(self) -> None:
        width = max(1, self.inner_width - 2)
        explanation = max(len(text.wrap(" ".join(_describe(setting)), width)) for setting in SCHEMA)
        self.fit(rows=len(SCHEMA) + 1 + explanation)

    def _show(self) -> None:
        self._list.settings = self.app.settings
        self._list.redraw()
        self._explain()

    @on(SettingList.Moved)
    def _explain(self) -> None:
        """Describe the setting under the cursor, and show the keys that change it."""
        setting = self._list.setting
        about, *warning = _describe(setting)
        lines = [OutcomeLine(about), *(OutcomeLine(words, Tone.WARNING) for words in warning)]
        self.say(*lines)
        self.update_keys()

    def keys(self) -> list[tuple[str, str]]:
        setting = self._list.setting
        keys = [("e", "edit the file")] if self.app.launch.config_file else []
        if self._is_in_file_only(setting):
            return keys
        default = is_default(setting, self.app.settings)
        return [("enter", "change"), *([] if default else [("⌫", "default")]), *keys]

    @staticmethod
    def _is_in_file_only(setting: Setting) -> bool:
        """Whether the setting is a table or a list, which can be changed in the file only."""
        one = isinstance(getattr(Settings(), setting.field), TYPED)
        return not one and not setting.choices

    # Changing

    @on(SettingList.Opened)
    def action_change(self) -> None:
        """Change the setting under the cursor: toggle, choose or type."""
        setting, settings = self._list.setting, self.app.settings
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
        setting = self._list.setting
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
            line = find_setting(path, self._list.setting.key)
        except MemtuiError as error:
            self.app.report_error(error)
            return
        terminal.open_source(self.app, Place(str(path), line))
        for problem in self.app.reload_settings():
            self.app.notify(str(problem), title="Settings", severity="warning", timeout=12)
        self._show()
