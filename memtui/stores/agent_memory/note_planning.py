"""Changes of notes: a note is a file, so its text is replaced whole, in the line ends it has."""

from __future__ import annotations

from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan, TextEdit
from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.agent_memory.notes import Prose, to_prose, to_text
from memtui.stores.asked import asked_values, content_of, same_as_seen
from memtui.stores.desk import Desk
from memtui.stores.outcomes import done
from memtui.stores.sidecar_acts import BESIDE, tag_edits
from memtui.stores.unread import as_refused

NOTE_FIELDS = frozenset({"content", "tags"})
NOTE_ACTS = frozenset({Act.EDIT, Act.DELETE}) | BESIDE


def _opened(memory: Memory) -> tuple[str, Prose]:
    """The file's text, and what it says. Raises Refused."""
    path = Path(memory.origin.file)
    try:
        text = decode(read_bytes(path, path.parent))
    except UnreadableFile as error:
        raise as_refused(error, path) from None
    return text, to_prose(path, text)


def edit_note(change: Change, memory: Memory, desk: Desk) -> Plan:
    before, prose = _opened(memory)
    asked = asked_values(change, memory, NOTE_FIELDS)
    edits: tuple[Edit, ...] = ()
    if "content" in asked:
        path = str(prose.path)
        same_as_seen(memory, prose.content, path, asked["content"])
        edits = (TextEdit(path, before, to_text(content_of(change), prose)),)
    if "tags" in asked:
        edits += tag_edits(desk.beside(memory), asked["tags"])
    return done(change, memory, edits)


def delete_note(change: Change, memory: Memory, desk: Desk) -> Plan:
    before, prose = _opened(memory)
    path = str(prose.path)
    same_as_seen(memory, prose.content, path, None)
    edits: tuple[Edit, ...] = (TextEdit(path, before, None), *desk.beside(memory).forget())
    return done(change, memory, edits)
