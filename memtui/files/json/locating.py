"""Locate the values of a JSON text, with the standard library's own scanner.

Text is as `reading.decode` returns it: a byte order mark may lead, stray bytes are lone surrogates.
Every fault of a text is an UnreadableFile with line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from msgspec import Struct

from memtui.errors import Refused, UnreadableFile

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_LONG_NUMBERS = json.JSONDecoder(parse_int=lambda digits: _to_integer(digits))
"""Slower; reads integers that Python refuses to convert (more than 4,300 digits) as text."""

BYTE_ORDER_MARK = "\ufeff"
LINES = ("\n",)
"""Leads to the lines of a text, where a list of keys leads to an array: each line is an item."""


class Record(Struct, frozen=True):
    """One item of an array: its value and its place in the text."""

    value: Any
    """A dict in a sound file; any JSON value in others."""
    start: int
    """Offset of the first character in the text it was read from."""
    end: int
    line: int
    """1-based line of `start`."""
    text: str
    """The whole text it was read from."""

    @property
    def raw(self) -> str:
        """The item exactly as it is written."""
        return self.text[self.start : self.end]


class Part(NamedTuple):
    """One value of an object or array; in an array the key is empty and begins with the value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int
    value: Any


def load(text: str, where: str = "") -> Any:
    """Return the value of a whole file. Raises UnreadableFile."""
    with _faults(text, where):
        value, end = value_at(text, begin(text))
        _nothing_follows(text, end)
    return value


def load_records(
    text: str, array: tuple[str, ...] = (), where: str = "", others: dict[str, Any] | None = None
) -> list[Record]:
    """The items of the array that `array` leads to, in order; of `LINES` one for each line.

    The other members of the top object are put into `others`. Raises UnreadableFile when the file
    is not valid JSON or has no such array. Of a key that occurs twice the last one counts, as
    it does for every JSON reader. A line that is no JSON, such as a blank one, has the value None.
    """
    if array == LINES:
        return list(_line_records(text))
    with _faults(text, where):
        at = begin(text)
        parts, end = parts_at(text, at)
        _nothing_follows(text, end)
        if others is not None and array and text[at] == "{":
            others.update((part.key, part.value) for part in parts if part.key != array[0])
        for key in array:
            found = [part for part in parts if part.key == key and text[at] == "{"]
            at = found[-1].start if found else end
            parts = parts_at(text, at)[0] if found else []
    if text[at : at + 1] != "[":
        if array and text[begin(text)] != "{":
            raise UnreadableFile("it does not hold a JSON object", where=where)
        name = f"list named {array[-1]!r}" if array else "list of records"
        raise UnreadableFile(f"the file has no {name}", where=where)
    records, line, counted = [], 1, 0
    for part in parts:
        line += text.count("\n", counted, part.start)
        counted = part.start
        records.append(Record(part.value, part.start, part.end, line, text))
    return records


def record_id(value: Any, id_key: str) -> str | None:
    """Return the id of a record as text, as edits name it; None when it has none.

    `id_key` is the member that holds it; of records of several sorts the members, parted by blanks,
    of which the first counts that a record has, each with what its ids begin with (`memory/key`).
    """
    for name in id_key.split(" ") if isinstance(value, dict) else ():
        start, slash, key = name.rpartition("/")
        found = value.get(key)
        if isinstance(found, str):
            return start + slash + found
        if isinstance(found, int) and not isinstance(found, bool):
            return f"{start}{slash}{found}"
    return None


def _line_records(text: str) -> Iterator[Record]:
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        raw, value = line.strip(" \t\r" + BYTE_ORDER_MARK), None
        if raw:
            with suppress(UnreadableFile):
                value = load(raw)
        at = start + line.index(raw)
        yield Record(value, at, at + len(raw), number, text)
        start += len(line) + 1


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


def members(raw_object: str) -> list[Part]:
    """The members of an object in order, duplicates too. Raises Refused if it is no object."""
    if not raw_object.startswith("{"):
        raise Refused("the record is not a JSON object")
    return parts_of(raw_object)


def parts_of(raw: str) -> list[Part]:
    """The values of an object or array; [] for another value. Raises Refused if it is no JSON."""
    try:
        with _faults(raw):
            found, end = parts_at(raw, 0)
            _nothing_follows(raw, end)
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


def parts_at(text: str, at: int) -> tuple[list[Part], int]:
    """The values of the object or array that begins at `at` ([] for another value), and its end.

    Raises JSONDecodeError or RecursionError.
    """
    is_object = text[at : at + 1] == "{"
    if not is_object and text[at : at + 1] != "[":
        return [], value_at(text, at)[1]
    closing, found = "}" if is_object else "]", list[Part]()
    at = _skip(text, at + 1)
    if text[at : at + 1] == closing:
        return found, at + 1
    while True:
        key, key_end, start = "", at, at
        if is_object:
            if text[at : at + 1] != '"':
                raise json.JSONDecodeError(
                    "Expecting property name enclosed in double quotes", text, at
                )
            key, key_end = scanstring(text, at + 1, True)
            colon = _skip(text, key_end)
            if text[colon : colon + 1] != ":":
                raise json.JSONDecodeError("Expecting ':' delimiter", text, colon)
            start = _skip(text, colon + 1)
        value, end = value_at(text, start)
        found.append(Part(key, at, key_end, start, end, value))
        at = _skip(text, end)
        if text[at : at + 1] == closing:
            return found, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _child(text: str, at: int, step: str) -> tuple[int, int]:
    parts, _ = parts_at(text, at)
    if text[at : at + 1] == "[":
        matching = parts[int(step) :][:1] if step.isdecimal() else []
    else:
        matching = [part for part in parts if part.key == step]
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
