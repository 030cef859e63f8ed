"""Unified diffs of Gemini's inbox: parsed, and applied exactly or not at all."""

from __future__ import annotations

import re

from msgspec import Struct, field

from memtui.errors import Refused

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_NO_END = "\\ No newline at end of file"


class Hunk(Struct):
    """Lines of the old file at a place, and what takes their place."""

    start: int
    """1-based line of the old file; the line before, where `old` is empty."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    """Lines with their line feeds; one without its end has none."""


class FilePatch(Struct, frozen=True):
    """What a patch does to one file."""

    old: str
    """As the header names it; empty: the file is made."""
    new: str
    """Empty: the file is removed."""
    hunks: list[Hunk]

    @property
    def added(self) -> str:
        """The lines that are new."""
        return "".join(line for hunk in self.hunks for line in hunk.new if line not in hunk.old)


def parse_patch(text: str) -> list[FilePatch]:
    """Parse a patch of one or more files. Raises Refused if it is not well formed."""
    lines = text.split("\n")
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1][:4] == "+++ ":
            hunks: list[Hunk] = []
            found.append(FilePatch(_name(lines[at]), _name(lines[at + 1]), hunks))
            at += 2
            while at < len(lines) and lines[at].startswith("@@"):
                hunk, at = _hunk(lines, at)
                hunks.append(hunk)
        else:
            at += 1
    if not found or not all(each.hunks for each in found):
        raise Refused("not a unified diff")
    return found


def _name(line: str) -> str:
    name = line[4:].partition("\t")[0].strip()
    return "" if name == _NOTHING else name


def _hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if head is None:
        raise Refused("the head of a hunk is malformed", where=f"line {at + 1} of the patch")
    old_count, new_count = (int(head[n]) if head[n] is not None else 1 for n in (2, 4))
    hunk = Hunk(int(head[1]))
    at += 1
    while at < len(lines) and (len(hunk.old) < old_count or len(hunk.new) < new_count):
        mark, content = lines[at][:1], f"{lines[at][1:]}\n"
        if lines[at].startswith("\\"):
            _drop_line_end(hunk, lines[at - 1][:1])
        elif mark == "-":
            hunk.old.append(content)
        elif mark == "+":
            hunk.new.append(content)
        elif mark == " " or not lines[at]:
            hunk.old.append(content)
            hunk.new.append(content)
        else:
            break
        at += 1
    if at < len(lines) and lines[at].startswith(_NO_END[:4]):
        _drop_line_end(hunk, lines[at - 1][:1])
        at += 1
    if (len(hunk.old), len(hunk.new)) != (old_count, new_count):
        raise Refused("a hunk is not as long as its head says", where=f"line {at} of the patch")
    return hunk, at


def _drop_line_end(hunk: Hunk, mark: str) -> None:
    for side, marks in ((hunk.old, "- "), (hunk.new, "+ ")):
        if mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def apply_patch(text: str | None, patch: FilePatch, where: str) -> str | None:
    """The file's text after the patch; None if the patch removes it.

    Raises Refused where a line is not exactly as the patch says.
    """
    if (text is None) is not (patch.old == ""):
        raise Refused("the file is not as the patch expects it", where=where)
    parts = (text or "").split("\n")
    lines = [f"{piece}\n" for piece in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    result: list[str] = []
    copied = 0
    for hunk in patch.hunks:
        start = hunk.start - 1 if hunk.old else hunk.start
        if start < copied or lines[start : start + len(hunk.old)] != hunk.old or start > len(lines):
            raise Refused("the patch does not fit: the file has changed since", where=where)
        result += lines[copied:start] + hunk.new
        copied = start + len(hunk.old)
    result += lines[copied:]
    if any(not line.endswith("\n") for line in result[:-1]):
        raise Refused("the patch does not fit: a line has no end", where=where)
    patched = "".join(result)
    return None if not patch.new and not patched else patched
