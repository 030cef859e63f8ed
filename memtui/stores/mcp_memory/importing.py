"""Import observations, and convert memories of other formats to observations of their entity."""

from __future__ import annotations

from memtui.changes import Change, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import extra_in
from memtui.stores.listed_importing import convert_to_text, plan_listed_import
from memtui.stores.listed_texts import ListContext, ListFile
from memtui.stores.plans import plan_duplicate


def plan_import(change: Change, context: ListContext, file: ListFile) -> Plan:
    """Plan the import of one observation. Raises Refused."""
    entity = str(change.fields.get("entity") or "").strip()
    if not entity:
        raise Refused("an observation belongs to an entity", where=str(change.fields["id"]))
    if change.fields.get("kind") == "note" and "only_in_relations" in extra_in(change):
        return plan_duplicate(change, "an entity without observations")
    return plan_listed_import(change, context, file, entity)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an observation of its entity, or of its store if it has none."""
    return convert_to_text(memory, memory.entity or memory.store, type=memory.type)
