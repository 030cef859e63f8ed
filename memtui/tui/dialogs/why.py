"""Score dialog: the parts of a result's score, beside those of the next result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from rich.segment import Segment

from memtui import text
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import TextDialog
from memtui.tui.widgets.statistics import bar

MIN_VISIBLE = 0.0005
"""Smaller values are shown as zero: three decimal places."""


class Hit(Struct, frozen=True):
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


class ComparedPart(Struct, frozen=True):
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


CONTEXT_PARTS = (
    ("session", "the words in memories of its session or entity"),
    ("window", "in those around it"),
    ("neighbours", "in the one before or after"),
)
"""What the parts of the context count; the other names say it themselves."""
NAME_CELLS, VALUE_CELLS = 12, 7
"""Cells of the longest name, `exact title`, and one more; of ` -1.234`."""
BAR_FROM, BAR_MAX = 6, 24
"""Cells from which there is a bar, and its longest."""


def _value(value: float, *, signed: bool = False) -> str:
    nothing = "=" if signed else "·"
    return f"{value:{'+' if signed else ''}.3f}" if abs(value) >= MIN_VISIBLE else nothing


def _rows(hit: Hit, after: Hit | None, palette: Palette, width: int) -> list[list[Segment]]:
    """The table of scores: what a part gives this result and the next, and by how much more."""
    weighed = compare_parts(hit, after)
    columns = 1 if after is None else 3
    bar_cells = min(BAR_MAX, width - NAME_CELLS - columns * VALUE_CELLS - 4)
    most = max((abs(part.value) for part in weighed), default=0.0) or 1.0
    total = ComparedPart("score", hit.score, after.score if after is not None else 0.0)
    heads = "".join(f"{name:>{VALUE_CELLS}}" for name in ("this", "next", "more")[:columns])
    rows = [[Segment(" " * (NAME_CELLS + 1) + heads, palette.dim)]]
    for part in (*weighed, total):
        name = Segment(f" {text.pad(text.one_line(part.name), NAME_CELLS)}", palette.dim)
        style = palette.heading if part is total else palette.text
        values = [Segment(_value(part.value).rjust(VALUE_CELLS), style)]
        if after is not None:
            more = palette.warning if part.difference < 0 else palette.accent
            values.append(Segment(_value(part.other).rjust(VALUE_CELLS), style))
            values.append(Segment(_value(part.difference, signed=True).rjust(VALUE_CELLS), more))
        if part is not total and bar_cells >= BAR_FROM and abs(part.value) >= MIN_VISIBLE:
            drawn = bar(abs(part.value) / most, bar_cells)
            values.append(Segment(f"  {drawn}", palette.warning if part.value < 0 else palette.bar))
        rows.append([name, *values])
    return rows


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
        hit, after, total = self._shown
        lines = wrapped(explain_rank(hit, after), palette.text, width - 2)
        if hit.near_words:
            near = f"nearest words: {text.scored_words(hit.near_words)}"
            lines += wrapped(near, palette.dim, width - 2)
        lines.append([])
        for which, one in (("this", hit), ("next", after)):
            if one is not None:
                place = f" {which}, {text.number(one.place)} of {text.number(total)}: "
                headline = text.cut_line(one.headline, max(1, width - 1 - text.width(place)))
                lines.append([Segment(place, palette.dim), Segment(headline, palette.heading)])
        named = [f"{name}: {words}" for name, words in CONTEXT_PARTS if name in hit.parts]
        about = wrapped("; ".join(named), palette.faint, width - 2) if named else []
        return [*lines, [], *_rows(hit, after, palette, width), [], *about]
