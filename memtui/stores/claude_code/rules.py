"""Rules of Claude Code: what is loaded at the start of a session, topic files, imports.

* The first 200 lines or 25,000 UTF-16 units of MEMORY.md are loaded, whichever ends first, in whole
  lines; frontmatter, HTML comments and blanks around the text are stripped before (Claude Code
  2.1.237 and later; anthropics/claude-code#82056 measured the number, and that it is no number of
  bytes).
* An instruction file names others with `@path`, outside code, five files deep at most
  (code.claude.com, "Manage Claude's memory").
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import dropwhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from memtui.errors import Refused
from memtui.files.frontmatter import parse_block, set_field, split
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.stores.base import Remark, count_units
from memtui.stores.format import UpkeepRules
from memtui.stores.markdown.documents import words_of
from memtui.stores.scanning import read_small
from memtui.stores.values import members_of

LOADED_LINES = 200
LOADED_UNITS = 25_000

TYPES = ("user", "feedback", "project", "reference")
"""The types that Claude gives its topic files."""

DEEPEST_IMPORT = 5


class LoadedPart(Struct, frozen=True):
    """How much of a MEMORY.md is loaded at the start of a session."""

    lines: int
    """Lines that count."""
    size: int
    """UTF-16 units that count, with the line feed of each line."""
    cut_line: int | None
    """1-based number, in the file, of the first line that is not loaded whole; None: all are."""


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def loaded_part(text: str) -> LoadedPart:
    """Find where loading stops."""
    lines = size = 0
    cut: int | None = None
    for number, line in counted_lines(text):
        lines += 1
        size += count_units(line) + 1
        if cut is None and (lines > LOADED_LINES or size - 1 > LOADED_UNITS):
            cut = number
    return LoadedPart(lines, size, cut)


def counted_lines(text: str) -> list[tuple[int, str]]:
    """The lines that count, without comments, each with its 1-based number in the file."""
    start = split(text).body_start
    body = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text[start:])
    raw = text[start:].split("\n")
    first = 1 + text.count("\n", 0, start)
    lines = enumerate(body.rstrip().split("\n"), first)
    is_begun = dropwhile(lambda each: not each[1].strip(), lines)
    # an empty line that was not empty is one of a comment
    return [(number, line) for number, line in is_begun if line or not raw[number - first]]


# ---- index lines --------------------------------------------------------------------------------

_INDEX_LINK = re.compile(
    r"((?:\[[ xX]\][ \t]+)?\**\[)([^\]\n]*)(\]\(<?)"
    r"((?:(?<=<)[^<>\n]+|(?:[^()<>\s]|\([^()<>\s]*\))+)\.md)((?:#[^()<>\s]*)?>?\)\**)"
    r"(?:([ \t]*(?:[—–:]|--?)[ \t]*)([^\n]*))?"
)
_NAMED = re.compile(r"\(<([^<>\n]+\.md)>\)|`([^`\n]+\.md)`|([^\s()<>`|\[\]*\"',;:]+\.md)(?![\w.])")
_DASH = " — "


class IndexLink(NamedTuple):
    """What a line of the index says: `[Title](file.md) — hook`. Two empty texts for other lines."""

    title: str = ""
    """Title and hook, with a dash between."""
    file: str = ""


def index_link(text: str) -> IndexLink:
    """The title and the file of an index line."""
    found = _INDEX_LINK.match(text)
    if found is None:
        return IndexLink()
    title = _DASH.join(filter(None, (found[2].strip(), (found[7] or "").strip())))
    return IndexLink(title, unquote(found[4]).removeprefix("./"))


def named_files(text: str) -> list[str]:
    """Every Markdown file that a text of the index names: by a link, in a table, in backticks, or
    by its bare name."""
    found = ("".join(groups) for groups in _NAMED.findall(text))
    return list(dict.fromkeys(unquote(name).removeprefix("./") for name in found))


def with_line_title(text: str, title: str) -> str:
    """The index line with another title and hook; all other bytes stay."""
    found = _INDEX_LINK.match(text)
    if found is None:
        return text
    label, _, hook = title.partition(_DASH)
    label = re.sub(r"[\[\]\s]+", " ", label).strip()
    line = found[1] + label + "".join(found.group(3, 4, 5))
    return line + (f"{found[6] or _DASH}{hook}" if hook else "") + text[found.end() :]


def index_line(title: str, file: str, hook: str) -> str:
    """An index line as Claude writes it, without the bullet."""
    label = re.sub(r"[\[\]\s]+", " ", title).strip() or file
    description = " ".join(hook.split())
    return f"[{label}]({file})" + (f" — {description}" if description else "")


# ---- topic files --------------------------------------------------------------------------------


def is_newer(frontmatter: Mapping[str, Any]) -> bool:
    """Whether a topic file has the newer frontmatter, with a block `metadata`."""
    return isinstance(frontmatter.get("metadata"), dict)


def topic_field(frontmatter: Mapping[str, Any], name: str) -> str:
    """`type`, `originSessionId` or `modified` of either frontmatter; "" where it has none."""
    for place in (members_of(frontmatter.get("metadata")), frontmatter):
        value = place.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value).strip()
    return ""


_TYPE_WORD = re.compile(r"[A-Za-z][\w-]*")
_TYPE_LINE = re.compile(r"^([ \t]++type:[ \t]*+)([\w-]*+)([ \t]*+)$", re.MULTILINE)


def checked_type(type: str) -> str:
    """The type, if it is one word. Raises Refused."""
    if not _TYPE_WORD.fullmatch(type):
        raise Refused(f"the type is a word such as {', '.join(TYPES)}")
    return type


def with_type(text: str, type: str) -> str:
    """The text of a topic file with another type. Raises Refused."""
    checked_type(type)
    cut = split(text)
    if cut.front is None:
        raise Refused("the file has no frontmatter, so it has no type", do="edit the file")
    before = parse_block(cut.front)
    if not is_newer(before):
        return set_field(text, "type", type)
    newline = "\r\n" if "\r\n" in cut.front else "\n"
    front, count = _TYPE_LINE.subn(rf"\g<1>{type}\g<3>", cut.front.replace("\r\n", "\n"))
    expected = {**before, "metadata": {**before["metadata"], "type": type}}
    if count != 1 or parse_block(front) != expected:
        raise Refused("the type is not on one line", do="edit the file")
    return text[: cut.start] + front.replace("\n", newline) + text[cut.end :]


def new_topic(name: str, title: str, description: str, type: str, body: str, newer: bool) -> str:
    """The text of a new topic file, as Claude writes it. Raises Refused."""
    text = body if body.endswith("\n") else body + "\n"
    if text.startswith(("---\n", f"{BYTE_ORDER_MARK}---\n")):
        text = f"\n{text}"
    text = set_field(f"---\n---\n\n{text}", "name", name if newer else title)
    text = set_field(text, "description", description)
    if not newer:
        return set_field(text, "type", checked_type(type))
    cut = split(text)
    block = f"metadata: \n  node_type: memory\n  type: {checked_type(type)}\n"
    return text[: cut.end] + block + text[cut.end :]


# ---- rules --------------------------------------------------------------------------------------


def is_for_some_files(frontmatter: Mapping[str, Any]) -> bool:
    """Whether the `paths` of a rule keep it from sessions until they open one of these files
    (code.claude.com, "Path-specific rules")."""
    patterns = {path.removesuffix("/**") for path in words_of(frontmatter.get("paths"))}
    return bool(patterns - {"", "**"})


# ---- imports ------------------------------------------------------------------------------------

_CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@((?=~?/[^\s/]|[A-Za-z0-9._-])(?:[^\s\\]|\\ ){1,300})")
_PUNCTUATION = ".,:;!?)]}*\"'"
MAX_IMPORTS = 50


def imports_in(text: str) -> list[str]:
    """The paths that an instruction file imports; code and comments are left out.

    A path ends at `#` or at a blank without a backslash before it; punctuation that follows it at
    once is a part of it, so that nothing is imported (anthropics/claude-code#86060).
    """
    written = _IMPORT.findall(_COMMENT.sub("", _CODE.sub("", text)))
    found = (path.partition("#")[0].replace("\\ ", " ") for path in written)
    paths = (path for path in found if "/" in path or "." in path.rstrip(_PUNCTUATION))
    return list(dict.fromkeys(paths))[:MAX_IMPORTS]


def missed_imports(root: Path, names: Iterable[str]) -> Iterator[Remark]:
    """What these instruction files seem to import and do not, for punctuation behind the path."""
    for file in (root / name for name in names):
        for path in imports_in(read_small(file, root=root)):
            bare = path.rstrip(_PUNCTUATION)
            if bare != path and _is_file(file, bare) and not _is_file(file, path):
                mark = path[len(bare) :]
                why = f"@{bare} is not imported: {mark} is taken for a part of its name"
                yield Remark(str(file), why)


def _is_file(importer: Path, path: str) -> bool:
    return os.path.isfile(importer.parent / os.path.expanduser(path))


def follow_imports(
    names: Iterable[str], imports_of: Callable[[str], Iterable[str]], known: Iterable[str] = ()
) -> list[str]:
    """These files, then those that they import, as deep as Claude Code goes; `known` ones are left
    out."""
    found = list(names)
    level, seen = found, {*found, *known}
    for _ in range(DEEPEST_IMPORT):
        paths = dict.fromkeys(path for name in level for path in imports_of(name))
        level = [path for path in paths if path not in seen]
        seen.update(level)
        found = [*found, *level]
    return found


def upkeep_rules() -> UpkeepRules:
    """The rules for tidying: a `[[name]]` may name a topic that is still to be written, by the
    program's own instructions (formats page); a line of the index and `[text](file)` may not."""
    return UpkeepRules(is_forward=lambda link: link.relation == "mentions")
