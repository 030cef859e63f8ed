"""Hermes's memory as a store: each of the two files is a list of entries.

Each entry is a fact of the entity `memory` or `user`; an exact copy, which Hermes drops when it
loads the file, has a low importance. The rules are those of hermes-agent 0.19.0,
tools/memory_tool.py: `_read_file` (entries, with universal newlines), `load_from_disk`
(duplicates), `add` and `replace` (limits), `_detect_external_drift` (refusals), `_render_block`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import TEXTS, Act, Change, Edit, Kind, text_edit
from memtui.errors import Refused
from memtui.files.frontmatter import BadYaml, read_yaml
from memtui.files.locking import make_foreign_lock
from memtui.files.reading import file_stamp
from memtui.files.text_items import DELIMITER, entry_spans, insert_entry, remove_entry
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.base import LimitUse, LoadedBlock, LoadedText, ReadTime, StoreView, Unreadable
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.hermes import CONFIG, MEMORY, NAMES, USER, memory_folder
from memtui.stores.importing import is_import
from memtui.stores.listed_texts import ListContext, ListedText, ListFile
from memtui.stores.scanning import CachedFile
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import whole_number

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def with_line_feeds(text: str) -> str:
    """The text as a program reads it that takes a carriage return for a line feed."""
    return _LINE_ENDS.sub("\n", text)


def parse_entries(text: str) -> list[str]:
    """The entries that are not empty, in order."""
    return [text[start:end] for start, end in entry_spans(text)]


def size_of(text: str | None) -> int:
    """Characters of the distinct entries, joined."""
    return len(DELIMITER.join(dict.fromkeys(map(with_line_feeds, parse_entries(text or "")))))


def refuse_too_long(path: Path, before: str | None, after: str | None, limit: int) -> None:
    """Raise Refused if a file would grow beyond its limit of characters."""
    size = size_of(after)
    if size > limit and size > size_of(before):
        raise Refused(
            f"{path.name} would hold {size:,} of {limit:,} characters",
            where=str(path),
            do=f"shorten it, or retire others: {size - limit:,} too many",
        )


class EntryFile(ListFile):
    """One file of entries."""

    form = Kind.ENTRIES
    unreadable = "its program would not read this as one entry", "remove the § line"
    limit = 2200
    """Most characters."""

    @property
    def usage(self) -> str:
        """How much of the limit is used, as Hermes says it: `56% — 1,234/2,200 chars`."""
        size = size_of(self.before)
        percent = min(100, int((size / self.limit) * 100)) if self.limit > 0 else 0
        return f"{percent}% — {size:,}/{self.limit:,} chars"

    def parse(self, text: str) -> Iterator[ListedText]:
        for start, end in entry_spans(text):
            line = 1 + len(_LINE_ENDS.findall(text, 0, start))
            yield ListedText(text[start:end], start, end, line)

    def remove(self, removed: Sequence[ListedText]) -> str:
        text, left = self.before or "", list(self.items)
        for number in sorted(map(left.index, removed), reverse=True):
            del left[number]
            text = remove_entry(text, number)
            self.checked(text, [each.text for each in left])  # else a number would be another's
        return text

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        texts = [*(each.text for each in self.items), new_text]
        return self.checked(insert_entry(self.before or "", len(self.items), new_text), texts)

    def checked(self, after: str, expected: Sequence[str]) -> str:
        """The text, if these entries are read from it and it is not too long. Raises Refused."""
        super().checked(after, expected)
        refuse_too_long(self.path, self.before, after, self.limit)
        return after

    def edit(self, after: str) -> tuple[Edit, ...]:
        """A file without entries is removed: both are read the same."""
        if after or self.before is None:
            return super().edit(after)
        return (text_edit(str(self.path), self.before, None, kind=self.form),)


# ---- entries between signs -----------------------------------------------------------------------


_RULE = "═" * 46
_HEADERS = {MEMORY: "MEMORY (your personal notes)", USER: "USER PROFILE (who the user is)"}
FILES = {"memory": MEMORY, "user": USER}
ENTITIES = {name: entity for entity, name in FILES.items()}
LIMITS = {MEMORY: ("memory_char_limit", 2200), USER: ("user_char_limit", 1375)}
"""Most characters of each file, and the key of `memory` in config.yaml that sets another number."""
_OF_USER = frozenset({"user", "preference", "identity", "person"})


def parse_limits(text: str) -> Mapping[str, int]:
    """The limits that config.yaml sets by file; the usual ones where it says nothing usable."""
    try:
        table = read_yaml(text).get("memory")
    except BadYaml:
        table = None
    values = table if isinstance(table, dict) else {}
    return {name: whole_number(values.get(key), usual) for name, (key, usual) in LIMITS.items()}


def why_refused(text: str, limit: int) -> str:
    """Why Hermes would refuse to replace or remove an entry of this file; "" if it would not."""
    entries = list(map(with_line_feeds, parse_entries(text)))
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
    acts = listed_texts.list_acts({Act.RETYPE: "an entry has no type"})
    reads = ReadTime.NEXT_SESSION  # a running session holds a frozen copy
    rescans = True  # the limits are part of the stamp

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        self._config = CachedFile(root / CONFIG, root, parse_limits, parse_limits(""))

    def list_files(self, faults: list[Unreadable]) -> list[str]:  # noqa: ARG002
        return [name for name in NAMES if os.path.lexists(self.file_of(name))]

    def file_of(self, key: str) -> Path:
        return memory_folder(self.root) / key

    def mark_of(self, key: str) -> str:
        return file_stamp([self.file_of(key), self._config.path])

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> EntryFile:
        file = EntryFile(key, path, text, sidecar)
        file.limit = self._config.current().value[key]
        return file

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        entity = str(change.fields.get("entity") or "memory").strip()
        if entity not in FILES and not is_import(change):
            raise Refused(f"the entity is one of {', '.join(FILES)}", where=entity)
        return FILES.get(entity, MEMORY), ""

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        assert isinstance(file, EntryFile)
        is_copy = any(each.text == item.text for each in file.items[: file.items.index(item)])
        extra = {"load_limit": file.usage, "loaded_at_start": not is_copy}
        more = {"extra": extra | {"duplicate": True}, "importance": "low"} if is_copy else {}
        return {"entity": ENTITIES[file.key], "extra": extra, **more}

    def faults(self, file: ListFile) -> Iterator[Unreadable]:
        assert isinstance(file, EntryFile)
        if why := why_refused(file.before or "", file.limit):
            yield Unreadable(str(file.path), why)

    def _files(self) -> Iterator[EntryFile]:
        for name in self.list_files([]):
            path = self.file_of(name)
            text = self.text_of(os.path.relpath(path, self.root))
            if text is not None:
                yield self.parse(name, path, text, self.sidecar.current())

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The two blocks of the prompt; what Hermes leaves out as a threat is not known here."""
        texts = []
        for file in self._files():
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

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:  # noqa: ARG002
        """How many characters of its limit each file uses; Hermes never writes more."""
        found = []
        for file in self._files():
            used = ("characters", size_of(file.before), file.limit)
            found.append(LimitUse(self.label, file.key, str(file.path), (used,)))
        return found

    def check_written(self, path: Path, before: str | None, after: str | None) -> None:
        """Refuse a text beyond the limit, as when Hermes has written since the plan."""
        if path.name in NAMES:
            refuse_too_long(path, before, after, self._config.current().value[path.name])

    def apply(self, edits: Sequence[Edit], recorder: Any) -> None:
        """Make the edits under Hermes's lock, a lock file beside each file."""
        for file in {edit.path for edit in edits if edit.kind in TEXTS}:
            if os.path.basename(file) in NAMES:
                make_foreign_lock(Path(file))
        super().apply(edits, recorder)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an entry, which begins with its entity, as one file holds them all."""
    is_of_user = memory.type.lower() in _OF_USER or memory.entity in _OF_USER
    return listed_texts.convert_with_entity(memory, "user" if is_of_user else "memory", FILES)


SUPPORT = FormatSupport(
    HermesStore,
    transfer=TransferSupport(belongings=("config.yaml", "memories/*.lock"), convert=convert),
)
