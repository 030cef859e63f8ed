"""The engine of stores in which every Markdown file is one memory, and a shard of its own.

A format says what a document becomes (`DocumentStore.memories`), what a new one looks like, and
how a title, a type or an importance is written; reading, editing, adding, deleting and importing
are the same for all. A document may also hold parts, such as the observations of a note: memories
of their own that change with it and are named `path#part`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Conflict, Refused
from memtui.files.frontmatter import set_field, split
from memtui.files.reading import real_path, safe_join
from memtui.model import CURRENT, Memory
from memtui.stores import values
from memtui.stores.base import Reading, Unreadable
from memtui.stores.file_store import TextFileStore
from memtui.stores.importing import entity_parts, short_hash, slug
from memtui.stores.markdown.documents import (
    MarkdownFile,
    outline,
    parse_document,
    with_body,
    words_of,
)
from memtui.stores.plans import PlanContext, dangling_warnings, plan_duplicate, plan_one, tag_edits
from memtui.stores.scanning import (
    SKIPPED,
    SUFFIX,
    FoundShard,
    documents,
    planned_text,
    time_of_change,
)
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    changed_values,
    check_unchanged,
    content_of,
    tag_words,
    to_iso_seconds,
)

LONGEST_STEM = 80
"""Characters of a file name that is made from a title."""
ARCHIVE = "archive"
"""Folder of what is no longer current: a document has no status of its own."""

_NOT_IN_NAMES = re.compile(r"[^\w]+")
_HEADING_LINE = r"^( {{0,3}}#{{1,6}}[ \t]+){}([ \t]*#*[ \t]*)$"


# ---- an open document --------------------------------------------------------------------------


class OpenDocument(Struct, frozen=True):
    """One document, read to plan a change."""

    memory: Memory
    text: str
    document: MarkdownFile

    def text_edits(self, text: str | None) -> tuple[Edit, ...]:
        """The edit that replaces the file's text (None: deletes the file); none if unchanged."""
        if text == self.text:
            return ()
        return (text_edit(self.document.file, self.text, text),)

    def with_text(self, text: str) -> OpenDocument:
        """The document with a new text that is not written yet."""
        return OpenDocument(
            self.memory, text, parse_document(self.memory.id, self.document.file, text, None)
        )

    def with_field(self, key: str, value: str | list[str]) -> OpenDocument:
        """The document with another value of a frontmatter field. Raises Refused."""
        return self.with_text(set_field(self.text, key, value))

    @property
    def has_frontmatter(self) -> bool:
        return split(self.text).front is not None


def open_document(memory: Memory, context: PlanContext) -> OpenDocument:
    """The document of a memory after the changes planned so far. Raises Refused, or Conflict if it
    is gone."""
    file = memory.origin.file
    text = planned_text(Path(file), context.root, context.view)
    if text is None:
        raise Conflict("the file is gone", where=file)
    return OpenDocument(memory, text, parse_document(memory.id, file, text, None))


def with_content(change: Change, page: OpenDocument) -> OpenDocument:
    """The document with the text of the change. Raises Refused, or Conflict if it is not the one
    that the person saw."""
    new_text = content_of(change)
    check_unchanged(page.memory, page.document.body, page.document.file, new_text)
    return page.with_text(with_body(page.document, new_text))


def checked_title(value: object, where: str = "") -> str:
    """A title of one line. Raises Refused."""
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise Refused("a title is one line that says something", where=where)
    return value.strip()


def with_named_title(page: OpenDocument, title: str) -> OpenDocument | None:
    """The document with another `title` or `name` in its frontmatter; None if it has neither."""
    keys = (key for key in ("title", "name") if page.document.frontmatter.get(key))
    key = next(keys, "")
    return page.with_field(key, title) if key else None


def with_tags(
    page: OpenDocument, value: object, context: PlanContext, native: Sequence[str], *, in_file: bool
) -> tuple[OpenDocument, list[str]]:
    """The document with these tags in its frontmatter, and those that the sidecar holds.

    Args:
        page: the document.
        value: the new tags.
        context: of planning.
        native: tags that its frontmatter gives now.
        in_file: whether the frontmatter may be written.
    """
    new_tags = tag_words(value)
    if not in_file:
        return page, [tag for tag in new_tags if tag not in native]
    sidecar_tags = context.sidecar.entry(page.memory.id).get("tags", ())
    beside = [tag for tag in new_tags if tag in sidecar_tags and tag not in native]
    own_tags = [tag for tag in new_tags if tag not in beside]
    if own_tags == list(native):
        return page, beside
    is_line = isinstance(page.document.frontmatter.get("tags"), str)
    return page.with_field("tags", ", ".join(own_tags) if is_line else own_tags), beside


def with_heading(page: OpenDocument, new_heading: str) -> OpenDocument:
    """Replace the text of the first heading."""
    old = re.compile(_HEADING_LINE.format(re.escape(page.memory.title)), re.MULTILINE)
    body, count = old.subn(
        lambda match: match[1] + new_heading + match[2], page.document.body, count=1
    )
    if not count or outline(body).title != new_heading:
        raise Refused("the heading cannot be changed on its line", do="edit the text")
    return page.with_text(with_body(page.document, body))


def edit_document(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Plan another text of a file that is one memory; tags are kept in the sidecar."""
    changed = changed_values(change, memory, frozenset({"content", "tags"}))
    page = open_document(memory, context)
    edits: tuple[Edit, ...] = ()
    if "content" in changed:
        edits = page.text_edits(with_content(change, page).text)
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"])
    return plan_one(change, memory, edits)


def deletion_edits(page: OpenDocument, context: PlanContext) -> tuple[Edit, ...]:
    """The edits that remove the file and its sidecar entry. Raises Conflict if it has changed."""
    check_unchanged(page.memory, page.document.body, page.document.file, None)
    return (*page.text_edits(None), *context.sidecar_entry(page.memory).removal())


# ---- new documents ------------------------------------------------------------------------------


def titled_text(title: str, body: str) -> str:
    """The text below a heading with this title, unless it has that already; with a last newline."""
    if title and outline(body).title != title:
        body = f"# {title}\n\n{body}"
    return body if body.endswith("\n") else f"{body}\n"


def with_fields(text: str, fields: Mapping[str, Any]) -> str:
    """The text of a document with these fields of the frontmatter set. Raises Refused."""
    for key, value in fields.items():
        text = set_field(text, key, value)
    return text


def named_stem(title: str) -> str:
    """`file_stem` of a title. Raises Refused if there is nothing left."""
    stem = file_stem(title)
    if not stem:
        raise Refused("no file name can be made of this title", do="give it a title in letters")
    return stem


def new_document_file(folder: str, stem: str, context: PlanContext) -> tuple[str, Path]:
    """The id and the file of a new document. Raises Refused."""
    path = f"{folder}/{stem}{SUFFIX}" if folder else f"{stem}{SUFFIX}"
    file = new_file(context.root, path, SKIPPED)
    if context.ref(path) in context.planned_refs:
        raise Refused("another new document gets this name", where=path, do="give it a title")
    return path, file


def imported_file(root: Path, path: str) -> Path:
    """The file of a document that is imported under its path. Raises Refused if it leads out."""
    file = root
    for name in path.split("/"):
        if name in SKIPPED:
            raise Refused("documents in hidden folders are not memory", where=path)
        file = safe_join(file, name)
    if not path.endswith(SUFFIX) or not real_path(file).is_relative_to(real_path(root)):
        raise Refused("documents cannot be added here", where=path)
    return file


def plan_file_import(
    change: Change, context: PlanContext, file: Path, text: str, shard: str = "", **values: Any
) -> Plan:
    """The plan that makes the file of an imported document.

    Args:
        change: the ADD; its id is the path of the file from the root.
        context: of planning.
        file: the absolute path.
        text: the whole text.
        shard: the key of its shard; "": its id.
        values: of its sidecar entry.
    """
    id = str(change.fields["id"])
    if os.path.lexists(file):
        return plan_duplicate(change, "a file of this name", context.ref(id))
    edits: tuple[Edit, ...] = (
        text_edit(str(file), None, text),
        *context.entry_edits(id, shard or id, **values),
    )
    return Plan((change,), edits, Outcome.ADDED, f"Added {id}", (context.ref(id),))


def converted_document(memory: Memory) -> tuple[str, str, dict[str, Any]]:
    """Folder, id and first keys of the frontmatter of a document made of another format's memory.

    The file name ends in a hash of the original ref.
    """
    folder = "/".join(entity_parts(memory))
    if memory.status not in CURRENT:
        folder = f"{ARCHIVE}/{folder}"
    front: dict[str, Any] = {"source": memory.ref}
    if memory.status != "active":
        front["status"] = memory.status
    if memory.updated and memory.updated != memory.created:
        front["updated"] = to_iso_seconds(memory.updated)
    name = slug(memory.headline) or "memory"
    return folder, f"{folder}/{name}-{short_hash(memory.ref, 6)}{SUFFIX}", front


def file_stem(name: str) -> str:
    """A file name of letters, digits and hyphens; empty if nothing is left."""
    line = unicodedata.normalize("NFC", name.partition("\n")[0]).lower()
    return _NOT_IN_NAMES.sub("-", line)[:LONGEST_STEM].strip("-_")


def new_file(root: Path, path: str, skipped: Collection[str] = ()) -> Path:
    """The absolute path of a document that is to be made.

    Args:
        root: of the store.
        path: relative to it, with slashes.
        skipped: names of files and folders that the store does not read.

    Raises:
        Refused: the path leads elsewhere, or is taken by a name that differs at most in case.
    """
    file = root
    for name in path.split("/"):
        if name in skipped:
            raise Refused("documents in hidden folders are not memory", where=path)
        folder, file = file, _child(file, name)
    twin = _taken_name(folder, file.name)
    if twin:
        raise Refused("a document of this name already exists", where=twin)
    return file


def _child(folder: Path, name: str) -> Path:
    """Go one step down. Raises Refused at a symbolic link, which a scan does not follow."""
    file = folder / name
    if "\0" not in name and file.is_symlink():
        raise Refused("documents behind a link are not read", where=str(file))
    return safe_join(folder, name)


def _taken_name(folder: Path, name: str) -> str:
    """An existing name that differs at most in case: some disks cannot hold both. "": none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    return next((found for found in names if found.casefold() == name.casefold()), "")


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
