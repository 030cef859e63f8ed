"""Who changed memories, as far as the sessions of agents tell: see `memtui.sessions.authorship`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import Refused
from memtui.insight.versions import TextVersion, VersionHistory, VersionOrigin
from memtui.library.kept_texts import TextTimes
from memtui.library.reader import LibraryReader
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.sessions.authorship import SeenChange, describe_author, find_authors
from memtui.sessions.message import Session
from memtui.sessions.origin import Origin
from memtui.text import counted, date

MOST_BYTES = 256 << 20
"""Bytes of sessions that are read, the last ones."""


class ChangedMemory(Struct, frozen=True):
    """A memory as it was and as it is; None: it was not there."""

    before: Memory | None
    after: Memory | None
    since: datetime | None
    """When it was as before."""
    until: datetime
    """When it was as after."""


def authors_of(
    library: LibraryReader,
    changes: Sequence[ChangedMemory],
    sessions: Iterable[Session],
    cancelled: IsCancelled = never,
) -> list[Origin | None]:
    """For each change the session that made it; None where no call is known to. Raises
    Cancelled."""
    times = TextTimes(library.state_folder)
    seen = [_seen(library, times, each) for each in changes]
    known = [each for each in seen if each is not None]
    if not known:
        return [None] * len(changes)
    found = iter(find_authors(known, _last(sessions), cancelled))
    return [None if each is None else next(found) for each in seen]


def with_authors(
    library: LibraryReader,
    history: VersionHistory,
    sessions: Iterable[Session],
    cancelled: IsCancelled = never,
) -> VersionHistory:
    """The versions of a memory, those that were only seen with who wrote them, as far as it is
    known. Raises Cancelled."""
    due: list[int] = []
    changes: list[ChangedMemory] = []
    for number, version in enumerate(history.versions):
        former = history.previous(number)
        is_seen = version.origin is VersionOrigin.SEEN or version.is_present
        if former is not None and is_seen and not (version.author or version.note):
            due.append(number)
            until = version.time or library.now()
            changes.append(ChangedMemory(former.memory, version.memory, former.time, until))
    versions: list[TextVersion] = [*history.versions]
    for number, origin in zip(due, authors_of(library, changes, sessions, cancelled), strict=True):
        if origin is not None:
            versions[number] = replace(versions[number], author=describe_author(origin))
    return replace(history, versions=tuple(versions))


def describe_authors(
    origins: Iterable[Origin | None], name: Callable[[Origin], str] = describe_author
) -> list[str]:
    """How many memories each author has changed, and when the last one: `23 memories by Claude
    Code, session 5c0f, 2026-05-04 02:10`. `name`: what an author is called."""
    found: dict[str, list[Origin]] = {}
    for each in origins:
        if each is not None:
            found.setdefault(name(each), []).append(each)
    lines = []
    for author, own in found.items():
        times = [each.call.time for each in own if each.call and each.call.time]
        words = [f"{counted(len(own), 'memory')} by {author}", *[date(max(times))][: len(times)]]
        lines.append(", ".join(words))
    return lines


def _seen(library: LibraryReader, times: TextTimes, change: ChangedMemory) -> SeenChange | None:
    memory = change.before or change.after
    if memory is None or not memory.origin.file:
        return None
    try:
        store = library.store(memory.store)
    except Refused:  # it is not open any more
        return None
    before, after = _text(change.before), _text(change.after)
    since, until = times.of_change(store, memory, before, after) or (change.since, change.until)
    return SeenChange(memory.origin.file, before, after, since, until)


def _text(memory: Memory | None) -> str:
    return "" if memory is None else memory.content or memory.title


def _last(sessions: Iterable[Session]) -> list[Session]:
    found, size = list[Session](), 0
    for each in sorted(sessions, key=lambda s: -s.last.timestamp() if s.last else 0.0):
        size += each.size
        if size > MOST_BYTES:
            break
        found.append(each)
    return found
