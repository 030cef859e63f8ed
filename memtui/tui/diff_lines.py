"""Unified diffs of files, and texts word by word, as drawable lines.

Fast for large files: the common beginning and end are cut off before difflib compares the rest.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.changes import FileDiff, mask_diff, split_lines
from memtui.insight.comparison import diff_words
from memtui.tui.appearance import Palette

CONTEXT = 3
"""Unchanged lines around a change, as `diff -u` shows them."""
LONGEST_LINE = 4_000
"""Characters of a line that are shown."""
MAX_LINES = 20_000
"""Lines of all diffs together that are shown."""


class DiffLine(Struct, frozen=True):
    """One line of a diff, its text already made visible."""

    kind: str
    """`file`, `hunk`, `same`, `gone`, `new`, `note`, or `said` above the files."""
    words: str
    pieces: tuple[tuple[bool, str], ...] = ()
    """The same words as (changed, piece) pairs; empty when the whole line changed."""


def diff_files(diffs: Iterable[FileDiff]) -> list[DiffLine]:
    """Diff every file that changed, one after the other, with secrets masked."""
    lines: list[DiffLine] = []
    for whole in diffs:
        if whole.before == whole.after:
            continue
        diff = mask_diff(whole)
        lines.append(DiffLine("file", _headline(diff)))
        lines += _file_lines(diff)
        if len(lines) > MAX_LINES:
            more = f"only the first {text.number(MAX_LINES)} lines are shown"
            return [*lines[:MAX_LINES], DiffLine("note", more)]
    return lines


def count_lines(lines: Sequence[DiffLine]) -> tuple[int, int, int]:
    """Count the files, the added and the removed lines."""
    kinds = [line.kind for line in lines]
    return kinds.count("file"), kinds.count("new"), kinds.count("gone")


def _headline(diff: FileDiff) -> str:
    name = text.file_name(diff.path)
    if diff.before is None:
        return f"{name}  (new)"
    return f"{name}  (removed)" if diff.after is None else name


def _file_lines(diff: FileDiff) -> list[DiffLine]:
    before, after = split_lines(diff.before), split_lines(diff.after)
    head = _common_prefix(before, after)
    tail = _common_prefix(before[head:][::-1], after[head:][::-1])
    first = max(0, head - CONTEXT)
    old = before[first : len(before) - max(0, tail - CONTEXT)]
    new = after[first : len(after) - max(0, tail - CONTEXT)]
    lines: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in map(partial(_at_whole_blocks, old, new), matcher.get_grouped_opcodes(CONTEXT)):
        start_old, start_new = group[0][1] + first + 1, group[0][3] + first + 1
        moved = f" → {start_new}" if start_new != start_old else ""
        if start_old > 1 or moved:  # the first line of a file or of a row needs no number
            lines.append(DiffLine("hunk", f"line {start_old}{moved}"))
        for kind, old_start, old_end, new_start, new_end in group:
            before_lines = old[old_start:old_end]
            if kind == "equal":
                lines += [DiffLine("same", _visible(line)) for line in before_lines]
            else:
                lines += _pair_changed_lines(before_lines, new[new_start:new_end])
    if _ends_with_newline(diff.before) != _ends_with_newline(diff.after) and None not in (
        diff.before,
        diff.after,
    ):
        word = "without" if _ends_with_newline(diff.before) else "with"
        lines.append(DiffLine("note", f"the file now ends {word} a newline"))
    return lines


Opcode = tuple[str, int, int, int, int]


def _at_whole_blocks(
    old: Sequence[str], new: Sequence[str], group: Sequence[Opcode]
) -> list[Opcode]:
    """Begin removed or added lines where they are indented least, where there is a choice.

    A JSON record without its own last line but with that of the one before is a change as well,
    but reads as if two records changed.
    """
    (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
    codes = [
        ("equal", old_start, old_start, new_start, new_start),
        *group,
        ("equal", old_end, old_end, new_end, new_end),
    ]
    for at in range(1, len(codes) - 1):
        kind, old_start, old_end, new_start, new_end = codes[at]
        if kind not in ("delete", "insert"):
            continue
        is_gone, before, after = kind == "delete", codes[at - 1], codes[at + 1]
        lines, first, end = (old, old_start, old_end) if is_gone else (new, new_start, new_end)
        shifts = [0]
        for step, room in ((-1, before), (1, after)):
            for shift in range(0, step * (room[2] - room[1]), step):
                line = shift - (step < 0)
                if lines[first + line] != lines[end + line]:
                    break
                shifts.append(shift + step)
        by = min(shifts, key=lambda shift: (_indentation(lines[first + shift]), -shift))
        codes[at - 1] = (before[0], before[1], before[2] + by, before[3], before[4] + by)
        codes[at] = (kind, old_start + by, old_end + by, new_start + by, new_end + by)
        codes[at + 1] = (after[0], after[1] + by, after[2], after[3] + by, after[4])
    return codes


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _pair_changed_lines(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Removed and added lines; with equally many of both, changed pieces are marked in pairs."""
    pairs: list[tuple[Pieces, Pieces]] = [((), ())] * max(len(old), len(new))
    if len(old) == len(new):
        pairs = [_pieces(_visible(a), _visible(b)) for a, b in zip(old, new, strict=True)]
    return [
        *(DiffLine("gone", _visible(line), pairs[at][0]) for at, line in enumerate(old)),
        *(DiffLine("new", _visible(line), pairs[at][1]) for at, line in enumerate(new)),
    ]


Pieces = tuple[tuple[bool, str], ...]


def _pieces(old: str, new: str) -> tuple[Pieces, Pieces]:
    """Split both lines into common and changed pieces; () when they have too little in common."""
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    if head + tail < 4 or (head + tail) * 4 < min(len(old), len(new)):
        return (), ()

    def cut(line: str) -> Pieces:
        end = len(line) - tail
        parts = ((False, line[:head]), (True, line[head:end]), (False, line[end:]))
        return tuple(part for part in parts if part[1])

    return cut(old), cut(new)


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the elements that both have in common at their beginning."""
    count = 0
    for own, others in zip(one, other, strict=False):
        if own != others:
            break
        count += 1
    return count


def _ends_with_newline(content: str | None) -> bool:
    return content is not None and content.endswith("\n")


def _visible(line: str) -> str:
    cut = line[:LONGEST_LINE] + ("…" if len(line) > LONGEST_LINE else "")
    return text.visible(cut.removesuffix("\r"))


BOTH_SIDES = frozenset({"gone", "new"})
"""What `draw_text_diff` shows unless told: the words of the former text and those of the new."""


def shown_pieces(
    before: str, after: str, palette: Palette, shown: frozenset[str]
) -> list[tuple[Style, str]]:
    """Return the word diff of two texts as styled pieces.

    Removed words are struck out unless no added ones are shown. The space that `diff_words` puts
    between removed and added is left out unless both are shown.
    """
    alone = "new" not in shown and palette.removed.color is not None
    removed = palette.removed + Style(strike=False) if alone else palette.removed
    styles = {"same": palette.text, "gone": removed, "new": palette.added}
    pieces = diff_words(before, after)

    def is_joint(at: int) -> bool:
        around = [kind for kind, _ in pieces[max(0, at - 1) : at + 2]]
        return pieces[at][1] == " " and around == ["gone", "same", "new"]

    return [
        (styles[kind], piece)
        for at, (kind, piece) in enumerate(pieces)
        if (kind == "same" or kind in shown) and (shown >= BOTH_SIDES or not is_joint(at))
    ]


def wrap_pieces(pieces: Sequence[tuple[Style, str]], width: int) -> list[list[Segment]]:
    """Wrap styled pieces at words to lines of at most `width` cells; an indent is kept."""
    lines: list[list[Segment]] = [[]]
    used = 0
    for style, piece in pieces:
        if "\n" not in piece and used + text.width(piece) <= width:
            lines[-1].append(Segment(piece, style))
            used += text.width(piece)
            continue
        for word in re.findall(r"\n|[^\S\n]+|\S+", piece):
            if word == "\n":
                lines.append([])
                used = 0
                continue
            if word.isspace() and used + text.width(word) > width:
                if used:  # the next word begins a line
                    used = width
                    continue
                word = word[: width // 2]
            for part in [word] if word.isspace() else text.wrap(word, width):
                if used and used + text.width(part) > width:
                    lines.append([])
                    used = 0
                lines[-1].append(Segment(part, style))
                used += text.width(part)
    return lines
