"""Two versions of a Markdown text as one: rendered, with the words that differ marked.

Blocks and lines of both are paired, and the words that differ stand in one source between marks
(private use characters, which visible text never has) before it is parsed. A pair that cannot be
read so, since its markup differs too, is drawn as it is written. Imported when first needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from markdown_it.tree import SyntaxTreeNode
from rich.segment import Segment
from rich.style import Style

from memtui.insight.comparison import diff_words
from memtui.tui.appearance import Palette
from memtui.tui.diff_lines import (
    change_styles,
    shown_pieces,
    without_joints,
    wrap_pieces,
)
from memtui.tui.markdown_lines import PARSER, Lines, MarkdownRenderer, Pieces, is_literal
from memtui.tui.text_blocks import Block, link_definitions, split_blocks

MAX_PAIRED = 2_000
"""Pairs of blocks or lines whose similarity is computed; where there are more, none are paired."""
SIMILAR_FROM = 0.4
"""Share of common words from which two blocks or lines are versions of each other."""
_MARKS = {"gone": ("\ue000", "\ue001"), "new": ("\ue002", "\ue003")}
_ANY_MARK = re.compile("([\ue000-\ue003])")
_WITHOUT = {
    "gone": re.compile("\ue000[^\ue000\ue001]*\ue001|[\ue002\ue003]"),
    "new": re.compile("\ue002[^\ue002\ue003]*\ue003|[\ue000\ue001]"),
}
_PREFIX = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|#{1,6}[ \t]+|\|[ \t]*)?(?:\[[ xX]\] )?"
)
_STRUCTURE = re.compile(r"[ \t>]*+(?:`{3}.*|~{3}.*|[\s|:=*_+-]*+(?<=[\s|:=*_+-]))$")
"""A line that is only markup: a fence, a rule, the line below a heading or a table's head."""
_WORD = re.compile(r"[^\s\\*_`\[\]()|~<>!#]+")
_CODE_WORD = re.compile(r"\S+")

Merged = list[list[tuple[str, str]]]
"""Lines of (`same` | `gone` | `new`, piece) pairs."""


class _DifferentMarkup(Exception):
    """The two texts cannot be read as one."""


def draw_markdown_diff(
    before: str, after: str, palette: Palette, width: int, shown: frozenset[str]
) -> Lines:
    """Draw two versions of a text that are visible already; `shown` as in `draw_text_diff`."""
    renderer = _ChangeRenderer(before, after, palette, width, shown)
    old, new = split_blocks(before), split_blocks(after)
    lines: Lines = []
    for at_old, at_new in _aligned([block.text for block in old], [block.text for block in new]):
        pair = (old[at_old] if at_old >= 0 else None, new[at_new] if at_new >= 0 else None)
        drawn = renderer.change(*pair)
        blanks = any(block.blanks for block in pair if block)
        if drawn:
            lines += [[], *drawn] if blanks and lines else drawn
    return lines


class _ChangeRenderer(MarkdownRenderer):
    """Draws marked words in the styles of a diff."""

    def __init__(
        self, before: str, after: str, palette: Palette, width: int, shown: frozenset[str]
    ) -> None:
        definitions = {**link_definitions(before), **link_definitions(after)}
        super().__init__(palette, width, definitions=definitions)
        styles = change_styles(palette, shown)
        self._inks = {left: styles[kind] for kind, (left, _) in _MARKS.items()}
        self._shown = shown

    def change(self, old: Block | None, new: Block | None) -> Lines:
        """Draw a block and what became of it; either may be missing."""
        if old is not None and new is not None and old.text == new.text:
            return self.lines(Block(new.text, 0, new.fence, new.is_front_matter))
        shown = self._shown
        then, now = old.text if old else None, new.text if new else None
        if (now is None and "gone" not in shown) or (then is None and "new" not in shown):
            return []
        is_part = any(b.fence or b.is_front_matter or b.is_cut for b in (old, new) if b)
        try:
            if is_part:
                raise _DifferentMarkup
            return self._parsed(then, now, shown | {"same"})
        except _DifferentMarkup:
            pieces = shown_pieces(then or "", now or "", self._palette, shown)
            return wrap_pieces(pieces, self._width)

    def _parsed(self, then: str | None, now: str | None, kinds: frozenset[str]) -> Lines:
        merged = _merged(then, now)
        is_code = (now or then or "").lstrip().startswith(("```", "~~~"))
        source = _marked_source(merged, kinds, is_code)
        if not _ANY_MARK.search(source) and not self._is_one_side(source, then, now):
            raise _DifferentMarkup
        words = _words_of(source)
        for kind, whole in (("gone", now), ("new", then)):
            other = "new" if kind == "gone" else "gone"
            if whole is None or other not in kinds:
                continue
            if _WITHOUT[kind].sub("", words) != _words_of(whole):
                raise _DifferentMarkup
        root = SyntaxTreeNode(PARSER.parse(source, {"references": dict(self._references)}))
        return self._stack(root.children, self._width)

    def _is_one_side(self, source: str, then: str | None, now: str | None) -> bool:
        """Whether a source without marks hides no change: only the other text has its words."""
        if then is None or now is None:
            return False
        own = now if "new" in self._shown else then
        return source.split() == own.split() and (
            len(self._shown) < 2 or then.split() == now.split()
        )

    def _inline(self, nodes: Sequence[SyntaxTreeNode], style: Style) -> Pieces:
        return list(self._inked(super()._inline(nodes, style)))

    def _code(self, source: str, language: str, width: int) -> Lines:
        if not _ANY_MARK.search(source):
            return super()._code(source, language, width)
        bar = Segment("│ ", self._palette.rule)
        plain = self._palette.code("plain")
        lines = (list(self._inked([(line, plain)])) for line in source.strip("\n").split("\n"))
        return [[bar, *row] for line in lines for row in self._wrapped(line, width - 2) or [[]]]

    def _inked(self, pieces: Pieces) -> Iterator[tuple[str, Style]]:
        ink: Style | None = None
        for words, style in pieces:
            for piece in _ANY_MARK.split(words):
                if _ANY_MARK.match(piece):
                    ink = self._inks.get(piece)
                elif piece:
                    yield piece, style + ink if ink else style


def _merged(then: str | None, now: str | None) -> Merged:
    """The lines of both versions of a block, each with the pieces that differ."""
    if then is None or now is None:
        kind = "new" if then is None else "gone"
        return [[(kind, line)] for line in (now or then or "").split("\n")]
    old, new = then.split("\n"), now.split("\n")
    if not any(_STRUCTURE.match(line) or _prefix(line).strip() for line in (*old, *new)):
        return _split_lines(diff_words(then, now))
    merged: Merged = []
    for at_old, at_new in _aligned(old, new):
        line = old[at_old] if at_old >= 0 else None
        other = new[at_new] if at_new >= 0 else None
        if line == other and other is not None:
            merged.append([("same", other)])
            continue
        if any(_STRUCTURE.match(one) for one in (line, other) if one is not None):
            raise _DifferentMarkup
        if line is not None and other is not None:
            prefix = _prefix(other)
            if prefix == _prefix(line):
                changes = diff_words(line[len(prefix) :], other[len(prefix) :])
                merged.append([("same", prefix), *changes])
                continue
        versions = (("gone", line), ("new", other))
        merged += [[(kind, text)] for kind, text in versions if text is not None]
    return merged


def _prefix(line: str) -> str:
    """The signs that a line begins with: of a heading, a list, a quote, a row."""
    found = _PREFIX.match(line)
    return found[0] if found else ""


def _split_lines(pieces: Sequence[tuple[str, str]]) -> Merged:
    """A paragraph's pieces as lines; it breaks where the new text does."""
    lines: Merged = [[]]
    for kind, piece in pieces:
        first, *rest = (piece.replace("\n", " ") if kind == "gone" else piece).split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, line)] for line in rest]
    return lines


def _marked_source(merged: Merged, kinds: frozenset[str], is_code: bool) -> str:
    """The lines that are shown, with marks around each word that differs."""
    lines = []
    for pieces in merged:
        shown = [piece for piece in without_joints(pieces, kinds) if piece[0] in kinds]
        if not shown or (len(pieces) > len(shown) and not any(p.strip() for _, p in shown)):
            continue
        line = ""
        for kind, piece in shown:
            line += piece if kind == "same" else _marked(piece, kind, not line, is_code)
        lines.append(line)
    return "\n".join(lines)


def _marked(piece: str, kind: str, is_first: bool, is_code: bool) -> str:
    left, right = _MARKS[kind]
    if is_first and _STRUCTURE.match(piece):
        return piece
    start = len(_prefix(piece)) if is_first and not is_code else 0
    word = _CODE_WORD if is_code else _WORD
    marked = word.sub(lambda found: f"{left}{found[0]}{right}", piece[start:])
    if marked == piece[start:] and marked.strip():
        raise _DifferentMarkup
    return piece[:start] + marked


def _words_of(source: str) -> str:
    """All words that a text has when it is parsed, without white space."""
    found: list[str] = []
    for node in SyntaxTreeNode(PARSER.parse(source)).walk():
        if node.type in ("em", "strong") and is_literal(node):
            found.append(node.markup)
        if node.type in ("link", "image"):
            found.append(str(node.attrs.get("href") or node.attrs.get("src") or ""))
        if node.type != "inline" and not node.children:
            found += [node.content, node.info if node.type == "fence" else ""]
    return "".join("".join(found).split())


def _aligned(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of numbers, in order: equal and similar elements together, -1 where there is none."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(range(old_start, old_end), range(new_start, new_end), strict=True)
            continue
        for at_old, at_new in _pair_similar(old[old_start:old_end], new[new_start:new_end]):
            yield (
                at_old + old_start if at_old >= 0 else -1,
                at_new + new_start if at_new >= 0 else -1,
            )


def _pair_similar(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair elements in order so that the pairs have as many words in common as possible."""
    if len(old) == len(new) == 1:
        return [(0, 0)]
    if len(old) * len(new) > MAX_PAIRED:
        return [*((at, -1) for at in range(len(old))), *((-1, at) for at in range(len(new)))]
    left, right = ([Counter(_WORD.findall(one)) for one in texts] for texts in (old, new))
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    similarity = [[_similarity(one, other) for other in right] for one in left]
    for at_old in reversed(range(len(old))):
        for at_new in reversed(range(len(new))):
            share, rest = similarity[at_old][at_new], best[at_old + 1][at_new + 1]
            paired = share + rest if share >= SIMILAR_FROM else 0.0
            best[at_old][at_new] = max(paired, best[at_old + 1][at_new], best[at_old][at_new + 1])
    pairs: list[tuple[int, int]] = []
    at_old = at_new = 0
    while at_old < len(old) or at_new < len(new):
        most = best[at_old][at_new]
        if at_old < len(old) and (at_new == len(new) or most == best[at_old + 1][at_new]):
            pairs.append((at_old, -1))
            at_old += 1
        elif at_new < len(new) and (at_old == len(old) or most == best[at_old][at_new + 1]):
            pairs.append((-1, at_new))
            at_new += 1
        else:
            pairs.append((at_old, at_new))
            at_old, at_new = at_old + 1, at_new + 1
    return pairs


def _similarity(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
