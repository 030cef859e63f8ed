"""Change one document's own file: its text, its title, the fields of its frontmatter.

A field is changed on its line; a field that is missing is added where the document has frontmatter
at all. A document without any never gets some by the way: its tags and its importance are kept in
the sidecar, and its title is its first heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from memtui.changes import Change, Edit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field, split
from memtui.model import IMPORTANCES
from memtui.stores.asked import content_of, same_as_seen
from memtui.stores.ratings import RATING_OF
from memtui.stores.workspace.desk import Page, PageDesk
from memtui.stores.workspace.documents import TASKS, state_key, with_body
from memtui.stores.workspace.outline import outline
from memtui.stores.workspace.type_map import words

RETIRED_WORD = {"state": "cancelled", "status": "archived"}
"""What RETIRE writes: a task is not said to be done, a lesson goes to the archive."""

RESTORED_WORD = {"state": "backlog", "status": "active"}
"""What RESTORE writes: the task state that claims least (gptodo revives expired tasks to it)."""

_HEADING = r"^( {{0,3}}#{{1,6}}[ \t]+){}([ \t]*#*[ \t]*)$"


def edit_document(
    change: Change, asked: Mapping[str, Any], page: Page, desk: PageDesk
) -> tuple[Edit, ...]:
    """The edits of the fields asked for, but for the type. Raises Refused or Conflict."""
    before, beside = page, dict[str, Any]()
    if "content" in asked:
        text = content_of(change)
        same_as_seen(page.memory, page.document.body, page.document.file, text)
        page = page.again(with_body(page.document, text))
    for name, write in _FIELDS.items():
        if name in asked:
            page = write(asked[name], page, desk, beside)
    return (*before.written(page.text), *desk.beside(page.memory).set(**beside))


def with_state(page: Page, words_of: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edit that gives a task or a lesson this state. Raises Refused."""
    key = state_key(page.document)
    if not key or not _has_frontmatter(page):
        raise Refused("only tasks and lessons with frontmatter have a state", where=page.memory.ref)
    return page.written(set_field(page.text, key, words_of[key]))


def _has_frontmatter(page: Page) -> bool:
    return split(page.text).front is not None


def _title(value: object, page: Page, _desk: PageDesk, _beside: dict[str, Any]) -> Page:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise Refused("a title is one line that says something", where=page.memory.ref)
    wanted = value.strip()
    for key in ("title", "name"):
        if page.document.frontmatter.get(key):
            return page.again(set_field(page.text, key, wanted))
    if outline(page.document.body).title == page.memory.title:
        return _with_heading(page, wanted)
    if _has_frontmatter(page):
        return page.again(set_field(page.text, "title", wanted))
    raise Refused("the title is the file's name", do="write a heading into the text")


def _with_heading(page: Page, wanted: str) -> Page:
    """The first heading says something else; every other line stays."""
    old = re.compile(_HEADING.format(re.escape(page.memory.title)), re.MULTILINE)
    body, count = old.subn(lambda match: match[1] + wanted + match[2], page.document.body, count=1)
    if not count or outline(body).title != wanted:
        raise Refused("the heading cannot be changed on its line", do="edit the text")
    return page.again(with_body(page.document, body))


def _tags(value: object, page: Page, desk: PageDesk, beside: dict[str, Any]) -> Page:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise Refused("tags are a list of words", where=page.memory.ref)
    wanted = [word for word in dict.fromkeys(str(tag).strip() for tag in value) if word]
    native = words(page.document.frontmatter.get("tags"))
    kept = desk.sidecar.entry(page.memory.id).get("tags", ())
    if not _has_frontmatter(page):
        beside["tags"] = wanted
        return page
    beside["tags"] = [tag for tag in wanted if tag in kept and tag not in native]
    mine = [tag for tag in wanted if tag not in beside["tags"]]
    if mine == list(native):
        return page
    is_line = isinstance(page.document.frontmatter.get("tags"), str)
    return page.again(set_field(page.text, "tags", ", ".join(mine) if is_line else mine))


def _importance(value: object, page: Page, _desk: PageDesk, beside: dict[str, Any]) -> Page:
    if value not in IMPORTANCES:
        raise Refused(f"the importance is one of {', '.join(IMPORTANCES)}", where=page.memory.ref)
    in_task = TASKS in page.document.folders and _has_frontmatter(page)
    if in_task or "priority" in page.document.frontmatter:
        return page.again(set_field(page.text, "priority", str(value)))
    beside["rating"] = RATING_OF[str(value)]
    return page


_FIELDS: Mapping[str, Callable[[object, Page, PageDesk, dict[str, Any]], Page]] = {
    "title": _title,
    "tags": _tags,
    "importance": _importance,
}
