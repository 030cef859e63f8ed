"""Which panes are shown at a terminal size, and how large. Pure: size and focus in, panes out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

MIN_WIDTH = 40
MIN_HEIGHT = 12
"""Below this size only a message is shown."""
WIDE = 120
MEDIUM = 80
STATISTICS_FROM = 26
"""Rows from which the statistics fit below the entities."""
TIMELINE_FROM = 28
"""Rows from which a wide screen always shows the timeline."""
STACKED_FROM = 18
"""Rows from which the detail fits below the list."""


SIDE_SHARE, SIDE_MIN, SIDE_MAX = 0.175, 22, 36
"""Width of entities and statistics: a share of the screen, and its bounds in columns."""
LIST_LEAST = 56
"""Columns that the list keeps beside the detail, which else is as wide as the list."""
TIMELINE_ROWS, CLOSED_ROWS = 8, 2
"""Rows of the timeline while it has the focus, its border included, and else."""
SMALLEST = {"side": 16, "list": 30, "detail": 24, "rows": 4, "timeline": 4}
"""Columns, or rows, below which a pane is not made smaller."""
STEP_COLUMNS, STEP_ROWS = 4, 1
"""What one key press adds to a pane or takes from it."""
BARS = 3
"""Rows of search line, chips and footer."""


class Pane(StrEnum):
    """The five panes, numbered in this order."""

    ENTITIES = "entities"
    MEMORIES = "memories"
    DETAIL = "detail"
    TIMELINE = "timeline"
    STATISTICS = "statistics"


class Shape(StrEnum):
    WIDE = "wide"
    MEDIUM = "medium"
    NARROW = "narrow"
    TINY = "tiny"


class Layout(NamedTuple):
    shape: Shape
    panes: frozenset[Pane]
    is_timeline_open: bool = False
    """The timeline has all its rows, not just `CLOSED_ROWS`."""


def shape_of(width: int, height: int) -> Shape:
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Shape.TINY
    if width >= WIDE and height >= STACKED_FROM:
        return Shape.WIDE
    if width >= MEDIUM:
        return Shape.MEDIUM
    return Shape.NARROW


class Sizes(NamedTuple):
    """Sizes of the panes in columns and rows; what is not named takes the rest."""

    side: int
    """Columns of entities and statistics."""
    list: int
    """Columns of the list where it stands beside the detail."""
    rows: int
    """Rows of the list where it stands above the detail."""
    timeline: int
    """Rows of the timeline below the list."""


def measure(
    width: int, height: int, layout: Layout, user_sizes: Mapping[str, int], *, half: bool = False
) -> Sizes:
    """Compute the sizes of the panes.

    `user_sizes`: those that the user set, by the names of `Sizes`; kept within what fits. `half`:
    list and detail share the width equally.
    """
    side = max(SIDE_MIN, min(SIDE_MAX, round(width * SIDE_SHARE)))
    side = _clamp(user_sizes.get("side", side), SMALLEST["side"], width // 2)
    shows_side = bool(layout.panes & {Pane.ENTITIES, Pane.STATISTICS})
    rest = width - (side if shows_side else 0)
    columns = rest // 2 if half else user_sizes.get("list", max(LIST_LEAST, rest // 2))
    columns = _clamp(columns, SMALLEST["list"], rest - SMALLEST["detail"])
    body = height - BARS
    timeline = _clamp(
        user_sizes.get("timeline", TIMELINE_ROWS), SMALLEST["timeline"], max(4, body // 2)
    )
    rows = _clamp(
        user_sizes.get("rows", (body + 1) // 2), SMALLEST["rows"], body - SMALLEST["rows"]
    )
    return Sizes(side, columns, rows, timeline)


def _clamp(size: int, least: int, most: int) -> int:
    return max(least, min(size, most))


def resized(
    sizes: Sizes, layout: Layout, focus: Pane, step: int, user_sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return `user_sizes` with the focused pane larger (step 1) or smaller (-1), from `sizes`.

    Unchanged where the pane stands alone.
    """
    if len(layout.panes) < 2:
        return dict(user_sizes)
    stacked = layout.shape is Shape.MEDIUM
    if focus in (Pane.ENTITIES, Pane.STATISTICS):
        return {**user_sizes, "side": sizes.side + step * STEP_COLUMNS}
    if focus is Pane.TIMELINE:
        return {**user_sizes, "timeline": sizes.timeline + step * STEP_ROWS}
    if layout.panes.isdisjoint({Pane.DETAIL}) and Pane.TIMELINE in layout.panes:
        return {**user_sizes, "timeline": sizes.timeline - step * STEP_ROWS}
    if layout.panes & {Pane.ENTITIES, Pane.STATISTICS} and Pane.DETAIL not in layout.panes:
        return {**user_sizes, "side": sizes.side - step * STEP_COLUMNS}
    step = step if focus is Pane.MEMORIES else -step
    if stacked:
        return {**user_sizes, "rows": sizes.rows + step * STEP_ROWS}
    return {**user_sizes, "list": sizes.list + step * STEP_COLUMNS}


def arrange(width: int, height: int, focus: Pane, *, zoomed: bool, half: bool = False) -> Layout:
    """Choose the panes to show, always including the focused one.

    `half`: on a wide screen, list and detail share all of it.
    """
    shape = shape_of(width, height)
    if shape is Shape.TINY:
        panes = frozenset[Pane]()
    elif zoomed or shape is Shape.NARROW:
        panes = frozenset({focus})
    elif shape is Shape.WIDE and half and focus in (Pane.MEMORIES, Pane.DETAIL):
        panes = frozenset({Pane.MEMORIES, Pane.DETAIL})
    elif shape is Shape.WIDE:
        panes = _wide_panes(height, focus)
    else:
        panes = _medium_panes(height, focus)
    return Layout(shape, panes, focus is Pane.TIMELINE)


def _wide_panes(height: int, focus: Pane) -> frozenset[Pane]:
    panes = {Pane.MEMORIES, Pane.DETAIL, focus}
    if height >= STATISTICS_FROM:
        panes |= {Pane.ENTITIES, Pane.STATISTICS}
    elif focus is not Pane.STATISTICS:
        panes.add(Pane.ENTITIES)
    if height >= TIMELINE_FROM:
        panes.add(Pane.TIMELINE)
    return frozenset(panes)


def _medium_panes(height: int, focus: Pane) -> frozenset[Pane]:
    if focus in (Pane.ENTITIES, Pane.STATISTICS):
        return frozenset({focus, Pane.MEMORIES})
    if height < STACKED_FROM:
        return frozenset({focus})
    if focus is Pane.TIMELINE:
        return frozenset({Pane.MEMORIES, Pane.TIMELINE})
    return frozenset({Pane.MEMORIES, Pane.DETAIL})


TYPE_MIN, TYPE_MAX = 5, 12
ENTITY_MIN, ENTITY_MAX = 10, 24
WIDE_ROW = 80
"""Columns from which a row is wide, as in a list beside a detail on 160 columns."""
MIN_TEXT_CELLS, MIN_TEXT_CELLS_WIDE = 48, 60
"""Columns that the text keeps beside a column of types, or of types and entities."""
TEXT_SHARE = 0.66
"""Share of a row that the text keeps beside a column of entities."""
SIGNS_WIDTH = 6
"""Columns of cursor, mark, importance and status, and the blanks around the time."""


BADGE_WIDTH = 3
"""Columns of a program's badge and the blank after it."""
NAMES_FROM = 104
"""Columns of a list from which its rows have the programs' names in place of the badges."""
NAME_MAX = 22


class RowColumns(NamedTuple):
    """Widths of the columns of a row; 0 where a column is left out."""

    text: int
    type: int = 0
    entity: int = 0


def row_columns(width: int, time: int, types: int, entities: int) -> RowColumns:
    """Divide a row: the text comes first, types and entities get what it can spare.

    All in columns: the row, the time, the longest type, what entities want; 0 leaves a column out.
    """
    room = width - SIGNS_WIDTH - time
    least = MIN_TEXT_CELLS_WIDE if width >= WIDE_ROW else MIN_TEXT_CELLS
    cells = min(types, TYPE_MAX, room - least - 2)
    type_width = cells if cells >= min(types, TYPE_MIN) and cells > 0 else 0
    room -= type_width + 2 if type_width else 0
    reserved = max(MIN_TEXT_CELLS_WIDE, round(width * TEXT_SHARE))
    cells = min(entities, ENTITY_MAX, room - reserved - 2)
    entity_width = cells if cells >= ENTITY_MIN else 0
    room -= entity_width + 2 if entity_width else 0
    return RowColumns(max(1, room), type_width, entity_width)
