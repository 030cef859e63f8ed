"""Convert topic files, the items of MEMORY.md and instruction files to memories.

What the format has no word for is derived by these rules:

* importance: high for what is loaded at every start of a session (items of MEMORY.md above the
  cut, instruction files), medium for topic files that the index names, low for what it does not
  name and for items below the cut.
* updated: `modified` of the frontmatter, else the file's time of change (`extra.updated_from`).
* entity: the project's path from the home folder, `agents/<name>`, or `instructions`.
* title of a topic file: its `name`, else the first heading, else the file's name. Of an index line:
  the title in the line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from memtui.model import Link, Memory, Place
from memtui.stores.base import Unreadable
from memtui.stores.claude_code import INDEX, INSTRUCTIONS, SUFFIX, MemoryFolder
from memtui.stores.claude_code.rules import (
    LOADED_BYTES,
    LOADED_LINES,
    LoadedPart,
    index_link,
    is_newer,
    loaded_part,
    topic_field,
)
from memtui.stores.listed_texts import ListContext, ListedText, text_key
from memtui.stores.markdown.documents import (
    MarkdownFile,
    document_fields,
    linked_documents,
    outline,
    parse_document,
    time_of_change,
)
from memtui.stores.markdown.items import SECTION, MarkdownList
from memtui.stores.scanning import IS_EMPTY, read_texts
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso, memory_name

INDEX_LINE = "index"
"""Type of the memory that is a line of the index."""
INDEXES = "indexes"
"""Relation of an index line to its topic file."""
IMPORTS = "imports"
"""Relation of an instruction file to one that it imports."""


class ClaudeContext(ListContext, frozen=True):
    """The context of planning a change in one store."""

    folders: Mapping[str, MemoryFolder] = field(default_factory=dict)
    """Entity -> its memory folder."""


class IndexFile(MarkdownList):
    """The MEMORY.md of one memory folder; `key` is that of the folder."""

    @property
    def prefix(self) -> str:
        return f"{INDEX}#" if self.key == "." else f"{self.key}/{INDEX}#"

    def natural_id(self, group: str, text: str) -> str:
        """A line of the index has the name of the file that it leads to."""
        file = index_link(text)[1]
        return f"{self.prefix}{file}" if file else super().natural_id(group, text)

    def id_of(self, item: ListedText) -> str:
        named = self.natural_id(item.group, item.text)
        return named if item.native.is_bullet else self.prefix + text_key(item.text)


class FolderRecords(Struct, frozen=True):
    """The parsed files of one memory folder, and those that cannot be read."""

    folder: MemoryFolder
    entity: str
    index: IndexFile | None
    topics: list[MarkdownFile]
    unreadable: list[Unreadable]


def read_folder(
    folder: MemoryFolder, files: tuple[str, ...], entity: str, root: Path, sidecar: Sidecar
) -> FolderRecords:
    """Read the files of one memory folder."""
    index, topics = None, []
    faults: list[Unreadable] = []
    for path, text in read_texts(files, root, faults):
        if path.name == INDEX and not text:
            faults.append(Unreadable(str(path), IS_EMPTY))
        elif path.name == INDEX:
            index = IndexFile(folder.key, path, text, sidecar)
        else:
            id = f"{folder.prefix}{path.name}"
            topics.append(parse_document(id, str(path), text, time_of_change(path)))
    return FolderRecords(folder, entity, index, topics, faults)


def folder_memories(records: FolderRecords, label: str) -> Iterator[Memory]:
    """The memories of one folder: the items of the index, then the topic files."""
    topics = {document.path: document for document in records.topics}
    indexed: set[str] = set()
    if records.index is not None:
        for memory in _index_memories(records.index, records, topics, label):
            indexed |= {link.target for link in memory.links if link.relation == INDEXES}
            yield memory
    names = _names(records.topics, records.folder)
    for document in records.topics:
        yield _topic_memory(document, records, names, indexed, label)


def _index_memories(
    index: IndexFile, records: FolderRecords, topics: Mapping[str, MarkdownFile], label: str
) -> Iterator[Memory]:
    prefix, document = records.folder.prefix, index.document
    part = loaded_part(document.head + document.body)
    limit = _limit_of(part)
    for item in index.items:
        title, file = index_link(item.text) if item.native.is_bullet else ("", "")
        loaded = part.cut_line is None or item.line < part.cut_line
        extra: dict[str, Any] = {"loaded_at_start": loaded, "load_limit": limit}
        if part.cut_line is not None:
            extra["cut_line"] = part.cut_line
        if item.group:
            extra[SECTION] = item.group
        if file and f"{prefix}{file}" not in topics:
            extra["missing_file"] = file
        yield Memory(
            **memory_name(label, item.id),
            kind="note" if file or not item.native.is_bullet else "fact",
            type=INDEX_LINE if file else "",
            title=title,
            content=item.text,
            entity=records.entity,
            updated=document.changed,
            importance="high" if loaded else "low",
            links=(Link(INDEXES, f"{prefix}{file}"),) if file else (),
            origin=Place(document.file, item.line),
            extra={**extra, "updated_from": "file time"},
        )


def _limit_of(loaded: LoadedPart) -> str:
    """How much of the limit is used, in words."""
    used = f"{loaded.lines} of {LOADED_LINES} lines, {loaded.size} of {LOADED_BYTES} bytes"
    return used if loaded.cut_line is None else f"{used}: cut at line {loaded.cut_line}"


def _names(topics: list[MarkdownFile], folder: MemoryFolder) -> dict[str, str]:
    """Name or file stem -> id, for `[[name]]`."""
    found: dict[str, str] = {}
    for document in topics:
        stem = document.path.removeprefix(folder.prefix).removesuffix(SUFFIX)
        for name in (_name(document), stem):
            if name:
                found.setdefault(name, document.path)
    return found


def _name(document: MarkdownFile) -> str:
    value = document.frontmatter.get("name")
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _topic_memory(
    document: MarkdownFile,
    records: FolderRecords,
    names: Mapping[str, str],
    indexed: set[str],
    label: str,
) -> Memory:
    front = document.frontmatter
    found = outline(document.body)
    file = document.path.removeprefix(records.folder.prefix)
    modified = from_iso(topic_field(front, "modified"))
    extra = document.extra
    extra.pop("name", None)
    if front:
        extra["frontmatter"] = "newer" if is_newer(front) else "older"
    extra["indexed"] = document.path in indexed
    if not modified:
        extra["updated_from"] = "file time"
    session = topic_field(front, "originSessionId")
    transcript = _transcript(records.folder, session)
    if transcript:
        extra["transcript"] = transcript
    pairs = linked_documents(found, document.path, lambda name: names.get(name, ""))
    return Memory(
        **document_fields(document, label),
        kind="document",
        type=topic_field(front, "type"),
        title=_name(document) or found.title or file.removesuffix(SUFFIX),
        entity=records.entity,
        updated=modified or document.changed,
        importance="medium" if document.path in indexed else "low",
        links=tuple(Link(relation, target) for relation, target in pairs),
        source=f"session {session}" if session else "",
        extra=extra,
    )


def _transcript(folder: MemoryFolder, session: str) -> str:
    """The path of the session's transcript if it is there."""
    if not session or not all(letter.isalnum() or letter in "-_" for letter in session):
        return ""
    path = str(folder.transcripts / f"{session}.jsonl")
    return path if os.path.isfile(path) else ""


def instruction_memory(
    document: MarkdownFile,
    imports: list[tuple[str, str]],
    label: str,
    outside: list[str],
    missing: list[str],
) -> Memory:
    """An instruction file. `imports` are relations and ids, `outside` the paths out of the store
    that it imports, `missing` those where no file is."""
    found = outline(document.body)
    extra = document.extra | {"loaded_at_start": True, "updated_from": "file time"}
    if outside:
        extra["imports_outside"] = outside
    if missing:
        extra["imports_missing"] = missing
    pairs = dict.fromkeys([*imports, *linked_documents(found, document.path, lambda _: "")])
    return Memory(
        **document_fields(document, label),
        kind="document",
        type=INSTRUCTIONS,
        title=document.path,
        entity=INSTRUCTIONS,
        updated=document.changed,
        importance="high",
        links=tuple(Link(relation, target) for relation, target in pairs),
        extra=extra,
    )
