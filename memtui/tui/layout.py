"""Which panes are shown at a terminal size. Pure: size and focus in, panes out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


class Pane(StrEnum):
    """The five panes, numbered in this order."""

    ENTITIES = "entities"
    MEMORIES = "memories"
    DETAIL = "detail"
    TIMELINE = "timeline"
    STATISTICS = "statistics"

    @property
    def number(self) -> int:
        return list(Pane).index(self) + 1


class Shape(StrEnum):
    WIDE = "wide"
    MEDIUM = "medium"
    NARROW = "narrow"
    TINY = "tiny"


@dataclass(frozen=True, slots=True)
class Layout:
    shape: Shape
    panes: frozenset[Pane]


def shape_of(width: int, height: int) -> Shape:
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Shape.TINY
    if width >= WIDE and height >= STACKED_FROM:
        return Shape.WIDE
    if width >= MEDIUM:
        return Shape.MEDIUM
    return Shape.NARROW


def arrange(width: int, height: int, focus: Pane, *, zoomed: bool) -> Layout:
    """Choose the panes to show; the focused one is always among them."""
    shape = shape_of(width, height)
    if shape is Shape.TINY:
        return Layout(shape, frozenset())
    if zoomed or shape is Shape.NARROW:
        return Layout(shape, frozenset({focus}))
    if shape is Shape.WIDE:
        return Layout(shape, _wide(height, focus))
    return Layout(shape, _medium(height, focus))


def _wide(height: int, focus: Pane) -> frozenset[Pane]:
    panes = {Pane.MEMORIES, Pane.DETAIL, focus}
    if height >= STATISTICS_FROM:
        panes |= {Pane.ENTITIES, Pane.STATISTICS}
    elif focus is not Pane.STATISTICS:
        panes.add(Pane.ENTITIES)
    if height >= TIMELINE_FROM:
        panes.add(Pane.TIMELINE)
    return frozenset(panes)


def _medium(height: int, focus: Pane) -> frozenset[Pane]:
    if focus in (Pane.ENTITIES, Pane.STATISTICS):
        return frozenset({focus, Pane.MEMORIES})
    if height < STACKED_FROM:
        return frozenset({focus})
    if focus is Pane.TIMELINE:
        return frozenset({Pane.MEMORIES, Pane.TIMELINE})
    return frozenset({Pane.MEMORIES, Pane.DETAIL})
