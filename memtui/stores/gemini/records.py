"""Convert GEMINI.md, private notes and patches to memories.

* Each bullet and paragraph is a fact of `global` or of its project.
* A patch in the inbox is a proposed note that shows the diff. It has the name of the first item
  that it would add, so that the item has its links and tags once it is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory, Place
from memtui.stores.gemini.layout import entity_of, target_of
from memtui.stores.gemini.rules import FilePatch, parse_patch
from memtui.stores.listed_texts import importance_in, text_key
from memtui.stores.markdown_items import parse_items
from memtui.stores.markdown_lists import SECTION, ItemFile, time_of_change
from memtui.stores.sidecar import Sidecar

PATCH = "patch"
"""Type of a proposed patch, and key of `extra`: its path."""


def item_memories(parsed: ItemFile, sidecar: Sidecar, label: str) -> Iterator[Memory]:
    """The memories of one file."""
    document = parsed.document
    for id, item in parsed.items:
        extra: dict[str, Any] = {"updated_from": "file time", "loaded_at_start": True}
        if item.section:
            extra[SECTION] = item.section
        yield Memory(
            ref=f"{label}:{id}",
            id=id,
            store=label,
            kind="fact",
            content=item.text,
            entity=entity_of(document.path),
            updated=document.changed,
            importance=importance_in(sidecar, id),
            origin=Place(document.file, document.line - 1 + item.line),
            extra=extra,
        )


def patch_memory(path: str, file: Path, text: str, root: Path, label: str) -> Memory:
    """A proposed patch. Raises Refused if not a unified diff."""
    patches = parse_patch(text)
    id = _first_id(patches, path, root) or path
    names = [target_of(each.new or each.old, path, root) or "?" for each in patches]
    return Memory(
        ref=f"{label}:{id}",
        id=id,
        store=label,
        kind="note",
        type=PATCH,
        title=f"Proposed change of {', '.join(names)}",
        content=text,
        entity="global" if "/global/" in path else entity_of(path),
        updated=time_of_change(file),
        status="proposed",
        origin=Place(str(file), 1),
        extra={PATCH: path, "updated_from": "file time"},
    )


def _first_id(patches: list[FilePatch], path: str, root: Path) -> str:
    """The id that the first new item will have; "" if none is new."""
    for each in patches:
        target = target_of(each.new, path, root) if each.new else ""
        try:
            known = decode(read_bytes(root / target, root)) if target else ""
        except UnreadableFile:
            known = ""
        texts = {item.text for item in parse_items(known)}
        for item in parse_items(each.added) if target else ():
            if item.text not in texts:
                return f"{target}#{text_key(item.text)}"
    return ""


def as_unfit(error: Refused) -> str:
    """Why a patch cannot be shown as a proposal."""
    return f"it cannot be offered: {error}"
