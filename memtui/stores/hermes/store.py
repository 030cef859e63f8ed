"""Hermes's memory as a store: each of the two files is a list of entries.

Each entry is a fact of the entity `memory` or `user`; an exact copy, which Hermes drops when it
loads the file, has a low importance. The rules are those of hermes-agent 0.19.0,
tools/memory_tool.py: `_read_file` (entries, with universal newlines), `load_from_disk`
(duplicates), `add` and `replace` (limits), `_detect_external_drift` (refusals), `_render_block`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memtui.changes import Act, Change, Kind
from memtui.errors import AlreadyThere, Refused
from memtui.files.frontmatter import BadYaml, read_yaml
from memtui.files.reading import file_stamp
from memtui.files.text_items import DELIMITER, entries_in, entry_spans, insert_entry, remove_entry
from memtui.model import Memory
from memtui.stores import listed_acts, listed_texts
from memtui.stores.base import (
    LoadedBlock,
    LoadedText,
    MemorySwitch,
    OpenStores,
    Reading,
    ReadTime,
    Remark,
    StoreView,
    Unreadable,
)
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.hermes import (
    CONFIG,
    MEMORY,
    NAMES,
    USER,
    home_of,
    linked_folders,
    memory_folder,
    pending,
)
from memtui.stores.hermes.pending import LINE_ENDS, why_refused, with_line_feeds
from memtui.stores.listed_texts import ListedText, ListFile
from memtui.stores.program_settings import find_switch
from memtui.stores.rescoping import find_open, move_to_entity
from memtui.stores.scanning import CachedFile, FoundShard, list_folder, unread_notes
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import members_of, whole_number


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
            line = 1 + len(LINE_ENDS.findall(text, 0, start))
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


def why_not_loaded(text: str) -> str:
    """Why Hermes cannot load this file; "" if it can."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "Hermes cannot load it: it is not UTF-8"
    return ""


class HermesStore(listed_texts.ListStore):
    """One home folder of Hermes."""

    format = "hermes"
    has_no_times = True
    acts = listed_acts.list_acts(
        {Act.RETYPE: "an entry has no type"},
        {
            Act.RESTORE: pending.WRITES.restore,
            Act.ACCEPT: pending.accept,
            Act.DECLINE: pending.WRITES.decline,
        },
        shard_of=pending.WRITES.shard_of,
        not_on=pending.WRITES.not_on,
    )
    rescans = True  # the limits are part of the stamp
    syntax = EntryFile
    files = MappingProxyType({"memory": MEMORY, "user": USER})
    locked_files = NAMES

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        home = home_of(root)
        self._config = CachedFile(home / CONFIG, home, parse_limits, parse_limits(""))

    def list_files(self, faults: list[Unreadable]) -> Iterable[str]:
        """The two files that exist, unless they are a store of their own behind a link."""
        return [] if any(linked_folders(self.root)) else super().list_files(faults)

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """The two files, then the writes that wait."""
        yield from super().find_shards()
        folder = self.root / pending.FOLDER
        if os.path.isdir(folder):
            entries, faults = list_folder(folder)
            yield from faults
            for entry in entries:
                if entry.name.endswith(pending.SUFFIX) and entry.name[0] != ".":
                    mark = file_stamp([entry.path, *map(self.file_of, NAMES)])
                    yield FoundShard(f"{pending.FOLDER}/{entry.name}", (entry.path,), mark)

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if not key.startswith(pending.FOLDER):
            return super().read_text(key, path, text, sidecar)
        try:
            found = pending.pending_memory(key, path, text, self.label, self._text_of)
            return Reading((found,))
        except Refused as error:
            return Reading((), (Unreadable(str(path), f"it cannot be offered: {error}"),))

    def _text_of(self, key: str) -> str:
        return self.text_of(os.path.relpath(self.file_of(key), self.root)) or ""

    def read_time(self, path: str) -> ReadTime:
        """A running session holds a frozen copy; what waits is answered by `/memory pending`."""
        return ReadTime.INBOX if path.startswith(pending.FOLDER) else ReadTime.NEXT_SESSION

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
        if why := why_not_loaded(file.before or ""):
            yield Unreadable(str(file.path), why)

    def memory_switches(self) -> Sequence[MemorySwitch]:
        """Whether each of the two files is used. (NousResearch/hermes-agent, agent/agent_init.py
        and `DEFAULT_CONFIG` in hermes_cli/config.py.)"""
        files = [home_of(self.root) / CONFIG]
        keys = ((MEMORY, "memory.memory_enabled"), (USER, "memory.user_profile_enabled"))
        return [find_switch(name, key, files, is_on_by_default=True) for name, key in keys]

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:
        """From a profile to the home of Hermes, or to the profile of this name."""
        home = self.root.parents[1] if self.root.parent.name == "profiles" else self.root
        root = home / "profiles" / project if project else home
        if root == self.root:
            raise AlreadyThere("it holds for all that this home is used for", where=memory.ref)
        target = find_open(library, self.format, lambda each: each == root, str(root))
        return move_to_entity(memory, memory.entity, target.label)

    def remarks(self) -> Sequence[Remark]:
        """Files that Hermes would refuse to write, and notes beside them that it does not read."""
        found = list[Remark]()
        for file in self.readable_files():
            assert isinstance(file, EntryFile)
            if why := why_refused(file.before or "", file.limit):
                found.append(Remark(str(file.path), why))
        folder = memory_folder(self.root)
        if folder == self.root or any(linked_folders(self.root)):
            return found
        return found + unread_notes(folder, NAMES.__contains__)

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The two blocks of the prompt, of files that are used and that Hermes can load; what it
        leaves out as a threat is not known here."""
        texts = []
        unused = {each.name for each in self.memory_switches() if not each.is_on}
        for file in self.readable_files():
            if file.key in unused or why_not_loaded(file.before or ""):
                continue
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
