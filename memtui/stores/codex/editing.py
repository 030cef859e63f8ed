"""Plan new notes, changes and imports of notes, and requests to change what Codex consolidated.

Codex rewrites its files, so memtui writes only ad-hoc notes; the next consolidation takes every
note as binding (source: formats page of Codex).
"""

from __future__ import annotations

from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.model import CURRENT, Memory
from memtui.stores.codex import NOTES, SUFFIX, is_note
from memtui.stores.codex.records import PENDING, STATUS, asking_note
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    kind_change,
    lost_names,
    short_hash,
    sidecar_values,
    slug,
    text_with_title,
)
from memtui.stores.markdown.document_editing import (
    deletion_edits,
    edit_document,
    file_stem,
    new_file,
    open_document,
    plan_file_import,
    titled_text,
)
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, PlanContext, plan_duplicate, plan_one
from memtui.stores.scanning import planned_text
from memtui.stores.values import content_of, tag_words, word_of

LONGEST_SLUG = 40
_NOTE_KEY = "request"
"""Key of a sidecar entry: ids of the notes that ask for the change."""


def _not_on(act: Act, memory: Memory) -> str:
    if act in SIDECAR_ACTS:
        return ""
    if is_note(memory.id):
        if act in (Act.EDIT, Act.DELETE):
            return ""
        return "it is a note to Codex: edit or delete it"
    if act is Act.EDIT:
        return "Codex writes it: supersede it, which leaves a note that asks Codex for the change"
    if act is Act.DELETE:
        return "Codex writes it: retire it, which leaves a note that asks Codex to forget it"
    if act is Act.RESTORE:
        return "it is active already" if memory.status in CURRENT else ""
    return "" if memory.status in CURRENT else f"a note about it is {PENDING}"


def new_note(text: str, about: str, context: PlanContext) -> tuple[str, Edit]:
    """The id and the edit of a new note. Raises Refused."""
    stamp = context.now.strftime("%Y-%m-%dT%H-%M-%S")
    slug = file_stem(about)[:LONGEST_SLUG].strip("-_") or "note"
    for number in range(1, 1000):
        path = f"{NOTES}/{stamp}-{slug}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        if context.ref(path) not in context.planned_refs and not (context.root / path).exists():
            return path, text_edit(str(new_file(context.root, path)), None, text)
    raise Refused("there are too many notes of this name", where=slug)


def _add(change: Change, context: PlanContext) -> Plan:
    title = word_of(change, "title", "")
    text = titled_text(title, content_of(change))
    entity = word_of(change, "entity", "ad_hoc")
    if entity != "ad_hoc":
        text = f"{text.rstrip()}\n\nThis is about {entity}.\n"
    id, edit = new_note(text, title or text, context)
    return Plan((change,), (edit,), Outcome.ADDED, f"A note: {PENDING}", (context.ref(id),))


def _delete(change: Change, memory: Memory, context: PlanContext) -> Plan:
    edits = deletion_edits(open_document(memory, context), context)
    return plan_one(change, memory, edits)


def _request(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Plan a note that asks Codex to forget or change a memory, and what the sidecar keeps until
    Codex has read it."""
    supersedes = change.act is Act.SUPERSEDE
    new_text = content_of(change) if supersedes else None
    about = f"{'change' if supersedes else 'forget'} {memory.headline}"
    id, note = new_note(asking_note(memory, new_text), about, context)
    tags = {"tags": tag_words(change.fields["tags"])} if change.fields.get("tags") else {}
    values: dict[str, Any] = {STATUS: "superseded" if supersedes else "retired", _NOTE_KEY: [id]}
    edits: tuple[Edit, ...] = (
        note,
        *context.sidecar_entry(memory).set(**values, superseded_by=[id] if supersedes else None),
        *context.entry_edits(id, id, supersedes=[memory.id] if supersedes else None, **tags),
    )
    refs = (context.ref(id), memory.ref)
    outcome = Outcome.SUPERSEDED if supersedes else Outcome.DONE
    return Plan((change,), edits, outcome, f"A note: {PENDING}", refs, (memory.ref,))


def _restore(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Restore a memory; the note that asked for the change is removed, if still there."""
    entry = context.sidecar.entry(memory.id)
    edits: list[Edit] = []
    refs = [memory.ref]
    for id in entry.get(_NOTE_KEY, ()):
        path = context.root / str(id)
        if is_note(str(id)) and path.parent == context.root / NOTES and path.exists():
            before = planned_text(path, context.root, context.view)
            edits.append(text_edit(str(path), before, None))
            edits += context.entry_edits(str(id), str(id), supersedes=None)
            refs.append(context.ref(id))
    edits += context.sidecar_entry(memory).set(
        **{STATUS: None, _NOTE_KEY: None, "superseded_by": None}
    )
    return Plan((change,), tuple(edits), Outcome.DONE, "", tuple(refs))


def plan_import(change: Change, context: PlanContext) -> Plan:
    """Plan the import of one note. Raises Refused."""
    path = str(change.fields["id"])
    if not is_note(path) or not path.endswith(SUFFIX) or path.count("/") != NOTES.count("/") + 1:
        raise Refused("Codex writes this file itself; only notes are added", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a note of this name")
    document = change.fields.get("document")
    text = document if isinstance(document, str) else content_of(change)
    file = new_file(context.root, path)
    return plan_file_import(change, context, file, text, **sidecar_values(change))


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
    changes = (
        (memory.entity not in ("", "ad_hoc"), "entity (stands in the text)"),
        (memory.status != "active", f"status {memory.status} (becomes active)"),
        kind_change(memory, "note"),
    )
    names = ("type", "updated", "importance", "confidence", "source")
    lineage = ("supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, lost_names(memory, changes, *names, *lineage))


ACTS = ActionSupport(
    editable=frozenset({"content", "tags"}),
    add=_add,
    add_imported=plan_import,
    handlers={
        Act.EDIT: edit_document,
        Act.DELETE: _delete,
        Act.RETIRE: _request,
        Act.SUPERSEDE: _request,
        Act.RESTORE: _restore,
    },
    unsupported={
        Act.RETYPE: "Codex sorts its memories itself: write a note",
        Act.MERGE: "Codex merges its memories itself: write a note",
    },
    shard_of=lambda memory: memory.id.partition("#")[0],
    not_on=_not_on,
)
