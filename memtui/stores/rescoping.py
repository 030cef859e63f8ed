"""Make a memory of one project hold for all projects of its program, or the other way.

Each store says with which changes (`Store.rescope`): the text is added where the program reads it
in that scope, and taken away where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from memtui.changes import Act, Change
from memtui.errors import AlreadyThere, Refused
from memtui.model import Memory
from memtui.stores.base import OpenStores, Store


def find_open(
    library: OpenStores, format: str, is_wanted: Callable[[Path], bool], name: str
) -> Store:
    """The open store of a format with such a root, called `name` for people. Raises Refused."""
    for store in library.stores:
        if store.format == format and is_wanted(store.root):
            return store
    raise Refused(f"the store of {name} is not open", do="open it, see `memtui stores`")


def move_to_entity(memory: Memory, entity: str, store: str = "") -> Sequence[Change]:
    """Add the memory under an entity, of another store if one is named, and delete it where it
    was. Raises AlreadyThere."""
    if entity == memory.entity and store in ("", memory.store):
        raise AlreadyThere(f"it is in {entity} already", where=memory.ref)
    names = ("title", "type", "tags")
    fields = {name: getattr(memory, name) for name in names if getattr(memory, name)}
    fields |= {"content": memory.content, "entity": entity}
    add = Change(Act.ADD, store or memory.store, "", fields)
    return (add, Change(Act.DELETE, memory.store, memory.ref))


def appended(page: str, text: str) -> str:
    """A page of instructions with a text at its end: a line becomes an item of the list there."""
    page, text = page.rstrip(), text.strip()
    if "\n" in text:
        return f"{page}\n\n{text}\n".lstrip()
    is_in_list = page.rpartition("\n")[2].startswith("- ")
    between = "\n" if is_in_list else "\n\n" * bool(page)
    return f"{page}{between}- {text.removeprefix('- ')}\n"
