"""Searching memories, their former versions and the sessions of agents at once, in a job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memtui import paths, text
from memtui.model import ENDED, Memory
from memtui.progress import Cancelled, IsCancelled, Report
from memtui.query import Query
from memtui.sessions import PROGRAMS, Message, Session
from memtui.sessions.origin import Origin, OriginKind, recorded_ids
from memtui.sessions.programs import Found

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.search.index.session_index import Hit
    from memtui.search.uses import Used


MOST_MEMORIES, MOST_MESSAGES = 100, 200
"""Results of a kind that are listed."""


class ResultKind(StrEnum):
    """What a result is, in the order of the groups."""

    MEMORY = "memories"
    FORMER = "former versions"
    MESSAGE = "sessions"


class Result(Struct, frozen=True):
    """One line of the results."""

    kind: ResultKind
    time: datetime | None
    passage: str
    """The text that holds the words, as it is stored."""
    where: str
    """Store or program."""
    project: str = ""
    memory: Memory | None = None
    current: Memory | None = None
    """Of a former text: the memory as it is now."""
    session: Session | None = None
    message: Message | None = None
    """None of a session that is listed as a whole, and where the session has changed."""
    depth: int = 0
    """1 for a subagent below its parent."""
    is_gone: bool = False
    """The message has changed since it was indexed."""


class Results(Struct, frozen=True):
    """What was found."""

    found: Sequence[Result]
    words: tuple[str, ...] = ()
    """To highlight."""
    totals: dict[ResultKind, int] = {}
    """Where more were found than are listed."""
    hints: Sequence[str] = ()


class Sessions:
    """The sessions of the programs that are on, as they were at the last look."""

    def __init__(self) -> None:
        self.found = Found([], [])
        self._by_id: dict[str, Session] = {}

    def look(self, only: Collection[str] | None = None) -> None:
        """Look for the sessions, or for those in the files that `only` names, which were written
        just now; call it in a job."""
        from memtui.sessions.programs import chosen_sessions

        found = chosen_sessions(only=only)
        if only is not None:
            read = {str(each.path) for each in found.sessions} | {*only}
            found.sessions += [e for e in self.found.sessions if str(e.path) not in read]
            found.unreadable += [e for e in self.found.unreadable if e.where not in read]
        self._by_id = {each.id: each for each in reversed(found.sessions)}
        self.found = found

    def clear(self) -> None:
        """Forget what was found: no program is on any more."""
        self.found, self._by_id = Found([], []), {}

    def get(self, id: str, program: str = "") -> Session | None:
        """The session with this id."""
        session = self._by_id.get(id)
        if session is not None and program and session.program != program:
            return next(
                (s for s in self.found.sessions if (s.id, s.program) == (id, program)), None
            )
        return session

    def below(self, session: Session) -> list[Session]:
        """The subagents of a session, the earliest first."""
        found = [each for each in self.found.sessions if is_below(each, session)]
        return sorted(found, key=lambda each: each.started.timestamp() if each.started else 0.0)


def is_below(session: Session, above: Session) -> bool:
    """Whether a session is a subagent of another."""
    return session.is_sidechain and session.parent == above.id and session is not above


def update_index(
    programs: Iterable[str],
    report: Report,
    cancelled: IsCancelled,
    only: Collection[str] = (),
) -> list[str]:
    """Bring the index of these programs up to date, in a process of its own for each; returns what
    cannot be read. `only`: the files that changed. Raises Cancelled, WorkerError."""
    from memtui.search.index.session_worker import index_sessions

    unreadable: list[str] = []
    for program in programs:
        done = index_sessions(paths.cache_folder(), program, report, cancelled, only=only)
        unreadable += done["unreadable"]
    return unreadable


def search_everywhere(
    library: Library,
    query: Query,
    programs: Sequence[str],
    sessions: Sessions,
    cancelled: IsCancelled,
) -> Results:
    """What memories and sessions have of a query, and the memories that are no longer current.

    `add_former` adds former texts, which takes longer. Raises Cancelled.
    """
    from memtui.search.query_terms import analyze_terms
    from memtui.search.session_search import asks_sessions, find_said, for_memories, has_session

    every = sessions.found.sessions
    if query.is_empty:
        return Results(_list_sessions(every))
    found, totals = list[Result](), dict[ResultKind, int]()
    hints: Sequence[str] = ()
    terms = analyze_terms(query.terms)
    if (asked := for_memories(query)) is not None:
        now = library.find(asked, cancelled)
        hints = now.hints
        answers = [(ResultKind.MEMORY, now)]
        if not query.has_status:
            former = library.find(asked.with_status(*ENDED), cancelled)
            answers.append((ResultKind.FORMER, former))
        for kind, answer in answers:
            totals[kind] = answer.total
            slots = [int(slot) for slot in answer.slots[:MOST_MEMORIES]]
            found += [_of_memory(kind, answer.rows[slot], library) for slot in slots]
    if terms.optional or terms.required:
        if cancelled():
            raise Cancelled
        said = find_said(paths.cache_folder(), programs, query, MOST_MESSAGES, every)
        messages = [_of_hit(hit, message, sessions) for hit, message in said]
        found += filter(None, messages)
        totals[ResultKind.MESSAGE] = len(messages)
    elif asks_sessions(query):
        found += _list_sessions([each for each in every if has_session(query, each)])
    return Results(found, terms.title_words, totals, hints)


def add_former(library: Library, query: Query, results: Results, cancelled: IsCancelled) -> Results:
    """The results, with the former texts that memories had. Raises Cancelled."""
    from memtui.library.former_search import find_former
    from memtui.search.session_search import for_memories

    asked = for_memories(query)
    if asked is None or query.is_empty:
        return results
    found = find_former(library, asked, cancelled).found[:MOST_MEMORIES]
    former = [
        replace(
            _of_memory(ResultKind.FORMER, each.version.memory, library),
            time=each.version.time,
            current=each.memory,
        )
        for each in found
    ]
    totals = dict(results.totals)
    totals[ResultKind.FORMER] = totals.get(ResultKind.FORMER, 0) + len(former)
    return replace(results, found=[*results.found, *former], totals=totals)


def _of_memory(kind: ResultKind, memory: Memory, library: Library) -> Result:
    project = library.entity_name(memory).rpartition("/")[2]
    return Result(kind, memory.when, memory.full_text, memory.store, project, memory=memory)


def _list_sessions(every: Sequence[Session]) -> list[Result]:
    """Sessions, the last one first, subagents below their parents."""
    known = {each.id for each in every if not each.is_sidechain}
    below: dict[str, list[Session]] = {}
    for each in every:
        if each.is_sidechain and each.parent in known:
            below.setdefault(each.parent, []).append(each)
    rows = []
    for each in every:
        if not (each.is_sidechain and each.parent in known):
            rows.append(_of_session(each))
            rows += [_of_session(one, 1) for one in reversed(below.get(each.id, []))]
    return rows


def _of_session(session: Session, depth: int = 0) -> Result:
    words = session.title or ("a subagent" if session.is_sidechain else "without words")
    return Result(
        ResultKind.MESSAGE,
        session.last,
        words,
        session.program,
        session.project,
        session=session,
        depth=depth,
    )


def _of_hit(hit: Hit, message: Message | None, sessions: Sessions) -> Result | None:
    session = sessions.get(hit.session, hit.program)
    if session is None:
        return None
    return Result(
        ResultKind.MESSAGE,
        hit.time,
        message.text if message is not None else "",
        hit.program,
        session.project,
        session=session,
        message=message,
        is_gone=message is None,
    )


def describe_session(session: Session) -> str:
    """Program, project and time of a session, for a heading."""
    parts = (
        PROGRAMS[session.program].title,
        text.one_line(session.project),
        text.date(session.started) if session.started else "",
    )
    return " · ".join(filter(None, parts))


# ---- in what session a memory was learned --------------------------------------------------------


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
        words = f"in session {id} (not found): {OriginKind.RECORDED}"
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
        if since is None or session.last is None or session.last >= since:
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
