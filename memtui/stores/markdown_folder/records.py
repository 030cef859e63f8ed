"""Convert notes to memories.

What the format has no word for is derived by these rules:

* title: Serena's and a memory bank's notes are called by their path; others by the frontmatter's
  `title` or `name`, the first heading, or the file's name.
* importance: the person's rating; else high for what every session is given, medium for the rest.
* updated: `updated` or `modified` of the frontmatter, else the file's time of change
  (`extra.updated_from`); created: only as the frontmatter says.
* entity: the folder. An observation of basic-memory is a fact about its note.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from memtui.dataclass import dataclass
from memtui.model import Link, Memory, Place
from memtui.stores.importing import slug
from memtui.stores.markdown.documents import (
    CREATED_KEYS,
    UPDATED_KEYS,
    MarkdownFile,
    document_fields,
    linked_documents,
    outline,
    words_of,
)
from memtui.stores.markdown_folder.profiles import BASIC, MEMFS, PLAIN, Profile, is_loaded
from memtui.stores.markdown_folder.rules import Observation, observations, references, relations
from memtui.stores.plans import PlanContext
from memtui.stores.scanning import SUFFIX
from memtui.stores.values import importance_of_rating, memory_name


@dataclass(frozen=True, slots=True)
class NoteContext(PlanContext):
    """The context of planning a change in one folder."""

    profile: Profile = PLAIN


def note_memories(
    document: MarkdownFile,
    profile: Profile,
    label: str,
    find: Callable[[str], str],
    rating: object,
    is_read_only: bool,
) -> Iterator[Memory]:
    """The note, then its observations where the profile has some.

    Args:
        document: the parsed file.
        profile: the program's rules.
        label: of the store.
        find: the id of the note that a link names, "" if there is none.
        rating: the person's.
        is_read_only: whether a pattern of its program forbids a change.
    """
    front = document.frontmatter
    found = outline(document.body)
    created, updated = document.time(CREATED_KEYS)[0], document.time(UPDATED_KEYS)[0]
    extra = _extra(document, profile)
    if found.headings:
        extra["headings"] = list(found.headings)
    if not updated:
        extra["updated_from"] = "file time"
    if is_read_only or (profile.described and front.get("read_only") is True):
        extra["read_only"] = True
    if is_loaded(profile, document.path):
        extra["loaded_at_start"] = True
    importance = importance_of_rating(rating)
    yield Memory(
        **document_fields(document, label),
        kind="document",
        type=_type(document, profile),
        title=_title(document, profile, found.title),
        entity=posixpath.dirname(document.path),
        created=created,
        updated=updated or document.changed,
        importance=importance or ("high" if is_loaded(profile, document.path) else "medium"),
        tags=words_of(front.get("tags")) if profile.frontmatter else (),
        links=_links(document, profile, find),
        extra=extra,
    )
    if profile.observations:
        for each in observations(document.body):
            yield _fact(each, document, label, updated or document.changed)


def _extra(document: MarkdownFile, profile: Profile) -> dict[str, Any]:
    extra = document.extra
    if isinstance(extra.get("title"), str):
        del extra["title"]
    if profile.frontmatter and isinstance(extra.get("tags"), list):
        del extra["tags"]
    return extra | {"profile": profile.name}


def _type(document: MarkdownFile, profile: Profile) -> str:
    if profile is MEMFS:
        return "system" if document.path.startswith("system/") else "reference"
    value = document.frontmatter.get("type") if profile.frontmatter else ""
    return value.strip() if isinstance(value, str) else ""


def _title(document: MarkdownFile, profile: Profile, heading: str) -> str:
    if not profile.frontmatter:
        return document.path.removesuffix(SUFFIX)
    return document.name or heading or posixpath.basename(document.path).removesuffix(SUFFIX)


def _links(
    document: MarkdownFile, profile: Profile, find: Callable[[str], str]
) -> tuple[Link, ...]:
    links: dict[tuple[str, str], Link] = {}
    if profile.observations:
        for relation, target, context in relations(document.body):
            link = Link(relation, find(target) or target, note=context)
            links.setdefault((link.relation, link.target), link)
    if profile.references:
        for name in references(document.body):
            target = f"{name}{SUFFIX}"
            links.setdefault(("refers_to", target), Link("refers_to", target))
    known = {target for _, target in links}
    for relation, target in linked_documents(outline(document.body), document.path, find):
        if target not in known:
            name = "links_to" if profile is BASIC else relation
            links.setdefault((name, target), Link(name, target))
    return tuple(links.values())


def _fact(each: Observation, document: MarkdownFile, label: str, updated: Any) -> Memory:
    id = f"{document.path}#{each.key}"
    extra: dict[str, Any] = {"note": document.path}
    if each.context:
        extra["context"] = each.context
    return Memory(
        **memory_name(label, id),
        kind="fact",
        type=each.category,
        content=each.text,
        entity=document.path.removesuffix(SUFFIX),
        updated=updated,
        tags=each.tags,
        links=(Link("part_of", document.path),),
        origin=Place(document.file, document.line - 1 + each.line),
        extra=extra,
    )


def link_names(path: str) -> tuple[str, ...]:
    """The names by which a note can be linked to: its path, its stem, and their slugs."""
    name = path.removesuffix(SUFFIX)
    stem = posixpath.basename(name)
    permalink = "/".join(slug(part) for part in name.split("/"))
    return name, stem, permalink, slug(stem)
