"""Read `config.toml`, and change one setting in it.

A fault is reported with its line, and the default is used. When a setting is saved, the rest of
the file stays as the person wrote it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from memtui import toml_file
from memtui.config.settings import SCHEMA, Setting, Settings
from memtui.errors import ConfigError, did_you_mean
from memtui.paths import sole_writer, write_private
from memtui.text import one_line


class LoadedSettings(NamedTuple):
    """The settings to use, and one problem for each fault that was skipped."""

    settings: Settings = Settings()
    problems: tuple[ConfigError, ...] = ()


MAX_PROBLEMS = 50
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
        if len(problems) >= MAX_PROBLEMS:
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
            known = _FIELDS if len(problems) < MAX_PROBLEMS else ()
            advice = did_you_mean(key, known, "`memtui config` lists all settings", cutoff=0.5)
            fault(parts, "is not a setting", advice)
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


def save_value(path: Path, key: str | tuple[str, ...], value: Any) -> None:
    """Set one setting (`"theme"`, `"list.sort"`, `("saved", "this week")`); None removes it.

    Raises ConfigError when the file cannot be parsed or written; then it is unchanged.
    """
    parts = tuple(key.split(".")) if isinstance(key, str) else key
    try:
        with sole_writer(path.resolve().parent):
            _change_file(path, parts, value)
    except OSError as error:
        raise ConfigError(
            f"the setting was not saved: {error.strerror}",
            where=str(path),
            do="check the folder and its disk",
        ) from error


def _change_file(path: Path, parts: tuple[str, ...], value: Any) -> None:
    """See `save_value`. Raises OSError too."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values = toml_file.parse(text)
    except FileNotFoundError:
        text, values = "", {}
    except (OSError, UnicodeDecodeError, toml_file.BadToml) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            "the setting was not saved, because the file cannot be read",
            where=str(path),
            do=f"correct it first: {why}",
        ) from error
    if isinstance(value, tuple):
        value = list(value)
    new_values = copy.deepcopy(values)
    _put(new_values, parts, value)
    if new_values != values:
        edited = _edited(text.replace("\r\n", "\n"), parts, value, new_values)
        write_private(path, edited.replace("\n", "\r\n") if "\r\n" in text else edited)


def _put(table: Any, parts: tuple[str, ...], value: Any) -> None:
    """Set a value in nested tables, which are made if they are missing; None removes it."""
    for name in parts[:-1]:
        if not isinstance(table.get(name), dict):
            table[name] = {}
        table = table[name]
    if value is None:
        table.pop(parts[-1], None)
    else:
        table[parts[-1]] = value


def _edited(text: str, parts: tuple[str, ...], value: Any, wanted: Mapping[str, Any]) -> str:
    """Return the text with one value changed; its comments, order and line ends stay.

    Where neither edit gives the wanted values, the file is written anew without its comments.
    """
    import tomli_w  # only who saves a setting needs it

    for edit in (_uncommented, _changed):
        if _has_values(edited := edit(text, parts, value), wanted):
            return edited
    return tomli_w.dumps(wanted)


def _uncommented(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with the setting in place of its comment in the default file."""
    import tomli_w

    lines = _lines(text)
    found = line_of("".join(line.removeprefix("#: ") for line in lines), parts)
    if found is None or value is None or not lines[found - 1].startswith("#: "):
        return text
    lines[found - 1] = tomli_w.dumps({parts[-1]: value})
    return "".join(lines)


def _changed(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with the setting changed, added to its table, or removed.

    A new setting outside tables goes before the comments of the first table.
    """
    import tomlkit

    lines = _lines(text)
    is_new = len(parts) == 1 and line_of(text, parts) is None
    end = _first_table(lines) if is_new else len(lines)
    try:
        document = tomlkit.parse("".join(lines[:end]))
        _put(document, parts, value)
        head = tomlkit.dumps(document)
    except (tomlkit.exceptions.TOMLKitError, ValueError, TypeError, RecursionError):
        return text
    return f"{head.rstrip()}\n\n{''.join(lines[end:])}" if end < len(lines) else head


def _lines(text: str) -> list[str]:
    """Lines with their ends; in TOML only a newline ends one, unlike in str.splitlines()."""
    return StringIO(text).readlines()


def _has_values(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return toml_file.parse(text) == wanted
    except toml_file.BadToml:
        return False


def _first_table(lines: Sequence[str]) -> int:
    """Return where settings outside tables end: before the first header and its comments."""
    at = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    while 0 < at < len(lines) and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def make_file(path: Path) -> None:
    """Write the default file, every setting as a comment, unless there is a file.

    Raises ConfigError if it cannot be written.
    """
    try:
        if not path.exists():
            write_private(path, default_text())
    except OSError as error:
        raise ConfigError(f"cannot be made: {error.strerror}", where=str(path)) from error


def default_text() -> str:
    """Return a settings file with every setting as a comment, explained."""
    parts = [
        "# memtui settings. Every line that begins with #: is a setting at its default or an\n"
        "# example; take the #: away to change it. A fault in this file never stops memtui: it\n"
        "# is shown once and the default is used.\n"
    ]
    table = ""
    for setting in SCHEMA:
        head, _, name = setting.key.rpartition(".")
        if head != table:
            table = head
            parts.extend([f"[{head}]\n"] if head else [])
        about = "".join(f"# {line}\n" for line in setting.about.split("\n"))
        parts.append(f"{about}{_shown(setting, name)}")
    return "\n".join(parts)


def _shown(setting: Setting, name: str) -> str:
    if setting.key in ("keys", "saved"):  # tables of their own, so that lines can be added
        entry = setting.example[1:-1].strip()
        return f"#: [{setting.key}]\n#: {entry}\n"
    return f"#: {name} = {setting.example}\n"
