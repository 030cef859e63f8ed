"""Markdown documents as records: a file is opened, a heading or the text changed, a name found."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Plan, TextEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.reading import decode, error_text, read_bytes, safe_join, walk
from memtui.model import Memory
from memtui.stores.base import StoreView, Unreadable
from memtui.stores.change_validation import changed_values, check_unchanged, content_of
from memtui.stores.markdown import MarkdownFile, outline, parse_document, with_body
from memtui.stores.plans import PlanContext, plan_one, planned_before, tag_edits
from memtui.stores.scanning import FoundShard, as_refused

LONGEST_STEM = 80
"""Characters of a file name that is made from a title."""

_NOT_IN_NAMES = re.compile(r"[^\w]+")
_HEADING_LINE = r"^( {{0,3}}#{{1,6}}[ \t]+){}([ \t]*#*[ \t]*)$"


# ---- files --------------------------------------------------------------------------------------

SUFFIX = ".md"


class _Skipped(frozenset[str]):
    """Names of files and folders without documents: these, and all that are hidden."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(".") or super().__contains__(name)


SKIPPED = _Skipped({"node_modules", "__pycache__"})


def documents(root: Path, faults: list[Unreadable]) -> Iterator[FoundShard]:
    """Find every document below `root`; the key is its relative path with slashes. One stat each.

    Folders that cannot be listed are added to `faults`.
    """

    def unreadable(folder: str, why: str) -> None:
        faults.append(Unreadable(folder, why))

    start = len(os.path.join(os.fspath(root), ""))
    for entry in walk(root, (SUFFIX,), SKIPPED, unreadable):
        path = entry.path[start:]
        if os.sep != "/":
            path = path.replace(os.sep, "/")
        try:
            status = entry.stat()
        except OSError as error:
            yield FoundShard(path, (entry.path,), error_text(error))
        else:
            times = f"{status.st_mtime_ns:x}.{status.st_ctime_ns:x}"
            mark = f"{times}.{status.st_size:x}.{status.st_ino:x}"
            yield FoundShard(path, (entry.path,), mark)


# ---- values of the frontmatter ------------------------------------------------------------------


def to_json_value(value: Any) -> Any:
    """Convert a YAML value to JSON; a value JSON cannot express becomes text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json_value(item) for item in value]
    return str(value)


def words_of(value: object) -> tuple[str, ...]:
    """Words of a list or of a comma-separated string; () for another value."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        return ()
    texts = (str(part).strip() for part in parts if isinstance(part, str | int | float))
    return tuple(dict.fromkeys(text for text in texts if text))


# ---- an open document --------------------------------------------------------------------------


def read_text(path: Path, root: Path) -> str:
    """The whole text of a file of the store. Raises Refused if it cannot be read."""
    try:
        return decode(read_bytes(path, root))
    except UnreadableFile as error:
        raise as_refused(error, path) from None


def planned_text(path: Path, root: Path, view: StoreView) -> str | None:
    """The text that a file has after the changes planned before this one; None if there is none.

    Raises Refused if it cannot be read.
    """
    for plan in reversed(planned_before(view)):
        for edit in reversed(plan.edits):
            if isinstance(edit, TextEdit) and edit.path == str(path):
                return edit.after
    return read_text(path, root) if os.path.lexists(path) else None


def open_document(memory: Memory, text: str) -> OpenDocument:
    """The document of a memory whose file has this text."""
    document = parse_document(memory.id, memory.origin.file, text, None)
    return OpenDocument(memory, text, document)


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """One document, read to plan a change."""

    memory: Memory
    text: str = field(repr=False)
    document: MarkdownFile

    def text_edits(self, text: str | None) -> tuple[TextEdit, ...]:
        """The edit that replaces the file's text (None: deletes the file); none if unchanged."""
        if text == self.text:
            return ()
        return (TextEdit(self.document.file, self.text, text),)

    def with_text(self, text: str) -> OpenDocument:
        """The document with a new text that is not written yet."""
        return OpenDocument(
            self.memory, text, parse_document(self.memory.id, self.document.file, text, None)
        )


def with_heading(page: OpenDocument, new_heading: str) -> OpenDocument:
    """Replace the text of the first heading."""
    old = re.compile(_HEADING_LINE.format(re.escape(page.memory.title)), re.MULTILINE)
    body, count = old.subn(
        lambda match: match[1] + new_heading + match[2], page.document.body, count=1
    )
    if not count or outline(body).title != new_heading:
        raise Refused("the heading cannot be changed on its line", do="edit the text")
    return page.with_text(with_body(page.document, body))


def edit_document(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Plan another text of a file that is one memory; tags are kept in the sidecar."""
    changed = changed_values(change, memory, frozenset({"content", "tags"}))
    before = planned_text(Path(memory.origin.file), context.root, context.view)
    if before is None:
        raise Conflict("the file is gone", where=memory.origin.file)
    page = open_document(memory, before)
    edits: tuple[Edit, ...] = ()
    if "content" in changed:
        new_text = content_of(change)
        check_unchanged(memory, page.document.body, memory.origin.file, new_text)
        edits = page.text_edits(with_body(page.document, new_text))
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"])
    return plan_one(change, memory, edits)


# ---- names of new documents --------------------------------------------------------------------


def file_stem(name: str) -> str:
    """A file name of letters, digits and hyphens; empty if nothing is left."""
    line = unicodedata.normalize("NFC", name.partition("\n")[0]).lower()
    return _NOT_IN_NAMES.sub("-", line)[:LONGEST_STEM].strip("-_")


def new_file(root: Path, path: str, skipped: Collection[str] = ()) -> Path:
    """The absolute path of a document that is to be made.

    Args:
        root: of the store.
        path: relative to it, with slashes.
        skipped: names of files and folders that the store does not read.

    Raises:
        Refused: the path leads elsewhere, or is taken by a name that differs at most in case.
    """
    file = root
    for name in path.split("/"):
        if name in skipped:
            raise Refused("documents in hidden folders are not memory", where=path)
        folder, file = file, _child(file, name)
    twin = _taken_name(folder, file.name)
    if twin:
        raise Refused("a document of this name already exists", where=twin)
    return file


def _child(folder: Path, name: str) -> Path:
    """Go one step down. Raises Refused at a symbolic link, which a scan does not follow."""
    file = folder / name
    if "\0" not in name and file.is_symlink():
        raise Refused("documents behind a link are not read", where=str(file))
    return safe_join(folder, name)


def _taken_name(folder: Path, name: str) -> str:
    """An existing name that differs at most in case: some disks cannot hold both. "": none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    return next((found for found in names if found.casefold() == name.casefold()), "")
