"""Plan a new document: its path, its frontmatter and its text."""

from __future__ import annotations

from typing import Any

from memtui.changes import Change, TextEdit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field
from memtui.model import IMPORTANCES
from memtui.stores.change_validation import content_of, created_of, word_of
from memtui.stores.importing import texts_in
from memtui.stores.markdown import outline
from memtui.stores.markdown_documents import SKIPPED, SUFFIX, file_stem, new_file
from memtui.stores.plans import planned_before
from memtui.stores.values import to_iso_seconds
from memtui.stores.workspace.records import TASKS, DocumentContext

JOURNAL = "journal"
NEW_TASK_STATE = "backlog"


def new_document(change: Change, context: DocumentContext) -> tuple[str, TextEdit]:
    """The id and the edit of a new document. Raises Refused."""
    content = content_of(change)
    title = word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    path = _path(change, folder, title or outline(content).title or content.strip(), context)
    made = TextEdit(
        str(new_file(context.root, path, SKIPPED)), None, _text(change, context, folder, title)
    )
    if context.ref(path) in {ref for plan in planned_before(context.view) for ref in plan.refs}:
        raise Refused("another new document gets this name", where=path, do="give it a title")
    return path, made


def _path(change: Change, folder: str, name: str, context: DocumentContext) -> str:
    stem = file_stem(name)
    if not stem:
        raise Refused("no file name can be made of this title", do="give it a title in letters")
    if folder.split("/")[0] == JOURNAL:
        stem = f"{created_of(change, context.now).date().isoformat()}-{stem}"
    return f"{folder}/{stem}{SUFFIX}" if folder else f"{stem}{SUFFIX}"


def _text(change: Change, context: DocumentContext, folder: str, title: str) -> str:
    body = content_of(change)
    if title and outline(body).title != title:
        body = f"# {title}\n\n{body}"
    text = body if body.endswith("\n") else body + "\n"
    for key, value in _fields(change, context, folder).items():
        text = set_field(text, key, value)
    return text


def _fields(change: Change, context: DocumentContext, folder: str) -> dict[str, Any]:
    """The frontmatter: always some in a task, in another document only where needed."""
    fields: dict[str, Any] = {}
    importance = change.fields.get("importance")
    if importance and importance not in IMPORTANCES:
        raise Refused(f"the importance is one of {', '.join(IMPORTANCES)}")
    if folder.split("/")[0] == TASKS:
        fields["state"] = NEW_TASK_STATE
        fields["created"] = to_iso_seconds(created_of(change, context.now))
    elif change.fields.get("created"):
        fields["date"] = to_iso_seconds(created_of(change, context.now))
    if importance and (fields.get("state") or importance != "medium"):
        fields["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags:
        fields["tags"] = tags
    return fields
