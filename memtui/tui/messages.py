"""What widgets post to the screen."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


class Replaceable(Message):
    """A message of which only the newest counts while several wait."""

    def can_replace(self, message: Message) -> bool:
        return type(message) is type(self)


@dataclass(eq=False)
class QueryTyped(Replaceable):
    """The text of the search line changed."""

    text: str


@dataclass(eq=False)
class QueryEntered(Message):
    """Enter was pressed in the search line."""

    text: str


@dataclass(eq=False)
class FilterChosen(Message):
    """A value was chosen in a pane: toggle the filter by it."""

    field: str
    value: str


@dataclass(eq=False)
class BranchChosen(Replaceable):
    """The cursor moved to a branch of the tree: filter by it alone; empty values for all."""

    store: str
    """Label."""
    entities: tuple[str, ...]


@dataclass(eq=False)
class SpanChosen(Message):
    """A span of the timeline was chosen; inclusive ISO dates, empty for none."""

    since: str
    until: str


@dataclass(eq=False)
class ChipRemoved(Message):
    """A filter was removed with its chip."""

    key: str


class MemoryShown(Replaceable, bubble=False):
    """The cursor of the list moved to another memory."""


@dataclass(eq=False)
class RefChosen(Message):
    """A reference to another memory was followed."""

    ref: str
