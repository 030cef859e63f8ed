"""Hermes's memory as a store: each of the two files is a list of entries.

* Each entry is a fact. Its entity is what Hermes's own tool calls the file: `memory` or `user`.
* Importance: what a person chose, else medium; low for an exact copy, which Hermes drops on load.

The rules of reading and limits are those of hermes-agent 0.19.0, tools/memory_tool.py: `_read_file`
(entries), `load_from_disk` (duplicates), `add` and `replace` (limits), `_detect_external_drift`
(refusals), `_render_block` (what a session is given). Hermes reads with universal newlines, so a
carriage return counts as a line feed here too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from memtui.stores.base import (
    LimitUse,
    LoadedEntry,
    LoadedText,
    ReadTime,
    StoreView,
    Unreadable,
    WriteRecorder,
)
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.hermes import CONFIG, MEMORY, NAMES, USER, memory_folder
from memtui.stores.importing import is_import
from memtui.stores.listed_texts import (
    ListContext,
    ListedText,
    ListFile,
    ListStore,
    convert_with_entity,
    list_acts,
)
from memtui.stores.scanning import CachedFile
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import utc_now, whole_number

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_RULE = "═" * 46
_HEADERS = {"memory": "MEMORY (your personal notes)", "user": "USER PROFILE (who the user is)"}
ENTITIES = {MEMORY: "memory", USER: "user"}
FILES = {entity: name for name, entity in ENTITIES.items()}
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


def parse_entries(text: str) -> list[str]:
    """The entries in order; empty ones are none."""
    return [text[start:end] for start, end in entry_spans(text)]


def size_of(entries: Sequence[str]) -> int:
    """Characters that Hermes counts: of the distinct entries, joined."""
    return len(DELIMITER.join(dict.fromkeys(map(_as_read, entries))))


def _as_read(text: str) -> str:
    return _LINE_ENDS.sub("\n", text)


def why_refused(text: str, limit: int) -> str:
    """Why Hermes would refuse to replace or remove an entry of this file; "" if it would not."""
    entries = list(map(_as_read, parse_entries(text)))
    longest = max(map(len, entries), default=0)
    if longest > limit:
        return f"Hermes refuses to write it: an entry of {longest:,} characters, limit {limit:,}"
    if _as_read(text).strip() != DELIMITER.join(entries):
        return "Hermes refuses to write it: it is not a clean list of entries"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "Hermes cannot load it: it is not UTF-8"
    return ""


def refuse_too_long(path: Path, before: str | None, after: str | None, limit: int) -> None:
    """Raise Refused if a file would grow beyond its limit."""
    former, size = (size_of(parse_entries(text or "")) for text in (before, after))
    if size > limit and size > former:
        raise Refused(
            f"{path.name} would hold {size:,} of {limit:,} characters",
            where=str(path),
            do=f"shorten it, or retire others: {size - limit:,} too many",
        )


def _usage(size: int, limit: int) -> str:
    """`56% — 1,234/2,200 chars`, as in the header of the block."""
    percent = min(100, int((size / limit) * 100)) if limit > 0 else 0
    return f"{percent}% — {size:,}/{limit:,} chars"


class EntryFile(ListFile):
    """One memory file."""

    form = Kind.ENTRIES
    unreadable = "Hermes would not read this as one entry", "remove the § line"
    limit = LIMITS[MEMORY][1]

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
        """The text, if Hermes reads these entries from it and would write it itself."""
        super().checked(after, expected)
        refuse_too_long(self.path, self.before, after, self.limit)
        return after

    def edit(self, after: str) -> tuple[Edit, ...]:
        """A file without entries is removed: Hermes reads both the same."""
        if after or self.before is None:
            return super().edit(after)
        return (text_edit(str(self.path), self.before, None, kind=self.form),)


class HermesStore(ListStore):
    """One home folder of Hermes."""

    format = "hermes"
    acts = list_acts({Act.RETYPE: "an entry has no type"})
    rescans = True  # the limits are part of the stamp

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
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
        texts = [each.text for each in file.items]
        is_copy = texts.index(item.text) < file.items.index(item)
        usage = _usage(size_of(texts), file.limit)
        extra: dict[str, Any] = {"load_limit": usage, "loaded_at_start": not is_copy}
        found = {"entity": ENTITIES[file.key], "extra": extra}
        if is_copy:
            extra["duplicate"] = True
            found["importance"] = "low"
        return found

    def faults(self, file: ListFile) -> Iterator[Unreadable]:
        assert isinstance(file, EntryFile)
        if why := why_refused(file.before or "", file.limit):
            yield Unreadable(str(file.path), why)

    def _in_files(self, view: StoreView) -> Iterator[tuple[str, int, list[Memory]]]:
        """Name, limit and memories of each file that has some."""
        memories = [memory for memory in view.memories(self.label) if not is_kept(memory)]
        for name, entity in ENTITIES.items():
            if own := [memory for memory in memories if memory.entity == entity]:
                yield name, self._config.current().value[name], own

    def read_time(self, path: str) -> ReadTime:  # noqa: ARG002
        """A running session holds a frozen copy (formats page of Hermes)."""
        return ReadTime.NEXT_SESSION

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The two blocks of the prompt; entries that Hermes holds for threats are not told apart
        here."""
        texts = []
        for name, limit, memories in self._in_files(view):
            own = [memory for memory in memories if memory.extra.get("loaded_at_start")]
            usage = _usage(size_of([memory.content for memory in own]), limit)
            text = f"{_RULE}\n{_HEADERS[ENTITIES[name]]} [{usage}]\n{_RULE}\n"
            entries: list[LoadedEntry] = []
            for memory in own:
                text += DELIMITER if entries else ""
                entries.append(LoadedEntry(memory.ref, len(text), len(text) + len(memory.content)))
                text += memory.content
            note = f"loaded whole at the start; {usage}, more is refused"
            file = memories[0].origin.file
            texts.append(LoadedText(name, text, file, entries=tuple(entries), note=note))
        return tuple(texts)

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:  # noqa: ARG002
        """How many characters of its limit each file uses; Hermes never writes more."""
        return [
            LimitUse(
                self.label,
                name,
                own[0].origin.file,
                (("characters", size_of([memory.content for memory in own]), limit),),
            )
            for name, limit, own in self._in_files(view)
        ]

    def check_written(self, path: Path, before: str | None, after: str | None) -> None:
        """Refuse a text beyond Hermes's limit, which it has filled since the change was planned."""
        if path.name in NAMES:
            refuse_too_long(path, before, after, self._config.current().value[path.name])

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits under Hermes's lock, a lock file beside each file."""
        for file in {edit.path for edit in edits if edit.kind in TEXTS}:
            if os.path.basename(file) in NAMES:
                make_foreign_lock(Path(file))
        super().apply(edits, recorder)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an entry, which begins with its entity, as one file holds them all."""
    is_of_user = memory.type.lower() in _OF_USER or memory.entity in _OF_USER
    return convert_with_entity(memory, "user" if is_of_user else "memory", FILES)


SUPPORT = FormatSupport(
    HermesStore,
    transfer=TransferSupport(belongings=("config.yaml", "memories/*.lock"), convert=convert),
)
