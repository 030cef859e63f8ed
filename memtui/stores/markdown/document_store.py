"""The engine of stores in which every Markdown file is one memory, and a shard of its own.

A format says what a document becomes (`DocumentStore.memories`), what a new one looks like, and
how a title, a type or an importance is written; reading, editing, adding, deleting and importing
are the same for all. A document may also hold parts, such as the observations of a note: memories
of their own that change with it and are named `path#part`.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.model import Memory
from memtui.stores import values
from memtui.stores.base import Reading, Unreadable
from memtui.stores.file_store import TextFileStore
from memtui.stores.markdown.document_editing import (
    OpenDocument,
    checked_title,
    deletion_edits,
    imported_file,
    named_stem,
    new_document_file,
    open_document,
    plan_file_import,
    with_content,
    with_tags,
)
from memtui.stores.markdown.documents import (
    MarkdownFile,
    outline,
    parse_document,
    words_of,
)
from memtui.stores.plans import PlanContext, dangling_warnings, plan_duplicate, plan_one
from memtui.stores.scanning import FoundShard, documents, time_of_change
from memtui.stores.sidecar import Sidecar

EDITABLE = frozenset({"content", "title", "tags", "importance", "type"})


class DocumentContext(PlanContext):
    """The context of planning a change in a store of documents."""

    store: DocumentStore

    def part_refs(self, path: str, before: str, after: str) -> tuple[str, ...]:
        """Refs of the parts that are not the same in two texts of a document."""
        old, new = (set(self.store.parts(path, text).items()) for text in (before, after))
        return tuple(sorted({self.ref(id) for id, _ in old ^ new}))


class DocumentStore(TextFileStore):
    """A folder of documents."""

    context = DocumentContext
    rescans = True  # a document is looked up by the names of the others, and see `marks`
    noun = "document"
    """What a document is called in reasons."""

    def __init__(
        self, root: Path, label: str, now: Callable[[], datetime] = values.utc_now
    ) -> None:
        super().__init__(root, label, now)
        self._paths: list[str] = []
        self._names: dict[str, str] | None = None

    # ---- reading --------------------------------------------------------------------------------

    @abstractmethod
    def memories(self, document: MarkdownFile, sidecar: Sidecar) -> Iterable[Memory]:
        """The memory of a document, then its parts."""

    @abstractmethod
    def names_of(self, path: str) -> Iterable[str]:
        """The names by which links find a document."""

    @abstractmethod
    def marks(self, paths: Sequence[str]) -> Callable[[str], str]:
        """What the stamp of each of these documents depends on beside its file."""

    def is_document(self) -> Callable[[str], bool]:
        """Which files are documents of the store."""
        return lambda _: True

    def store_faults(self) -> Iterable[Unreadable]:
        """What is wrong with files that say something about the documents."""
        return ()

    # ---- changing -------------------------------------------------------------------------------

    def check_edit(self, memory: Memory, names: Iterable[str]) -> None:
        """Raise Refused if these fields of a document cannot be changed."""

    @abstractmethod
    def with_title(self, page: OpenDocument, title: str) -> OpenDocument:
        """The document with another title. Raises Refused."""

    @abstractmethod
    def with_type(self, page: OpenDocument, type: str) -> tuple[OpenDocument, Sequence[Edit]]:
        """The document with another type, and edits of other files that give it. Raises Refused."""

    def with_importance(self, page: OpenDocument, importance: str) -> OpenDocument | None:  # noqa: ARG002
        """The document with another importance; None: the sidecar stores it."""
        return None

    def has_tags(self, page: OpenDocument) -> tuple[bool, bool]:  # noqa: ARG002
        """Whether the frontmatter's tags count, and whether they may be written."""
        return True, True

    def parts(self, path: str, text: str) -> Mapping[str, str]:  # noqa: ARG002
        """Id and text of the memories that are parts of a document with this text, in order."""
        return {}

    def stem_of(self, change: Change, folder: str, stem: str, now: datetime) -> str:  # noqa: ARG002
        """The name of a new document, without its suffix."""
        return stem

    @abstractmethod
    def new_text(self, change: Change, path: str, title: str, now: datetime) -> str:
        """The whole text of a new document. Raises Refused."""

    @abstractmethod
    def imported_text(self, change: Change, path: str, now: datetime) -> str:
        """The whole text of an imported document of which only the memory is known."""

    @abstractmethod
    def imported_values(self, change: Change) -> dict[str, Any]:
        """The sidecar entry of an imported document."""

    # ---- common to all --------------------------------------------------------------------------

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each document by one stat."""
        yield from self.store_faults()
        faults: list[Unreadable] = []
        is_document = self.is_document()
        found = [each for each in documents(self.root, faults) if is_document(each.key)]
        paths = [each.key for each in found]
        mark = self.marks(paths)
        for each in found:
            yield each._replace(mark=f"{each.mark}|{mark(each.key)}|")
        yield from faults
        if paths != self._paths:
            self._paths, self._names = paths, None

    def find(self, name: str) -> str:
        """The one document that a link names; empty when none or several have the name."""
        if self._names is None:
            names: dict[str, str] = {}
            for path in self._paths:
                for each in self.names_of(path):
                    names[each] = "" if names.get(each, path) != path else path
            self._names = names
        return self._names.get(name, "")

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        document = parse_document(key, str(path), text, time_of_change(path))
        return Reading(tuple(self.memories(document, sidecar)))


def plan_edit(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Change the fields of a document."""
    store, changed = context.store, values.changed_values(change, memory, EDITABLE)
    store.check_edit(memory, changed)
    before = page = open_document(memory, context)
    entry: dict[str, Any] = {}
    more: Sequence[Edit] = ()
    if "content" in changed:
        page = with_content(change, page)
    if "title" in changed:
        page = store.with_title(page, checked_title(changed["title"], memory.ref))
    if "type" in changed:
        page, more = store.with_type(page, str(changed["type"] or ""))
    if "tags" in changed:
        counts, may_write = store.has_tags(page)
        native = words_of(page.document.frontmatter.get("tags")) if counts else ()
        in_file = may_write and page.has_frontmatter
        page, entry["tags"] = with_tags(page, changed["tags"], context, native, in_file=in_file)
    if "importance" in changed:
        importance = values.checked_importance(changed["importance"])
        written = store.with_importance(page, importance)
        page = written or page
        if written is None:
            entry["rating"] = values.RATING_OF[importance]
    edits: tuple[Edit, ...] = before.text_edits(page.text)
    edits += context.sidecar_entry(memory).set(**entry) if entry else ()
    parts = context.part_refs(memory.id, before.text, page.text)
    return plan_one(change, memory, (*edits, *more), others=parts)


def plan_delete(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Remove the file of a document; the warnings name what would point nowhere."""
    page = open_document(memory, context)
    edits = deletion_edits(page, context)
    parts = context.part_refs(memory.id, page.text, "")
    others = (m for m in context.view.memories(context.label) if m.ref not in parts)
    return plan_one(change, memory, edits, dangling_warnings(memory, others), others=parts)


def plan_add(change: Change, context: DocumentContext) -> Plan:
    """A new document, whose name is made of its title or first line. Raises Refused."""
    store, content = context.store, values.content_of(change)
    title = values.word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    stem = named_stem(title or outline(content).title or content.strip())
    stem = store.stem_of(change, folder, stem, context.now)
    path, file = new_document_file(folder, stem, context)
    text = store.new_text(change, path, title, context.now)
    edits = (text_edit(str(file), None, text),)
    refs = (context.ref(path), *map(context.ref, store.parts(path, text)))
    return Plan((change,), edits, Outcome.ADDED, f"Adds the {store.noun} {path}", refs)


def plan_import(change: Change, context: DocumentContext) -> Plan:
    """Plan the import of one document. Raises Refused."""
    store, path = context.store, str(change.fields["id"])
    file = imported_file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, f"a {store.noun} of this name", context.ref(path))
    document = change.fields.get("document")
    is_whole = isinstance(document, str)
    text = str(document) if is_whole else store.imported_text(change, path, context.now)
    plan = plan_file_import(change, context, file, text, **store.imported_values(change))
    return replace(plan, refs=(*plan.refs, *map(context.ref, store.parts(path, text))))
