"""The protocol of a store that is asked instead of read: one with more memories than fit in here.

A store is either read whole (`memtui.stores.base.Store.scan`) or asked with queries; this is the
second kind. Writing is the same for both: `plan` and `apply`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from math import inf
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import IMPORTANCES, Memory
from memtui.query import Query, Sort
from memtui.stores.base import Reading, Scan, Shard, Store

PUSHED_ORDERS = frozenset({Sort.NEW, Sort.OLD, Sort.IMPORTANCE})
"""The orders of `QueryableStore.find`. Whoever wants another one, such as relevance, asks for the
newest `MAX_RANKED` memories and orders these."""
MAX_RANKED = 5_000


OTHERS = "somebody else"
"""Who changed a memory of such a store meanwhile: another person, or her agent."""


class Accuracy(StrEnum):
    EXACT = "exact"
    AT_LEAST = "at least"
    """Counting was stopped there: `1,000+`."""
    ABOUT = "about"
    """Estimated from a sample: `about 41,000`."""


class Count(NamedTuple):
    """A number of memories, and how far it can be trusted."""

    value: int
    accuracy: Accuracy = Accuracy.EXACT


class Position(NamedTuple):
    """Where a memory stands in an order, or where one would; a page continues behind it.

    Positions are compared as tuples: the least is first in NEW and IMPORTANCE, and last in OLD,
    which is NEW reversed.
    """

    keys: tuple[float, ...]
    """The negative seconds since 1970 of its last change, `inf` if it has no time; in IMPORTANCE
    behind its place in `memtui.model.IMPORTANCES`."""
    id: str = ""
    """The memory's id, which decides between equal keys."""


def position_of(memory: Memory, order: Sort) -> Position:
    """Where a memory stands in one of `PUSHED_ORDERS`."""
    keys: tuple[float, ...] = (inf if memory.when is None else -memory.when.timestamp(),)
    if order is Sort.IMPORTANCE:
        keys = (IMPORTANCES.index(memory.importance), *keys)
    return Position(keys, memory.id)


def pushed_order(query: Query) -> Sort:
    """The order in which a store answers a query."""
    return query.order if query.order in PUSHED_ORDERS and not query.then else Sort.NEW


class Page(Struct, frozen=True):
    """Some memories in the order of a query, also where they were asked for backwards."""

    memories: tuple[Memory, ...] = ()
    positions: tuple[Position, ...] = ()
    """One for each memory."""
    is_last: bool = True
    """Whether there are no more behind them; of a page asked for backwards, before them."""


class FoundFacets(Struct, frozen=True):
    """How many memories a filter on each value would find, most frequent first."""

    counts: Mapping[str, Mapping[str, int]]
    """Field (`type`, `importance`, `status`, `kind`, `entity`, `store`) -> value -> number. The
    filter on a field is ignored when its values are counted."""
    accuracy: Accuracy = Accuracy.EXACT


class Answer(Struct, frozen=True):
    """What a keystroke needs at once."""

    page: Page
    count: Count


def ranked_answer(candidates: Sequence[Memory], limit: int) -> Answer:
    """The answer of a store that was asked for so many candidates."""
    is_last = len(candidates) < limit
    accuracy = Accuracy.EXACT if is_last else Accuracy.AT_LEAST
    page = Page(tuple(candidates), is_last=is_last)
    return Answer(page, Count(len(candidates), accuracy))


class Changed(Struct, frozen=True):
    """What changed since a mark."""

    refs: tuple[str, ...]
    """Of memories that are new, changed or gone; some may be named that were known before."""
    mark: str
    """From which to ask the next time."""
    is_complete: bool = True
    """Whether `refs` has all; else so much changed that everything should be asked for anew."""


class FormerVersion(NamedTuple):
    """What a memory was before one change."""

    number: int
    """Of all changes of the store, in their order."""
    act: str
    """What ended it: `update` or `delete`."""
    who: str
    """Who did so. Untrusted text."""
    until: datetime
    memory: Memory
    row: Mapping[str, Any]
    """Its columns, as edits hold them."""


class QueryableStore(Store):
    """A store that is asked with queries.

    `isinstance` tells it from a store that is read. Methods may be called from several threads, and
    answer one at a time. All of them raise `NotConnected` where the server cannot be reached,
    `QueryStopped` where the question took too long or was cancelled, and `StoreError` where it
    refuses.

    A word of a query is found as in a store that is read, except for what `understands` names and
    for words that no memory has, which are not replaced by similar ones.
    """

    is_shared = True
    no_past = "it keeps no former values"
    """Why it cannot say what was there at a time; "" if it can."""

    def scan(self) -> Scan:
        """Nothing: this store is never read whole."""
        return Scan(())

    def read(self, shard: Shard) -> Reading:  # noqa: ARG002
        return Reading(())

    @abstractmethod
    def understands(self, query: Query) -> tuple[str, ...]:
        """Say what of a query this store cannot answer, in words for people; () if all is clear.

        Those parts are left out of its answers, which then hold more memories than they should.
        """
        ...

    @abstractmethod
    def find(
        self, query: Query, after: Position | None, limit: int, *, backwards: bool = False
    ) -> Page:
        """Find the next memories.

        Args:
            query: In one of `PUSHED_ORDERS`; any other order is answered newest first.
            after: Where the last page ended; None: begin at the first memory.
            limit: How many at most.
            backwards: The memories before `after` instead; None: the last ones.
        """
        ...

    def candidates(self, query: Query, limit: int = MAX_RANKED) -> tuple[Memory, ...]:
        """The memories to order by relevance: the newest with all words of the query, then the
        newest with some."""
        return self.find(replace(query, sort=Sort.NEW, then=()), None, limit).memories

    @abstractmethod
    def position_at(self, query: Query, time: datetime) -> Position:
        """Where in the order of the query memories of this time begin, to jump there. In an order
        that is not by time, where those of middling importance of that time begin."""
        ...

    @abstractmethod
    def count(self, query: Query, at_most: int) -> Count:
        """How many memories match; counting stops at a number."""
        ...

    @abstractmethod
    def facets(self, query: Query) -> FoundFacets:
        """The values that filters would find; sampled where there are many memories."""
        ...

    @abstractmethod
    def buckets(self, query: Query, unit: Literal["day", "month"]) -> Mapping[date, int]:
        """How many memories there are of each day, or of each month by its first day, ascending;
        the undated ones are left out. Days are those of this machine's zone."""
        ...

    @abstractmethod
    def answer(self, query: Query, limit: int, at_most: int) -> Answer:
        """The first page and the count, asked for in one round trip.

        In an order that is none of `PUSHED_ORDERS` the page is the `candidates`, and `is_last` if
        these are all; nothing else is counted then.
        """
        ...

    @abstractmethod
    def get(self, refs: Collection[str]) -> tuple[Memory, ...]:
        """The memories with these refs that exist, in any order and of every status."""
        ...

    def ids_beginning(self, names: Collection[str], most: int) -> Sequence[str]:  # noqa: ARG002
        """The ids that begin with one of these texts, at most so many; () where that would take
        long. Memories are then only found by their whole id."""
        return ()

    def former(self, id: str) -> Sequence[FormerVersion]:  # noqa: ARG002
        """What a memory was before each change, by whomever, the newest first."""
        return ()

    def changes_since(self, time: datetime, limit: int) -> Sequence[FormerVersion]:  # noqa: ARG002
        """What memories were before each change after a time, the newest first, at most so many;
        only asked where there is a past."""
        return ()

    @abstractmethod
    def changed_since(self, mark: str) -> Changed:
        """What changed since `mark`; "": nothing, but the mark of now."""
        ...

    @abstractmethod
    def wait_for_change(self, timeout: float) -> bool:
        """Wait until the store says that something changed, at most so many seconds.

        Returns:
            Whether something may have changed.
        """
        ...

    @abstractmethod
    def close(self) -> None:
        """Give the connections back; a later question opens them again."""
        ...

    @abstractmethod
    def cancel(self) -> None:
        """Stop the question that is being answered; from another thread, never waits."""
        ...
