"""Plan changes and imports of items, and of the notes that a session is given."""

from __future__ import annotations

from datetime import date

from memtui.changes import Act, Change, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    CONVERTED,
    convert_to_text,
    extra_in,
    plan_listed_import,
)
from memtui.stores.listed_texts import LIST_HANDLERS, ListContext, plan_listed_add
from memtui.stores.markdown.document_editing import edit_document, new_file, plan_file_import
from memtui.stores.markdown.items import SECTION
from memtui.stores.openclaw import FOLDER, NOTES, SUFFIX, day_of, memory_name
from memtui.stores.openclaw.records import CURATED, DAILY, entity_of, recalls_tag
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, plan_duplicate


def is_note(memory: Memory) -> bool:
    return memory.kind == "document"


def _not_on(act: Act, memory: Memory) -> str:
    if is_note(memory):
        if act is Act.EDIT or act in SIDECAR_ACTS:
            return ""
        return "it tells the agent who it is: edit it"
    return listed_texts.not_on(act, memory)


def _edit(change: Change, memory: Memory, context: ListContext) -> Plan:
    if not is_note(memory):
        return listed_texts.plan_edit(change, memory, context)
    return edit_document(change, memory, context)


def _add(change: Change, context: ListContext) -> Plan:
    """Add below a heading of MEMORY.md (`memory/<heading>`) or to a day (`daily/<date>`)."""
    entity = str(change.fields.get("entity") or CURATED).strip("/ ")
    head, _, rest = entity.partition("/")
    if head == DAILY:
        return _add_to_day(change, context, rest or context.now.astimezone().date().isoformat())
    if head == CURATED:
        path = memory_name(context.root)
        file = context.open_list(path, context.view)
        known = {entity_of(path, item.group): item.group for item in file.items}
        return plan_listed_add(change, context, file, known.get(entity, rest))
    raise Refused(
        "memories are added to MEMORY.md or a daily log",
        where=entity,
        do=f"name {CURATED}, {CURATED}/HEADING or {DAILY}/DATE as the entity",
    )


def _add_to_day(change: Change, context: ListContext, stem: str) -> Plan:
    path = f"{FOLDER}/{stem}{SUFFIX}"
    day = day_of(path)
    try:
        date.fromisoformat(day)
    except ValueError:
        raise Refused("a daily log is named by its date", where=stem) from None
    if "/" in stem or not stem.isprintable():
        raise Refused("this is no name for a daily log", where=stem)
    return plan_listed_add(change, context, context.open_list(path, context.view), "")


def plan_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one item or note. Raises Refused."""
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra_in(change):
        path = memory_name(context.root)
    elif not item:
        return _plan_note(change, path, context)
    is_daily = path.startswith(f"{FOLDER}/") and path.endswith(SUFFIX) and path.count("/") == 1
    if not is_daily and path != memory_name(context.root):
        raise Refused("memories cannot be added here", where=path)
    file = context.open_list(path, context.view)
    section = str(extra_in(change).get(SECTION) or "")
    return plan_listed_import(change, context, file, section, "event" if is_daily else "fact")


def _plan_note(change: Change, path: str, context: ListContext) -> Plan:
    if path not in NOTES:
        raise Refused("notes cannot be added here", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a file of this name")
    text = str(change.fields.get("document") or change.fields.get("content") or "")
    return plan_file_import(change, context, new_file(context.root, path), text)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet below the heading of its entity."""
    section = " ".join((memory.entity or memory.store).replace("#", " ").split())
    changes = [(memory.entity, "entity (becomes a heading)")]
    extra = {CONVERTED: True, SECTION: section}
    return convert_to_text(memory, f"{CURATED}/{section}", changes, extra=extra)


ACTS = ActionSupport(
    editable=listed_texts.EDITABLE,
    add=_add,
    add_imported=plan_import,
    handlers={**LIST_HANDLERS, Act.EDIT: _edit},
    unsupported={
        Act.RETYPE: "an item has no type",
    },
    shard_of=lambda memory: memory.id.partition("#")[0],
    not_on=_not_on,
    native_tags=lambda memory: recalls_tag(memory.content),
)
