"""Import items, and convert memories of other formats to items of GEMINI.md."""

from __future__ import annotations

from memtui.changes import Change, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.gemini.layout import ADDED, GLOBAL, is_note
from memtui.stores.importing import extra_in, text_with_title
from memtui.stores.listed_importing import CONVERTED, convert_to_text, plan_listed_import
from memtui.stores.listed_texts import ListContext
from memtui.stores.markdown_lists import SECTION


def plan_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one item. Raises Refused."""
    extra = extra_in(change)
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra:
        path, item = GLOBAL, "new"
    if not is_note(path) or not item:
        raise Refused("this is no place for a memory", where=path)
    file = context.open_list(path, context.view)
    return plan_listed_import(change, context, file, str(extra.get(SECTION) or ""))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet of GEMINI.md, which begins with its entity."""
    text = text_with_title(memory).strip()
    if memory.entity and memory.entity != "global" and memory.entity not in text:
        text = f"{memory.entity}: {text}"
    found = convert_to_text(memory, "global", content=text)
    fields = {**found.fields, "extra": {**found.fields["extra"], SECTION: ADDED}}
    lost = found.lost
    if memory.entity and memory.entity != "global":
        lost = ("entity (becomes global; it stands in the text)", *lost)
    return ConvertedMemory(fields, lost)
