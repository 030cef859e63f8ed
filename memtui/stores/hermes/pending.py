"""Writes that Hermes keeps back for a person: `pending/memory/<id>.json` of its home.

They are accepted as `/memory approve` does it and declined as `/memory reject`. An add ends the
file; a replacement and a removal take the first entry that contains `old_text`, and are refused if
none does or entries that differ; a batch is done whole or not at all, and its limit counts at the
end. What is accepted or declined is removed from the folder. (Source: NousResearch/hermes-agent,
tools/write_approval.py@00067189 and tools/memory_tool.py@029cfb25.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.text_items import DELIMITER, entries_in, insert_entry, remove_entry
from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory, Place
from memtui.stores.hermes import MEMORY, USER
from memtui.stores.listed_texts import ListContext, ListFile, text_key
from memtui.stores.proposed_files import ProposedFiles
from memtui.stores.scanning import time_of_change
from memtui.stores.values import (
    from_milliseconds,
    is_number,
    members_of,
    memory_name,
    parse_object,
)

PENDING = "write"
"""Type of such a memory, and key of `extra`: the path of its file."""
RECORD = "record"
"""Key of `extra`: the text of the file."""
FOLDER, SUFFIX = "pending/memory", ".json"
FILES = {"memory": MEMORY, "user": USER}
_SHOWN = ("id", "subsystem", "action", "summary", "origin", "created_at", "payload")
_BATCH = "batch"
LINE_ENDS = re.compile(r"\r\n|\r|\n")
WRITES = ProposedFiles(PENDING, lambda memory: str(memory.extra.get(RECORD) or ""))


def pending_memory(
    path: str, file: Path, text: str, label: str, known: Callable[[str], str]
) -> Memory:
    """A write that waits. Raises Refused if the file has another form.

    It has the name of the first entry that it would add, so that this has its links and tags once
    it is accepted, and is headed by what Hermes would remember; the summary is a copy of that.

    Args:
        path: of its file, relative to the root.
        file: the same, absolute.
        text: of the file.
        label: of the store.
        known: the text of one of `FILES`.
    """
    record = parse_object(text.removeprefix(BYTE_ORDER_MARK))
    payload = members_of(record.get("payload"))
    target = str(payload.get("target") or "memory")
    operations = operations_of(payload)
    if target not in FILES or not operations:
        raise Refused("it is not a write that Hermes keeps back", where=path)
    seconds = record.get("created_at")
    created = from_milliseconds(seconds * 1000) if is_number(seconds) and seconds else None
    entries = entries_in(known(FILES[target]))
    new = [*filter(None, (_text(each, "content") for each in operations))]
    first = next((entry for entry in new if entry not in entries), "")
    id = f"{FILES[target]}#{text_key(first)}" if first else path
    content = "\n\n".join(map(describe, operations))
    more = {key: record[key] for key in record if key not in _SHOWN}
    more |= {} if created is not None else {FILE_TIME_KEY: FILE_TIME}
    return Memory(
        **memory_name(label, id),
        kind="note",
        type=PENDING,
        title="" if not new or content.startswith(new[0]) else new[0].partition("\n")[0],
        content=content,
        entity=target,
        created=created,
        updated=created or time_of_change(file),
        status="proposed",
        source=str(record.get("origin") or ""),
        origin=Place(str(file), 1),
        extra={**more, PENDING: path, RECORD: text},
    )


def operations_of(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The single writes of a payload; [] if it has another form."""
    action = payload.get("action")
    listed = payload.get("operations") if action == _BATCH else [payload]
    every: list[Mapping[str, Any]] = []
    every += map(members_of, listed) if isinstance(listed, list) else ()
    known = all(each.get("action") in ("add", "replace", "remove") for each in every)
    return every if known else []


def _text(operation: Mapping[str, Any], key: str) -> str:
    value = operation.get(key)
    return value.strip() if isinstance(value, str) else ""


def describe(operation: Mapping[str, Any]) -> str:
    """A single write, in words."""
    old, new = _text(operation, "old_text"), _text(operation, "content")
    if operation["action"] == "add":
        return new
    return (
        f"Remove the entry with: {old}" if not new else f"In place of the entry with: {old}\n{new}"
    )


def accept(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Make the write, and remove the file. Raises Refused or Conflict."""
    text = WRITES.read(memory, context)
    payload = members_of(json.loads(text.removeprefix(BYTE_ORDER_MARK)).get("payload"))
    file = context.open_list(FILES[memory.entity])
    after = written(file, operations_of(payload), is_batch=payload.get("action") == _BATCH)
    edits: tuple[Edit, ...] = (*file.edit(after), text_edit(memory.origin.file, text, None))
    after_file = type(file)(file.key, file.path, after, file.sidecar)
    ids = {item.id for item in file.items} ^ {item.id for item in after_file.items}
    refs = (memory.ref, *(context.ref(id) for id in sorted(ids)))
    reason = "Makes the write" if after != (file.before or "") else "The entry is there already"
    return Plan((change,), edits, Outcome.DONE, reason, refs)


def written(file: ListFile, operations: Sequence[Mapping[str, Any]], *, is_batch: bool) -> str:
    """The text of a file after these writes. Raises Refused."""
    text = file.before or ""
    is_add = not is_batch and operations[0]["action"] == "add"
    if file.limit is not None and not is_add and (why := why_refused(text, file.limit)):
        raise Refused(why, where=str(file.path))
    for operation in operations:
        old, new = _text(operation, "old_text"), _text(operation, "content")
        entries = entries_in(text)
        if operation["action"] == "add":
            if not new:
                raise Refused("it would add an empty entry")
            text = text if new in entries else insert_entry(text, len(entries), new)
            continue
        found = [place for place, entry in enumerate(entries) if old and old in entry]
        if not found:
            raise Refused("no entry contains the text that it names", where=old)
        if len({entries[place] for place in found}) > 1:
            raise Refused("entries that differ contain the text that it names", where=old)
        text = remove_entry(text, found[0])
        if operation["action"] == "replace":
            if not new:
                raise Refused("it would leave an empty entry")
            text = insert_entry(text, found[0], new)
    size = file.size_of(text)
    if file.limit is not None and text != file.before and size > file.limit:
        raise Refused(
            f"{file.path.name} would hold {size:,} of {file.limit:,} characters",
            where=str(file.path),
            do="shorten or remove entries, then accept it",
        )
    return text


def with_line_feeds(text: str) -> str:
    """The text as a program reads it that takes a carriage return for a line feed."""
    return LINE_ENDS.sub("\n", text)


def why_refused(text: str, limit: int) -> str:
    """Why Hermes would refuse to replace or remove an entry of this file; "" if it would not."""
    entries = list(map(with_line_feeds, entries_in(text)))
    longest = max(map(len, entries), default=0)
    if longest > limit:
        return f"Hermes refuses to write it: an entry of {longest:,} characters, limit {limit:,}"
    if with_line_feeds(text).strip() != DELIMITER.join(entries):
        return "Hermes refuses to write it: it is not a clean list of entries"
    return ""
