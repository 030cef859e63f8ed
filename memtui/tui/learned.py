"""In what session a memory was learned, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memtui import text
from memtui.model import Memory
from memtui.progress import IsCancelled
from memtui.sessions import PROGRAMS, Session
from memtui.sessions.origin import Origin, OriginKind, recorded_ids

if TYPE_CHECKING:
    from memtui.search.uses import Used

ID_CHARS = 8
_ORDER = (OriginKind.WRITTEN, OriginKind.RECORDED, OriginKind.LOOKS_LIKE)


class Learned(Struct, frozen=True):
    """Where a memory was learned."""

    words: str
    """One line; empty where nothing is known."""
    origins: Sequence[Origin] = ()
    """The surest first."""
    used: str = ""
    """How often it was used, and when last; empty where no use is known."""


def find_learned(memory: Memory, sessions: Sequence[Session], cancelled: IsCancelled) -> Learned:
    """Find the sessions that taught a memory, and those that used it. Raises Cancelled."""
    from memtui.search.mentions import candidates, origins_of
    from memtui.search.uses import find_uses

    origins = origins_of([memory], candidates([memory], sessions), cancelled)[0]
    used = _describe_used(find_uses(memory, _later(memory, sessions), cancelled))
    known = {id for each in origins for id in (each.session.id, each.session.path.stem)}
    origins = _one_for_each(origins)
    gone = [id for id in recorded_ids(replace(memory, source="")) if id not in known]
    words = ""
    if origins:
        words = describe_origin(origins[0]) + text.and_more(len(origins) - 1)
    elif gone:
        id = text.one_line(gone[0])[:ID_CHARS]
        words = f"in session {id}, which is not among those read: {OriginKind.RECORDED}"
    return Learned(words, origins, used)


def _describe_used(used: Used) -> str:
    counts = []
    if used.uses:
        counts.append(f"in {text.counted(len(used.uses), 'session')}")
    if used.counted:
        counts.append(f"{text.counted(used.counted, 'time')} by the count of its store")
    last = [f"last {text.date(used.last)[:10]}"] if counts and used.last is not None else []
    return ", ".join([*counts, *last])


def _one_for_each(origins: Iterable[Origin]) -> list[Origin]:
    """Of several origins in one session the surest, which then has the words of the others."""
    found: dict[tuple[Path, str], Origin] = {}
    for each in sorted(origins, key=lambda each: _ORDER.index(each.kind)):
        key = each.session.path, each.session.id
        surer = found.setdefault(key, each)
        if surer.words is None and surer.call is None and each.words is not None:
            found[key] = replace(surer, words=each.words)
    return list(found.values())


def _later(memory: Memory, sessions: Iterable[Session]) -> list[Session]:
    """The sessions that went on after a memory was made, the last first."""
    from memtui.search.mentions import MOST_BYTES

    since = memory.created or memory.when
    found, size = list[Session](), 0
    for session in sessions:
        if since is None or session.changed is None or session.changed >= since:
            size += session.size
            if size > MOST_BYTES:
                break
            found.append(session)
    return found


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
