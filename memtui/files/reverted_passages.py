"""Find which changed passages of a text another program has reverted, line by line.

An agent that had read the text before memtui changed it writes back what it read, mostly with a
line or two of its own. So comparing whole texts says little; each changed passage is searched for
alone in the current text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memtui.files.frontmatter import split

MOST_LINES = 2000
"""Differing lines; with more, texts are only compared whole, for this runs often."""
SIMILAR = 0.6
"""Similarity from which a passage counts as ours, edited (difflib's bound for a close match)."""

MOST_PAIRS = 20_000
"""Pairs of lines that are compared for similarity to see whether anything is left of a text."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PassageComparison:
    """What became of the passages that were changed."""

    is_reverted: bool
    """At least one is again as before the change."""
    is_complete: bool
    """All are as changed."""
    reapplied: str
    """The current text with the reverted passages changed again."""


def compare_passages(before: str, after: str, now: str) -> PassageComparison:
    """Search the current text for the passages that differ between `before` and `after`."""
    texts = [text.split("\n") for text in (before, after, now)]
    head, tail = _shared_ends(texts)
    old, ours, current = (lines[head : len(lines) - tail] for lines in texts)
    if max(map(len, (old, ours, current))) > MOST_LINES:
        return PassageComparison(is_reverted=False, is_complete=now == after, reapplied=now)
    comparison = _Comparison(old, ours, current)
    reverted: list[tuple[Span, list[str]]] = []
    is_complete = True
    for old_span, our_span in comparison.passages():
        if comparison.is_changed(old_span, our_span):
            continue
        is_complete = False
        place = comparison.find_reverted(old_span, our_span)
        if place is not None:
            reverted.append((place, ours[slice(*our_span)]))
    for (start, end), lines in reversed(reverted):  # they come in the order of their places
        current[start:end] = lines
    reapplied = [*texts[2][:head], *current, *texts[2][len(texts[2]) - tail :]]
    return PassageComparison(bool(reverted), is_complete, "\n".join(reapplied))


def is_all_gone(ours: str, now: str) -> bool:
    """Whether the current text holds no line of ours, nor a similar one.

    Headings and frontmatter do not count: any two notes of a day begin with the same ones.
    """
    lines, current = _content_lines(ours), set(_content_lines(now))
    if any(line in current for line in lines):
        return False
    if len(lines) * len(current) > MOST_PAIRS:
        return True
    return not any(_is_similar(line, own) for line in current for own in lines)


def _content_lines(text: str) -> list[str]:
    lines = [line.strip() for line in split(text).body.split("\n") if line.strip()]
    return [line for line in lines if not line.startswith("#")] or lines


def append_text(now: str, ours: str) -> str:
    """Return both texts, ours below without its frontmatter, since the file's own counts."""
    if not now.strip():
        return ours
    newline = "\r\n" if "\r\n" in now else "\n"
    body = split(ours).body.strip("\r\n").replace("\r\n", "\n").replace("\n", newline)
    return f"{now.rstrip()}{newline}{newline}{body}{newline}"


def _shared_ends(texts: Sequence[list[str]]) -> tuple[int, int]:
    """Count the lines that all texts begin with and end with."""
    shortest = min(map(len, texts))
    head = 0
    while head < shortest and len({lines[head] for lines in texts}) == 1:
        head += 1
    tail = 0
    while tail < shortest - head and len({lines[-1 - tail] for lines in texts}) == 1:
        tail += 1
    return head, tail


class _Comparison:
    """The lines of the three texts, and which of the old and of ours the current text has."""

    def __init__(self, old: list[str], ours: list[str], current: list[str]) -> None:
        self._old, self._ours, self._current = old, ours, current
        self._old_places = _matching_lines(old, current)
        self._ours_places = _matching_lines(ours, current)

    def passages(self) -> Iterator[tuple[Span, Span]]:
        """Yield each change as spans of the old text and of ours; not changes of blank lines."""
        matcher = SequenceMatcher(None, self._old, self._ours, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal" and any(map(str.strip, [*self._old[i:j], *self._ours[k:m]])):
                yield (i, j), (k, m)

    def is_changed(self, old: Span, ours: Span) -> bool:
        """Whether the passage is still as memtui made it."""
        if _filled_lines(self._ours, ours):
            return all(i in self._ours_places for i in _filled_lines(self._ours, ours))
        return not any(self._has_returned(i) for i in _filled_lines(self._old, old))

    def find_reverted(self, old: Span, ours: Span) -> Span | None:
        """Return the span of the passage as it was before the change; None if it is not there."""
        if _filled_lines(self._old, old):
            return self._find_old(old)
        if any(self._ours[i] in self._current for i in _filled_lines(self._ours, ours)):
            return None
        return self._find_gap(old[0], self._ours[slice(*ours)])

    def _has_returned(self, i: int) -> bool:
        line = self._old[i]
        return i in self._old_places and self._current.count(line) > self._ours.count(line)

    def _find_old(self, old: Span) -> Span | None:
        filled = _filled_lines(self._old, old)
        if not all(self._has_returned(i) or self._old[i] in self._ours for i in filled):
            return None
        places = [self._old_places.get(i) for i in filled]
        if None in places or not any(self._has_returned(i) for i in range(*old)):
            return None
        first, last = filled[0], filled[-1]
        start, end = self._old_places[first], self._old_places[last] + 1
        if end - start != last + 1 - first:
            return None
        # Blank lines at the edges of the passage belong to it where they are still beside it.
        for i in range(first - 1, old[0] - 1, -1):
            start -= self._old_places.get(i) == start - 1
        for i in range(last + 1, old[1]):
            end += self._old_places.get(i) == end
        return start, end

    def _find_gap(self, at: int, lines: list[str]) -> Span | None:
        """Return where inserted lines are missing, beside a neighbour and with nothing similar."""
        above = self._old_places.get(at - 1) if at else -1
        below = self._old_places.get(at) if at < len(self._old) else len(self._current)
        if above is None and below is None:
            return None
        start = above + 1 if above is not None else below or 0
        end = below if below is not None else start
        between = [line for line in self._current[start:end] if line.strip()]
        if any(_is_similar(line, own) for line in between for own in lines if own.strip()):
            return None
        return start, start


def _matching_lines(lines: list[str], other: list[str]) -> dict[int, int]:
    """Map the lines that both texts have, from their place in one to that in the other."""
    matcher = SequenceMatcher(None, lines, other, autojunk=False)
    found = matcher.get_matching_blocks()
    return {block.a + i: block.b + i for block in found for i in range(block.size)}


def _filled_lines(lines: list[str], span: Span) -> list[int]:
    """Return the places of the lines of a span that are not blank."""
    return [i for i in range(*span) if lines[i].strip()]


def _is_similar(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= SIMILAR and matcher.ratio() >= SIMILAR
