"""Plan a new note: its path, its frontmatter and its text."""

from __future__ import annotations

import posixpath
from typing import Any

from memtui.changes import Change, TextEdit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field
from memtui.stores.change_validation import content_of, created_of, word_of
from memtui.stores.importing import slug, texts_in
from memtui.stores.markdown import outline
from memtui.stores.markdown_documents import SKIPPED, SUFFIX, file_stem, new_file
from memtui.stores.markdown_folder.records import NoteContext
from memtui.stores.markdown_folder.rules import BASIC, MEMFS
from memtui.stores.plans import planned_before
from memtui.stores.values import to_iso_seconds

LONGEST_DESCRIPTION = 120


def new_note(change: Change, context: NoteContext) -> tuple[str, TextEdit]:
    """The id and the edit of a new note. Raises Refused."""
    content = content_of(change)
    title = word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    stem = file_stem(title or outline(content).title or content.strip())
    if not stem:
        raise Refused("no file name can be made of this title", do="give it a title in letters")
    path = f"{folder}/{stem}{SUFFIX}" if folder else f"{stem}{SUFFIX}"
    file = new_file(context.root, path, SKIPPED)
    if context.ref(path) in {ref for plan in planned_before(context.view) for ref in plan.refs}:
        raise Refused("another new note gets this name", where=path, do="give it a title")
    return path, TextEdit(str(file), None, note_text(change, context, path, title))


def note_text(change: Change, context: NoteContext, path: str, title: str) -> str:
    """The whole text of a new note, as the folder's program writes one. Raises Refused."""
    profile, body = context.profile, content_of(change)
    if title and profile is not BASIC and outline(body).title != title:
        body = f"# {title}\n\n{body}"
    text = body if body.endswith("\n") else body + "\n"
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
