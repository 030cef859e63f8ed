"""A Markdown file whose bullets and paragraphs are memories, by heading, as a `ListFile`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.listed_texts import ListedText, ListFile, text_key
from memtui.stores.markdown import MarkdownFile, parse_document, with_body
from memtui.stores.markdown_items import (
    MarkdownItem,
    add_item,
    name_items,
    parse_items,
    remove_item,
    replace_item,
    without_blanks,
)
from memtui.stores.sidecar import Sidecar

SECTION = "section"
"""Key of `extra`: the heading that a memory stands under."""
EMPTY = "it is empty, as after a write that was cut off"


@dataclass(frozen=True, slots=True)
class ItemFile:
    """A parsed file with the names of its items."""

    document: MarkdownFile
    items: Sequence[tuple[str, MarkdownItem]]


def parse_item_file(path: str, file: Path, text: str, sidecar: Sidecar) -> ItemFile:
    """Parse the whole text of a file; `path` is its id and the key of its shard."""
    document = parse_document(path, str(file), text, time_of_change(file))
    return ItemFile(document, name_items(parse_items(document.body), f"{path}#", sidecar, path))


def time_of_change(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return None


class MarkdownList(ListFile):
    """One file of items, opened to plan a change."""

    def __init__(
        self, path: str, file: Path, before: str | None, sidecar: Sidecar, title: str = ""
    ) -> None:
        """`title`: of a new file, with its mark; empty: it has none."""
        if before is not None and not before.strip():
            raise Refused(EMPTY, where=str(file), do="fix the file first")
        self.path, self.shard, self.before, self.title = file, path, before, title
        self.parsed = parse_item_file(path, file, before or "", sidecar)
        self.items = [
            ListedText(id, item.text, item.section, (number,))
            for number, (id, item) in enumerate(self.parsed.items)
        ]

    @property
    def body(self) -> str:
        return self.parsed.document.body

    def natural_id(self, group: str, text: str) -> str:  # noqa: ARG002
        return f"{self.shard}#{text_key(text)}"

    def fit(self, text: str) -> str:
        return without_blanks(text)

    def group_of(self, memory: Memory) -> str:
        return str(memory.extra.get(SECTION) or "")

    def replace(self, item: ListedText, new_text: str) -> str:
        return self._with_body(replace_item(self.body, self._item(item), new_text))

    def remove(self, removed: Sequence[ListedText]) -> str:
        body = self.body
        for item in sorted(removed, key=lambda each: each.at, reverse=True):
            body = remove_item(body, self._item(item))
        return self._with_body(body)

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        """Insert after the last bullet of the section; a missing section is added at the end."""
        body = self.body
        if self.before is None and self.title:
            body = f"{self.title}\n\n"
        if group and not any(i.section == group and i.is_bullet for _, i in self.parsed.items):
            body = _with_section(body, group, new_text)
        elif group:
            body = add_item(body, new_text, section=group)
        else:
            body = _with_last(body, new_text)
        head = self.parsed.document.head
        return self._with_body(f"\n{body}" if head and not head.endswith("\n") else body)

    def _item(self, item: ListedText) -> MarkdownItem:
        return self.parsed.items[item.at[0]][1]

    def _with_body(self, body: str) -> str:
        document = self.parsed.document
        return with_body(document, body) if body else document.head or "\n"


def _with_last(body: str, new_text: str) -> str:
    """Add a bullet before the first heading that has a text of its own, else at the end."""
    items = parse_items(body)
    first = [item for item in items if not item.section and item.is_bullet]
    if first or not any(item.section for item in items):
        return add_item(body, new_text)
    return add_item(body, new_text, section=items[-1].section)


def _with_section(body: str, section: str, new_text: str) -> str:
    """Add a bullet below a heading that has none yet, or a new heading with it."""
    if "\n" in section or not section.strip():
        raise Refused("a heading is one line of text", where=section)
    pattern = rf"^ {{0,3}}#{{1,6}}[ \t]+{re.escape(section)}[ \t#]*$"
    heading = re.search(pattern, body, re.MULTILINE)
    lines = "\n".join(
        [f"- {new_text.split(chr(10))[0]}"]
        + [f"  {line}" if line else line for line in new_text.split("\n")[1:]]
    )
    if heading:
        rest = body[heading.end() :]
        result = f"{body[: heading.end()]}\n\n{lines}\n" + (rest if rest else "")
    else:
        head = body if not body or body.endswith("\n") else f"{body}\n"
        head += "" if not head or head.endswith("\n\n") else "\n"
        result = f"{head}## {section}\n\n{lines}\n"
    texts = sorted([*(item.text for item in parse_items(body)), new_text])
    now = parse_items(result)
    is_added = any(item.text == new_text and item.section == section for item in now)
    if sorted(item.text for item in now) != texts or not is_added:
        raise Refused("this text would not be read as one item", do="put it on fewer lines")
    return result
