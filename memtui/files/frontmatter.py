"""Read the YAML frontmatter of a markdown file, and edit one field of it in place.

A block is never written anew, which would lose comments, quoting and blank values. What cannot be
edited safely by lines (block scalars, anchors, nested values) is refused; the whole text can still
be edited as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from memtui.errors import Refused
from memtui.files import safe_yaml

_OPENING = re.compile("\ufeff?---\r?\n")
_CLOSING = re.compile(r"^---(?:\r?\n|\Z)", re.MULTILINE)
# A line may be hostile, so each of these takes time linear in it: words and the blanks between them
# are matched in turn by possessive quantifiers (`++`, `*+`), which do not backtrack.
_KEY = re.compile(
    r"""(?:"([^"\\]*)"|'([^']*)'
        |([^\s#'"\[\]{}&*!|>%@`,?:-][^\s\#:]*+(?:\s++[^\s\#:]++)*+)
        )\s*+:(?=\s|$)""",
    re.VERBOSE,
)
_SCALAR = re.compile(
    r"""(?P<gap>[ \t]*?(?=[ \t]\#)|[ \t]*+)
        (?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\[\]{}]*\]
        |[^\s"'\[{|>&*!%@`#]\S*+(?:\s++(?!\#)\S++)*+|)
        (?P<tail>(?:[ \t]+\#.*)?\s*)$""",
    re.VERBOSE,
)
_ITEM = re.compile(r"(?P<lead>[ \t]*-[ \t]+)(?P<value>(?:\S++(?:\s++\S++)*+)?)(?P<tail>\s*)$")
_FIELD = re.compile(r"([A-Za-z0-9_-]+):(.*)")
_PLAIN = re.compile(r"[A-Za-z0-9_./+][A-Za-z0-9_./+@ ()-]*(?<! )")
_UNPRINTABLE = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_TEXT = re.compile("[\ud800-\udfff]")

Scalar = str | int | float | bool | None


class Split(NamedTuple):
    """A document in two parts; `text[:start] + front + text[end:]` is all of it."""

    front: str | None
    """The lines between the marks; None when there is no frontmatter."""
    body: str
    """All after the closing mark's line (the whole text when there is no frontmatter)."""
    start: int
    """Offset of `front`."""
    end: int
    body_start: int


def split(text: str) -> Split:
    """Find the frontmatter, which opens on the first line and is closed by a line `---`."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Split(None, text, 0, 0, 0)
    start, end = opening.end(), closing.start()
    return Split(text[start:end], text[closing.end() :], start, end, closing.end())


def parse(text: str) -> dict[str, Any]:
    """Return the frontmatter of a document as a mapping, {} when it has none. Never raises.

    Invalid YAML is read as `key: value` lines. Dates stay text.
    """
    front = split(text).front
    return {} if front is None else parse_block(front)


def parse_block(front: str) -> dict[str, Any]:
    """As `parse` for the lines between the marks."""
    try:
        return safe_yaml.read(_NOT_TEXT.sub("\ufffd", front).replace("\r\n", "\n"))
    except safe_yaml.BadYaml:
        pairs = map(_FIELD.match, front.split("\n"))
        return {pair[1]: pair[2].lstrip(" \t").rstrip().strip("\"'") for pair in pairs if pair}


def set_field(text: str, key: str, value: Scalar | Sequence[str]) -> str:
    """Return the document with one top-level field set; all other lines stay byte for byte.

    A missing field becomes the last line of the frontmatter, a missing frontmatter is made.
    Raises Refused where the field is not a scalar or plain list on lines of its own, occurs
    twice, or the frontmatter is not valid YAML.
    """
    if not isinstance(value, str) and isinstance(value, Sequence):
        value = list(value)
    cut = split(text)
    if cut.front is None:
        return _with_frontmatter(text, key, value)
    before = _checked(cut.front)
    if key in before and _same(before[key], value):
        return text
    lines = cut.front.split("\n")
    at = _line_of(lines, key)
    if at is None:
        if key in before:
            raise Refused(f"the field {key!r} is not on a line of its own", do="edit the text")
        front = cut.front + _line(key, value, "\r\n" if "\r\n" in text else "\n")
    else:
        front = "\n".join(_edited(lines, at, value))
    _check(front, {**before, key: value})
    return text[: cut.start] + front + text[cut.end :]


# ---- lines ----------------------------------------------------------------------------------


def _line_of(lines: list[str], key: str) -> int | None:
    found = []
    for number, line in enumerate(lines):
        match = _KEY.match(line)
        if match and key in match.groups():
            found.append(number)
    if len(found) > 1:
        raise Refused(f"the field {key!r} is there twice", do="mend the file by hand")
    return found[0] if found else None


def _after(lines: list[str], at: int) -> int:
    """The first line after the value of the field on line `at`."""
    end = last = at + 1
    while end < len(lines):
        line = lines[end]
        if line.strip() and not (line[0] in " \t" or re.match(r"-(\s|$)", line)):
            break
        end += 1
        if line.strip() and not line.lstrip().startswith("#"):
            last = end
    return last


def _edited(lines: list[str], at: int, value: Scalar | list[str]) -> list[str]:
    """The lines with the value of the field on line `at` replaced."""
    line, end = lines[at], _after(lines, at)
    match = _KEY.match(line)
    colon = match.end() if match else 0
    old = _SCALAR.match(line, colon)
    below = lines[at + 1 : end]
    if old is None or (below and (old["value"] or not isinstance(value, list))):
        raise Refused("the field is not a value on one line", do="edit the text itself")
    if below and isinstance(value, list):
        return lines[: at + 1] + _list_lines(below, value) + lines[end:]
    if old["value"].startswith("[") and not isinstance(value, list):
        raise Refused("the field is a list", do="edit the text itself")
    new = old["gap"] or " "
    new += _flow(value) if isinstance(value, list) else _scalar(value, old["value"])
    return [*lines[:at], line[:colon] + new + old["tail"], *lines[at + 1 :]]


def _list_lines(below: list[str], value: list[str]) -> list[str]:
    """Return a block list without the items that are not wanted and with new ones at its end."""
    items = [_ITEM.match(line) for line in below]
    wanted, kept, lead, tail = list(value), [], "- ", ""
    for line, item in zip(below, items, strict=True):
        if item is None or (found := _item_text(item["value"])) is None:
            raise Refused("the list holds more than plain words", do="edit the text itself")
        lead, tail = item["lead"], item["tail"]
        if found in wanted:
            wanted.remove(found)
            kept.append(line)
    if not value:
        raise Refused("the list would be empty", do="edit the text itself")
    return kept + [lead + _scalar(word, "") + tail for word in wanted]


def _item_text(written: str) -> str | None:
    try:
        (read,) = safe_yaml.read(f"x: {written}\n").values()
    except safe_yaml.BadYaml:
        return None
    return read if isinstance(read, str) else None


# ---- values ---------------------------------------------------------------------------------


def _line(key: str, value: Scalar | list[str], newline: str) -> str:
    written = _flow(value) if isinstance(value, list) else _scalar(value, "")
    return f"{_scalar(key, '')}: {written}{newline}"


def _flow(value: list[str]) -> str:
    def item(word: str) -> str:
        return word if _is_plain(word, "") else _quoted(word)

    return "[" + ", ".join(item(word) for word in value) + "]"


def _scalar(value: Scalar, old: str) -> str:
    """Write the value as YAML on one line, quoted like the old one where possible."""
    if not isinstance(value, str):
        return json.dumps(value)
    if old.startswith("'") and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if not old.startswith('"') and _is_plain(value, old):
        return value
    return _quoted(value)


def _is_plain(value: str, old: str) -> bool:
    """Whether the unquoted word is read as this text, or as a date where the old one was."""
    if not _PLAIN.fullmatch(value):
        return False
    read = safe_yaml.meaning(value)
    return read == value or (old != "" and type(read) is type(safe_yaml.meaning(old)))


def _quoted(value: str) -> str:
    if _NOT_TEXT.search(value):
        raise Refused("the text holds half a character or a stray byte", do="remove it")
    written = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", written)


# ---- checks ---------------------------------------------------------------------------------


def _checked(front: str) -> dict[str, Any]:
    try:
        return safe_yaml.read(front.replace("\r\n", "\n"))
    except safe_yaml.BadYaml as error:
        raise Refused(f"the frontmatter is not valid YAML: {error}", do="edit the text") from None


def _check(front: str, expected: dict[str, Any]) -> None:
    """Raise Refused unless the new frontmatter is read as exactly what was asked for."""
    try:
        read = safe_yaml.read(front.replace("\r\n", "\n"))
    except safe_yaml.BadYaml:
        read = {}
    if not _same(read, expected):
        raise Refused("the field cannot be changed on its line", do="edit the text itself")


def _same(old: Any, new: Any) -> bool:
    return bool(type(old) is type(new) and old == new)


def _with_frontmatter(text: str, key: str, value: Scalar | list[str]) -> str:
    if _OPENING.match(text):
        raise Refused("the frontmatter is not closed by a line ---", do="mend the file by hand")
    newline = "\r\n" if "\r\n" in text else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    block = f"---{newline}{_line(key, value, newline)}---{newline}"
    return mark + block + text[len(mark) :]
