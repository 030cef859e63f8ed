"""Add notes: new ones, imported ones, those of other formats."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from typing import Any

from memtui.changes import Change, Plan, TextEdit
from memtui.files.frontmatter import set_field
from memtui.model import Memory
from memtui.stores.document_editing import (
    converted_document,
    imported_file,
    named_stem,
    new_document_file,
    plan_file_import,
    titled_text,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import extra_in, lost_fields, lost_kind, sidecar_values, slug, texts_in
from memtui.stores.markdown_documents import SUFFIX, outline, parse_document
from memtui.stores.markdown_folder.records import NoteContext
from memtui.stores.markdown_folder.rules import BASIC, MEMFS, observations
from memtui.stores.plans import plan_duplicate
from memtui.stores.values import content_of, created_of, to_iso_seconds, word_of

LONGEST_DESCRIPTION = 120


def new_note(change: Change, context: NoteContext) -> tuple[str, TextEdit]:
    """The id and the edit of a new note. Raises Refused."""
    content = content_of(change)
    title = word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    stem = named_stem(title or outline(content).title or content.strip())
    path, file = new_document_file(folder, stem, context)
    return path, TextEdit(str(file), None, note_text(change, context, path, title))


def fact_refs(path: str, text: str, context: NoteContext) -> tuple[str, ...]:
    """Refs of the observations in the text of a note, if its program has some."""
    if not context.profile.observations:
        return ()
    body = parse_document(path, "", text, None).body
    return tuple(context.ref(f"{path}#{each.key}") for each in observations(body))


def note_text(change: Change, context: NoteContext, path: str, title: str) -> str:
    """The whole text of a new note, as the folder's program writes one. Raises Refused."""
    text = titled_text("" if context.profile is BASIC else title, content_of(change))
    if text.startswith("---\n"):
        text = f"\n{text}"
    for key, value in _front(change, context, path, title).items():
        text = set_field(text, key, value)
    return text


def _front(change: Change, context: NoteContext, path: str, title: str) -> dict[str, Any]:
    profile = context.profile
    front: dict[str, Any] = {}
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if profile is MEMFS:
        front["description"] = _description(content_of(change), title)
    elif profile is BASIC:
        name = path.removesuffix(SUFFIX)
        front["title"] = title or posixpath.basename(name)
        front["type"] = word_of(change, "type", "note")
        front["permalink"] = "/".join(slug(part) for part in name.split("/"))
    elif profile.frontmatter and change.fields.get("type"):
        front["type"] = word_of(change, "type", "")
    if profile.tags and tags:
        front["tags"] = tags
    if profile.tags and change.fields.get("created"):
        front["created"] = to_iso_seconds(created_of(change, context.now))
    return front


def _description(content: str, title: str) -> str:
    """The title, or the first line of the text in plain characters; memfs demands one."""
    line = next((description for description in content.split("\n") if description.strip()), "")
    description = " ".join((title or line).lstrip("# ").split())
    plain = "".join(letter for letter in description if letter.isprintable())
    return plain[:LONGEST_DESCRIPTION] or "a note"


# ---- importing -----------------------------------------------------------------------------------


FRONTMATTER = "front"
"""Key of `extra` of an ADD: keys for the frontmatter of a converted memory."""


def plan_import(change: Change, context: NoteContext) -> Plan:
    """Plan the import of one note. Raises Refused."""
    path, _, line = str(change.fields["id"]).partition("#")
    if line:
        return plan_duplicate(change, "the note that holds this line", context.ref(path))
    file = imported_file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, "a note of this name", context.ref(path))
    document = change.fields.get("document")
    text = document if isinstance(document, str) else _text(change, context, path)
    plan = plan_file_import(change, context, file, text, **_sidecar_values(change, context))
    return replace(plan, refs=(*plan.refs, *fact_refs(path, text, context)))


def _text(change: Change, context: NoteContext, path: str) -> str:
    title = str(change.fields.get("title") or "") if context.profile.frontmatter else ""
    text = note_text(change, context, path, " ".join(title.split()))
    front = extra_in(change).get(FRONTMATTER)
    if context.profile.tags and isinstance(front, dict):
        for key, value in front.items():
            text = set_field(text, key, value)
    return text


def _sidecar_values(change: Change, context: NoteContext) -> dict[str, Any]:
    values = sidecar_values(change, links=change.fields.get("links") or ())
    if context.profile.tags:
        values["tags"] = None
    return values | dict.fromkeys(("supersedes", "superseded_by"))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a note; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.importance != "medium":
        front["importance"] = memory.importance
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "type": memory.type,
        "entity": folder,
        "created": memory.created,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {FRONTMATTER: front},
    }
    changed: tuple[str, ...] = ()
    if memory.status != "active":
        changed += (f"status {memory.status} (stands in the frontmatter, if the notes have one)",)
    changed += lost_kind(memory, "document")
    if memory.entity not in ("", folder):
        changed += ("entity (becomes a folder)",)
    if memory.importance != "medium":
        changed += ("importance (stands in the frontmatter, if the notes have one)",)
    names = ("confidence", "source", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))
