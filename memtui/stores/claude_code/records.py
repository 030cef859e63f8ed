"""Convert topic files, the items of MEMORY.md and instruction files to memories.

What the format has no word for is derived by these rules:

* importance: high for what is loaded at every start of a session (items of MEMORY.md above the
  cut, instruction files), medium for topic files that the index names and for rules that are only
  for certain files, low for what it does not
  name and for items below the cut; medium for items where no limit is known.
* updated: `modified` of the frontmatter, else the file's time of change (`extra.updated_from`).
* entity: the project's path from the home folder, `agents/<name>`, or `instructions`.
* title of a topic file: what its line in the index says, title and hook; without a line its `name`,
  else the first heading, else the file's name.

A line of the index and the topic file that it names are one memory; a line whose file is missing is
one by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import FILE_TIME, FILE_TIME_KEY, Link, Memory, Place
from memtui.stores.base import UNITS, Unreadable
from memtui.stores.claude_code import INDEX, INSTRUCTIONS, RULES, SUFFIX, MemoryFolder, rules
from memtui.stores.listed_texts import ListContext, ListedText, text_key
from memtui.stores.markdown.documents import (
    MarkdownFile,
    document_fields,
    linked_documents,
    outline,
    parse_document,
)
from memtui.stores.markdown.items import SECTION, MarkdownList
from memtui.stores.scanning import read_texts, time_of_change
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_local_iso, memory_name

if TYPE_CHECKING:
    from memtui.stores.claude_code.store import ClaudeCodeStore

INDEX_LINE = "index"
"""Type of a line of the index whose file is missing."""
INDEXES = "indexes"
"""Relation of such a line to the file."""
INDEX_LINES = "index_lines"
"""Key of `extra`: the texts of the lines that name a topic file; `also` has their places."""
LOADED = "loaded_at_start"
"""Key of `extra`: whether a session is given it when it starts."""
IMPORTS = "imports"
"""Relation of an instruction file to one that it imports."""


class ClaudeContext(ListContext):
    """The context of planning a change in one store."""

    store: ClaudeCodeStore

    @property
    def folders(self) -> dict[str, MemoryFolder]:
        """Each entity's memory folder."""
        return self.store.entity_folders()


class IndexFile(MarkdownList):
    """The MEMORY.md of one memory folder; `key` is that of the folder."""

    @property
    def prefix(self) -> str:
        return f"{INDEX}#" if self.key == "." else f"{self.key}/{INDEX}#"

    def natural_id(self, group: str, text: str) -> str:
        """A line of the index has the name of the file that it leads to."""
        file = rules.index_link(text)[1]
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
    is_limited: bool
    """Whether it is known how much of the index a session loads."""


def read_folder(
    folder: MemoryFolder,
    files: tuple[str, ...],
    entity: str,
    root: Path,
    sidecar: Sidecar,
    is_limited: bool,
) -> FolderRecords:
    """Read the files of one memory folder; `is_limited` as in `FolderRecords`."""
    index, topics = None, []
    faults: list[Unreadable] = []
    for path, text in read_texts(files, root, faults):
        if path == folder.path / INDEX:
            index = IndexFile(folder.key, path, text, sidecar)
        else:
            name = os.path.relpath(path, folder.path).replace(os.sep, "/")
            id = f"{folder.prefix}{name}"
            topics.append(parse_document(id, str(path), text, time_of_change(path)))
    return FolderRecords(folder, entity, index, topics, faults, is_limited)


def folder_memories(records: FolderRecords, label: str) -> Iterator[Memory]:
    """The memories of one folder: the items of the index, then the topic files."""
    index = records.index
    part: rules.LoadedPart | None = None
    lines: dict[str, list[ListedText]] = {}
    has_lines = False
    named: set[str | None] = set()
    if index is not None:
        if records.is_limited:
            part = rules.loaded_part(index.document.head + index.document.body)
        topics = {_composed(document.path): document.path for document in records.topics}
        for item in index.items:
            file = linked_file(item)
            has_lines |= bool(file)
            id = topics.get(_composed(f"{records.folder.prefix}{file}"))
            if id is not None:
                lines.setdefault(id, []).append(item)
            else:
                for name in rules.named_files(item.text):
                    named.add(topics.get(_composed(f"{records.folder.prefix}{name}")))
                yield _item_memory(item, index, records, part, label)
    names = _names(records.topics, records.folder)
    for document in records.topics:
        memory = _topic_memory(document, records, names, label)
        if index is not None and document.path in lines:
            memory = _with_lines(memory, lines[document.path], index, part)
        elif document.path in named:
            memory = replace(memory, importance="medium", extra={**memory.extra, "indexed": True})
        elif has_lines:
            memory = replace(memory, extra={**memory.extra, "indexed": False})
        yield memory


def _composed(name: str) -> str:
    """A name in one form: macOS keeps decomposed letters where people type composed ones."""
    return normalize("NFC", name)


def linked_file(item: ListedText) -> str:
    """The file that a line of the index names; "" for other items."""
    return rules.index_link(item.text).file if item.native.is_bullet else ""


def names_file(item: ListedText, file: str) -> bool:
    """Whether a line of the index names this file, in either form of its letters."""
    return _composed(linked_file(item)) == _composed(file)


def _loading(item: ListedText, part: rules.LoadedPart | None) -> dict[str, Any]:
    """What `extra` says of the limit and of the heading of an item."""
    extra: dict[str, Any] = {} if part is None else {"load_limit": _limit_of(part)}
    if part is not None and part.cut_line is not None:
        extra["cut_line"] = part.cut_line
    return extra | ({SECTION: item.group} if item.group else {})


def _is_loaded(item: ListedText, part: rules.LoadedPart | None, key: str) -> dict[str, bool]:
    """Under `key`, whether an item is loaded at the start of a session; empty if not known."""
    if part is None:
        return {}
    return {key: part.cut_line is None or item.line < part.cut_line}


def _item_memory(
    item: ListedText,
    index: IndexFile,
    records: FolderRecords,
    part: rules.LoadedPart | None,
    label: str,
) -> Memory:
    file = linked_file(item)
    if file and os.path.lexists(records.folder.path / os.path.expanduser(file)):
        file = ""  # it is there, and no memory of this folder
    extra = _loading(item, part) | _is_loaded(item, part, LOADED) | {FILE_TIME_KEY: FILE_TIME}
    if file:
        extra["missing_file"] = file
    importance = {True: "high", False: "low", None: "medium"}[extra.get(LOADED)]
    target = file if file.startswith(("/", "~/")) else f"{records.folder.prefix}{file}"
    return Memory(
        **memory_name(label, item.id),
        kind="note" if file or not item.native.is_bullet else "fact",
        type=INDEX_LINE if file else "",
        title=rules.index_link(item.text).title if file else "",
        content=item.text,
        entity=records.entity,
        updated=index.document.changed,
        importance=importance,
        links=(Link(INDEXES, target),) if file else (),
        origin=Place(index.document.file, item.line),
        extra=extra,
    )


def _with_lines(
    memory: Memory, lines: list[ListedText], index: IndexFile, part: rules.LoadedPart | None
) -> Memory:
    """A topic file with the lines of the index that name it."""
    extra = _loading(lines[0], part)
    extra |= {"indexed": True, INDEX_LINES: [item.text for item in lines]}
    extra |= _is_loaded(lines[0], part, "line_loaded")
    if memory.extra.get("frontmatter"):
        extra["name"] = memory.title
    return replace(
        memory,
        title=rules.index_link(lines[0].text).title or memory.title,
        importance="medium",
        also=tuple(Place(index.document.file, item.line) for item in lines),
        extra={**memory.extra, **extra},
    )


def _limit_of(loaded: rules.LoadedPart) -> str:
    """How much of the limit is used, in words."""
    used = f"{loaded.lines} of {rules.LOADED_LINES} lines, "
    used += f"{loaded.size:,} of {rules.LOADED_UNITS:,} {UNITS}"
    return used if loaded.cut_line is None else f"{used}: cut at line {loaded.cut_line}"


def _names(topics: list[MarkdownFile], folder: MemoryFolder) -> dict[str, str]:
    """Name or file stem -> id, for `[[name]]`."""
    found: dict[str, str] = {}
    for document in topics:
        stem = document.path.removeprefix(folder.prefix).removesuffix(SUFFIX)
        for name in (_name(document), stem, stem.rpartition("/")[2]):
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
    label: str,
) -> Memory:
    front = document.frontmatter
    found = outline(document.body)
    file = document.path.removeprefix(records.folder.prefix)
    modified = from_local_iso(rules.topic_field(front, "modified"))
    extra = document.extra
    extra.pop("name", None)
    if front:
        extra["frontmatter"] = "newer" if rules.is_newer(front) else "older"
    if not modified:
        extra[FILE_TIME_KEY] = FILE_TIME
    session = rules.topic_field(front, "originSessionId")
    transcript = _transcript(records.folder, session)
    if transcript:
        extra["transcript"] = transcript
    pairs = linked_documents(found, document.path, lambda name: names.get(name, ""))
    return Memory(
        **document_fields(document, label),
        kind="document",
        type=rules.topic_field(front, "type"),
        title=_name(document) or found.title or file.removesuffix(SUFFIX),
        entity=records.entity,
        updated=modified or document.changed,
        importance="low",
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
    is_rule = document.path.startswith(tuple(f"{folder}/" for folder in RULES))
    is_loaded = not (is_rule and rules.is_for_some_files(document.frontmatter))
    extra = document.extra | {LOADED: is_loaded, FILE_TIME_KEY: FILE_TIME}
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
        importance="high" if is_loaded else "medium",
        links=tuple(Link(relation, target) for relation, target in pairs),
        extra=extra,
    )
