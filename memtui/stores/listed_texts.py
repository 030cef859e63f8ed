"""The engine of stores whose files are lists of texts: entries, observations, bullets of Markdown.

A file is parsed to texts without ids and times, and a change gives a whole text in which every
other byte stays. A format has a `ListFile`, the syntax of its files, and a `ListStore`, which says
where they lie and what a text becomes. What the format cannot hold lies in the sidecar: the id of
an edited text, the importance and the tags that a person chose, and the memories that were taken
out of a file, such as retired ones.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from memtui.changes import Act, Change, Edit, Kind, text_edit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.reading import IS_EMPTY, safe_join
from memtui.model import Memory, Place
from memtui.stores import importing, plans
from memtui.stores.base import LimitUse, Reading, StoreView, Unreadable
from memtui.stores.file_store import TextFileStore
from memtui.stores.scanning import FoundShard, as_refused, planned_text
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import (
    check_unchanged,
    importance_of_rating,
    memory_name,
)

_KEPT_ACTS = frozenset({Act.RESTORE, Act.DELETE}) | plans.SIDECAR_ACTS


# ---- the syntax of a file -----------------------------------------------------------------------


class ListedText(NamedTuple):
    """One text of a file."""

    text: str
    start: int
    """Offset of its first character in the file."""
    end: int
    line: int = 1
    """1-based."""
    group: str = ""
    """The list it stands in: an entity, a heading; empty where the file has one list."""
    native: Any = None
    """What else the syntax knows of it."""
    id: str = ""
    """Given by `ListFile`."""


class ListFile(ABC):
    """One parsed file, and how it is changed. Nothing is written: each method returns a whole text.

    A syntax whose texts stand on lines of their own gives `parse` and `line_of`, and has all the
    others.
    """

    form = Kind.LINES
    """How other programs' changes are merged, see `memtui.changes.Kind`."""
    unreadable = "this text would not be read as one item", "put it on fewer lines"
    """What is said of a text that the syntax cannot hold, and what to do."""
    limit: int | None = None
    """Most characters that its program keeps in a file; None: any number."""
    is_removed_when_empty = False
    """Whether a file without a text is removed, because its program reads both the same."""

    def __init__(self, key: str, path: Path, before: str | None, sidecar: Sidecar) -> None:
        """`key`: of its shard; `before`: its whole text, None where there is no file."""
        self.key, self.path, self.before, self.sidecar = key, path, before, sidecar
        found = list(self.parse(before or ""))
        texts = [(self.digest(each.group, each.text), self.id_of(each)) for each in found]
        ids = name_texts(texts, self.prefix, sidecar, key)
        self.items: Sequence[ListedText] = [
            each._replace(id=id) for each, id in zip(found, ids, strict=True)
        ]

    @abstractmethod
    def parse(self, text: str) -> Iterable[ListedText]:
        """The texts of a file in order, without ids. Raises UnreadableFile."""

    def spelled(self, text: str) -> str:
        """A text as it is written in the file, where line feeds and the like have a form of their
        own."""
        return text

    def line_of(self, text: str, group: str) -> str:  # noqa: ARG002
        """The line that holds a new text, which is `spelled` already."""
        return text

    def head_of(self, group: str) -> str:  # noqa: ARG002
        """The line above the first text of a list; "" where lists have none."""
        return ""

    @property
    def prefix(self) -> str:
        """What every id of the file begins with."""
        return f"{self.key}#"

    def natural_id(self, group: str, text: str) -> str:
        """The id that the text itself gives."""
        return self.prefix + self.digest(group, text)

    def id_of(self, item: ListedText) -> str:
        """The natural id of a text that stands in the file."""
        return self.natural_id(item.group, item.text)

    def digest(self, group: str, text: str) -> str:  # noqa: ARG002
        """The key by which a text is recognised in the file, see `name_texts`."""
        return text_key(text)

    def fit(self, text: str) -> str:
        """The text as the file can hold it. Raises Refused."""
        return text.strip()

    def group_of(self, memory: Memory) -> str:
        """The list that a memory belongs to, also when it is not in the file now."""
        return memory.entity

    def other_ids(self, text: str) -> set[str]:  # noqa: ARG002
        """Ids of memories that a text of the file gives rise to and that are no items."""
        return set()

    def size_of(self, text: str) -> int:
        """Characters of a whole text that count against the limit."""
        return len(text)

    @property
    def usage(self) -> str:
        """How much of the limit is used: `56% — 1,234/2,200 chars`."""
        size, limit = self.size_of(self.before or ""), self.limit or 0
        percent = min(100, int((size / limit) * 100)) if limit > 0 else 0
        return f"{percent}% — {size:,}/{limit:,} chars"

    def refuse_too_long(self, after: str) -> None:
        """Raise Refused if the file would grow beyond its limit."""
        size, before = self.size_of(after), self.size_of(self.before or "")
        if self.limit is not None and size > max(self.limit, before):
            raise Refused(
                f"{self.path.name} would hold {size:,} of {self.limit:,} characters",
                where=str(self.path),
                do=f"shorten it, or retire others: {size - self.limit:,} too many",
            )

    def replace(self, item: ListedText, new_text: str) -> str:
        """Replace a text. Raises Refused."""
        text = self.before or ""
        expected = [new_text if each is item else each.text for each in self.items]
        after = text[: item.start] + self.spelled(new_text) + text[item.end :]
        return self.checked(after, expected)

    def remove(self, removed: Sequence[ListedText]) -> str:
        """Remove texts. Raises Refused."""
        text, left = self.before or "", list(self.items)
        for place in sorted(map(left.index, removed), reverse=True):
            del left[place]
            text = self.checked(self.without(text, place), [each.text for each in left])
        return text

    def without(self, text: str, place: int) -> str:
        """Remove the item at this place; those below it may be removed already."""
        item = self.items[place]
        start, end = text.rfind("\n", 0, item.start) + 1, text.find("\n", item.end) + 1
        return text[:start] + (text[end:] if end else "")

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        """Insert a text at the end of a list, or of the file. Raises Refused."""
        text = self.before or ""
        own = [number for number, each in enumerate(self.items, 1) if each.group == group]
        number = own[-1] if own else len(self.items)
        end = text.find("\n", self.items[number - 1].end) + 1 if own else len(text)
        head, tail = (text[:end], text[end:]) if end else (text, "")
        head += "\n" if head and not head.endswith("\n") else ""
        if not own and (title := self.head_of(group)):
            head += f"\n{title}\n" if head else f"{title}\n"
        expected = [each.text for each in self.items]
        after = f"{head}{self.line_of(self.spelled(new_text), group)}\n{tail}"
        self.checked(after, [*expected[:number], new_text, *expected[number:]])
        if list(self.parse(after))[number].group != group:
            raise Refused("the file cannot hold a list of this name", where=group)
        return after

    def checked(self, after: str, expected: Sequence[str]) -> str:
        """The text, if exactly these texts are read from it and it is not too long. Raises
        Refused."""
        try:
            is_read = [each.text for each in self.parse(after)] == list(expected)
        except UnreadableFile:
            is_read = False
        if not is_read:
            raise Refused(self.unreadable[0], do=self.unreadable[1])
        self.refuse_too_long(after)
        return after

    def find(self, memory: Memory, new_text: str | None = None) -> ListedText:
        """The item of a memory, unchanged since it was read. Raises Conflict."""
        for item in self.items:
            if item.id == memory.id:
                check_unchanged(memory, item.text, str(self.path), new_text)
                return item
        raise Conflict(
            "another program changed or removed this memory", where=str(self.path), yours=new_text
        )

    def find_twin(self, group: str, text: str) -> ListedText | None:
        """The item of this list that has the same text."""
        twins = (item for item in self.items if item.text == text and item.group == group)
        return next(twins, None)

    def edit(self, after: str) -> tuple[Edit, ...]:
        """The edit that gives the file this text."""
        new = None if self.is_removed_when_empty and not after else after
        if new == self.before:
            return ()
        return (text_edit(str(self.path), self.before, new, kind=self.form),)


# ---- a store of such files ----------------------------------------------------------------------


class ListContext(plans.PlanContext):
    """The context of planning a change in a store of listed texts."""

    store: ListStore

    def open_list(self, key: str) -> ListFile:
        """The file of a shard as it is after the changes planned so far. Raises Refused."""
        return self.store.open_list(key, self.view)

    def file_of(self, memory: Memory) -> ListFile:
        """The file of a memory."""
        return self.open_list(self.shard_of(memory))

    def free_id(self, file: ListFile, group: str, text: str) -> str:
        """The id of a new text: the one that it gives itself, unless another memory has it, as one
        with this text that was taken out of the file."""
        planned = (edit for plan in plans.planned_before(self.view) for edit in plan.edits)
        entries = (
            *self.sidecar.of_shard(file.key),
            *((edit.id, edit.after or {}) for edit in planned if edit.kind is Kind.SIDECAR),
        )
        taken = {id for id, entry in entries if "kept" in entry}
        taken.update(item.id for item in file.items)
        natural = file.natural_id(group, text)
        names = chain((natural,), (f"{natural}~{number}" for number in count(2)))
        return next(name for name in names if name not in taken)

    def other_refs(self, file: ListFile, after: str) -> tuple[str, ...]:
        """Refs of memories that come or go along with a change of the file."""
        changed = file.other_ids(file.before or "") ^ file.other_ids(after)
        return tuple(self.ref(id) for id in sorted(changed))


class ListStore(TextFileStore):
    """A store whose files are lists of texts, one shard each."""

    context = ListContext
    syntax: ClassVar[type[ListFile]]
    files: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Entity -> the key of its file, where each file is one entity. The first takes the memories
    that name no entity, and those of other formats."""

    def list_files(self, faults: list[Unreadable]) -> Iterable[str]:  # noqa: ARG002
        """The files that exist, as keys of their shards; folders that cannot be listed go to
        `faults`."""
        return [key for key in self.files.values() if os.path.lexists(self.file_of(key))]

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        """The file and the list of an ADD. Raises Refused."""
        first = next(iter(self.files), "")
        entity = str(change.fields.get("entity") or first).strip()
        if not self.files:
            return next(iter(self.list_files([]))), entity
        if entity not in self.files and not importing.is_import(change):
            raise Refused(f"the entity is one of {', '.join(self.files)}", where=entity)
        return self.files.get(entity, self.files[first]), ""

    def place_imported(self, change: Change, context: ListContext) -> tuple[str, str]:
        """The file and the list of an import. Raises Refused."""
        return self.place_new(change, context)

    def kind_in(self, key: str) -> str:  # noqa: ARG002
        """The kind of the memories in a file."""
        return "fact"

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        """What the memory of an item has besides name, text, place and chosen importance."""
        entities = (entity for entity, key in self.files.items() if key == file.key)
        return {"entity": next(entities, item.group)}

    def file_of(self, key: str) -> Path:
        """The file of a shard, which need not exist."""
        return self.root / key

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        return not text.strip()

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> ListFile:
        """Parse the text of a file."""
        return self.syntax(key, path, text, sidecar)

    # ---- common to all ------------------------------------------------------------------------

    def open_list(self, key: str, view: StoreView) -> ListFile:
        """The file as it is after the changes planned so far. Raises Refused."""
        file = self.file_of(key)
        try:
            path = self.folder
            for name in file.relative_to(path).parts:
                path = safe_join(path, name)
            text = planned_text(path, self.folder, view)
            if text is not None and self.is_cut_off(key, text):
                raise UnreadableFile(IS_EMPTY)
            return self.parse(key, path, text, self.sidecar.current())
        except UnreadableFile as error:
            raise as_refused(error, file) from None

    def readable_files(self) -> Iterator[ListFile]:
        """The files as they are now, without those that cannot be read."""
        for key in self.list_files([]):
            path = self.file_of(key)
            text = self.text_of(os.path.relpath(path, self.root))
            if text is not None:
                yield self.parse(key, path, text, self.sidecar.current())

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:  # noqa: ARG002
        """How many characters of its limit each file uses."""
        return [
            LimitUse(
                self.label,
                file.key,
                str(file.path),
                (("characters", file.size_of(file.before or ""), file.limit),),
            )
            for file in (self.readable_files() if self.syntax.limit is not None else ())
            if file.limit is not None
        ]

    def check_written(self, path: Path, before: str | None, after: str | None) -> None:
        """Refuse a text beyond its limit, as when the program has written since the plan."""
        for key in self.files.values():
            if self.file_of(key).name == path.name:
                self.parse(key, path, before, Sidecar()).refuse_too_long(after or "")

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        for key in self.list_files(faults):
            yield FoundShard(key, (str(self.file_of(key)),), self.mark_of(key))
        yield from faults

    def mark_of(self, key: str) -> str:  # noqa: ARG002
        """A stamp of the file that other files are part of; "": its own."""
        return ""

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        file = self.parse(key, path, text, sidecar)
        return Reading(tuple(self.memories(file)), tuple(self.faults(file)))

    def faults(self, file: ListFile) -> Iterable[Unreadable]:  # noqa: ARG002
        """What is wrong with a file that could be read."""
        return ()

    def memories(self, file: ListFile) -> Iterator[Memory]:
        """The memories of one file."""
        for item in file.items:
            fields = {
                "kind": self.kind_in(file.key),
                "content": item.text,
                "importance": importance_in(file.sidecar, item.id),
                "origin": Place(str(file.path), item.line),
                **self.describe(file, item),
            }
            yield Memory(**memory_name(self.label, item.id), **fields)


def not_on(act: Act, memory: Memory, program: str = "its program") -> str:
    """Why an act cannot be done on a text that is or is not in the file; "" if it can."""
    if is_kept(memory) and act not in _KEPT_ACTS:
        return f"{program} no longer holds it, only memtui does: restore it first"
    if memory.kind == "document" and act is not Act.EDIT and act not in plans.SIDECAR_ACTS:
        return "it tells the agent who it is: edit it"
    if act is Act.RESTORE and not is_kept(memory):
        return "it is active already"
    return ""


def importance_in(sidecar: Sidecar, id: str) -> str:
    """The importance that a person chose; medium if none did."""
    return importance_of_rating(sidecar.entry(id).get("rating")) or "medium"


def shard_of(memory: Memory) -> str:
    """The key of the file that a memory is named after."""
    return memory.id.partition("#")[0]


# ---- ids of texts -------------------------------------------------------------------------------


TEXT_KEY = "text"
"""Key of a sidecar entry: the `text_key` of the text that has this name now."""


def text_key(text: str) -> str:
    """A short digest of a text: its name where it has no better one."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def name_texts(
    texts: Iterable[tuple[str, str]], prefix: str, sidecar: Sidecar, shard: str
) -> list[str]:
    """Give each text of a file an id that no other text has.

    Args:
        texts: The `text_key` of each text, and the id derived from the text.
        prefix: The prefix of every id of the file.
        sidecar: Holds the ids of texts that memtui edited.
        shard: Key of the shard of the file.

    Returns:
        The ids, in the order of the texts.
    """
    ids_by_key: dict[str, list[str]] = {}
    kept: set[str] = set()
    for id, entry in sidecar.of_shard(shard):
        key = entry.get(TEXT_KEY)
        if isinstance(key, str) and id.startswith(prefix):
            ids_by_key.setdefault(key, []).append(id)
        elif entry.get("kept"):
            kept.add(id)
    reserved = kept.union(*ids_by_key.values())
    used: set[str] = set()
    result = []
    repeats: Counter[str] = Counter()
    for key, derived_id in texts:
        id = next((id for id in ids_by_key.get(key, ()) if id not in used), "")
        if not id:
            id = derived_id
            while id in reserved or id in used:
                repeats[derived_id] += 1
                id = f"{derived_id}~{repeats[derived_id] + 1}"
        used.add(id)
        result.append(id)
    return result
