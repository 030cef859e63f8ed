"""Read a JSON file that holds a list of records, and make edits of its records.

One bad record never hides its neighbours, and a file that is not valid JSON is unreadable as a
whole, never empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.changes import Edit, record_edit, text_edit
from memtui.errors import UnreadableFile
from memtui.files.json.editing import (
    has_member,
    line_of,
    new_record,
    put_member,
    remove_member,
)
from memtui.files.json.locating import LINES, Record, load_records, record_id
from memtui.files.reading import IS_EMPTY, read_text_file
from memtui.stores.base import Unreadable
from memtui.stores.scanning import as_refused, listed_faults


class JsonFile(Struct, frozen=True):
    """One file as it was read."""

    path: Path
    text: str
    array: tuple[str, ...]
    records: tuple[Record, ...]
    top: dict[str, Any]
    """The members beside the list; empty when the file is the list itself."""
    id_key: str = "id"
    """The member that names a record, see `memtui.files.merging.record_id`."""
    exists: bool = True
    """False: nothing is there, and `text` is what would be made before its first record."""

    def key(self, index: int) -> str:
        """The path of a record in the file: `[3]`, `events[12]`."""
        return f"{'.'.join(self.array).strip()}[{index}]"

    def edit(self, named: NamedRecord, after: str | None) -> Edit:
        """The edit that gives a record this text (None: removes it); undoing restores its place."""
        before, index = named.record.raw, named.index
        if after is None and self.array == LINES:
            before = self.text.split("\n")[index]  # with what surrounds it
        key = self.id_key
        return record_edit(str(self.path), self.array, key, named.id, before, after, index)

    def put(self, named: NamedRecord, values: Mapping[str, Any]) -> tuple[Edit, ...]:
        """The edit that sets these keys of a record and changes no other byte; none if they are
        set."""
        raw = with_members(named.record.raw, values)
        return () if raw == named.record.raw else (self.edit(named, raw),)

    def insert(self, value: Mapping[str, Any], indent: str) -> tuple[Edit, ...]:
        """The edits that append a record, laid out like the one before it.

        `indent` is what stands before the first record of a list.
        """
        raws = [record.raw for record in self.records if isinstance(record.value, dict)]
        if self.array == LINES and not raws:
            raw = line_of(value)
        else:
            raw = new_record(raws[-1] if raws else None, value, indent)
        return self.insert_raw(str(record_id(value, self.id_key)), raw)

    def insert_raw(self, id: str, raw: str, index: int | None = None) -> tuple[Edit, ...]:
        """The edits that insert a record's raw text; a missing file is created first."""
        path = str(self.path)
        creation = () if self.exists or self.array == LINES else (text_edit(path, None, self.text),)
        return (*creation, record_edit(path, self.array, self.id_key, id, None, raw, index))


def read_json(path: Path, root: Path, array: tuple[str, ...] = ()) -> JsonFile:
    """Read a file whose records are the list at `array` (a path of keys), or its `LINES`.

    Raises UnreadableFile with a reason for a person.
    """
    text = read_text_file(path, root)
    top: dict[str, Any] = {}
    records = load_records(text, array, str(path), top)
    if array == LINES and not any(isinstance(record.value, dict) for record in records):
        is_empty = not any(record.raw for record in records)
        why = IS_EMPTY if is_empty else "no line of it is a JSON object"
        raise UnreadableFile(why, where=str(path))
    return JsonFile(path, text, array, tuple(records), top)


def new_json_file(path: Path, array: tuple[str, ...] = (), text: str = "[]\n") -> JsonFile:
    """A file that does not exist, with the text that would be created before its first record."""
    return JsonFile(path, text, array, (), {}, exists=False)


def read_or_new(path: Path, root: Path, array: tuple[str, ...] = ()) -> JsonFile:
    """Read a file that is a list, or `LINES`, or prepare a new one. Raises Refused if it cannot be
    read.

    Where there is none it can be made; a link that leads nowhere is not made to lead somewhere.
    """
    if not os.path.lexists(path):
        return new_json_file(path, array, "" if array == LINES else "[]\n")
    try:
        return read_json(path, root, array)
    except UnreadableFile as error:
        raise as_refused(error, path) from None


def with_members(raw: str, values: Mapping[str, Any]) -> str:
    """A record's text with these keys set; None takes a key away."""
    for key, value in values.items():
        if value is not None:
            raw = put_member(raw, key, value)
        elif has_member(raw, key):
            raw = remove_member(raw, key)
    return raw


class NamedRecord(Struct, frozen=True):
    """A valid record and its id."""

    index: int
    record: Record
    id: str
    """The record's own id, or a made-up one that stays the same while record and place do."""
    fault: str = ""
    """Why the record cannot be addressed in its file, so not changed; empty when it can."""

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = self.record.value
        return value


def named_records(file: JsonFile, folder: str) -> tuple[list[NamedRecord], list[Unreadable]]:
    """The records that are objects, each with an id, and a fault for each malformed one.

    `folder` (a slug, a project key) keeps made-up ids of different folders apart.
    """
    found: list[NamedRecord] = []
    faults: list[str] = []
    for index, record in enumerate(file.records):
        if not record.raw:
            continue  # a blank line
        if not isinstance(record.value, dict):
            faults.append(f"{_place(file, index)} is not an object")
            continue
        id, fault = record.value.get("id"), ""
        if not isinstance(id, str) or not id:
            fault = "its id is a number, not a text"
            if not isinstance(id, int) or isinstance(id, bool):
                fault = "it has no id"
                text = f"{folder}\0{record.raw}".encode("utf-8", "surrogatepass")
                id = f"unnamed-{index}-{hashlib.blake2b(text, digest_size=4).hexdigest()}"
            faults.append(f"{_place(file, index)} is shown but cannot be changed: {fault}")
        found.append(NamedRecord(index, record, str(id), fault))
    return found, listed_faults(file.path, faults, "records like these")


def _place(file: JsonFile, index: int) -> str:
    return f"record {file.key(index)} at line {file.records[index].line}"
