"""Change one setting in `config.toml` and leave the rest as the person wrote it.

A value on one line is replaced on that line, a new one is added below its table's header, so
comments and order stay. Where that cannot be done (a value over several lines, an inline table)
tomli-w rewrites the file: its comments are lost, every setting stays.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from memtui import toml_file
from memtui.config.loading import line_of
from memtui.errors import ConfigError
from memtui.paths import write_private


def save_value(path: Path, key: str | tuple[str, ...], value: Any) -> None:
    """Set one setting (`"theme"`, `"list.sort"`, `("saved", "this week")`); None removes it.

    Raises ConfigError when the file cannot be parsed or written; then it is unchanged.
    """
    parts = tuple(key.split(".")) if isinstance(key, str) else key
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values = toml_file.parse(text)
    except FileNotFoundError:
        text, values = "", {}
    except (OSError, UnicodeDecodeError, toml_file.BadToml) as error:
        raise ConfigError(
            "the setting was not saved, because the file cannot be read",
            where=str(path),
            do=f"correct it first: {error}",
        ) from error
    if isinstance(value, tuple):
        value = list(value)
    wanted = _with(values, parts, value)
    if wanted == values:
        return
    # Each edit is a guess about the layout; the first with the wanted values is used.
    edits = (edit(text, parts, value) for edit in (_changed_line, _uncommented_line, _added_line))
    new = next((new for new in edits if _has_values(new, wanted)), _dump(wanted))
    try:
        write_private(path, new)
    except OSError as error:
        raise ConfigError(
            f"the setting was not saved: {error.strerror}", where=str(path), do="check the folder"
        ) from error


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


def _has_values(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return toml_file.parse(text) == wanted
    except toml_file.BadToml:
        return False


_COMMENT = re.compile(r"""(\s+#[^"']*)$""")


def _changed_line(text: str, parts: tuple[str, ...], value: Any) -> str:
    """Return the text with the setting's own line changed or removed."""
    lines = _lines(text)
    found = line_of(text, parts)
    if found is None:
        return text
    old = lines[found - 1].rstrip("\r\n")
    end = lines[found - 1][len(old) :]
    comment = _COMMENT.search(old)
    indent = old[: len(old) - len(old.lstrip())]
    changed = f"{indent}{_line(parts, value)}{comment[1] if comment else ''}{end}"
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
