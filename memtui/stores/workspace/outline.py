"""What a Markdown text points at and how it is divided: headings and links, code left out.

Every expression here runs in time linear in the text, whatever the text is: a document may be
hostile. Nothing is rendered.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

MOST_HEADINGS = 200
MOST_LINKS = 200
"""Of one document; more would only slow the screen down."""

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
