"""The files of Ambient's first format as memories, by the rules of its own migration.

`{directory, lastAgent, lastActive, summary, facts[]}`: each fact becomes a decision of medium
importance, the summary a session-summary of low importance, both at `lastActive`
(src/memory/migrate.ts). They have no ids; made-up ones are good for as long as the text stays.
Nothing can be changed here: Ambient moves these files away at its next start.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from memtui.errors import UnreadableFile
from memtui.files.json.editing import load
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Unreadable
from memtui.stores.native import list_of, text_of
from memtui.stores.same_ids import UNADDRESSABLE
from memtui.stores.timestamps import from_milliseconds
from memtui.stores.unread import as_unreadable

_MOVED = "it lies in a file of Ambient's first format, which Ambient moves at its next start"


def _id(path: Path, position: str, content: str) -> str:
    mark = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"legacy-{path.stem[:8]}-{position}-{mark}"


def _memory(
    path: Path, top: dict[str, Any], label: str, position: str, content: str, **fields: Any
) -> Memory:
    directory = text_of(top.get("directory"))
    id = _id(path, position, content)
    return Memory(
        ref=f"{label}:{id}",
        id=id,
        store=label,
        kind="event",
        content=content,
        entity=os.path.basename(directory.rstrip("/")) or path.stem[:8],
        created=from_milliseconds(top.get("lastActive")),
        source=text_of(top.get("lastAgent")),
        origin=Place(str(path), None, position),
        extra={
            "directory": directory,
            "timestamp": top.get("lastActive"),
            "legacy": True,
            UNADDRESSABLE: _MOVED,
        },
        **fields,
    )


def read_legacy(path: Path, root: Path, label: str) -> Reading:
    """The facts and the summary of one legacy file."""
    try:
        top = load(decode(read_bytes(path, root)), str(path))
    except UnreadableFile as error:
        return Reading((), (as_unreadable(error, path),))
    if not isinstance(top, dict):
        return Reading((), (Unreadable(str(path), "it does not hold a JSON object"),))
    facts = top.get("facts", [])
    memories = [
        _memory(path, top, label, f"facts[{n}]", text_of(fact), type="decision")
        for n, fact in enumerate(list_of(facts))
    ]
    summary = text_of(top.get("summary"))
    if summary:
        fields = {"type": "session-summary", "importance": "low"}
        memories.append(_memory(path, top, label, "summary", summary, **fields))
    if isinstance(facts, list):
        return Reading(tuple(memories))
    return Reading(tuple(memories), (Unreadable(str(path), "its facts are not a list"),))
