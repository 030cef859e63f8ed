"""What became of a change to a text, seen line by line, in a version that another program wrote.

An agent that had read the text before memtui changed it writes back what it read, mostly with a
line or two of its own. So the whole texts say little; each changed passage is looked for alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memtui.files.frontmatter import split

MOST_LINES = 2000
"""Lines that differ at all; longer texts are only compared whole, for they are looked at often."""
ALIKE = 0.6
"""Similarity from which a passage in the place of ours is ours, worked on (difflib's own bound
for "a close match")."""

MOST_PAIRS = 20_000
"""Pairs of lines that are compared for similarity to see whether anything is left of a text."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LineFate:
    """What became of the passages that were changed."""

    taken_back: bool
    """At least one says again what it said before."""
    all_there: bool
    again: str
    """The text with those made again that were taken back."""


def fate_of(before: str, after: str, now: str) -> LineFate:
    """Look for the change from `before` to `after` in `now`."""
    texts = [text.split("\n") for text in (before, after, now)]
    head, tail = _shared(texts)
    old, ours, there = (lines[head : len(lines) - tail] for lines in texts)
    if max(map(len, (old, ours, there))) > MOST_LINES:
        return LineFate(taken_back=False, all_there=now == after, again=now)
    look = _Look(old, ours, there)
    back: list[tuple[Span, list[str]]] = []
    held = True
    for old_span, our_span in look.passages():
        if look.stands(old_span, our_span):
            continue
        held = False
        place = look.place_of_the_old(old_span, our_span)
        if place is not None:
            back.append((place, ours[slice(*our_span)]))
    for (start, end), lines in reversed(back):  # they come in the order of their places
        there[start:end] = lines
    again = [*texts[2][:head], *there, *texts[2][len(texts[2]) - tail :]]
    return LineFate(bool(back), held, "\n".join(again))


def nothing_left(ours: str, now: str) -> bool:
    """Whether a text holds no line of ours, nor one like it.

    Headings and frontmatter say nothing: any two notes of a day begin with the same ones.
    """
    lines, there = _own_lines(ours), set(_own_lines(now))
    if any(line in there for line in lines):
        return False
    if len(lines) * len(there) > MOST_PAIRS:
        return True
    return not any(_alike(line, own) for line in there for own in lines)


def _own_lines(text: str) -> list[str]:
    lines = [line.strip() for line in split(text).body.split("\n") if line.strip()]
    return [line for line in lines if not line.startswith("#")] or lines


def beneath(now: str, ours: str) -> str:
    """Both texts, ours below; its frontmatter is left out, since the file's own has the word."""
    if not now.strip():
        return ours
    newline = "\r\n" if "\r\n" in now else "\n"
    body = split(ours).body.strip("\r\n").replace("\r\n", "\n").replace("\n", newline)
    return f"{now.rstrip()}{newline}{newline}{body}{newline}"


def _shared(texts: Sequence[list[str]]) -> tuple[int, int]:
    """How many lines all texts begin and end with."""
    shortest = min(map(len, texts))
    head = 0
    while head < shortest and len({lines[head] for lines in texts}) == 1:
        head += 1
    tail = 0
    while tail < shortest - head and len({lines[-1 - tail] for lines in texts}) == 1:
        tail += 1
    return head, tail


class _Look:
    """The lines of the three texts, and which of the old and of ours are still there."""

    def __init__(self, old: list[str], ours: list[str], there: list[str]) -> None:
        self._old, self._ours, self._there = old, ours, there
        self._old_there = _kept(old, there)
        self._ours_there = _kept(ours, there)

    def passages(self) -> Iterator[tuple[Span, Span]]:
        """What was changed, in lines of the old text and of ours; not where only blanks moved."""
        matcher = SequenceMatcher(None, self._old, self._ours, autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal" and any(map(str.strip, [*self._old[i:j], *self._ours[k:m]])):
                yield (i, j), (k, m)

    def stands(self, old: Span, ours: Span) -> bool:
        """Whether the passage is as memtui made it."""
        if _words(self._ours, ours):
            return all(i in self._ours_there for i in _words(self._ours, ours))
        return not any(self._is_back(i) for i in _words(self._old, old))

    def place_of_the_old(self, old: Span, ours: Span) -> Span | None:
        """Where the passage stands as it was before the change; None when it does not."""
        if _words(self._old, old):
            return self._whole(old)
        if any(self._ours[i] in self._there for i in _words(self._ours, ours)):
            return None
        return self._gap(old[0], self._ours[slice(*ours)])

    def _is_back(self, i: int) -> bool:
        line = self._old[i]
        return i in self._old_there and self._there.count(line) > self._ours.count(line)

    def _whole(self, old: Span) -> Span | None:
        if not all(self._is_back(i) or self._old[i] in self._ours for i in _words(self._old, old)):
            return None
        places = [self._old_there.get(i) for i in _words(self._old, old)]
        if None in places or not any(self._is_back(i) for i in range(*old)):
            return None
        first, last = _words(self._old, old)[0], _words(self._old, old)[-1]
        start, end = self._old_there[first], self._old_there[last] + 1
        if end - start != last + 1 - first:
            return None
        # Blank lines at the edges of the passage belong to it where they are still beside it.
        for i in range(first - 1, old[0] - 1, -1):
            start -= self._old_there.get(i) == start - 1
        for i in range(last + 1, old[1]):
            end += self._old_there.get(i) == end
        return start, end

    def _gap(self, at: int, lines: list[str]) -> Span | None:
        """Where lines were put in, when a neighbour is there and nothing like them between."""
        above = self._old_there.get(at - 1) if at else -1
        below = self._old_there.get(at) if at < len(self._old) else len(self._there)
        if above is None and below is None:
            return None
        start = above + 1 if above is not None else below or 0
        end = below if below is not None else start
        between = [line for line in self._there[start:end] if line.strip()]
        if any(_alike(line, own) for line in between for own in lines if own.strip()):
            return None
        return start, start


def _kept(lines: list[str], there: list[str]) -> dict[int, int]:
    """Where each line stands in the other text, for those that are in it."""
    matcher = SequenceMatcher(None, lines, there, autojunk=False)
    found = matcher.get_matching_blocks()
    return {block.a + i: block.b + i for block in found for i in range(block.size)}


def _words(lines: list[str], span: Span) -> list[int]:
    """The lines of a span that are not blank."""
    return [i for i in range(*span) if lines[i].strip()]


def _alike(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE
