"""In what session a memory was learned, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui import text
from memtui.model import Memory
from memtui.progress import IsCancelled
from memtui.sessions import PROGRAMS, Session
from memtui.sessions.origin import Origin, OriginKind, recorded_ids

MOST_BYTES = 256 << 20
"""Bytes of sessions that are read for one memory: some seconds of the processor. `memtui origin`
reads all."""
SLACK = timedelta(days=1)
"""How much later than its memory a session may have begun: days and clocks differ."""
ID_CHARS = 8
_ORDER = (OriginKind.WRITTEN, OriginKind.RECORDED, OriginKind.LOOKS_LIKE)


class Learned(Struct, frozen=True):
    """Where a memory was learned."""

    words: str
    """One line; empty where nothing is known."""
    origins: Sequence[Origin] = ()
    """The surest first."""


def find_learned(memory: Memory, sessions: Sequence[Session], cancelled: IsCancelled) -> Learned:
    """Find the sessions that taught a memory. Raises Cancelled."""
    from memtui.search.mentions import origins_of

    origins = origins_of(memory, _candidates(memory, sessions), cancelled)
    known = {id for each in origins for id in (each.session.id, each.session.path.stem)}
    origins = _one_for_each(origins)
    gone = [id for id in recorded_ids(replace(memory, source="")) if id not in known]
    if origins:
        more = text.and_more(len(origins) - 1)
        return Learned(f"{describe_origin(origins[0])}{more}", origins)
    if gone and "originSessionId" in str(memory.extra):
        return Learned(
            f"in session {text.one_line(gone[0])[:8]}, which is no longer there: recorded"
        )
    return Learned("")


def _one_for_each(origins: Iterable[Origin]) -> list[Origin]:
    """Of several origins in one session the surest, which then has the words of the others."""
    found: dict[Path, Origin] = {}
    for each in sorted(origins, key=lambda each: _ORDER.index(each.kind)):
        surer = found.setdefault(each.session.path, each)
        if surer.words is None and surer.call is None and each.words is not None:
            found[each.session.path] = replace(surer, words=each.words)
    return list(found.values())


def _candidates(memory: Memory, sessions: Iterable[Session]) -> list[Session]:
    """The sessions that a memory names, then those that began before it, the last first."""
    ids = set(recorded_ids(memory))
    named, others, size = list[Session](), list[Session](), 0
    until = memory.when + SLACK if memory.when is not None else None
    for session in sessions:
        if session.id in ids or session.path.stem in ids:
            named.append(session)
        elif until is None or session.started is None or session.started <= until:
            size += session.size
            if size <= MOST_BYTES:
                others.append(session)
    return named + others


def describe_origin(origin: Origin) -> str:
    """When, in what session, and how sure that is."""
    session = origin.session
    said = origin.call or origin.words
    time = said.time if said is not None and said.time is not None else session.started
    title = PROGRAMS[session.program].title
    article = "an" if title[0] in "AEIOU" else "a"
    project = f", {text.one_line(session.project)}" if session.project else ""
    when = f"{text.date(time)[:10]} " if time is not None else ""
    strength = f" ({origin.strength})" if origin.strength else ""
    return f"{when}in {article} {title} session{project}: {origin.kind}{strength}"
