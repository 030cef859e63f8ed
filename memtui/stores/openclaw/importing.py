"""Import items, and convert memories of other formats to items of MEMORY.md."""

from __future__ import annotations

from memtui.changes import Change, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import extra_in
from memtui.stores.listed_importing import CONVERTED, convert_to_text, plan_listed_import
from memtui.stores.listed_texts import ListContext
from memtui.stores.markdown_documents import new_file
from memtui.stores.markdown_lists import SECTION
from memtui.stores.openclaw.layout import FOLDER, NOTES, SUFFIX, memory_name
from memtui.stores.plans import plan_duplicate


def plan_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one item or note. Raises Refused."""
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra_in(change):
        path = memory_name(context.root)
    elif not item:
        return _plan_note(change, path, context)
    is_daily = path.startswith(f"{FOLDER}/") and path.endswith(SUFFIX) and path.count("/") == 1
    if not is_daily and path != memory_name(context.root):
        raise Refused("this is no place for a memory", where=path)
    file = context.open_list(path, context.view)
    section = str(extra_in(change).get(SECTION) or "")
    return plan_listed_import(change, context, file, section, "event" if is_daily else "fact")


def _plan_note(change: Change, path: str, context: ListContext) -> Plan:
    if path not in NOTES:
        raise Refused("this is no place for a note", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a file of this name")
    text = str(change.fields.get("document") or change.fields.get("content") or "")
    edit = TextEdit(str(new_file(context.root, path)), None, text)
    return Plan((change,), (edit,), Outcome.ADDED, f"Added {path}", (context.ref(path),))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet below the heading of its entity."""
    section = " ".join((memory.entity or memory.store).replace("#", " ").split())
    found = convert_to_text(memory, f"memory/{section}")
    fields = {**found.fields, "extra": {**found.fields["extra"], SECTION: section}}
    return ConvertedMemory(fields, found.lost)
