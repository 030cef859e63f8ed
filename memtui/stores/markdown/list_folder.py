"""The engine of stores that are a folder of Markdown lists which a declaration describes.

A bullet is a memory, and the prose between two headings or bullets is one. A format says which
files there are, whose memories each holds and when its program reads it (`ListSource`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import listed_acts
from memtui.stores.base import LoadedText, ReadTime, StoreView, Unreadable
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.listed_texts import ListContext, ListedText, ListFile
from memtui.stores.markdown.documents import date_in_path
from memtui.stores.markdown.items import MarkdownList, MarkdownListStore, convert_below_heading
from memtui.stores.scanning import list_folder


class ListSource(NamedTuple):
    """Files of a folder, and what is in them."""

    pattern: str
    """Path relative to the root; `*` stands for a part of a name, as `fnmatch` has it."""
    entity: str
    """Entity of their memories. A slash and the heading follow if `has_headings`, else the date in
    the file's name, if it has one."""
    kind: str = "fact"
    reads: ReadTime = ReadTime.OPENED
    has_headings: bool = False

    @property
    def is_loaded(self) -> bool:
        """Whether a session is given it when it starts."""
        return self.reads is ReadTime.NEXT_SESSION


class ListedProse(MarkdownList):
    """A Markdown list whose prose is one text from one heading or bullet to the next."""

    has_whole_prose = True


class ListFolderStore(MarkdownListStore):
    """A folder of Markdown lists."""

    syntax = ListedProse
    acts = listed_acts.list_acts({Act.RETYPE: "an item has no type"})
    sources: ClassVar[tuple[ListSource, ...]]
    """The first whose pattern fits a file applies to it. New memories without an entity go to the
    first of all."""

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        every = (path for each in self.sources for path in expand(self.root, each.pattern, faults))
        return list(dict.fromkeys(every))

    def source_of(self, path: str) -> ListSource:
        """The source of a file; the first one for any other."""
        fitting = (each for each in self.sources if fits(path, each.pattern))
        return next(fitting, self.sources[0])

    def owns_shard(self, key: str) -> bool:
        return any(fits(key, each.pattern) for each in self.sources)

    def may_hold(self, path: str, item: str) -> bool:
        return bool(item) and self.owns_shard(path)

    def entity_of(self, path: str, section: str = "") -> str:
        """The entity of an item below a heading."""
        source = self.source_of(path)
        day = date_in_path(path)
        part = (
            section.replace("/", "-") if source.has_headings else f"{day:%Y-%m-%d}" if day else ""
        )
        return f"{source.entity}/{part}" if part else source.entity

    def kind_in(self, key: str) -> str:
        return self.source_of(key).kind

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        """The file of the entity, and the heading after the slash. Raises Refused."""
        entity = str(change.fields.get("entity") or self.sources[0].entity).strip("/ ")
        files = self.list_files([])
        exact = [path for path in files if self.entity_of(path) == entity]
        if exact:
            return exact[-1], ""
        head, _, section = entity.partition("/")
        for source in self.sources:
            if source.entity == head and (not section or source.has_headings):
                known = [path for path in files if fits(path, source.pattern)]
                if known or "*" not in source.pattern:
                    return (known or [source.pattern])[-1], section
        names = dict.fromkeys(map(self.entity_of, files))
        raise Refused("there is no such file", where=entity, do=f"name {', '.join(names)}")

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        found = super().describe(file, item) | {"entity": self.entity_of(file.key, item.group)}
        if self.source_of(file.key).is_loaded:
            found["extra"] |= {"loaded_at_start": True}
        return found | {"created": date_in_path(file.key)}

    def place_facts(self) -> Mapping[str, Any]:
        return {"kind": self.format}

    def read_time(self, path: str) -> ReadTime:
        return self.source_of(path).reads

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The files that are given to every session."""
        return [
            text
            for path in self.list_files([])
            if self.source_of(path).is_loaded
            for text in self.loaded_file(path, view, "given to every session")
        ]


def fits(path: str, pattern: str) -> bool:
    """Whether a path has the parts of a pattern, one by one."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def expand(root: Path, pattern: str, faults: list[Unreadable]) -> list[str]:
    """The files that a pattern stands for, by name, also those that cannot be read; folders that
    cannot be listed go to `faults`.

    Names that begin with a dot are left out unless the pattern names them. Links are not followed
    to folders.
    """
    found = [""]
    for part in pattern.split("/"):
        found = [path for each in found for path in _names(root, each, part, faults)]
    return sorted(path for path in found if not os.path.isdir(root / path))


def _names(root: Path, folder: str, part: str, faults: list[Unreadable]) -> Iterator[str]:
    before = f"{folder}/" if folder else ""
    if "*" not in part:
        if os.path.lexists(root / before / part):
            yield f"{before}{part}"
        return
    if not os.path.isdir(root / folder) or (folder and os.path.islink(root / folder)):
        return
    entries, closed = list_folder(root / folder)
    faults += closed
    for entry in entries:
        if fnmatchcase(entry.name, part) and entry.name[0] != "." and "#" not in entry.name:
            yield f"{before}{entry.name}"


def support_of(store: type[ListFolderStore], *belongings: str) -> FormatSupport:
    """What memtui can do with the stores of a format; `belongings` as of `TransferSupport`."""
    first = store.sources[0]

    def convert(memory: Memory) -> ConvertedMemory:
        return convert_below_heading(memory, first.entity if first.has_headings else "")

    return FormatSupport(store, transfer=TransferSupport(belongings, convert=convert))
