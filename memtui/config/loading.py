"""Read `config.toml`, and change one setting in it.

A fault is reported with its line, and the default is used. When a setting is saved, a value on one
line is replaced on that line and a new one is added below its table's header, so comments and order
stay. Where that cannot be done (a value over several lines, an inline table) tomli-w rewrites the
file: its comments are lost, every setting stays.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from memtui import toml_file
from memtui.config.schema import SCHEMA, Setting
from memtui.config.settings import Settings
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
    new_values = _with(values, parts, value)
    if new_values == values:
        return
    # Each edit is a guess about the layout; the first with the wanted values is used.
    edits = (edit(text, parts, value) for edit in (_changed_line, _uncommented_line, _added_line))
    new = next((new for new in edits if _has_values(new, new_values)), _dump(new_values))
    write_private(path, new)


def find_setting(path: Path, key: str) -> int:
    """Return the line of a setting in the file, which is made with all defaults if there is none.

    1 if the file does not have the setting. Raises ConfigError if it cannot be read or made.
    """
    try:
        if not path.exists():
            write_private(path, default_text())
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"cannot be opened: {error.strerror}", where=str(path)) from error
    return line_of(text, tuple(key.split("."))) or 1


def _with(values: Mapping[str, Any], parts: tuple[str, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(dict(values))
    at = changed
    for name in parts[:-1]:
        inner = at.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = at[name] = {}
        at = inner
    if value is None:
        at.pop(parts[-1], None)
    else:
        at[parts[-1]] = value
    return changed


def _has_values(text: str, expected: Mapping[str, Any]) -> bool:
    try:
        return toml_file.parse(text) == expected
    except toml_file.BadToml:
        return False


_COMMENT = re.compile(r"(?<!\s)\s++#.*")


def _changed_line(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with the setting's own line changed or removed."""
    lines = _lines(text)
    found = line_of(text, parts)
    if found is None:
        return text
    old = lines[found - 1].rstrip("\r\n")
    end = lines[found - 1][len(old) :]
    comment = _COMMENT.search(old, max(old.rfind('"'), old.rfind("'")) + 1)
    indent = old[: len(old) - len(old.lstrip())]
    changed = f"{indent}{_line(parts, value)}{comment[0] if comment else ''}{end}"
    lines[found - 1 : found] = [] if value is None else [changed]
    return "".join(lines)


def _uncommented_line(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with the setting in place of its comment in the default file."""
    mark = "#: "
    bare = "".join(line.removeprefix(mark) for line in _lines(text))
    found = line_of(bare, parts)
    if found is None or value is None:
        return text
    lines = _lines(text)
    lines[found - 1] = _line(parts, value) + _end(text)
    return "".join(lines)


def _added_line(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with a new line below the header of its table, or a new table at the end."""
    if value is None:
        return text
    lines, end = _lines(text), _end(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    new = _line(parts, value) + end
    if len(parts) == 1:
        at = _first_table(lines)
        lines[at:at] = [new, end] if at < len(lines) else [new]
    elif header := line_of(text, parts[:-1]):
        lines.insert(header, new)
    else:
        lines += [end] if lines and lines[-1].strip() else []
        table = _dump(_nested(parts[:-1], {})).rstrip("\n")
        lines += [table.splitlines()[-1] + end, new]
    return "".join(lines)


def _line(parts: tuple[str, ...], value: Any) -> str:
    return "" if value is None else _dump({parts[-1]: value}).rstrip("\n")


def _dump(values: Mapping[str, Any]) -> str:
    import tomli_w  # only who saves a setting needs it

    return tomli_w.dumps(values)


def _lines(text: str) -> list[str]:
    """Lines with their ends; in TOML only a newline ends one, unlike in str.splitlines()."""
    return StringIO(text).readlines()


def _end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _first_table(lines: list[str]) -> int:
    """Return where settings outside tables end: before the first header and its comments."""
    for at, line in enumerate(lines):
        if line.lstrip().startswith("["):
            while at and lines[at - 1].lstrip().startswith("#"):
                at -= 1
            return at
    return len(lines)


def _nested(parts: tuple[str, ...], value: Any) -> Any:
    for name in reversed(parts):
        value = {name: value}
    return value


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
