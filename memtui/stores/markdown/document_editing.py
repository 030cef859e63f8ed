"""Edit, add and import Markdown documents that are one memory each."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Conflict, Refused
from memtui.files.frontmatter import set_field, split
from memtui.files.reading import real_path, safe_join
from memtui.model import CURRENT, Memory
from memtui.stores.importing import entity_parts, short_hash, slug
from memtui.stores.markdown.documents import MarkdownFile, outline, parse_document, with_body
from memtui.stores.plans import PlanContext, plan_duplicate, plan_one, tag_edits
from memtui.stores.scanning import SKIPPED, SUFFIX, planned_text
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
