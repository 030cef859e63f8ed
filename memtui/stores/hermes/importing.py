"""Import entries, and convert memories of other formats to entries."""

from __future__ import annotations

from memtui.changes import Change, Plan
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.hermes.records import FILES
from memtui.stores.importing import text_with_title
from memtui.stores.listed_importing import convert_to_text, plan_listed_import
from memtui.stores.listed_texts import ListContext, ListFile

_OF_USER = frozenset({"user", "preference", "identity", "person"})


def plan_import(change: Change, context: ListContext, file: ListFile) -> Plan:
    """Plan the import of one entry. Raises Refused."""
    return plan_listed_import(change, context, file, "")


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an entry, which begins with its entity, as one file holds them all."""
    is_of_user = memory.type.lower() in _OF_USER or memory.entity in _OF_USER
    text = text_with_title(memory).strip()
    if memory.entity and memory.entity not in FILES and memory.entity not in text:
        text = f"{memory.entity}: {text}"
    entity = "user" if is_of_user else "memory"
    found = convert_to_text(memory, entity, content=text)
    if memory.entity and memory.entity != entity:
        lost = (f"entity (becomes {entity}; it stands in the text)", *found.lost)
        return ConvertedMemory(found.fields, lost)
    return found
