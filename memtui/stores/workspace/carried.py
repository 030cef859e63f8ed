"""Documents that come from elsewhere with their path: an import, or a move between stores.

Where the whole file is known it is written as it was, byte for byte; else the frontmatter is
written anew from what was read of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field
from memtui.files.reading import real, safe_join
from memtui.stores.asked import content_of, created_of
from memtui.stores.sidecar import edit, link_value
from memtui.stores.timestamps import from_iso, to_iso_seconds
from memtui.stores.workspace.desk import Desk
from memtui.stores.workspace.documents import FRONTMATTER
from memtui.stores.workspace.outline import outline
from memtui.stores.workspace.walking import SKIPPED, SUFFIX

_NOT_KEYS = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
    | {"kept", "rating", "reviewed", "title", "unaddressable"}
)
"""Of `extra`: what never stood in the frontmatter, or stands in another field."""


def is_carried(change: Change) -> bool:
    return bool(change.fields.get("id"))


def plan_carried(change: Change, desk: Desk) -> Plan:
    """The plan of taking in one document. Raises Refused."""
    path = str(change.fields["id"])
    file = _file(desk.root, path)
    if os.path.lexists(file):
        reason = "there is a document of this name already"
        return Plan((change,), outcome=Outcome.DEDUPE, reason=reason)
    whole = change.fields.get("document")
    text = whole if isinstance(whole, str) else _text(change, desk)
    edits: list[Edit] = [TextEdit(str(file), None, text)]
    beside = edit(desk.root, desk.sidecar, path, path, **_beside(change))
    edits += [] if beside is None else [beside]
    ref = f"{desk.label}:{path}"
    return Plan((change,), tuple(edits), Outcome.ADDED, f"Added {path}", (ref,))


def _file(root: Path, path: str) -> Path:
    """Where the document lies. Raises Refused for a path that leads elsewhere."""
    file = root
    for name in path.split("/"):
        if name in SKIPPED:
            raise Refused("documents in hidden folders are not memory", where=path)
        file = safe_join(file, name)
    if not path.endswith(SUFFIX) or not real(file).is_relative_to(real(root)):
        raise Refused("this is no place for a document", where=path)
    return file


def _text(change: Change, desk: Desk) -> str:
    body = content_of(change)
    title = str(change.fields.get("title") or "")
    said = outline(body)
    if title and "created_from" not in _extra(change) and said.title != title:
        body = f"# {title}\n\n{body}"
    text = body if body.endswith("\n") else body + "\n"
    for key, value in _front(change, desk).items():
        text = set_field(text, key, value)
    return text


def _extra(change: Change) -> Mapping[str, Any]:
    extra = change.fields.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def _front(change: Change, desk: Desk) -> dict[str, Any]:
    """The frontmatter: the keys it had, else what another format says in its own fields."""
    front = {
        str(key).removeprefix(FRONTMATTER): value
        for key, value in _extra(change).items()
        if key not in _NOT_KEYS and _fits(value)
    }
    fields = change.fields
    if fields.get("created") and not {"created", "date"} & front.keys():
        when = created_of(change, desk.now())
        if str(_extra(change).get("created_from", "file time")) == "file time":
            front["created"] = to_iso_seconds(when)
    updated = fields.get("updated")
    if updated is not None and "updated" not in front and "created_from" in _extra(change):
        changed = from_iso(updated) if isinstance(updated, str) else updated
        if changed is not None:
            front["updated"] = to_iso_seconds(changed)
    importance = str(fields.get("importance") or "")
    if importance in ("high", "low") and "priority" not in front:
        front["priority"] = importance
    tags = [str(tag) for tag in fields.get("tags") or () if str(tag).strip()]
    if tags and "tags" not in front:
        front["tags"] = tags
    return front


def _fits(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool | int | float)


def _beside(change: Change) -> dict[str, Any]:
    """What the sidecar keeps of the document."""
    fields, extra = change.fields, _extra(change)
    return {
        "pinned": fields.get("pinned") is True,
        "rating": extra.get("rating"),
        "reviewed": extra.get("reviewed"),
        "links": [link_value(link) for link in fields.get("links") or ()]
        if "created_from" not in extra
        else None,
    }
