"""Hermes's memory as a store: each of the two files is a list of entries.

Each entry is a fact of the entity `memory` or `user`; an exact copy, which Hermes drops when it
loads the file, has a low importance. The rules are those of hermes-agent 0.19.0,
tools/memory_tool.py: `_read_file` (entries, with universal newlines), `load_from_disk`
(duplicates), `add` and `replace` (limits), `_detect_external_drift` (refusals), `_render_block`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memtui.changes import Act, Kind
from memtui.files.frontmatter import BadYaml, read_yaml
from memtui.files.reading import file_stamp
from memtui.files.text_items import DELIMITER, entries_in, entry_spans, insert_entry, remove_entry
from memtui.model import Memory
from memtui.stores import listed_acts, listed_texts
from memtui.stores.base import LoadedBlock, LoadedText, ReadTime, StoreView, Unreadable
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.hermes import CONFIG, MEMORY, NAMES, USER, memory_folder
from memtui.stores.listed_texts import ListedText, ListFile
from memtui.stores.scanning import CachedFile
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import members_of, whole_number

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def with_line_feeds(text: str) -> str:
    """The text as a program reads it that takes a carriage return for a line feed."""
    return _LINE_ENDS.sub("\n", text)


class EntryFile(ListFile):
    """One file of entries."""

    form = Kind.ENTRIES
    unreadable = "its program would not read this as one entry", "remove the § line"
    is_removed_when_empty = True
    limit: int = 2200

    def size_of(self, text: str) -> int:
        """Characters of the distinct entries, joined."""
        return len(DELIMITER.join(dict.fromkeys(map(with_line_feeds, entries_in(text)))))

    def parse(self, text: str) -> Iterator[ListedText]:
        for start, end in entry_spans(text):
            line = 1 + len(_LINE_ENDS.findall(text, 0, start))
            yield ListedText(text[start:end], start, end, line)

    def without(self, text: str, place: int) -> str:
        return remove_entry(text, place)

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        texts = [*(each.text for each in self.items), new_text]
        return self.checked(insert_entry(self.before or "", len(self.items), new_text), texts)


_RULE = "═" * 46
_HEADERS = {MEMORY: "MEMORY (your personal notes)", USER: "USER PROFILE (who the user is)"}
LIMITS = {MEMORY: ("memory_char_limit", 2200), USER: ("user_char_limit", 1375)}
"""Most characters of each file, and the key of `memory` in config.yaml that sets another number."""
_OF_USER = frozenset({"user", "preference", "identity", "person"})


def parse_limits(text: str) -> Mapping[str, int]:
    """The limits that config.yaml sets by file; the usual ones where it says nothing usable."""
    try:
        values = members_of(read_yaml(text).get("memory"))
    except BadYaml:
        values = {}
    return {name: whole_number(values.get(key), usual) for name, (key, usual) in LIMITS.items()}


def why_refused(text: str, limit: int) -> str:
    """Why Hermes would refuse to replace or remove an entry of this file; "" if it would not."""
    entries = list(map(with_line_feeds, entries_in(text)))
    longest = max(map(len, entries), default=0)
    if longest > limit:
        return f"Hermes refuses to write it: an entry of {longest:,} characters, limit {limit:,}"
    if with_line_feeds(text).strip() != DELIMITER.join(entries):
        return "Hermes refuses to write it: it is not a clean list of entries"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "Hermes cannot load it: it is not UTF-8"
    return ""


class HermesStore(listed_texts.ListStore):
    """One home folder of Hermes."""

    format = "hermes"
    has_no_times = True
    acts = listed_acts.list_acts({Act.RETYPE: "an entry has no type"})
    reads = ReadTime.NEXT_SESSION  # a running session holds a frozen copy
    rescans = True  # the limits are part of the stamp
    syntax = EntryFile
    files = MappingProxyType({"memory": MEMORY, "user": USER})
    locked_files = NAMES

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        self._config = CachedFile(root / CONFIG, root, parse_limits, parse_limits(""))

    def file_of(self, key: str) -> Path:
        return memory_folder(self.root) / key

    def mark_of(self, key: str) -> str:
        return file_stamp([self.file_of(key), self._config.path])

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> EntryFile:
        file = self.syntax(key, path, text, sidecar)
        file.limit = self._config.current().value[key]
        return file

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        is_copy = any(each.text == item.text for each in file.items[: file.items.index(item)])
        extra = {"load_limit": file.usage, "loaded_at_start": not is_copy}
        more = {"extra": extra | {"duplicate": True}, "importance": "low"} if is_copy else {}
        return super().describe(file, item) | {"extra": extra, **more}

    def faults(self, file: ListFile) -> Iterator[Unreadable]:
        assert isinstance(file, EntryFile)
        if why := why_refused(file.before or "", file.limit):
            yield Unreadable(str(file.path), why)

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The two blocks of the prompt; what Hermes leaves out as a threat is not known here."""
        texts = []
        for file in self.readable_files():
            block = LoadedBlock(f"{_RULE}\n{_HEADERS[file.key]} [{file.usage}]\n{_RULE}\n")
            first: dict[str, str] = {}
            for item in file.items:
                first.setdefault(item.text, item.id)
            for text, id in first.items():
                block.add(DELIMITER if block.entries else "")
                block.add(text, f"{self.label}:{id}")
            note = f"loaded whole at the start; {file.usage}, more is refused"
            texts.append(block.loaded(file.key, str(file.path), note=note))
        return texts


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an entry, which begins with its entity, as one file holds them all."""
    is_of_user = memory.type.lower() in _OF_USER or memory.entity in _OF_USER
    entity = "user" if is_of_user else "memory"
    return listed_acts.convert_with_entity(memory, entity, HermesStore.files)


SUPPORT = FormatSupport(
    HermesStore,
    transfer=TransferSupport(belongings=("config.yaml", "memories/*.lock"), convert=convert),
)
