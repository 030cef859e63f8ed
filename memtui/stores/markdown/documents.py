"""Markdown documents, parsed.

A document has frontmatter, a body, headings and links; code is left out. Every regular expression
here runs in time linear in the text, because a document may be hostile.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from memtui.files.frontmatter import parse_or_fault, split
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.model import CHANGE_KEYS, FRONTMATTER_FAULT, LOCAL_TIMES, Place
from memtui.stores.values import (
    MemoryName,
    from_iso,
    from_local_iso,
    is_without_zone,
    members_of,
    memory_name,
)

MAX_HEADINGS = 200
MAX_LINKS = 200
"""The most of one document that are kept."""

FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
"""Blocks of code."""
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S[^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S[^\n]{0,200})\r?\n(=+|-{2,})[ \t]*\r?$", re.MULTILINE)
_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]{1,300})(?:[|#][^\[\]\n]{0,300})?\]\]")
_TARGET = re.compile(r"\]\([ \t]*<?([^)<>\s]{1,500})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class Outline(Struct, frozen=True):
    """The headings, with their `#` marks, and the link targets as they are written."""

    headings: tuple[str, ...]
    wikilinks: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def title(self) -> str:
        """The text of the first heading; empty when there is none."""
        return self.headings[0].lstrip("#").strip() if self.headings else ""


def numbered_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines of a Markdown text but for the fences of code, each with its 0-based number, and
    whether it is in a block of code."""
    is_code = False
    for number, line in enumerate(text.split("\n")):
        if ("```" in line or "~~~" in line) and _FENCE.match(line):
            is_code = not is_code
        else:
            yield number, line, is_code


def outline(text: str) -> Outline:
    """Headings and links of a Markdown text, in the order they come."""
    if "```" in text or "~~~" in text:
        text = FENCED.sub("", text)
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
        return Outline(headings[:MAX_HEADINGS], (), ())
    prose = _INLINE_CODE.sub("", text)
    wikilinks = dict.fromkeys(match[1].strip() for match in _WIKILINK.finditer(prose))
    targets = dict.fromkeys(match[1] for match in _TARGET.finditer(prose))
    return Outline(
        headings[:MAX_HEADINGS], tuple(wikilinks)[:MAX_LINKS], tuple(targets)[:MAX_LINKS]
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


def frontmatter_field(front: Mapping[str, Any], name: str) -> object:
    """A field of the frontmatter, or of its block `metadata`, where Claude Code has some."""
    return members_of(front.get("metadata")).get(name, front.get(name))


class MarkdownFile(Struct, frozen=True):
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
    fault: str = ""
    """What is wrong with the frontmatter, with its line; "" if nothing is."""

    def text_of(self, body: str) -> str:
        """The file's whole text with another body: same head and line ends."""
        return self.head + (body.replace("\n", "\r\n") if self.crlf else body)

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[:-1])

    @property
    def extra(self) -> dict[str, Any]:
        """What `Memory.extra` holds of it: the frontmatter as JSON, and the form of its bytes."""
        front = {str(key): to_json_value(value) for key, value in self.frontmatter.items()}
        return front | self.byte_form

    @property
    def byte_form(self) -> dict[str, Any]:
        """What is not the usual: line ends, a byte order mark, frontmatter that is no valid YAML,
        times of it that name no zone and are taken for local ones."""
        form: dict[str, Any] = {"line_endings": "crlf"} if self.crlf else {}
        form |= {"byte_order_mark": True} if self.has_bom else {}
        form |= {FRONTMATTER_FAULT: self.fault} if self.fault else {}
        named = (*CREATED_KEYS, *UPDATED_KEYS)
        local = [key for key in named if is_without_zone(frontmatter_field(self.frontmatter, key))]
        return form | ({LOCAL_TIMES: local} if local else {})

    @property
    def name(self) -> str:
        """The `title` or `name` of the frontmatter; "" if it has none."""
        values = (self.frontmatter.get(key) for key in ("title", "name"))
        names = (str(each).strip() for each in values if isinstance(each, str | int | float))
        return next(filter(None, names), "")

    def time(self, keys: Iterable[str]) -> tuple[datetime | None, str]:
        """The first of these frontmatter keys that holds a time, and which one it is."""
        times = ((from_local_iso(self.frontmatter.get(key)), key) for key in keys)
        return next((found for found in times if found[0]), (None, ""))


class DocumentFields(MemoryName):
    """The fields of `Memory` that every document has."""

    content: str
    origin: Place


def document_fields(document: MarkdownFile, label: str) -> DocumentFields:
    """What a memory takes from its document: name, text and place."""
    origin = Place(document.file, document.line)
    return {**memory_name(label, document.path), "content": document.body, "origin": origin}


def parse_document(
    path: str, file: str, text: str, changed: datetime | None, *, whole: bool = False
) -> MarkdownFile:
    """Split the whole text of a file into head and body, and parse the frontmatter; `whole`: there
    is none, and all but a byte order mark is the body."""
    cut = split(text)
    marked = text.startswith(BYTE_ORDER_MARK)
    start = int(marked) if whole else _first_line(text, max(cut.body_start, int(marked)))
    pairs = text.count("\r\n")
    crlf = 0 < pairs == text.count("\n") == text.count("\r")
    body = text[start:]
    front, fault = ({}, "") if whole or cut.front is None else parse_or_fault(cut.front)
    return MarkdownFile(
        path=path,
        file=file,
        head=text[:start],
        body=body.replace("\r\n", "\n") if crlf else body,
        line=1 + text.count("\n", 0, start),
        frontmatter=front,
        fault=fault,
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
    return document.text_of(body)


CREATED_KEYS = ("created", "date")
UPDATED_KEYS = CHANGE_KEYS
"""Keys of the frontmatter that programs give times under."""


def date_in_path(path: str) -> datetime | None:
    """The date in a file's name (`2025-11-20-a.md`), else in its folder's (`2025-11-20/a.md`)."""
    for name in reversed(path.split("/")[-2:]):
        match = _DATE.search(name)
        time = from_iso(match[1]) if match else None
        if time:
            return time
    return None


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
