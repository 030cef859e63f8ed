"""Import listed texts that have an id already, and convert memories of other formats to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memtui.changes import Change, Outcome, Plan
from memtui.model import CURRENT, Memory, Place
from memtui.stores.change_validation import RATING_OF, content_of
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    extra_in,
    lost_fields,
    lost_kind,
    sidecar_values,
    text_with_title,
    texts_in,
)
from memtui.stores.listed_texts import AnyList, ListFile
from memtui.stores.plans import plan_duplicate
from memtui.stores.sidecar import kept_value
from memtui.stores.text_names import TEXT_KEY
from memtui.stores.values import to_iso_seconds

CONVERTED = "converted"
"""Key of `extra` of an ADD that was converted from another format."""


def plan_listed_import(
    change: Change, context: AnyList, file: ListFile, group: str, kind: str = "fact"
) -> Plan:
    """Plan the import of one text. Raises Refused.

    One that is no longer current goes into the sidecar only: what stands in the file is given to
    agents.
    """
    text = file.fit(content_of(change))
    is_current = str(change.fields.get("status") or "active") in CURRENT
    same = next((i for i in file.items if i.text == text and i.group == group), None)
    if same is not None:
        return plan_duplicate(change, "the same text", context.ref(same.id))
    natural = file.natural_id(group, text)
    id = natural if CONVERTED in extra_in(change) else str(change.fields["id"])
    known = context.sidecar.entry(id)
    if any(item.id == id for item in file.items) or known.get("kept"):
        return plan_duplicate(change, "a memory with this id", context.ref(id))
    values = _sidecar_values(change)
    if not is_current:
        memory = _former(change, context.ref(id), id, file, kind, text)
        values["kept"] = kept_value(memory)
        entry = context.entry_edits(id, file.shard, **values)
        return Plan((change,), entry, Outcome.ADDED, "Kept beside the store", (memory.ref,))
    after = file.insert(group, text, str(change.fields.get("type") or ""))
    values[TEXT_KEY] = None if id == natural else file.key(group, text)
    edits = (*file.edit(after), *context.entry_edits(id, file.shard, **values))
    refs = (context.ref(id), *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {file.path.name}", refs)


def _sidecar_values(change: Change) -> dict[str, Any]:
    values = sidecar_values(change)
    for name in ("created", "updated"):
        time = change.fields.get(name)
        values[name] = to_iso_seconds(time) if isinstance(time, datetime) else time or None
    importance = str(change.fields.get("importance") or "medium")
    if importance != "medium" and not values["rating"]:
        values["rating"] = RATING_OF.get(importance)
    return values


def _former(change: Change, ref: str, id: str, file: ListFile, kind: str, text: str) -> Memory:
    """The memory that only the sidecar will hold."""
    fields = change.fields
    extra = {k: v for k, v in extra_in(change).items() if k not in (CONVERTED, "kept")}
    return Memory(
        ref=ref,
        id=id,
        store=ref.partition(":")[0],
        kind=kind,
        type=str(fields.get("type") or ""),
        content=text,
        entity=str(fields.get("entity") or ""),
        importance=str(fields.get("importance") or "medium"),
        status="superseded" if fields.get("status") == "superseded" else "retired",
        superseded_by=tuple(texts_in(change, "superseded_by")),
        origin=Place(str(file.path)),
        extra=extra,
    )


def convert_to_text(memory: Memory, entity: str, **more: Any) -> ConvertedMemory:
    """A memory of another format as one text.

    Args:
        memory: the memory.
        entity: where it would stand.
        more: further fields of the ADD; a `type` is kept by the format itself.
    """
    fields = {
        "id": memory.id,
        "content": text_with_title(memory),
        "entity": entity,
        "importance": memory.importance,
        "created": memory.created,
        "updated": memory.updated,
        "status": memory.status,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {CONVERTED: True},
        **more,
    }
    names = ["confidence", "source", "supersedes", "superseded_by", "links"]
    names += [] if "type" in more else ["type"]
    changed: tuple[str, ...] = ()
    if memory.status == "proposed":
        changed += ("status proposed (becomes active)",)
    if memory.status == "deleted":
        changed += ("status deleted (becomes retired)",)
    changed += lost_kind(memory, "fact")
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))
