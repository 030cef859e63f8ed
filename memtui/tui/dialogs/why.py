"""Score dialog: the parts of a result's score, beside those of the next result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment

from memtui import text
from memtui.dataclass import dataclass
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import TextDialog
from memtui.tui.widgets.statistics import bar

MIN_VISIBLE = 0.0005
"""Smaller values are shown as zero: three decimal places."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result with the parts of its score."""

    headline: str
    place: int
    """Rank in the results, from 1."""
    parts: Mapping[str, float]
    """Name -> value; their sum is the score."""
    near_words: tuple[tuple[str, float], ...] = ()
    """The words that are nearest to the query in meaning, with their cosines."""

    @property
    def score(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """One part of the score of two results."""

    name: str
    value: float
    other: float

    @property
    def difference(self) -> float:
        return self.value - self.other


def compare_parts(hit: Hit, after: Hit | None) -> list[ComparedPart]:
    """The parts of both scores, in the order of the first."""
    theirs: Mapping[str, float] = after.parts if after is not None else {}
    return [
        ComparedPart(name, hit.parts.get(name, 0.0), theirs.get(name, 0.0))
        for name in _in_order(tuple(hit.parts), tuple(theirs))
    ]


def _in_order(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Merge two lists of names; where their orders differ, the first wins."""
    names = list(one)
    for at, name in enumerate(other):
        if name not in names:
            before = [names.index(known) for known in other[:at] if known in names]
            names.insert(max(before, default=-1) + 1, name)
    return names


def explain_rank(hit: Hit, after: Hit | None) -> str:
    """One sentence on why a result ranks above the next."""
    if after is None:
        return "This is the last result."
    ahead = hit.score - after.score
    if ahead < MIN_VISIBLE:
        return "Same score as the next result; the newer one comes first."
    weighed = sorted(compare_parts(hit, after), key=lambda part: -abs(part.difference))
    for_it = [part.name for part in weighed if part.difference >= MIN_VISIBLE]
    against = [part.name for part in weighed if part.difference <= -MIN_VISIBLE]
    words = f"Ranks {ahead:.3f} above the next: more for {_join_names(for_it[:2])}"
    return f"{words}, less for {_join_names(against[:2])}." if against else f"{words}."


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(names) or "several small parts"


def full_bar(weighed: Sequence[ComparedPart]) -> float:
    """The value of a full bar; never 0."""
    return max((abs(v) for part in weighed for v in (part.value, part.other)), default=0.0) or 1.0


NAME_CELLS = 12
"""Cells of the longest name, `exact title`, and one more."""
VALUE_CELLS = 8
"""Cells of ` -11.234`."""
BAR_MIN, BAR_MAX = 3, 24
BESIDE_FROM = NAME_CELLS + 3 * VALUE_CELLS + 2 * 8
"""Width from which both results fit side by side with readable bars."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Draws the dialog's lines."""

    palette: Palette
    width: int

    def lines(self, hit: Hit, after: Hit | None, total: int) -> list[list[Segment]]:
        weighed = compare_parts(hit, after)
        lines = wrapped(explain_rank(hit, after), self.palette.text, self.width - 2)
        if hit.near_words:
            near = f"nearest words: {text.scored_words(hit.near_words)}"
            lines += wrapped(near, self.palette.dim, self.width - 2)
        lines += [[], self._draw_heading("this", hit, total)]
        if after is None:
            return [
                *lines,
                [],
                *self._draw_one_score(hit.score, [(p.name, p.value) for p in weighed]),
            ]
        if self.width >= BESIDE_FROM:
            lines += [self._draw_heading("next", after, total), []]
            return lines + self._draw_both_scores(hit, after, weighed)
        lines += self._draw_one_score(hit.score, [(part.name, part.value) for part in weighed])
        lines += [[], self._draw_heading("next", after, total)]
        lines += self._draw_one_score(after.score, [(part.name, part.other) for part in weighed])
        lines += [[], [Segment(" difference", self.palette.heading)]]
        rows = [(part.name, part.difference) for part in weighed]
        return lines + self._draw_one_score(hit.score - after.score, rows, signed=True)

    def _draw_heading(self, which: str, hit: Hit, total: int) -> list[Segment]:
        place = f"{which}, {text.number(hit.place)} of {text.number(total)}: "
        room = max(1, self.width - 2 - text.width(place))
        return [
            Segment(f" {place}", self.palette.dim),
            Segment(text.cut_line(hit.headline, room), self.palette.heading),
        ]

    def _draw_both_scores(
        self, hit: Hit, after: Hit, weighed: Sequence[ComparedPart]
    ) -> list[list[Segment]]:
        whole = full_bar(weighed)
        cells = max(BAR_MIN, min(BAR_MAX, (self.width - NAME_CELLS - 3 * VALUE_CELLS - 4) // 2))
        column = cells + VALUE_CELLS
        heads = f"{'this':>{column}}{'next':>{column + 1}}{'more':>{VALUE_CELLS}}"
        lines = [[Segment(" " * (NAME_CELLS + 1)), Segment(heads, self.palette.dim)]]
        lines += [
            [
                self._name(part.name),
                *self._bar(part.value, whole, cells),
                Segment(" "),
                *self._bar(part.other, whole, cells),
                self._difference(part.difference),
            ]
            for part in weighed
        ]
        lines.append(
            [
                self._name("score"),
                Segment(f"{hit.score:>{column}.3f}", self.palette.heading),
                Segment(f"{after.score:>{column + 1}.3f}", self.palette.heading),
                self._difference(hit.score - after.score),
            ]
        )
        return lines

    def _draw_one_score(
        self, score: float, rows: Sequence[tuple[str, float]], *, signed: bool = False
    ) -> list[list[Segment]]:
        whole = max((abs(value) for _, value in rows), default=0.0) or 1.0
        cells = max(BAR_MIN, min(BAR_MAX, self.width - NAME_CELLS - VALUE_CELLS - 2))
        lines = [
            [self._name(name), *self._bar(value, whole, cells, signed=signed)]
            for name, value in rows
        ]
        sign = "+" if signed else ""
        total = f"{score:{sign}.3f}".rjust(cells + VALUE_CELLS)
        return [*lines, [self._name("score"), Segment(total, self.palette.heading)]]

    def _name(self, name: str) -> Segment:
        return Segment(f" {text.pad(text.one_line(name), NAME_CELLS)}", self.palette.dim)

    def _bar(
        self, value: float, whole: float, cells: int, *, signed: bool = False
    ) -> list[Segment]:
        """A bar and its value; negative values are also shown by their sign."""
        style = self.palette.warning if value < 0 else self.palette.bar
        words = f"{value:{'+' if signed else ''}.3f}" if abs(value) >= MIN_VISIBLE else "·"
        share = abs(value) / whole if abs(value) >= MIN_VISIBLE else 0.0
        return [
            Segment(bar(share, cells), style),
            Segment(words.rjust(VALUE_CELLS), self.palette.text),
        ]

    def _difference(self, value: float) -> Segment:
        if abs(value) < MIN_VISIBLE:
            return Segment("=".rjust(VALUE_CELLS), self.palette.faint)
        style = self.palette.warning if value < 0 else self.palette.accent
        return Segment(f"{value:+.3f}".rjust(VALUE_CELLS), style)


class WhyScreen(TextDialog[None]):
    """Why a result ranks above the next one."""

    box_classes = "tall"
    heading = "Why this result"
    BINDINGS = [("escape,w,q,enter", "dismiss")]

    def __init__(self, hit: Hit, after: Hit | None, total: int) -> None:
        """`after`: the next result, None for the last; `total`: number of all results."""
        super().__init__()
        self._shown = (hit, after, total)

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        return _Page(palette, width).lines(*self._shown)
