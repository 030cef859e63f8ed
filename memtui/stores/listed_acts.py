"""Acts and imports of stores whose files are lists of texts, see `listed_texts`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import CURRENT, IMPORTANCES, Memory, Place
from memtui.stores import importing, plans
from memtui.stores.format import ConvertedMemory
from memtui.stores.listed_texts import TEXT_KEY, ListContext, ListFile, not_on, shard_of
from memtui.stores.sidecar import entry_links, is_kept, kept_value
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    checked_importance,
    content_of,
    tag_words,
    to_iso_seconds,
    word_of,
)

EDITABLE = frozenset({"content", "importance", "tags"})


def plan_edit(
    change: Change, memory: Memory, context: ListContext, editable: Collection[str] = EDITABLE
) -> Plan:
    """Another text in the same place; importance and tags are kept in the sidecar."""
    changed = changed_values(change, memory, editable)
    values: dict[str, Any] = {}
    edits: tuple[Edit, ...] = ()
    others: tuple[str, ...] = ()
    if "content" in changed:
        file = context.file_of(memory)
        new_text = file.fit(content_of(change))
        item = file.find(memory, new_text)
        if new_text != item.text:
            _refuse_twin(file, item.group, new_text)
            after = file.replace(item, new_text)
            edits, others = file.edit(after), context.other_refs(file, after)
            values[TEXT_KEY] = _kept_name(file, memory.id, item.group, new_text)
            if memory.updated is None or context.sidecar.entry(memory.id).get("updated"):
                values["updated"] = to_iso_seconds(context.now)
    if "importance" in changed:
        values["rating"] = RATING_OF[checked_importance(changed["importance"])]
    if "tags" in changed:
        values["tags"] = _own_tags(changed["tags"], memory, context)
    if values:
        edits += context.sidecar_entry(memory).set(**values)
    return plans.plan_one(change, memory, edits, others=others)


def _own_tags(value: object, memory: Memory, context: ListContext) -> list[str]:
    """The tags that the sidecar holds: without those that the text itself gives."""
    native = set(memory.tags).difference(context.sidecar.entry(memory.id).get("tags", ()))
    return [tag for tag in tag_words(value) if tag not in native]


def _refuse_twin(file: ListFile, group: str, text: str) -> None:
    if file.find_twin(group, text) is not None:
        raise Refused("the same text already exists", where=str(file.path))


def _kept_name(file: ListFile, id: str, group: str, text: str) -> str | None:
    """The key that the sidecar stores so that the text keeps this id; None: not needed."""
    return None if file.natural_id(group, text) == id else file.digest(group, text)


def plan_delete(change: Change, memory: Memory, context: ListContext) -> Plan:
    forgotten = context.sidecar_entry(memory).removal()
    if is_kept(memory):
        return plans.plan_one(change, memory, forgotten)
    file = context.file_of(memory)
    after = file.remove([file.find(memory)])
    edits = (*file.edit(after), *forgotten)
    return plans.plan_one(change, memory, edits, others=context.other_refs(file, after))


def plan_retire(change: Change, memory: Memory, context: ListContext) -> Plan:
    file = context.file_of(memory)
    after = file.remove([file.find(memory)])
    entry_edits = context.sidecar_entry(memory).set(**_kept_values(memory, context, "retired"))
    refs = (memory.ref, *context.other_refs(file, after))
    reason = "removed from its file, kept by memtui"
    edits = (*file.edit(after), *entry_edits)
    return Plan((change,), edits, Outcome.DONE, reason, refs, (memory.ref,))


def _kept_values(memory: Memory, context: ListContext, status: str, by: str = "") -> dict[str, Any]:
    """Keys of the sidecar entry of a memory that is taken out of its file."""
    entry = context.sidecar.entry(memory.id)
    sidecar_links = entry_links(entry)
    former = replace(
        memory,
        status=status,
        pinned=False,
        links=tuple(link for link in memory.links if link not in sidecar_links),
        superseded_by=(*memory.superseded_by, *((by,) if by else ())),
    )
    after = {"superseded_by": [*entry.get("superseded_by", ()), by]} if by else {}
    return {"kept": kept_value(former), TEXT_KEY: None, "pinned": None, **after}


def plan_restore(change: Change, memory: Memory, context: ListContext) -> Plan:
    file = context.file_of(memory)
    group = file.group_of(memory)
    _refuse_twin(file, group, memory.content)
    after = file.insert(group, memory.content, memory.type)
    values = {"kept": None, TEXT_KEY: _kept_name(file, memory.id, group, memory.content)}
    edits = (*file.edit(after), *context.sidecar_entry(memory).set(**values))
    others = context.other_refs(file, after)
    return plans.plan_one(change, memory, edits, plans.successor_warnings(memory), others=others)


def plan_supersede(change: Change, memory: Memory, context: ListContext) -> Plan:
    """The new text takes the place of the old one, which the sidecar keeps."""
    file = context.file_of(memory)
    new_text = file.fit(content_of(change))
    item = file.find(memory, new_text)
    _refuse_twin(file, item.group, new_text)
    after = file.replace(item, new_text)
    new = context.free_id(file, item.group, new_text)
    entry = {
        "supersedes": [memory.id],
        TEXT_KEY: _kept_name(file, new, item.group, new_text),
        "created": to_iso_seconds(context.now),
        **_rating(change),
    }
    edits = (
        *file.edit(after),
        *context.sidecar_entry(memory).set(**_kept_values(memory, context, "superseded", new)),
        *context.entry_edits(new, file.key, **entry),
    )
    refs = (context.ref(new), memory.ref, *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.SUPERSEDED, f"Supersedes {memory.id}", refs, refs[1:2])


def plan_merging(change: Change, memory: Memory, context: ListContext) -> Plan:
    """The others are taken out of their files and kept as superseded by this one."""
    others = context.others(change, memory)
    if any(is_kept(other) for other in others):
        raise Refused("one of them is not in its file", where=memory.ref)
    edits: list[Edit] = [*context.sidecar_entry(memory).superseding(others)]
    refs: list[str] = []
    for shard in dict.fromkeys(context.shard_of(other) for other in others):
        file = context.open_list(shard)
        same_shard = [other for other in others if context.shard_of(other) == shard]
        after = file.remove([file.find(other) for other in same_shard])
        edits += file.edit(after)
        refs += context.other_refs(file, after)
        for other in same_shard:
            entry_edits = _kept_values(other, context, "superseded", memory.id)
            edits += context.sidecar_entry(other).set(**entry_edits)
    plan = plans.plan_merge(change, memory, others, tuple(edits))
    return replace(plan, refs=(*plan.refs, *refs))


def _rating(change: Change) -> dict[str, int]:
    """The key for the importance of a new memory; none if it is not stated, or medium."""
    importance = change.fields.get("importance")
    is_rated = importance in IMPORTANCES and importance != "medium"
    return {"rating": RATING_OF[str(importance)]} if is_rated else {}


def plan_listed_add(change: Change, context: ListContext, file: ListFile, group: str) -> Plan:
    """One more text. Raises Refused."""
    text = file.fit(content_of(change))
    if twin := file.find_twin(group, text):
        return plans.plan_duplicate(change, "the same text", context.ref(twin.id))
    after = file.insert(group, text, word_of(change, "type", ""))
    id = context.free_id(file, group, text)
    values: dict[str, Any] = {
        "created": to_iso_seconds(context.now),
        TEXT_KEY: _kept_name(file, id, group, text),
    }
    if change.fields.get("tags"):
        values["tags"] = tag_words(change.fields["tags"])
    edits = (*file.edit(after), *context.entry_edits(id, file.key, **values, **_rating(change)))
    refs = (context.ref(id), *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {file.path.name}", refs)


def plan_add(change: Change, context: ListContext) -> Plan:
    """One more text where the store puts it. Raises Refused."""
    key, group = context.store.place_new(change, context)
    return plan_listed_add(change, context, context.open_list(key), group)


LIST_HANDLERS: Mapping[Act, plans.ActHandler] = {
    Act.EDIT: plan_edit,
    Act.DELETE: plan_delete,
    Act.RETIRE: plan_retire,
    Act.RESTORE: plan_restore,
    Act.SUPERSEDE: plan_supersede,
    Act.MERGE: plan_merging,
}
"""The handlers of every act that listed texts can hold."""


def list_acts(
    unsupported: Mapping[Act, str],
    handlers: Mapping[Act, plans.ActHandler] = MappingProxyType({}),
    **more: Any,
) -> plans.ActionSupport:
    """What stores of listed texts can do.

    Args:
        unsupported: Why the format has no way to do an act.
        handlers: Of acts that it does in its own way, or that others have not.
        more: Other values of `ActionSupport`.
    """
    usual: dict[str, Any] = {
        "editable": EDITABLE,
        "add": plan_add,
        "add_imported": plan_listed_import,
        "shard_of": shard_of,
        "not_on": not_on,
    }
    return plans.ActionSupport(
        handlers={**LIST_HANDLERS, **handlers}, unsupported=unsupported, **(usual | more)
    )


def plan_listed_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one text. Raises Refused.

    One that is no longer current goes into the sidecar only: what stands in the file is given to
    agents.
    """
    key, group = context.store.place_imported(change, context)
    file = context.open_list(key)
    text = file.fit(content_of(change))
    if twin := file.find_twin(group, text):
        return plans.plan_duplicate(change, "the same text", context.ref(twin.id))
    natural = file.natural_id(group, text)
    id = natural if importing.CONVERTED in importing.extra_in(change) else str(change.fields["id"])
    known = context.sidecar.entry(id)
    if any(item.id == id for item in file.items) or known.get("kept"):
        return plans.plan_duplicate(change, "a memory with this id", context.ref(id))
    values = _sidecar_values(change)
    if str(change.fields.get("status") or "active") not in CURRENT:
        status = "superseded" if change.fields.get("status") == "superseded" else "retired"
        memory = importing.described_memory(
            change, context.ref(id), context.store.kind_in(key), text
        )
        memory = replace(memory, status=status, origin=Place(str(file.path)))
        values["kept"] = kept_value(memory)
        entry = context.entry_edits(id, file.key, **values)
        return Plan((change,), entry, Outcome.ADDED, "Kept beside the store", (memory.ref,))
    after = file.insert(group, text, str(change.fields.get("type") or ""))
    values[TEXT_KEY] = None if id == natural else file.digest(group, text)
    edits = (*file.edit(after), *context.entry_edits(id, file.key, **values))
    refs = (context.ref(id), *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {file.path.name}", refs)


def _sidecar_values(change: Change) -> dict[str, Any]:
    values = importing.sidecar_values(change) | importing.sidecar_times(change)
    importance = str(change.fields.get("importance") or "medium")
    if importance != "medium" and not values["rating"]:
        values["rating"] = RATING_OF.get(importance)
    return values


def convert_with_entity(
    memory: Memory, entity: str, own: Collection[str], **more: Any
) -> ConvertedMemory:
    """A memory of another format as a text of this entity that begins with the entity it had.

    `own`: the entities of the format, which are not repeated; `more` as in `convert_to_text`.
    """
    text = importing.text_with_title(memory).strip()
    if memory.entity and memory.entity not in own and memory.entity not in text:
        text = f"{memory.entity}: {text}"
    becomes = f"entity (becomes {entity}; it stands in the text)"
    changes = [(memory.entity not in ("", entity), becomes)]
    return convert_to_text(memory, entity, changes, content=text, **more)


def convert_to_text(
    memory: Memory, entity: str, changes: Iterable[tuple[object, str]] = (), **more: Any
) -> ConvertedMemory:
    """A memory of another format as one text of this entity.

    `changes` as in `importing.converted`; `more`: further fields of the ADD.
    """
    fields = {
        "id": memory.id,
        "content": importing.text_with_title(memory),
        "entity": entity,
        "importance": memory.importance,
        "created": memory.created,
        "updated": memory.updated,
        "status": memory.status,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {importing.CONVERTED: True},
        **more,
    }
    changes = (
        *changes,
        (memory.status == "proposed", "status proposed (becomes active)"),
        (memory.status == "deleted", "status deleted (becomes retired)"),
        importing.kind_change(memory, "fact"),
    )
    return importing.converted(memory, fields, changes)
