"""Markdown documents: parsed, found in a folder, and changed.

A document has frontmatter, a body, headings and links; code is left out. Every regular expression
here runs in time linear in the text, because a document may be hostile.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memtui.changes import Change, Edit, Plan, TextEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.frontmatter import parse_block, split
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import decode, error_text, read_bytes, safe_join, walk
from memtui.model import Memory
from memtui.stores.base import StoreView, Unreadable
from memtui.stores.plans import PlanContext, plan_one, planned_before, tag_edits
from memtui.stores.scanning import FoundShard, as_refused
from memtui.stores.values import changed_values, check_unchanged, content_of, from_iso

MOST_HEADINGS = 200
MOST_LINKS = 200
"""The most of one document that are kept."""

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S[^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S[^\n]{0,200})\r?\n(=+|-{2,})[ \t]*\r?$", re.MULTILINE)
_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]{1,300})(?:[|#][^\[\]\n]{0,300})?\]\]")
_TARGET = re.compile(r"\]\([ \t]*<?([^)<>\s]{1,500})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings, with their `#` marks, and the link targets as they are written."""

    headings: tuple[str, ...]
    wikilinks: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def title(self) -> str:
        """The text of the first heading; empty when there is none."""
        return self.headings[0].lstrip("#").strip() if self.headings else ""


def outline(text: str) -> Outline:
    """Headings and links of a Markdown text, in the order they come."""
    if "```" in text or "~~~" in text:
        text = _FENCED.sub("", text)
    found = [(match.start(), match[1], match[2]) for match in _HEADING.finditer(text)]
    if "\n==" in text or "\n--" in text:
        found += [
            (match.start(), "#" if match[2][0] == "=" else "##", match[1])
            for match in _UNDERLINED.finditer(text)
            if match[1][0] not in "#>|-*`"
        ]
        found.sort()
    headings = tuple(f"{marks} {words.strip().rstrip('#').rstrip()}" for _, marks, words in found)
    if "[[" not in text and "](" not in text:
        return Outline(headings[:MOST_HEADINGS], (), ())
    prose = _INLINE_CODE.sub("", text)
    wikilinks = dict.fromkeys(match[1].strip() for match in _WIKILINK.finditer(prose))
    targets = dict.fromkeys(match[1] for match in _TARGET.finditer(prose))
    return Outline(
        headings[:MOST_HEADINGS], tuple(wikilinks)[:MOST_LINKS], tuple(targets)[:MOST_LINKS]
    )


def linked_documents(
    found: Outline, path: str, by_stem: Callable[[str], str]
) -> tuple[tuple[str, str], ...]:
    """Links of the document at `path` to other documents, as pairs of relation and id.

    Relative links are resolved against the document's folder; links out of the workspace and to
    the web are left out. A wikilink names a document by its path or by the stem of its name, which
    `by_stem` looks up (empty: unknown, and the name itself stays as a dangling id).
    """
    folder = posixpath.dirname(path)
    pairs = []
    for target in found.targets:
        name = target.partition("#")[0]
        if not name.endswith(".md") or _SCHEME.match(name):
            continue
        start = "" if name.startswith("/") else folder
        resolved = posixpath.normpath(posixpath.join(start, unquote(name).lstrip("/")))
        if not resolved.startswith("../") and resolved != path:
            pairs.append(("links_to", resolved))
    for name in found.wikilinks:
        resolved = name if name.endswith(".md") else by_stem(name) or name
        if resolved != path:
            pairs.append(("mentions", resolved))
    return tuple(dict.fromkeys(pairs))


_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*")


_DATE = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """One file, parsed."""

    path: str
    """Relative to the workspace, with slashes: the memory's id."""
    file: str
    """Absolute."""
    head: str
    """The raw text before the body: byte order mark, frontmatter, blank lines."""
    body: str
    line: int
    """1-based line of the body's first character."""
    frontmatter: Mapping[str, Any]
    """Empty when there is none, or none that can be read."""
    changed: datetime | None
    """Modification time of the file."""
    crlf: bool = False
    """All lines end in CRLF; `body` has plain line feeds."""
    has_bom: bool = False
    """The file begins with a byte order mark."""

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[:-1])


def parse_document(path: str, file: str, text: str, changed: datetime | None) -> MarkdownFile:
    """Split the whole text of a file into head and body, and parse the frontmatter."""
    cut = split(text)
    marked = text.startswith(BYTE_ORDER_MARK)
    start = _first_line(text, max(cut.body_start, int(marked)))
    pairs = text.count("\r\n")
    crlf = 0 < pairs == text.count("\n") == text.count("\r")
    body = text[start:]
    return MarkdownFile(
        path=path,
        file=file,
        head=text[:start],
        body=body.replace("\r\n", "\n") if crlf else body,
        line=1 + text.count("\n", 0, start),
        frontmatter={} if cut.front is None else parse_block(cut.front),
        changed=changed,
        crlf=crlf,
        has_bom=marked,
    )


def _first_line(text: str, at: int) -> int:
    """Where the first line at or after `at` starts that is not blank; `at` when all are."""
    blank = _BLANK_LINES.match(text, at)
    return blank.end() if blank and blank.end() < len(text) else at


def with_body(document: MarkdownFile, body: str) -> str:
    """The file's whole text with another body: same head, line ends and last newline."""
    if document.body.endswith("\n") and not body.endswith("\n"):
        body += "\n"
    return document.head + (body.replace("\n", "\r\n") if document.crlf else body)


def date_in_path(path: str) -> datetime | None:
    """The date in a file's name (`2025-11-20-a.md`), else in its folder's (`2025-11-20/a.md`)."""
    for name in reversed(path.split("/")[-2:]):
        match = _DATE.search(name)
        time = from_iso(match[1]) if match else None
        if time:
            return time
    return None


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
