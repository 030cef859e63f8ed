"""Locate the values of a JSON text, with the standard library's own scanner.

Text is as `reading.decode` returns it: a byte order mark may lead, stray bytes are lone surrogates.
Every fault of a text is an UnreadableFile with line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from memtui.dataclass import dataclass, field
from memtui.errors import Refused, UnreadableFile

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_LONG_NUMBERS = json.JSONDecoder(parse_int=lambda digits: _to_integer(digits))
"""Slower; reads integers that Python refuses to convert (more than 4,300 digits) as text."""

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Record:
    """One item of an array: its value and its place in the text."""

    value: Any
    """A dict in a sound file; any JSON value in others."""
    start: int
    """Offset of the first character in the text it was read from."""
    end: int
    line: int
    """1-based line of `start`."""
    text: str = field(repr=False, compare=False)
    """The whole text it was read from."""

    @property
    def raw(self) -> str:
        """The item exactly as it is written."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Member:
    """One `"key": value` of an object; `start` and `end` are those of the value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """One value of an array."""

    value: Any
    start: int
    end: int


def load(text: str, where: str = "") -> Any:
    """Return the value of a whole file. Raises UnreadableFile."""
    with _faults(text, where):
        value, end = value_at(text, begin(text))
        _nothing_follows(text, end)
    return value


def load_records(
    text: str, array: tuple[str, ...] = (), where: str = "", others: dict[str, Any] | None = None
) -> list[Record]:
    """The items of the array that `array` leads to, in order, on one pass over the whole file.

    The other members of the top object are put into `others`. Raises UnreadableFile when the file
    is not valid JSON or has no such array. Of a key that occurs twice the last one counts, as
    it does for every JSON reader.
    """
    with _faults(text, where):
        items, end = _array_below(text, begin(text), array, {} if others is None else others)
        _nothing_follows(text, end)
    if items is None:
        if array and text[begin(text)] != "{":
            raise UnreadableFile("it does not hold a JSON object", where=where)
        name = f"list named {array[-1]!r}" if array else "list of records"
        raise UnreadableFile(f"the file has no {name}", where=where)
    records, line, counted = [], 1, 0
    for item in items:
        line += text.count("\n", counted, item.start)
        counted = item.start
        records.append(Record(item.value, item.start, item.end, line, text))
    return records


def locate(text: str, pointer: tuple[str, ...]) -> tuple[int, int]:
    """Start and end of the value that `pointer` leads to, in a text that is valid as a whole.

    A step is a key, or the index of an item. Raises UnreadableFile where there is no such place,
    Refused where a key on the way occurs twice: nobody can say which one to edit.
    """
    with _faults(text):
        at = begin(text)
        _, end = value_at(text, at)
        _nothing_follows(text, end)
        for step in pointer:
            at, end = _child(text, at, step)
    return at, end


def members(raw_object: str) -> list[Member]:
    """The members of an object in order, duplicates too. Raises Refused if it is no object."""
    if not raw_object.startswith("{"):
        raise Refused("the record is not a JSON object")
    try:
        with _faults(raw_object):
            found, end = _members(raw_object, 0)
            _nothing_follows(raw_object, end)
    except UnreadableFile as error:
        raise Refused(error.what) from None
    return found


def begin(text: str) -> int:
    """Where the first value starts."""
    return _skip(text, 1 if text.startswith(BYTE_ORDER_MARK) else 0)


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that starts at `at`, and its end; a text for an integer too long for Python.

    Raises JSONDecodeError or RecursionError.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _LONG_NUMBERS.raw_decode(text, at)


def _to_integer(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def items_at(text: str, at: int) -> tuple[list[Item], int]:
    """The items of the array whose `[` is at `at`, and the end of it."""
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return [], at + 1
    found = []
    while True:
        value, end = value_at(text, at)
        found.append(Item(value, at, end))
        at = _skip(text, end)
        if text[at : at + 1] == "]":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("expected ',' or ']'", text, at)
        at = _skip(text, at + 1)


def _end_of_value(text: str, _key: str, at: int) -> int:
    return value_at(text, at)[1]


def _members(
    text: str, at: int, end_of: Callable[[str, str, int], int] = _end_of_value
) -> tuple[list[Member], int]:
    """The members of the object whose `{` is at `at`, and the end of it."""
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return [], at + 1
    found = []
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("expected a key in double quotes", text, at)
        key, key_end = scanstring(text, at + 1, True)
        colon = _skip(text, key_end)
        if text[colon : colon + 1] != ":":
            raise json.JSONDecodeError("expected ':'", text, colon)
        start = _skip(text, colon + 1)
        end = end_of(text, key, start)
        found.append(Member(key, at, key_end, start, end))
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("expected ',' or '}'", text, at)
        at = _skip(text, at + 1)


def _array_below(
    text: str, at: int, array: tuple[str, ...], others: dict[str, Any]
) -> tuple[list[Item] | None, int]:
    """The items of the array below the value at `at` (None: no such array); the value's end.

    `others` takes the members of an object that do not lead to the array.
    """
    if text[at : at + 1] != ("{" if array else "["):
        return None, value_at(text, at)[1]
    if not array:
        return items_at(text, at)
    found: list[Item] | None = None

    def end_of(text: str, key: str, start: int) -> int:
        nonlocal found
        if key == array[0]:
            found, end = _array_below(text, start, array[1:], {})
        else:
            others[key], end = value_at(text, start)
        return end

    _, end = _members(text, at, end_of)
    return found, end


def _child(text: str, at: int, step: str) -> tuple[int, int]:
    if text[at : at + 1] == "[" and step.isdecimal():
        items, _ = items_at(text, at)
        if int(step) < len(items):
            return items[int(step)].start, items[int(step)].end
    elif text[at : at + 1] == "{":
        matching = [member for member in _members(text, at)[0] if member.key == step]
        if len(matching) > 1:
            raise Refused(f"the key {step!r} occurs twice", do="fix the file by hand")
        if matching:
            return matching[0].start, matching[0].end
    raise UnreadableFile(f"there is no {step!r} where one belongs")


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere


def _nothing_follows(text: str, at: int) -> None:
    at = _skip(text, at)
    if at != len(text):
        raise json.JSONDecodeError("something follows the end", text, at)


@contextmanager
def _faults(text: str, where: str = "") -> Iterator[None]:
    """Turn whatever the scanner raises into words with a place."""
    try:
        yield
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnreadableFile(_words(text, error), where=where) from None


def _words(text: str, error: Exception) -> str:
    if not text.strip(" \t\r\n" + BYTE_ORDER_MARK):
        return "the file is empty"
    if not text.strip("\0"):
        return "the file holds nothing but NUL bytes"
    if isinstance(error, json.JSONDecodeError):
        what = error.msg.removesuffix(" at").removesuffix(" starting")
        return f"not valid JSON at line {error.lineno}, column {error.colno}: {what}"
    return "the JSON is nested too deeply"
