"""Import ad-hoc notes, and convert memories of other formats to such notes."""

from __future__ import annotations

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.change_validation import content_of
from memtui.stores.codex.layout import NOTES, SUFFIX, is_note
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import lost_fields, short_hash, sidecar_values, slug, text_with_title
from memtui.stores.markdown_documents import new_file
from memtui.stores.plan_context import PlanContext
from memtui.stores.plans import plan_duplicate


def plan_import(change: Change, context: PlanContext) -> Plan:
    """Plan the import of one note. Raises Refused."""
    path = str(change.fields["id"])
    if not is_note(path) or not path.endswith(SUFFIX) or path.count("/") != NOTES.count("/") + 1:
        raise Refused("Codex writes this file itself; only notes are added", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a note of this name")
    whole = change.fields.get("document")
    text = whole if isinstance(whole, str) else content_of(change)
    edits: tuple[Edit, ...] = (
        TextEdit(str(new_file(context.root, path)), None, text),
        *context.entry_edits(path, path, **sidecar_values(change)),
    )
    return Plan((change,), edits, Outcome.ADDED, f"Added {path}", (context.ref(path),))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a note that asks Codex to remember it."""
    text = text_with_title(memory).strip()
    if memory.entity:
        text = f"{text}\n\nThis is about {memory.entity}."
    stamp = f"{memory.created:%Y-%m-%dT%H-%M-%S}" if memory.created else "imported"
    name = slug(memory.headline)[:40].strip("-_") or "memory"
    fields = {
        "id": f"{NOTES}/{stamp}-{name}-{short_hash(memory.ref, 6)}{SUFFIX}",
        "content": f"{text}\n",
        "entity": "ad_hoc",
        "tags": memory.tags,
        "pinned": memory.pinned,
    }
    lost: tuple[str, ...] = ()
    if memory.entity and memory.entity != "ad_hoc":
        lost = ("entity (stands in the text)",)
    if memory.status != "active":
        lost += (f"status {memory.status} (becomes active)",)
    names = ("type", "updated", "importance", "confidence", "source")
    lineage = ("supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, (*lost, *lost_fields(memory, *names, *lineage)))
