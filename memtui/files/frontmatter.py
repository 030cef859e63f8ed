"""Read the YAML frontmatter of a markdown file, and edit one field of it in place.

The YAML may be hostile: size, depth and aliases are limited, and only plain types are made. Dates
stay text, so that they keep their form and an impossible date is no error.

A block is never written anew, which would lose comments, quoting and blank values. What cannot be
edited safely by lines (block scalars, anchors, nested values) is refused; the whole text can still
be edited as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from memtui.errors import Refused

if TYPE_CHECKING:
    import yaml

_OPENING = re.compile("\ufeff?---\r?\n")
_CLOSING = re.compile(r"^---(?:\r?\n|\Z)", re.MULTILINE)
# A line may be hostile, so each of these takes time linear in it: words and the blanks between them
# are matched in turn, each by a possessive quantifier (`++`, `*+`), which does not backtrack.
_KEY = re.compile(
    r"""(?:"([^"\\]*)"|'([^']*)'
        |([^\s#'"\[\]{}&*!|>%@`,?:-][^\s\#:]*+(?:\s++[^\s\#:]++)*)
        )\s*+:(?=\s|$)""",
    re.VERBOSE,
)
_SCALAR = re.compile(
    r"""(?P<gap>[ \t]*?(?=[ \t]\#)|[ \t]*+)
        (?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\[\]{}]*\]
        |[^\s"'\[{|>&*!%@`#]\S*+(?:\s++(?!\#)\S++)*|)
        (?P<tail>(?:[ \t]+\#.*)?\s*)$""",
    re.VERBOSE,
)
_ITEM = re.compile(r"(?P<lead>[ \t]*-[ \t]+)(?P<value>(?:\S++(?:\s++\S++)*)?)(?P<tail>\s*)$")
_FIELD = re.compile(r"([ \t]*+)([A-Za-z0-9_-]++):(.*)")
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

    Invalid YAML is read as `key: value` lines, those below one without a value as its members.
    Dates stay text.
    """
    front = split(text).front
    return {} if front is None else parse_block(front)


def parse_block(front: str) -> dict[str, Any]:
    """As `parse` for the lines between the marks."""
    return parse_or_fault(front)[0]


def parse_or_fault(front: str) -> tuple[dict[str, Any], str]:
    """As `parse_block`, and what is wrong with the YAML, with its line in the document; "" if
    nothing is."""
    try:
        return read_yaml(_NOT_TEXT.sub("\ufffd", front).replace("\r\n", "\n")), ""
    except BadYaml as error:
        fault = _FAULT_LINE.sub(lambda match: f"line {int(match[1]) + 1}", str(error), count=1)
        return _read_lines(front), fault


_FAULT_LINE = re.compile(r"^line (\d+)")


def _read_lines(front: str) -> dict[str, Any]:
    """The fields that stand on lines of their own, and those that are indented below a field
    without a value, such as `metadata`."""
    fields: dict[str, Any] = {}
    above = ""
    for indent, key, written in (m.groups() for m in map(_FIELD.match, front.split("\n")) if m):
        value = written.strip().strip("\"'")
        if not indent:
            fields[key] = value
            above = "" if value else key
        elif above:
            within = fields[above] if isinstance(fields[above], dict) else {}
            fields[above] = {**within, key: value}
    return fields


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
        if _OPENING.match(text):
            raise Refused("the frontmatter is not closed by a line ---", do="fix the file by hand")
        newline = "\r\n" if "\r\n" in text else "\n"
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        block = f"---{newline}{_line(key, value, newline)}---{newline}"
        return mark + block + text[len(mark) :]
    before = _checked(cut.front)
    if key in before and _is_same_value(before[key], value):
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
        raise Refused(f"the field {key!r} occurs twice", do="fix the file by hand")
    return found[0] if found else None


def _end_of_value(lines: list[str], at: int) -> int:
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
    line, end = lines[at], _end_of_value(lines, at)
    match = _KEY.match(line)
    colon = match.end() if match else 0
    old = _SCALAR.match(line, colon)
    item_lines = lines[at + 1 : end]
    if old is None or (item_lines and (old["value"] or not isinstance(value, list))):
        raise Refused("the field is not a value on one line", do="edit the text itself")
    if item_lines and isinstance(value, list):
        return lines[: at + 1] + _list_lines(item_lines, value) + lines[end:]
    if old["value"].startswith("[") and not isinstance(value, list):
        raise Refused("the field is a list", do="edit the text itself")
    new = old["gap"] or " "
    new += _flow(value) if isinstance(value, list) else _scalar(value, old["value"])
    return [*lines[:at], line[:colon] + new + old["tail"], *lines[at + 1 :]]


def _list_lines(item_lines: list[str], value: list[str]) -> list[str]:
    """Return a block list without the items that are not wanted and with new ones at its end."""
    items = [_ITEM.match(line) for line in item_lines]
    missing, kept_lines, lead, tail = list(value), [], "- ", ""
    for line, item in zip(item_lines, items, strict=True):
        if item is None or (found := _item_text(item["value"])) is None:
            raise Refused("the list holds more than plain words", do="edit the text itself")
        lead, tail = item["lead"], item["tail"]
        if found in missing:
            missing.remove(found)
            kept_lines.append(line)
    if not value:
        raise Refused("the list would be empty", do="edit the text itself")
    return kept_lines + [lead + _scalar(word, "") + tail for word in missing]


def _item_text(written: str) -> str | None:
    try:
        (value,) = read_yaml(f"x: {written}\n").values()
    except BadYaml:
        return None
    return value if isinstance(value, str) else None


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
    parsed = meaning(value)
    return parsed == value or (old != "" and type(parsed) is type(meaning(old)))


def _quoted(value: str) -> str:
    if _NOT_TEXT.search(value):
        raise Refused("the text holds half a character or a stray byte", do="remove it")
    written = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", written)


# ---- checks ---------------------------------------------------------------------------------


def _checked(front: str) -> dict[str, Any]:
    try:
        return read_yaml(front.replace("\r\n", "\n"))
    except BadYaml as error:
        raise Refused(f"the frontmatter is not valid YAML: {error}", do="edit the text") from None


def _check(front: str, expected: dict[str, Any]) -> None:
    """Raise Refused unless the new frontmatter is read as exactly what was asked for."""
    try:
        fields = read_yaml(front.replace("\r\n", "\n"))
    except BadYaml:
        fields = {}
    if not _is_same_value(fields, expected):
        raise Refused("the field cannot be changed on its line", do="edit the text itself")


def _is_same_value(old: Any, new: Any) -> bool:
    return bool(type(old) is type(new) and old == new)


LARGEST_BLOCK = 64 * 1024
"""Characters. No frontmatter written for people is larger."""

MAX_VALUES = 10_000
"""Values once aliases are followed: nine aliases of nine, five deep, make 59,049."""

MAX_LEVELS = 100
"""Values inside values. Deeper ones would exhaust the stack of whoever walks or prints them."""

LONGEST_NUMBER = 1_000
"""Characters of a whole number; a longer one stays text. Python refuses to print integers of more
than 4,300 digits, which hexadecimal and base 60 make without a word."""

MAX_BRACKETS = 200
MAX_MARKS = 50
"""Opening brackets in all, and `- ` or `? ` on one line: together with the size they bound how
deep the C parser recurses (it crashes the process far beyond ten thousand levels)."""

_MARK = re.compile(r"[-?][ \t]")


class BadYaml(ValueError):
    """The text is not YAML, or beyond a limit; the message says why."""


@cache
def _safe_loader() -> Any:
    import yaml  # 30 ms, and most commands read no frontmatter

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _text_dates() -> Any:
    """The safe loader without its rule for dates, and with integers of any length."""
    safe = _safe_loader()

    class TextDates(safe):  # type: ignore[misc, valid-type]  # the C loader has none
        def construct_whole_number(self, node: yaml.ScalarNode) -> Any:
            if len(node.value) > LONGEST_NUMBER:
                return node.value
            return self.construct_yaml_int(node)

    TextDates.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in safe.yaml_implicit_resolvers.items()
    }
    TextDates.add_constructor("tag:yaml.org,2002:int", TextDates.construct_whole_number)
    return TextDates


def read_yaml(text: str) -> dict[str, Any]:
    """Return the mapping in the text, {} for an empty one. Raises BadYaml only."""
    value = _load(_text_dates(), text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadYaml("it is not a list of fields")
    return {str(key): item for key, item in value.items()}


def meaning(scalar: str) -> Any:
    """Return what other YAML readers make of an unquoted word: a date, a number, a text."""
    try:
        return _load(_safe_loader(), scalar)
    except BadYaml:
        return None


def _load(loader_class: Any, text: str) -> Any:
    import yaml

    if len(text) > LARGEST_BLOCK:
        raise BadYaml("it is too long")
    if text.count("[") + text.count("{") > MAX_BRACKETS or any(
        len(_MARK.findall(line)) > MAX_MARKS for line in text.split("\n")
    ):
        raise BadYaml("it is nested too deeply")
    try:
        loader = loader_class(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _refuse_alias_bomb(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (BadYaml, MemoryError):
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise BadYaml(f"{place}{error.problem}") from None
    except Exception as error:  # PyYAML lets ValueError, TypeError, RecursionError and more out
        raise BadYaml(type(error).__name__) from None


def _refuse_alias_bomb(root: yaml.Node) -> None:
    """Raise BadYaml where the values are too deep, or too many once every alias is followed.

    Checks the nodes before values are made of them: a merge key copies the pairs of what it names,
    so that lists of aliases below merge keys multiply meanwhile.
    """
    import yaml

    waiting, count = [(root, 1)], 1
    while waiting:
        node, level = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            children = [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        else:
            continue
        count += len(children)
        if count > MAX_VALUES:
            raise BadYaml("its aliases unfold to too much")
        if level >= MAX_LEVELS:
            raise BadYaml("it is nested too deeply")
        waiting += [(child, level + 1) for child in children]
