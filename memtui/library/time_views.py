"""The library over time: counts per day and store for drawing, and two times compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import SHARED_TEXTS
from memtui.errors import StoreError
from memtui.insight import timeline
from memtui.insight.comparison import Difference, compare
from memtui.insight.timeline import TimeSpan
from memtui.journal import ActionStep
from memtui.library import held_stores
from memtui.library.change_authors import ChangedMemory, authors_of, describe_authors
from memtui.library.finding import SearchResult
from memtui.library.former_versions import FormerReader, changed_ids, concerns, read_steps
from memtui.library.library import Library
from memtui.library.past_library import library_at
from memtui.library.queried_result import QueriedResult
from memtui.library.snapshot import Snapshot
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Query
from memtui.search import aggregates
from memtui.sessions import PROGRAMS, Session
from memtui.sessions.authorship import describe_author
from memtui.sessions.programs import chosen_sessions

LONGEST_LOSS = timedelta(days=1)
"""How long ago a loss may have begun that is seen now, where it is not known when the stores were
last seen."""
MEMTUI = "memtui"
"""Who made a change that is in the journal, unless it names an agent."""


def compare_times(
    present: Library,
    since: datetime,
    until: datetime | None = None,
    query: Query | None = None,
    cancelled: IsCancelled = never,
    sessions: Sequence[Session] = (),
) -> list[Difference]:
    """Return what changed between two times.

    Args:
        present: The library as it is now.
        since: The first time.
        until: The second one; None for now.
        query: Only memories that match it at one of both times, whatever their status; all if None.
        cancelled: Asked while git and sessions are read.
        sessions: Those that may say who changed something.

    Raises:
        StoreError: A store that is asked does not answer, or cannot say what it was then.
        Cancelled: An asked store was being read.
    """
    end = until or present.now()
    before = library_at(present, since, cancelled, with_asked=False)
    after: Library = present
    if until is not None:
        after = library_at(present, until, cancelled, with_asked=False)
    first, second = _by_ref(before.snapshot), _by_ref(after.snapshot)
    asked = [
        held_stores.compare_times(store, since, end, cancelled)
        for store in present.queried.stores.values()
    ]
    for each in asked:
        first.update(each.before)
        second.update(each.after)
    same = before.same if until is None else frozenset()
    for ref in first.keys() & second.keys():
        if first[ref] == second[ref] or ref in same:
            del first[ref], second[ref]
    if query is not None:
        matching = _matching(before, query) | _matching(after, query)
        for each in asked:
            for memories in filter(None, (each.before, each.after)):
                matching |= _matching(present, query, [*memories.values()])
        first = {ref: memory for ref, memory in first.items() if ref in matching}
        second = {ref: memory for ref, memory in second.items() if ref in matching}
    own = _changed_by_memtui(present, [*first.values(), *second.values()], since, end.timestamp())
    for each in asked:
        own.update(each.by)
    found = compare(
        first,
        second,
        since=since,
        until=end,
        by=lambda memory: own.get(memory.ref) or memory.source,
    )
    changes = [
        ChangedMemory(each.before, each.after, since, end)
        for each in found
        if each.memory.ref not in own
    ]
    authors = iter(authors_of(present, changes, sessions, cancelled))
    named = [None if each.memory.ref in own else next(authors) for each in found]
    return [
        each if author is None else replace(each, by=describe_author(author))
        for each, author in zip(found, named, strict=True)
    ]


def describe_deletions(
    present: Library, store: str, since: datetime | None, cancelled: IsCancelled = never
) -> str:
    """Who has deleted memories of a store since a time, how many, and when, as the sessions say of
    the programs that are on; empty if nobody is known. `since`: None if unknown."""
    now, sessions = present.now(), chosen_sessions().sessions
    since = since or now - LONGEST_LOSS
    try:
        differences = compare_times(present, since, cancelled=cancelled) if sessions else []
        changes = [
            ChangedMemory(each.before, None, since, now)
            for each in differences
            if each.after is None and each.memory.store == store
        ]
        authors = authors_of(present, changes, sessions, cancelled)
    except (StoreError, Cancelled):
        return ""
    return "; ".join(describe_authors(authors, lambda each: PROGRAMS[each.session.program].title))


def _by_ref(snapshot: Snapshot) -> dict[str, Memory]:
    return {ref: snapshot.rows[slot] for ref, slot in snapshot.slot_of.items()}


def _matching(library: Library, query: Query, memories: Sequence[Memory] = ()) -> set[str]:
    """Refs of what a query finds whenever it was, among these memories or else the loaded ones."""
    every = replace(query, since=None, until=None).with_status("all")
    found = library.find_among(every, memories) if memories else library.find_loaded(every)
    return {found.rows[slot].ref for slot in found.slots}


def _changed_by_memtui(
    library: Library, memories: Sequence[Memory], since: datetime, until: float
) -> dict[str, str]:
    """Ref of each memory that the journal has a change of -> who made the newest."""

    def choose(steps: Sequence[ActionStep]) -> list[ActionStep]:
        by_then = (step for step in steps if step.action.changed <= until)
        return [step for step in by_then if any(concerns(step.edit, each) for each in memories)]

    found: dict[str, str] = {}
    readers = {store.label: FormerReader(store) for store in library.stores}
    for step in read_steps(library.state_folder, choose, since=since.timestamp()):
        own = [each for each in memories if concerns(step.edit, each)]
        if step.edit.kind in SHARED_TEXTS:  # it may have changed others of the file only
            changed = {
                f"{label}:{id}"
                for label in {each.store for each in own}
                for id in changed_ids(step.edit, readers[label])
            }
            own = [each for each in own if each.ref in changed]
        author = step.action.author
        for memory in own:
            found.setdefault(memory.ref, MEMTUI if author is None else str(author))
    return found


SPAN_KINDS = ("episode", "note", "document")
"""Kinds of memory that can be a span."""


MAX_SPANS = 2_000
"""Memories that are looked at for spans; more of them would not be told apart on the screen."""


class TimeData(Struct, frozen=True):
    """The days and spans of a result."""

    days: Mapping[int, int] = field(default_factory=dict)
    """Day since 1970 -> memories."""
    undated: int = 0
    spans: tuple[TimeSpan, ...] = ()
    """Sessions, episodes and daily notes by their start; none if there are too many."""


def read_times(found: SearchResult) -> TimeData:
    """Count a result by day, and find its spans, which queried stores do not give."""
    if isinstance(found, QueriedResult):
        return TimeData(found.days())
    days, undated = aggregates.count_days(found.columns, found.slots)
    slots = aggregates.slots_of_kinds(found.columns, found.slots, SPAN_KINDS)
    spans: list[TimeSpan] = []
    if len(slots) <= MAX_SPANS:
        spans = timeline.spans((found.rows[slot] for slot in slots), date.min, date.max)
    return TimeData(days, undated, tuple(spans))
