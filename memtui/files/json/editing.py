"""Edit single values of a JSON text in its own style; every other byte stays as it was.

No JSON library keeps spelling, order, duplicate keys and spacing, so this replaces text at the
spans that `locating` finds. A "raw" text is a slice of a file that holds exactly one JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from msgspec import Struct

from memtui.errors import Refused
from memtui.files.json.locating import (
    BYTE_ORDER_MARK,
    LINES,
    Part,
    Record,
    load,
    load_records,
    locate,
    members,
    parts_of,
)

_ESCAPED_LETTER = re.compile(
    r"(?<!\\)(?:\\\\)*\\u(?:(?!00[0-7]|[dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F])"
)
"""An escape that JSON does not require: neither of a control character nor a lone surrogate."""
_UPPER_ESCAPE = re.compile(r"\\u(?=[0-9a-fA-F]{0,3}[A-F])[0-9A-F]{4}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ANY_ESCAPE = re.compile(r"\\u[0-9a-f]{4}|\\.", re.DOTALL)


class Spelling(Struct, frozen=True):
    """Which characters a writer escapes. Lone surrogates are always escaped."""

    ascii: bool = False
    """Everything beyond ASCII as \\uXXXX."""
    slash: bool = False
    """`/` as `\\/`."""
    upper: bool = False
    """\\u00AB rather than \\u00ab."""
    raw_bytes: frozenset[str] = frozenset()
    """Stray bytes (as lone surrogates) that stand unescaped in the old text and may stay."""

    @classmethod
    def of(cls, old: str, context: str) -> Spelling:
        """The spelling of `old`; if `old` shows none, that of the surrounding text `context`."""
        sample = old if not old.isascii() or _ESCAPED_LETTER.search(old) else context
        return cls(
            ascii=sample.isascii() and _ESCAPED_LETTER.search(sample) is not None,
            slash="\\/" in context,
            upper=_UPPER_ESCAPE.search(context) is not None,
            raw_bytes=frozenset(_LONE_SURROGATE.findall(old)),
        )

    def string(self, text: str) -> str:
        """The text as a JSON string."""
        written = json.dumps(text, ensure_ascii=self.ascii)
        if not written.isascii():
            written = _LONE_SURROGATE.sub(self._surrogate, written)
        if self.upper:
            written = _ANY_ESCAPE.sub(_upper, written)
        return written.replace("/", "\\/") if self.slash else written

    def _surrogate(self, match: re.Match[str]) -> str:
        found = match.group()
        return found if found in self.raw_bytes else f"\\u{ord(found):04x}"


def _upper(match: re.Match[str]) -> str:
    found = match.group()
    return "\\u" + found[2:].upper() if found.startswith("\\u") else found


class JsonStyle(Struct, frozen=True):
    """The white space of an object, as found or as jq writes it."""

    opening: str
    """Between `{` and the first key."""
    between: str
    """Between a value and the next key, the comma included."""
    colon: str
    closing: str
    """Between the last value and `}`."""
    unit: str = ""
    """One level of indentation; empty when everything stands on one line."""

    PLAIN: ClassVar[JsonStyle]

    @classmethod
    def of(cls, opening: str, between: str, colon: str, closing: str) -> JsonStyle:
        """`between` may be empty where there is only one member to look at."""
        unit = ""
        if "\n" in opening and "\n" in closing:
            inner, outer = (space.rpartition("\n")[2] for space in (opening, closing))
            unit = inner[len(outer) :] if inner.startswith(outer) else ""
        if not between:
            tight = colon == ":" and "\n" not in opening
            between = "," + (opening if "\n" in opening else "" if tight else " ")
        return cls(opening, between, colon, closing, unit)

    @classmethod
    def indented(cls, indent: str) -> JsonStyle:
        """Two spaces a level, on lines that begin with `indent`."""
        opening = "\n" + indent + "  "
        return cls(opening, "," + opening, ": ", "\n" + indent, "  ")

    def deeper(self) -> JsonStyle:
        """The style of an object that is a value in this one."""
        if not self.unit:
            return JsonStyle("", self.between, self.colon, "", "")
        newline = "\r\n" if "\r\n" in self.opening else "\n"
        indent = self.opening.rpartition("\n")[2]
        opening = newline + indent + self.unit
        return JsonStyle(opening, "," + opening, self.colon, newline + indent, self.unit)

    def write(self, value: Any, spelling: Spelling, like: JsonStyle | None = None) -> str:
        """Write a value as it would be in a container of this style.

        `like` is the layout of the container it replaces.
        """
        if isinstance(value, str):
            return spelling.string(value)
        if isinstance(value, Mapping):
            return (like or self.deeper()).write_object(value, spelling)
        if isinstance(value, list | tuple):
            return (like or self.deeper()).write_array(value, spelling)
        try:
            return json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise Refused("the value cannot be written as JSON") from None

    def write_object(self, value: Mapping[str, Any], spelling: Spelling) -> str:
        members = [
            spelling.string(key) + self.colon + self.write(item, spelling)
            for key, item in value.items()
        ]
        if not members:
            return "{}"
        return "{" + self.opening + self.between.join(members) + self.closing + "}"

    def write_array(self, value: list[Any] | tuple[Any, ...], spelling: Spelling) -> str:
        if not value:
            return "[]"
        items = [self.write(item, spelling) for item in value]
        return "[" + self.opening + self.between.join(items) + self.closing + "]"


JsonStyle.PLAIN = JsonStyle("", ", ", ": ", "")
_TIGHT = JsonStyle("", ",", ":", "")
"""As JSON.stringify and Go's encoding/json write."""


def line_of(value: Mapping[str, Any]) -> str:
    """A new object on a line, without its line feed."""
    return _TIGHT.write_object(value, Spelling())


def splice(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with each span [start, end) replaced; spans must not overlap."""
    pieces, copied = [], 0
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        if start < copied:
            raise Refused("two edits touch the same text")
        pieces += [text[copied:start], new]
        copied = end
    return "".join([*pieces, text[copied:]])


# ---- one object -----------------------------------------------------------------------------


def has_member(raw_object: str, key: str) -> bool:
    return any(member.key == key for member in members(raw_object))


def set_member(raw_object: str, key: str, value: Any) -> str:
    """The object with the value of `key` replaced, in the style of the old one.

    Nothing else changes by a byte, and an equal value changes nothing at all. Raises Refused when
    the key is missing or occurs twice.
    """
    member = _single_member(raw_object, key)
    if member is None:
        raise Refused(f"the record has no {key!r}")
    old = raw_object[member.start : member.end]
    if _is_same_value(load(old), value):
        return raw_object
    layout, spelling = _layout(raw_object) or JsonStyle.PLAIN, Spelling.of(old, raw_object)
    new = layout.write(value, spelling, like=_layout(old, layout.colon))
    return splice(raw_object, [(member.start, member.end, new)])


def add_member(raw_object: str, key: str, value: Any, index: int | None = None) -> str:
    """The object with a new member, spaced like its neighbours. Refused if the key exists.

    It is put before the member at `index`; at the end when None or beyond.
    """
    found = members(raw_object)
    if any(member.key == key for member in found):
        raise Refused(f"the record has a {key!r} already")
    layout, spelling = _layout(raw_object) or JsonStyle.PLAIN, Spelling.of("", raw_object)
    new = spelling.string(key) + layout.colon + layout.write(value, spelling)
    if not found:
        return "{" + new + "}"
    if index is not None and index < len(found):
        start = found[index].key_start
        return splice(raw_object, [(start, start, new + layout.between)])
    end = found[-1].end
    return splice(raw_object, [(end, end, layout.between + new)])


def put_member(raw_object: str, key: str, value: Any) -> str:
    """`set_member` where the key exists, else `add_member`."""
    act = set_member if has_member(raw_object, key) else add_member
    return act(raw_object, key, value)


def remove_member(raw_object: str, key: str) -> str:
    """The object without `key`, and without the comma that went with it."""
    target = _single_member(raw_object, key)
    if target is None:
        raise Refused(f"the record has no {key!r}")
    found = members(raw_object)
    index = found.index(target)
    if len(found) == 1:
        return "{}"
    if index:
        return splice(raw_object, [(found[index - 1].end, target.end, "")])
    return splice(raw_object, [(target.key_start, found[1].key_start, "")])


def new_record(neighbour_raw: str | None, value: Mapping[str, Any], indent: str = "") -> str:
    """A new object in the layout and spelling of its neighbour.

    Without a neighbour: two spaces a level, as jq and JSON.stringify(x, null, 2) write, on lines
    that begin with `indent` (the white space before the record's own brace).
    """
    layout = _layout(neighbour_raw) if neighbour_raw else None
    spelling = Spelling.of("", neighbour_raw or "")
    return (layout or JsonStyle.indented(indent)).write_object(value, spelling)


def _single_member(raw_object: str, key: str) -> Part | None:
    found = [member for member in members(raw_object) if member.key == key]
    if len(found) > 1:
        raise Refused(f"the record has the key {key!r} twice", do="fix the file by hand")
    return found[0] if found else None


def _is_same_value(old: Any, new: Any) -> bool:
    """Equal as JSON: True is not 1, and 1.0 is not 1."""
    try:
        return bool(old == new) and json.dumps(old) == json.dumps(new)
    except (TypeError, ValueError):
        return False


def _layout(raw: str, colon: str = ": ") -> JsonStyle | None:
    """The layout of an object or array that holds something; None for any other value.

    `colon` is what surrounds an array, which has none of its own to show.
    """
    found = parts_of(raw) if raw.startswith(("{", "[")) else []
    if not found:
        return None
    last, left = found[-1], found[-2].end if len(found) > 1 else found[-1].key_start
    return JsonStyle.of(
        opening=raw[1 : found[0].key_start],
        between=raw[left : last.key_start],
        colon=raw[last.key_end : last.start] if raw[0] == "{" else colon,
        closing=raw[last.end : -1],
    )


# ---- a file ---------------------------------------------------------------------------------


def raw_value(text: str, pointer: tuple[str, ...]) -> str:
    """The value that `pointer` leads to, exactly as it is written."""
    start, end = locate(text, pointer)
    return text[start:end]


def set_value(text: str, pointer: tuple[str, ...], raw: str) -> str:
    """The file with the value that `pointer` leads to replaced by a raw text.

    Raises Refused on a duplicated key, UnreadableFile when there is no such place.
    """
    load(raw)
    return splice(text, [(*locate(text, pointer), raw)])


def replace_records(text: str, array: tuple[str, ...], changes: Mapping[int, str]) -> str:
    """The file with the items at these indexes replaced by raw texts."""
    records = _editable(text, array)
    return splice(text, [(records[i].start, records[i].end, raw) for i, raw in changes.items()])


def remove_records(text: str, array: tuple[str, ...], indexes: Iterable[int]) -> str:
    """The file without the items at these indexes, each with one comma."""
    if array == LINES:
        return _without_lines(text, set(indexes))
    records, removed = _editable(text, array), set(indexes)
    first_kept = next((i for i in range(len(records)) if i not in removed), None)
    if not removed:
        return text
    if first_kept is None:
        return set_value(text, array, "[]")
    cuts = [(records[0].start, records[first_kept].start, "")]
    cuts += [(records[i - 1].end, records[i].end, "") for i in removed if i > first_kept]
    return splice(text, cuts)


def insert_records(
    text: str, array: tuple[str, ...], raws: Iterable[str], index: int | None = None
) -> str:
    """The file with new items before the one at `index` (at the end when None or beyond).

    Separators are copied from the neighbours, or made to fit the items in an empty array.
    """
    if array == LINES:
        return _with_lines(text, list(raws), index)
    new, records = list(raws), _editable(text, array)
    start, end = locate(text, array)
    if not new:
        return text
    if not records:
        return splice(text, [(start, end, _array_with(text, start, new))])
    first = records[0].start
    place = len(records) if index is None else min(index, len(records))
    left = min(max(place, 1), len(records) - 1) - 1
    if left >= 0:
        gap = text[records[left].end : records[left + 1].start]
    else:
        gap = _gap_after(records[0].raw, text[start + 1 : first])
    if place == 0:
        return splice(text, [(first, first, "".join(raw + gap for raw in new))])
    at = records[place - 1].end
    return splice(text, [(at, at, "".join(gap + raw for raw in new))])


def _without_lines(text: str, removed: set[int]) -> str:
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines) if number not in removed)


def _with_lines(text: str, raws: list[str], index: int | None) -> str:
    lines = text.split("\n")
    if index is None or index > len(lines):  # below the last line; else one comes back as it was
        index = len(lines) if lines[-1] else len(lines) - 1
        if index and lines[index - 1].endswith("\r"):
            raws = [f"{raw}\r" for raw in raws]
    return "\n".join([*lines[:index], *raws, *lines[index:]])


def _gap_after(raw: str, lead: str) -> str:
    """Return the separator after an only item: spaced as before it, or as inside it."""
    if lead:
        return "," + lead
    layout = _layout(raw)
    return layout.between if layout is not None and "\n" not in layout.between else ","


def _editable(text: str, array: tuple[str, ...]) -> list[Record]:
    if array and array != LINES:
        locate(text, array)  # refuses a path with a duplicated key
    return load_records(text, array)


def _array_with(text: str, at: int, raws: list[str]) -> str:
    """The array at `at`, empty so far, with these items."""
    if not any("\n" in raw for raw in raws):
        return "[" + ", ".join(raws) + "]"
    newline = "\r\n" if "\r\n" in text or "\r\n" in raws[0] else "\n"
    outer = newline + _indent(text[text.rfind("\n", 0, at) + 1 : at].lstrip(BYTE_ORDER_MARK))
    inner = newline + _indent(raws[0][raws[0].rfind("\n") + 1 :])
    return "[" + ",".join(inner + raw for raw in raws) + outer + "]"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
