"""Unified diffs of planned files as values to draw; fast also where a file is large."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memtui import text
from memtui.files.save_transaction import FileDiff

CONTEXT = 3
"""Unchanged lines around a change, as `diff -u` shows them."""
LONGEST_LINE = 4_000
"""Characters of a line that are shown."""
MOST_LINES = 20_000
"""Lines of all diffs together that are shown."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; its text is visible already."""

    kind: str
    """`file`, `hunk`, `same`, `gone`, `new` or `note`."""
    words: str
    pieces: tuple[tuple[bool, str], ...] = ()
    """The same words in pieces, each told whether it changed; empty: the whole line did."""


def lines_of(diffs: Iterable[FileDiff]) -> list[DiffLine]:
    """Every file's change, file after file."""
    lines: list[DiffLine] = []
    for diff in diffs:
        if diff.before == diff.after:
            continue
        lines.append(DiffLine("file", _headline(diff)))
        lines += _file_lines(diff)
        if len(lines) > MOST_LINES:
            more = f"only the first {text.number(MOST_LINES)} lines are shown"
            return [*lines[:MOST_LINES], DiffLine("note", more)]
    return lines


def counted(lines: Sequence[DiffLine]) -> tuple[int, int, int]:
    """How many files, how many lines added, how many taken away."""
    kinds = [line.kind for line in lines]
    return kinds.count("file"), kinds.count("new"), kinds.count("gone")


def _headline(diff: FileDiff) -> str:
    name = text.file_name(diff.path)
    if diff.before is None:
        return f"{name}  (new)"
    return f"{name}  (removed)" if diff.after is None else name


def _file_lines(diff: FileDiff) -> list[DiffLine]:
    before, after = _split(diff.before), _split(diff.after)
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    first = max(0, head - CONTEXT)
    old = before[first : len(before) - max(0, tail - CONTEXT)]
    new = after[first : len(after) - max(0, tail - CONTEXT)]
    lines: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        start_old, start_new = group[0][1] + first + 1, group[0][3] + first + 1
        moved = f" → {start_new}" if start_new != start_old else ""
        lines.append(DiffLine("hunk", f"line {start_old}{moved}"))
        for kind, a, b, c, d in group:
            if kind == "equal":
                lines += [DiffLine("same", _shown(line)) for line in old[a:b]]
            else:
                lines += _changed(old[a:b], new[c:d])
    if _ends(diff.before) != _ends(diff.after) and None not in (diff.before, diff.after):
        word = "without" if _ends(diff.before) else "with"
        lines.append(DiffLine("note", f"the file now ends {word} a newline"))
    return lines


def _changed(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Lines that went and came; as many of both are set against each other word by word."""
    if len(old) != len(new):
        return [
            *(DiffLine("gone", _shown(line)) for line in old),
            *(DiffLine("new", _shown(line)) for line in new),
        ]
    pairs = [_pieces(_shown(a), _shown(b)) for a, b in zip(old, new, strict=True)]
    return [
        *(DiffLine("gone", _shown(line), gone) for line, (gone, _) in zip(old, pairs, strict=True)),
        *(DiffLine("new", _shown(line), came) for line, (_, came) in zip(new, pairs, strict=True)),
    ]


Pieces = tuple[tuple[bool, str], ...]


def _pieces(old: str, new: str) -> tuple[Pieces, Pieces]:
    """Both lines in pieces; nothing when they have too little in common to be compared."""
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    if head + tail < 4 or (head + tail) * 4 < min(len(old), len(new)):
        return (), ()

    def cut(line: str) -> Pieces:
        end = len(line) - tail
        parts = ((False, line[:head]), (True, line[head:end]), (False, line[end:]))
        return tuple(part for part in parts if part[1])

    return cut(old), cut(new)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many elements both begin with."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _split(content: str | None) -> list[str]:
    if not content:
        return []
    lines = content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _ends(content: str | None) -> bool:
    return content is not None and content.endswith("\n")


def _shown(line: str) -> str:
    cut = line[:LONGEST_LINE] + ("…" if len(line) > LONGEST_LINE else "")
    return text.visible(cut.removesuffix("\r"))
