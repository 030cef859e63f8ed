"""Convert Markdown documents to memories.

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
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.model import Link, Memory
from memtui.stores import workspace
from memtui.stores.markdown_documents import (
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
from memtui.stores.plans import PlanContext
from memtui.stores.scanning import ParsedFile
from memtui.stores.values import importance_of_rating, lower_word
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
