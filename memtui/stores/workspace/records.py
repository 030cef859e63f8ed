"""Convert Markdown documents to memories, and memories to documents (imports).

What the format has no word for is derived by these rules:

* title: the frontmatter's `title` or `name`, else the first heading (a level 1 heading before any
  other), else the file's name. A heading that only names a part of a template (`TEMPLATE_HEADINGS`)
  is passed over for the file's name.
* created: the frontmatter's `created` or `date`, else a date in the file's name or its folder's,
  else the file's time of change. `extra["created_from"]` says which.
* updated: the frontmatter's `updated` (or one of `UPDATED_KEYS`); else nothing for a document whose
  name carries a date, because a journal entry belongs to its day; else the file's time of change.
* status: under `tasks`, done, cancelled and expired are retired; under `lessons`, archived and
  deprecated are; every other word is active. The word itself stays in `extra`.
* importance: the frontmatter's `priority`; else the person's rating; else high for the core
  documents (`CORE`), low for what is retired or lies in an archive folder, else medium.
* entity: the folder. tags: the frontmatter's. links: relative links and wikilinks to documents.

Content is the text below the frontmatter, from its first line that is not blank, without a byte
order mark and with plain line feeds where every line ends in CRLF; writing puts all that back.

An import whose whole file is known writes it as it was, byte for byte; else the frontmatter is
written anew from what was read of it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Plan
from memtui.dataclass import dataclass, field
from memtui.model import CURRENT, Link, Memory
from memtui.stores import workspace
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    extra_in,
    kind_change,
    links_in,
    lost_names,
    native_keys,
    sidecar_values,
    texts_in,
)
from memtui.stores.markdown.document_editing import (
    converted_document,
    imported_file,
    plan_file_import,
    titled_text,
    with_fields,
)
from memtui.stores.markdown.documents import (
    CREATED_KEYS,
    UPDATED_KEYS,
    MarkdownFile,
    Outline,
    date_in_path,
    document_fields,
    linked_documents,
    outline,
    to_json_value,
    words_of,
)
from memtui.stores.plans import PlanContext, plan_duplicate
from memtui.stores.scanning import ParsedFile
from memtui.stores.values import (
    content_of,
    created_of,
    from_iso,
    importance_of_rating,
    lower_word,
    to_iso_seconds,
)
from memtui.stores.workspace.rules import DocumentType, TypeMap

RETIRED_STATES = frozenset({"done", "cancelled", "expired"})
"""Task states that end a task (gptodo, VALID_TRANSITIONS: the first two terminal, expired idle)."""

RETIRED_LESSONS = frozenset({"archived", "deprecated"})
"""Lesson states in which a lesson is not given to the agent any more."""

PRIORITIES = {
    "urgent": "high",
    "critical": "high",
    "high": "high",
    "medium": "medium",
    "normal": "medium",
    "low": "low",
}

TASKS, LESSONS = "tasks", "lessons"
ARCHIVES = frozenset({"archive", "archived"})
TEMPLATE_HEADINGS = frozenset({"rule", "overview"})

FRONTMATTER = "frontmatter."
"""Put before a frontmatter key that would hide something memtui itself says in `extra`."""

_OWN_KEYS = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
)


def memory_of(
    document: MarkdownFile,
    document_type: DocumentType,
    *,
    label: str,
    by_stem: Callable[[str], str],
    injections: Mapping[str, Any] | None = None,
    rating: object = None,
) -> Memory:
    """Convert a document to a memory, with its usage in the log and the person's rating."""
    found = outline(document.body)
    status = status_of(document)
    created, created_from = _created(document)
    extra = _extra(document)
    if found.headings:
        extra["headings"] = list(found.headings)
    extra["created_from"] = created_from
    if document_type.ignored:
        extra["ignored_type"] = document_type.ignored
    if injections:
        extra["injections"] = dict(injections)
    return Memory(
        **document_fields(document, label),
        kind="document",
        type=document_type.type,
        title=_title(document, found),
        entity=posixpath.dirname(document.path),
        created=created,
        updated=_updated(document),
        importance=_importance(document, status, rating),
        status=status,
        tags=words_of(document.frontmatter.get("tags")),
        links=tuple(
            Link(relation, target)
            for relation, target in linked_documents(found, document.path, by_stem)
        ),
        extra=extra,
    )


def state_key(document: MarkdownFile) -> str:
    """The frontmatter key of the document's state; "" if it can have none."""
    if TASKS in document.folders:
        return "state"
    return "status" if LESSONS in document.folders else ""


def status_of(document: MarkdownFile) -> str:
    """Active or retired."""
    key = state_key(document)
    ended = RETIRED_STATES if key == "state" else RETIRED_LESSONS
    return "retired" if key and lower_word(document.frontmatter.get(key)) in ended else "active"


def _importance(document: MarkdownFile, status: str, rating: object) -> str:
    priority = PRIORITIES.get(lower_word(document.frontmatter.get("priority")))
    stated = priority or importance_of_rating(rating)
    if stated:
        return stated
    if document.path in workspace.CORE:
        return "high"
    if status == "retired" or not ARCHIVES.isdisjoint(document.folders):
        return "low"
    return "medium"


def _title(document: MarkdownFile, found: Outline) -> str:
    heading = "" if found.title.lower() in TEMPLATE_HEADINGS else found.title
    return document.name or heading or posixpath.basename(document.path).removesuffix(".md")


def _created(document: MarkdownFile) -> tuple[datetime | None, str]:
    time, key = document.time(CREATED_KEYS)
    if time:
        return time, f"frontmatter {key}"
    time = date_in_path(document.path)
    return (time, "file name") if time else (document.changed, "file time")


def _updated(document: MarkdownFile) -> datetime | None:
    is_dated = date_in_path(document.path) is not None
    return document.time(UPDATED_KEYS)[0] or (None if is_dated else document.changed)


def _extra(document: MarkdownFile) -> dict[str, Any]:
    """The frontmatter, without values that a field of the memory shows unchanged."""
    extra = {
        f"{FRONTMATTER}{key}" if key in _OWN_KEYS else str(key): to_json_value(value)
        for key, value in document.frontmatter.items()
        if not _is_shown(key, value)
    }
    return extra | document.byte_form


def _is_shown(key: str, value: object) -> bool:
    """Whether a field of the memory shows this value of the frontmatter unchanged."""
    if key == "title":
        return isinstance(value, str)
    is_list = isinstance(value, list) and all(isinstance(tag, str) for tag in value)
    return key == "tags" and is_list


@dataclass(frozen=True, slots=True)
class DocumentContext(PlanContext):
    """The context of planning a change in one workspace."""

    types: ParsedFile[TypeMap] = field(repr=False)
    map_path: Path


# ---- imports -------------------------------------------------------------------------------------

_WRITTEN_ELSEWHERE = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
    | {"title"}
)
"""Of `extra`: what never stood in the frontmatter, or stands in another field."""


def plan_import(change: Change, context: DocumentContext) -> Plan:
    """Plan the import of one document. Raises Refused."""
    path = str(change.fields["id"])
    file = imported_file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, "a document of this name")
    document = change.fields.get("document")
    text = document if isinstance(document, str) else _text(change, context)
    return plan_file_import(change, context, file, text, **_sidecar_values(change))


def _text(change: Change, context: DocumentContext) -> str:
    title = "" if "created_from" in extra_in(change) else str(change.fields.get("title") or "")
    return with_fields(titled_text(title, content_of(change)), _front(change, context))


def _front(change: Change, context: DocumentContext) -> dict[str, Any]:
    """The frontmatter: the original keys, else those made of another format's fields."""
    front = {
        str(key).removeprefix(FRONTMATTER): value
        for key, value in native_keys(change, _WRITTEN_ELSEWHERE).items()
        if _is_frontmatter_value(value)
    }
    fields = change.fields
    if fields.get("created") and not {"created", "date"} & front.keys():
        created = created_of(change, context.now)
        if str(extra_in(change).get("created_from", "file time")) == "file time":
            front["created"] = to_iso_seconds(created)
    updated = fields.get("updated")
    if updated is not None and "updated" not in front and "created_from" in extra_in(change):
        changed = from_iso(updated) if isinstance(updated, str) else updated
        if changed is not None:
            front["updated"] = to_iso_seconds(changed)
    importance = str(fields.get("importance") or "")
    if importance in ("high", "low") and "priority" not in front:
        front["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags and "tags" not in front:
        front["tags"] = tags
    return front


def _is_frontmatter_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool | int | float)


def _sidecar_values(change: Change) -> dict[str, Any]:
    """The keys of the sidecar entry: what the document cannot hold."""
    was_document = "created_from" in extra_in(change)
    cleared = dict.fromkeys(("tags", "supersedes", "superseded_by"))
    return sidecar_values(change, links=links_in(change) if was_document else ()) | cleared


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a document; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.type:
        front["type"] = memory.type
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "entity": folder,
        "created": memory.created,
        "importance": memory.importance,
        "tags": memory.tags,
        "extra": front,
    }
    is_archived = memory.status not in CURRENT
    changes = (
        (memory.type, "type (stands in the frontmatter)"),
        (memory.status != "active", f"status {memory.status} (stands in the frontmatter)"),
        kind_change(memory, "document"),
        (memory.entity not in ("", folder), "entity (becomes a folder)"),
        (is_archived and memory.importance == "medium", "importance (low below archive)"),
    )
    names = ("confidence", "source", "pinned", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, lost_names(memory, changes, *names))
