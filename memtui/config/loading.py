"""Read `config.toml`; a fault is reported with its line, and the default is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from memtui import toml_file
from memtui.config.settings import SCHEMA, Setting, Settings
from memtui.errors import ConfigError
from memtui.text import one_line


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings to use, and one problem for each fault that was skipped."""

    settings: Settings = field(default_factory=Settings)
    problems: tuple[ConfigError, ...] = ()


MOST_PROBLEMS = 50
"""Faults of one file that are reported singly: each searches the whole text for its line."""

_Fault = Callable[[tuple[str, ...], str, str], None]
_FIELDS = {setting.key: setting for setting in SCHEMA}
_TABLES = {key.split(".")[0] for key in _FIELDS if "." in key}


def load(path: Path) -> LoadedSettings:
    """Return the settings in the file, with defaults for what is missing or wrong.

    Never raises: each fault is one ConfigError in `problems`, with file, line and reason.
    """
    try:
        text = toml_file.read_text(path)
    except FileNotFoundError:
        return LoadedSettings()
    except (OSError, toml_file.BadToml) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        return _useless(f"cannot be read: {reason}", path)
    try:
        values = toml_file.parse(text)
    except toml_file.BadToml as error:
        return _useless(f"is not TOML: {error}", path, error.line)
    return parse(values, path, text)


def _useless(what: str, path: Path, line: int | None = None) -> LoadedSettings:
    where = f"{path}:{line}" if line else str(path)
    return LoadedSettings(problems=(ConfigError(what, where=where, do="the defaults are used"),))


def parse(values: Mapping[str, Any], path: Path, text: str = "") -> LoadedSettings:
    """Return the settings of a parsed file; `text` is its text, to find the lines of faults."""
    problems: list[ConfigError] = []
    chosen: dict[str, Any] = {}
    unreported = 0

    def fault(parts: tuple[str, ...], what: str, do: str) -> None:
        nonlocal unreported
        if len(problems) >= MOST_PROBLEMS:
            unreported += 1
            return
        lines = (line_of(text, parts[:length]) for length in range(len(parts), 0, -1))
        line = next(filter(None, lines), None)
        where = f"{path}:{line}" if line else str(path)
        problems.append(ConfigError(f"{one_line('.'.join(parts))} {what}", where=where, do=do))

    for key, value in _flat(values):
        parts = tuple(key.split(".", 1))
        setting = _FIELDS.get(key)
        if setting is None:
            known = _FIELDS if len(problems) < MOST_PROBLEMS else ()
            near = get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else "`memtui config` lists all settings"
            fault(parts, "is not a setting", hint)
            continue
        if setting.each:
            chosen[setting.field] = _entries(setting, value, fault)
            continue
        try:
            chosen[setting.field] = setting.check(value)
        except ValueError as error:
            fault(parts, str(error), "the default is used")
    if unreported:
        problems.append(ConfigError(f"has {unreported} more faults", where=str(path)))
    return LoadedSettings(replace(Settings(), **chosen), tuple(problems))


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return settings with their full keys; a table that only groups settings is flattened."""
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        if key in _TABLES and isinstance(value, dict):
            found += [(f"{key}.{name}", inner) for name, inner in value.items()]
        else:
            found.append((key, value))
    return found


_HEADER = re.compile(r"\s*\[\[?([^\]]*)\]\]?\s*(?:#.*)?$")
_NAME = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(\.|=|$)""")


def line_of(text: str, parts: tuple[str, ...]) -> int | None:
    """Return the 1-based line where a setting or table begins; None when it is not found."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = _names(header[1])
            if table == parts:
                return number
        elif (*table, *_names(line)) == parts:
            return number
    return None


def _names(line: str) -> tuple[str, ...]:
    """Return the parts of the dotted key at the beginning of a line or in a header."""
    names: list[str] = []
    at = 0
    while match := _NAME.match(line, at):
        names.append(match[1] or match[2] or match[3] or "")
        at = match.end()
        if match[4] != ".":
            break
    return tuple(names)


def _entries(setting: Setting, value: Any, fault: _Fault) -> Any:
    """Return the valid entries of a list or table; each wrong one is reported and left out."""
    parts = tuple(setting.key.split("."))
    named = setting.example.startswith("{")
    entries: Iterable[tuple[Any, Any]]
    if named and isinstance(value, dict):
        entries = value.items()
    elif not named and isinstance(value, list):
        entries = enumerate(value, 1)
    else:
        fault(parts, f"must be a {'table' if named else 'list'}", "it is left out")
        return {} if named else ()
    good = {}
    for name, entry in entries:
        try:
            good[name] = setting.check(entry)
        except ValueError as error:
            fault((*parts, str(name)), str(error), "it is left out")
    return good if named else tuple(good.values())
