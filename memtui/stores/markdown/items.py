"""List items and paragraphs of a Markdown file as records that are edited one by one.

Agents keep many memories in one file as bullets, without ids. An item is a bullet with everything
that is indented below it, or a paragraph, a table or a code block that stands in no list. Headings,
comments and blank lines belong to no item and are never written. The id of an item is made from its
text, see `listed_texts.name_texts`.

`MarkdownList` is such a file as a `ListFile`, its items grouped by heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct

from memtui.changes import Change, Plan
from memtui.errors import Refused
from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory
from memtui.stores.base import (
    NO_LIMIT,
    LimitUse,
    LoadedBlock,
    LoadedEntry,
    LoadedText,
    LoadLimit,
    Reading,
    StoreView,
    limit_uses,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import CONVERTED, extra_in
from memtui.stores.listed_acts import convert_to_text, plan_edit, plan_listed_import
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, ListStore
from memtui.stores.markdown.document_store import edit_document, imported_file, plan_file_import
from memtui.stores.markdown.documents import (
    document_fields,
    parse_document,
    with_body,
)
from memtui.stores.scanning import time_of_change
from memtui.stores.sidecar import Sidecar, is_kept

_BULLET = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_BREAK = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_CONFLICT_MARK = re.compile(r"(?:<{7}|>{7})(?: |$)")
"""A line that a merge left; it is an item of its own, whatever stands around it."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BEGINNINGS = (_BULLET, _HEADING, _BREAK, _FENCE, _CONFLICT_MARK)
_COMMENT, _COMMENT_END = "<!--", "-->"


class MarkdownItem(Struct, frozen=True):
    """One item, and where it stands in the text."""

    start: int
    """Offset of its first line."""
    end: int
    """Offset after its last line and that line's line feed."""
    line: int
    """1-based."""
    marker: str
    """The bullet with its blanks; empty for a paragraph."""
    text: str
    """Without the marker, and without the indentation that all further lines share."""
    tail: str
    """Blanks at the end of the last line, and its line feed if it has one."""
    section: str
    """The last heading above it."""
    indent: str = ""
    """What was taken from the further lines; empty if they do not all have it."""

    @property
    def is_bullet(self) -> bool:
        return bool(self.marker)


def parse_items(text: str, *, whole: bool = False) -> list[MarkdownItem]:
    """The items of a text with plain line feeds, in order.

    `whole`: paragraphs, tables and code blocks that follow one another are one item.
    """
    lines = list(_lines(text))
    items: list[MarkdownItem] = []
    section, at = "", 0
    while at < len(lines):
        line = lines[at][1]
        heading = _HEADING.match(line)
        if heading:
            section, end = (heading[2] or "").strip().rstrip("#").rstrip(), at + 1
        elif line.lstrip().startswith(_COMMENT):
            end = _after_comment(lines, at)
        elif not line.strip() or _BREAK.match(line):
            end = at + 1
        else:
            bullet = _BULLET.match(line)
            marker = bullet[0] if bullet else ""
            after = _after_prose if whole else _after_paragraph
            end = _after_bullet(lines, at) if bullet else after(lines, at)
            items.append(_item(text, lines[at:end], at + 1, marker, section))
        at = end
    return items


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _item(
    text: str, lines: Sequence[tuple[int, str]], number: int, marker: str, section: str
) -> MarkdownItem:
    start = lines[0][0]
    end = min(len(text), lines[-1][0] + len(lines[-1][1]) + 1)
    raw = text[start + len(marker) : end]
    trimmed = raw.rstrip()
    first, *rest = trimmed.split("\n")
    indent = " " * _width(marker)
    is_shared = all(not line.strip() or line.startswith(indent) for line in rest)
    shared = indent if rest and is_shared else ""
    body = "\n".join([first, *(line[len(shared) :] if line.strip() else "" for line in rest)])
    if shared and any(line and not line.strip() for line in rest):
        shared, body = "", trimmed  # a line of blanks alone would not come back
    item_text, tail = body if shared else trimmed, raw[len(trimmed) :]
    return MarkdownItem(start, end, number, marker, item_text, tail, section, shared)


def _width(marker: str) -> int:
    return len(marker.expandtabs(4)) if marker else 0


def _after_comment(lines: Sequence[tuple[int, str]], at: int) -> int:
    for number in range(at, len(lines)):
        if _COMMENT_END in lines[number][1]:
            return number + 1
    return at + 1


def _after_paragraph(lines: Sequence[tuple[int, str]], at: int) -> int:
    fence = _FENCE.match(lines[at][1])
    if fence:
        for number in range(at + 1, len(lines)):
            if lines[number][1].lstrip(" ").startswith(fence[1]):
                return number + 1
        return len(lines)
    end = at + 1
    while end < len(lines) and not _begins_another(lines[end][1]):
        end += 1
    return end


def _after_prose(lines: Sequence[tuple[int, str]], at: int) -> int:
    """The line after all paragraphs and blocks that no heading, bullet or comment divides."""
    end = _after_paragraph(lines, at)
    following = end
    while following < len(lines):
        line = lines[following][1]
        if not line.strip():
            following += 1
        elif _FENCE.match(line) or not _begins_another(line):
            end = following = _after_paragraph(lines, following)
        else:
            break
    return end


def _after_bullet(lines: Sequence[tuple[int, str]], at: int) -> int:
    """The line after the bullet's own lines; a blank line is one of them if an indented one
    follows."""
    end = last = at + 1
    while end < len(lines):
        line = lines[end][1]
        if not line.strip():
            end += 1
            continue
        is_indented = line[0] == "\t" or line.startswith("  ")
        if not is_indented and (end > last or _begins_another(line)):
            break
        end = last = end + 1
    return last


def _begins_another(line: str) -> bool:
    return (
        not line.strip()
        or any(pattern.match(line) for pattern in _BEGINNINGS)
        or line.lstrip().startswith(_COMMENT)
    )


# ---- changes ------------------------------------------------------------------------------------


def replace_item(text: str, item: MarkdownItem, new_text: str, *, whole: bool = False) -> str:
    """The text with another text in this item; all other bytes stay. Raises Refused.

    Further lines are indented as the item's are. Refused if the new text would not be read as this
    one item, as when it holds a blank line in a paragraph.
    """
    before = parse_items(text, whole=whole)
    at = next(number for number, other in enumerate(before) if other.start == item.start)
    for indent in dict.fromkeys((item.indent, " " * _width(item.marker))):
        result = text[: item.start] + item.marker + _indented(new_text, indent) + item.tail
        result += text[item.end :]
        after = parse_items(result, whole=whole)
        texts = [other.text for other in before]
        if [other.text for other in after] == [*texts[:at], new_text, *texts[at + 1 :]]:
            return result
    raise Refused("this text would not be read as one item of the list", do="put it on fewer lines")


def _indented(text: str, indent: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"{indent}{line}" if line else line for line in rest)])


def remove_item(text: str, item: MarkdownItem) -> str:
    """The text without the item's lines."""
    return text[: item.start] + text[item.end :]


def add_item(text: str, new_text: str, section: str = "", *, whole: bool = False) -> str:
    """The text with one more bullet, after the last one of the section or of the file.

    Raises Refused if the text would not be read as one item.
    """
    bullets = [item for item in parse_items(text, whole=whole) if item.is_bullet]
    after = next((i for i in reversed(bullets) if section and i.section == section), None)
    after = after or (bullets[-1] if bullets else None)
    marker = after.marker if after and not after.marker.strip()[:1].isdigit() else "- "
    line = marker + _indented(new_text, " " * _width(marker)) + "\n"
    if after:
        head, tail = text[: after.end], text[after.end :]
    else:
        head, tail = text, ""
        line = line if not head.strip() or head.endswith("\n\n") else f"\n{line}"
    result = head + ("" if not head or head.endswith("\n") else "\n") + line + tail
    return _checked_addition(text, result, new_text, None, whole=whole)


def without_blanks(text: str) -> str:
    """The text as an item can hold it: no blanks around it, and none on blank lines."""
    return "\n".join(line if line.strip() else "" for line in text.strip().split("\n"))


# ---- a file of items -----------------------------------------------------------------------------


SECTION = "section"
"""Key of `extra`: the heading that a memory stands under."""


class MarkdownList(ListFile):
    """One file of items."""

    has_whole_prose: ClassVar[bool] = False
    """Whether paragraphs and blocks that follow one another are one item, see `parse_items`."""

    def __init__(
        self, key: str, path: Path, before: str | None, sidecar: Sidecar, title: str = ""
    ) -> None:
        """`title`: of a new file, with its mark; empty: it has none."""
        self.title = title
        self.document = parse_document(key, str(path), before or "", time_of_change(path))
        super().__init__(key, path, before, sidecar)

    def parse(self, text: str) -> Iterator[ListedText]:  # noqa: ARG002
        above = self.document.line - 1
        for item in parse_items(self.document.body, whole=self.has_whole_prose):
            yield ListedText(
                item.text, item.start, item.end, above + item.line, item.section, native=item
            )

    def fit(self, text: str) -> str:
        return without_blanks(text)

    def group_of(self, memory: Memory) -> str:
        return str(memory.extra.get(SECTION) or "")

    def replace(self, item: ListedText, new_text: str) -> str:
        whole = self.has_whole_prose
        return self._with_body(replace_item(self.document.body, item.native, new_text, whole=whole))

    def remove(self, removed: Sequence[ListedText]) -> str:
        body = self.document.body
        for item in sorted(removed, key=lambda each: each.start, reverse=True):
            body = remove_item(body, item.native)
        return self._with_body(body)

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        """Insert after the last bullet of the section, or of the file where no section is named; a
        missing section is added at the end."""
        body = self.document.body
        if self.before is None and self.title:
            body = f"{self.title}\n\n"
        if group and not any(i.group == group and i.native.is_bullet for i in self.items):
            body = _with_section(body, group, new_text, whole=self.has_whole_prose)
        else:
            body = add_item(body, new_text, group, whole=self.has_whole_prose)
        return self.with_body(body)

    def with_body(self, body: str) -> str:
        """The whole text with a body to which something was added."""
        head = self.document.head
        return self._with_body(f"\n{body}" if head and not head.endswith("\n") else body)

    def _with_body(self, body: str) -> str:
        return with_body(self.document, body) if body else self.document.head or "\n"


def plan_any_edit(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Edit an item, or a file that is one memory."""
    plan = edit_document if memory.kind == "document" else plan_edit
    return plan(change, memory, context)


def plan_any_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of an item, or of a file that is one memory. Raises Refused."""
    path, _, item = str(change.fields["id"]).partition("#")
    if item or CONVERTED in extra_in(change):
        return plan_listed_import(change, context)
    assert isinstance(context.store, MarkdownListStore)
    if path not in context.store.documents:
        raise Refused("notes cannot be added here", where=path)
    text = str(change.fields.get("document") or change.fields.get("content") or "")
    return plan_file_import(change, context, imported_file(context.root, path), text)


class MarkdownListStore(ListStore):
    """A store whose files are Markdown lists; a memory of it has the time of its file."""

    syntax = MarkdownList
    documents: Collection[str] = ()
    """Files that are one memory each."""
    of_documents: Mapping[str, str] = MappingProxyType({})
    """Fields of these memories."""

    def is_cut_off(self, key: str, text: str) -> bool:
        return not text and key not in self.documents  # without items a line feed stays

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        assert isinstance(file, MarkdownList)
        extra = {FILE_TIME_KEY: FILE_TIME, **({SECTION: item.group} if item.group else {})}
        return {"updated": file.document.changed, "extra": extra}

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if key not in self.documents:
            return super().read_text(key, path, text, sidecar)
        document = parse_document(key, str(path), text, time_of_change(path))
        fields: dict[str, Any] = {**document_fields(document, self.label), **self.of_documents}
        fields |= {"updated": document.changed, "extra": {FILE_TIME_KEY: FILE_TIME}}
        memory = Memory(kind="document", title=key, **fields)
        return Reading((memory,) if text.strip() else ())

    def may_hold(self, path: str, item: str) -> bool:  # noqa: ARG002
        """Whether an import with the id `path#item` can be added to its file."""
        return True

    def place_imported(self, change: Change, context: ListContext) -> tuple[str, str]:
        """The file that its id names, or where a new memory goes if it was converted."""
        extra = extra_in(change)
        path, _, item = str(change.fields["id"]).partition("#")
        if CONVERTED in extra:
            path = self.place_new(change, context)[0]
        elif not self.may_hold(path, item):
            raise Refused("memories cannot be added here", where=path)
        return path, str(extra.get(SECTION) or "")

    def limit_of(self, path: str) -> LoadLimit:  # noqa: ARG002
        """How much of a file is loaded."""
        return NO_LIMIT

    def as_loaded(self, path: str, text: str) -> LoadedText | None:
        limit = self.limit_of(path)
        return None if limit == NO_LIMIT else LoadedText(path, text, limit=limit)

    def loaded_file(
        self, path: str, view: StoreView, note: str, entity: str = ""
    ) -> list[LoadedText]:
        """A file, named relative to the root, that sessions of an entity are given as it is; [] if
        it cannot be read."""
        text = self.text_of(path)
        if text is None:
            return []
        block, file = LoadedBlock(text), str(self.root / path)
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for memory in view.memories(self.label):
            first = memory.origin.line
            if memory.origin.file == file and first and not is_kept(memory):
                end = starts[min(first + memory.content.count("\n"), len(starts) - 1)]
                entry = LoadedEntry(memory.ref, starts[first - 1], min(end, len(text)))
                block.entries.append(entry)
        return [block.loaded(path, file, limit=self.limit_of(path), note=note, entity=entity)]

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:
        """How much of its limit each loaded file uses."""
        return limit_uses(self.label, self.session_start(view, "", now))


def convert_below_heading(
    memory: Memory, entity: str = "", changes: Iterable[tuple[object, str]] = ()
) -> ConvertedMemory:
    """A memory of another format as a bullet below the heading of its entity.

    `entity`: the first part of the new one, if it has parts; `changes` as in `convert_to_text`.
    """
    section = " ".join((memory.entity or memory.store).replace("#", " ").split())
    changes = [(memory.entity, "entity (becomes a heading)"), *changes]
    extra = {CONVERTED: True, SECTION: section}
    return convert_to_text(memory, f"{entity}/{section}" if entity else "", changes, extra=extra)


def _with_section(body: str, section: str, new_text: str, *, whole: bool) -> str:
    """Add a bullet below a heading that has none yet, or a new heading with it."""
    if "\n" in section or not section.strip():
        raise Refused("a heading is one line of text", where=section)
    heading = next(_headings(body, section), None)
    lines = f"- {_indented(new_text, '  ')}"
    if heading:
        result = f"{body[: heading.end()]}\n\n{lines}\n{body[heading.end() :]}"
    else:
        head = body if not body or body.endswith("\n") else f"{body}\n"
        head += "" if not head or head.endswith("\n\n") else "\n"
        result = f"{head}## {section}\n\n{lines}\n"
    return _checked_addition(body, result, new_text, section, whole=whole)


def _headings(body: str, section: str) -> Iterator[re.Match[str]]:
    pattern = rf"^ {{0,3}}#{{1,6}}[ \t]+{re.escape(section)}[ \t#]*$"
    return re.finditer(pattern, body, re.MULTILINE)


def add_prose(body: str, new_text: str, section: str) -> str:
    """The body with one more item of prose, read with `whole`; "" where it would not be one.

    It stands at the first place below the heading where it is not read as a part of other prose; a
    missing heading is added at the end.
    """
    before = parse_items(body, whole=True)
    wanted = Counter([*map(_as_read, before), ("", new_text, section)])
    headings = list(_headings(body, section)) if section else []
    places = [body.find("\n", each.end()) + 1 or len(body) for each in headings]
    places += [item.end for item in before if item.section == section]
    results = [_with_paragraph(body, at, new_text) for at in ([] if section else [0]) + places]
    if section and not headings and "\n" not in section:
        results.append(_with_paragraph(body, len(body), f"## {section}\n\n{new_text}"))
    for result in results:
        if Counter(map(_as_read, parse_items(result, whole=True))) == wanted:
            return result
    return ""


def _as_read(item: MarkdownItem) -> tuple[str, str, str]:
    return item.marker, item.text, item.section


def _with_paragraph(body: str, at: int, text: str) -> str:
    """Add a text between blank lines: those that are there, or new ones."""
    head, tail = body[:at], body[at:]
    if head and tail.startswith("\n") and not head.endswith("\n\n"):
        head, tail = f"{head}\n", tail[1:]
    if head and not head.endswith("\n\n"):
        head += "\n" if head.endswith("\n") else "\n\n"
    gap = "\n\n" if tail and not tail.startswith("\n") else "\n"
    return f"{head}{text}{gap}{tail}"


def _checked_addition(
    before: str, result: str, new_text: str, section: str | None, *, whole: bool
) -> str:
    """The result, if it has one more item, below this heading unless that is None. Raises
    Refused."""
    texts = sorted([*(item.text for item in parse_items(before, whole=whole)), new_text])
    now = parse_items(result, whole=whole)
    is_added = any(item.text == new_text and section in (None, item.section) for item in now)
    if sorted(item.text for item in now) != texts or not is_added:
        raise Refused("this text would not be read as one item", do="put it on fewer lines")
    return result
