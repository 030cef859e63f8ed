"""goose's memory as a store: each category is a list of texts, divided by an empty line.

The first line of a text may be `# tag tag`. goose reads a category into a table by tags: of texts
with the same tags it gives an agent the last one only, which is said of the others. Global ones are
in the instructions of a session, those of a project are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import LoadedBlock, LoadedText, ReadTime, StoreView, Unreadable
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.goose import GLOBAL, PROJECT, SUFFIX
from memtui.stores.importing import text_with_title
from memtui.stores.listed_acts import convert_with_entity, list_acts
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, ListStore
from memtui.stores.markdown.list_folder import expand
from memtui.stores.scanning import read_place_facts

_ENTRY = re.compile(r"(?:(?!\n\n).)+", re.DOTALL)
_NOT_IN_NAME = re.compile(r"[/\\:*\x00]")
GENERAL = "general"
SHADOWED = "goose gives an agent a later one with the same tags instead"
TAGS = "goose_tags"
"""Key of `extra`: the tags that the file has."""


class CategoryFile(ListFile):
    """One category."""

    unreadable = "goose would not read this as one memory", "leave out empty lines and a first #"
    is_removed_when_empty = True

    def parse(self, text: str) -> Iterator[ListedText]:
        for found in _ENTRY.finditer(text):
            whole, start = found[0], found.start()
            start += len(whole) - len(whole.lstrip("\n"))
            first, line_feed, _ = text[start : found.end()].partition("\n")
            tags = tuple(first[1:].split()) if first.startswith("#") else ()
            own = start + len(first) + len(line_feed) if first.startswith("#") else start
            kept = text[own : found.end()].rstrip("\n")
            if kept.strip():
                line = 1 + text.count("\n", 0, own)
                yield ListedText(kept, own, own + len(kept), line, native=(tags, start))

    def without(self, text: str, place: int) -> str:
        start, end = self.items[place].native[1], self.items[place].end
        rest = text[end:].lstrip("\n")
        return text[:start] + rest

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        before = (self.before or "").rstrip("\n")
        after = f"{before}\n\n{new_text}\n\n" if before else f"{new_text}\n\n"
        return self.checked(after, [*(each.text for each in self.items), new_text])


class GooseStore(ListStore):
    """One folder of categories."""

    format = "goose"
    syntax = CategoryFile
    has_no_times = True
    acts = list_acts(
        {Act.RETYPE: "a memory has no type"},
        native_tags=lambda memory: tuple(memory.extra.get(TAGS, ())),
    )

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        restored = read_place_facts(root).get("kind")
        self._is_global = (restored or root.parent.name) != PROJECT

    def take_rules(self, other: Any) -> None:
        self._is_global = other._is_global

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return expand(self.root, f"*{SUFFIX}", faults)

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        return False

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        """The file of the category that the entity names, which is made if it is not there."""
        entity = str(change.fields.get("entity") or GENERAL).strip()
        if _NOT_IN_NAME.search(entity) or entity in (".", "..") or not entity.isprintable():
            raise Refused("a category is the name of a file", where=entity)
        return f"{entity}{SUFFIX}", ""

    def place_imported(self, change: Change, context: ListContext) -> tuple[str, str]:
        path = str(change.fields["id"]).partition("#")[0]
        return (path, "") if path.endswith(SUFFIX) else self.place_new(change, context)

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        tags = item.native[0]
        later = file.items[file.items.index(item) + 1 :]
        is_shadowed = bool(tags) and any(each.native[0] == tags for each in later)
        extra: dict[str, Any] = {TAGS: list(tags)} if tags else {}
        if self._is_global:
            extra["loaded_at_start"] = not is_shadowed
        found = {"entity": file.key.removesuffix(SUFFIX), "tags": tags, "extra": extra}
        if is_shadowed:
            found |= {"importance": "low", "extra": extra | {"not_given": SHADOWED}}
        return found

    def read_time(self, path: str) -> ReadTime:  # noqa: ARG002
        return ReadTime.NEXT_SESSION if self._is_global else ReadTime.AT_ONCE

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The global memories, which are in the instructions of every session."""
        block = LoadedBlock("Global Memories:\n")
        for file in self.readable_files() if self._is_global else ():
            block.add(f"\nCategory: {file.key.removesuffix(SUFFIX)}\n")
            for item in file.items:
                if "not_given" not in self.describe(file, item)["extra"]:
                    block.add("- ")
                    block.add(item.text, f"{self.label}:{item.id}")
                    block.add("\n")
        return [block.loaded("memories", "", note="in the instructions")] if block.entries else []

    def place_facts(self) -> Mapping[str, Any]:
        return {"kind": GLOBAL if self._is_global else PROJECT}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a text of the category `general`, which begins with its entity, without
    empty lines."""
    whole = text_with_title(memory).strip()
    text = "\n".join(line for line in whole.split("\n") if line.strip()).lstrip("# ")
    made = convert_with_entity(replace(memory, title="", content=text), GENERAL, (GENERAL,))
    lost = ("content (without its empty lines)",) if text != whole else ()
    return replace(made, lost=(*made.lost, *lost))


SUPPORT = FormatSupport(GooseStore, transfer=TransferSupport(convert=convert))
