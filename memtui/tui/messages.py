"""Messages from background jobs and widgets to the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from memtui.dataclass import dataclass, field

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage
    from memtui.insight.statistics import Statistics
    from memtui.insight.timeline import Timeline
    from memtui.library import SearchResult
    from memtui.library.broken_files import StoreLosses
    from memtui.library.time_views import TimeData
    from memtui.model import Memory
    from memtui.tui.completion import Vocabulary


from memtui.progress import Progress


class Replaceable(Message):
    """A message of which only the newest counts while several wait."""

    def can_replace(self, message: Message) -> bool:
        return type(message) is type(self)


class LibraryOpened(Message):
    """The stores are known; nothing is read yet."""


class WritingReady(Message):
    """The controllers that change memories have been imported."""


@dataclass(eq=False, repr=False)
class LibraryFailed(Message):
    """No store could be opened."""

    reason: str


@dataclass(eq=False, repr=False)
class Progressed(Replaceable):
    """The progress of a long job; None at its end."""

    progress: Progress | None


@dataclass(eq=False, repr=False)
class LossesSeen(Message):
    """Files of the stores have become unreadable."""

    reports: Sequence[StoreLosses]


@dataclass(eq=False, repr=False)
class RowsChanged(Replaceable):
    """The library has another snapshot."""

    complete: bool = False
    """All stores have been read."""
    fresh: frozenset[int] = frozenset()
    """Serials of memories that were not there before, or said something else."""
    again: Mapping[int, int] = field(default_factory=dict)
    """Serial of each row that went -> of the row that has its memory now; -1 where none has."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RowsChanged) and not (message.fresh or message.again)


class IndexReady(Message):
    """The index is built; searches use it from now on."""


class LinksReady(Message):
    """The links have been read, so that references to a memory are known."""


@dataclass(eq=False, repr=False)
class ScreenCall(Message, bubble=False):
    """A background job asks for a call on the screen's thread, with its result for example."""

    function: Callable[[], object]


@dataclass(eq=False, repr=False)
class WorkFailed(Message):
    """A job met an expected error; `reason` is fit for a person."""

    reason: str


@dataclass(eq=False, repr=False)
class Faulted(Message):
    """A job met a programming error."""

    error: Exception


@dataclass(eq=False, repr=False)
class Answer(Message):
    """Something that a search has found."""

    number: int
    """Of the search that asked; answers to older searches are dropped."""

    def can_replace(self, message: Message) -> bool:
        # A search that was cancelled late may post after the one that took its place.
        return (
            isinstance(message, Answer)
            and type(message) is type(self)
            and message.number >= self.number
        )


@dataclass(eq=False, repr=False)
class FoundMemories(Answer):
    """The answer to a query."""

    found: SearchResult


@dataclass(eq=False, repr=False)
class OverviewReady(Answer):
    """Counts, times and sizes of the results, for the panes around the list."""

    statistics: Statistics
    timeline: Timeline
    """Counted without the filter by time, so that another bar can be chosen."""
    times: TimeData
    """Of the same memories as the timeline."""


@dataclass(eq=False, repr=False)
class VocabularyReady(Replaceable):
    """The values that filters can have."""

    vocabulary: Vocabulary
    tags: Mapping[str, int]
    """Of the newest memories, the most frequent first."""


@dataclass(eq=False, repr=False)
class ReferencesFound(Message, bubble=False):
    """What a memory replaced, what replaced it and what it is linked to."""

    memory: Memory
    lineage: Lineage


@dataclass(eq=False, repr=False)
class QueryTyped(Replaceable):
    """The text of the search line changed."""

    text: str


@dataclass(eq=False, repr=False)
class QueryEntered(Message):
    """Enter was pressed in the search line."""

    text: str


@dataclass(eq=False, repr=False)
class FilterChosen(Message):
    """A value was chosen in a pane: toggle the filter by it."""

    field: str
    value: str


@dataclass(eq=False, repr=False)
class SpanChosen(Message):
    """A span of the timeline was chosen; inclusive ISO dates, empty for none."""

    since: str
    until: str


@dataclass(eq=False, repr=False)
class ChipRemoved(Message):
    """A filter was removed with its chip."""

    key: str


class MemoryShown(Replaceable, bubble=False):
    """The cursor of the list moved to another memory."""


@dataclass(eq=False, repr=False)
class RefChosen(Message):
    """A reference to another memory was followed."""

    ref: str
