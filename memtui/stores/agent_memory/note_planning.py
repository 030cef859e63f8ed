"""Changes of notes: a note is a file, so its text is replaced whole, in the line ends it has."""

from __future__ import annotations

from pathlib import Path

from memtui.changes import Act, Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.agent_memory.notes import to_prose, to_text
from memtui.stores.asked import asked_values, content_of, same_as_seen
from memtui.stores.sidecar_acts import BESIDE, Beside, tag_edits

NOTE_FIELDS = frozenset({"content", "tags"})
NOTE_ACTS = frozenset({Act.EDIT, Act.DELETE}) | BESIDE


def plan_note(change: Change, memory: Memory, beside: Beside) -> Plan:
    path = Path(memory.origin.file)
    try:
        before = decode(read_bytes(path, path.parent))
    except UnreadableFile as error:
        raise Refused(error.what, where=str(path)) from None
    prose = to_prose(path, before)
    if change.act is Act.DELETE:
        same_as_seen(memory, prose.content, str(path), None)
        edits: tuple[Edit, ...] = (TextEdit(str(path), before, None), *beside.forget())
        return Plan((change,), edits, refs=(memory.ref,))
    asked = asked_values(change, memory, NOTE_FIELDS)
    edits = tag_edits(beside, asked["tags"]) if "tags" in asked else ()
    if "content" in asked:
        same_as_seen(memory, prose.content, str(path), asked["content"])
        edits = (TextEdit(str(path), before, to_text(content_of(change), prose)), *edits)
    outcome = Outcome.DONE if edits else Outcome.NOTHING
    return Plan((change,), edits, outcome, refs=(memory.ref,))
