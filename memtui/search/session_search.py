"""Search what was said in the sessions of the programs that are on, whose index is brought up to
date first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from memtui.errors import SaveError
from memtui.files.reading import error_text
from memtui.progress import Cancelled, IsCancelled, Report, never, silent
from memtui.query import Condition, Query, Sort
from memtui.query.query_fields import FIELDS, Matching
from memtui.search.index.session_index import Hit, SessionIndex, read_message
from memtui.search.index.session_worker import index_sessions
from memtui.search.query_terms import analyze_terms
from memtui.search.text_match import holds_all, is_exact
from memtui.sessions import PROGRAMS, Kind, Message, Reading, Session
from memtui.sessions.programs import chosen_sessions, forget


def search_chosen(
    cache: Path, programs: Iterable[str], query: Query, limit: int, report: Report = silent
) -> tuple[list[tuple[Hit, Message | None]], list[str]]:
    """Find the messages with all words of a query, as `find_said`, in an index that is current.

    Args:
        cache: The cache folder.
        programs: Names of the programs whose sessions are searched.
        query: Its words, and its filters of time and of sessions.
        limit: Most messages.
        report: Called with the sessions indexed.

    Returns:
        Each hit with its message, None where the session changed since it was indexed; and the
        sessions that could not be read.

    Raises:
        WorkerError: The process that indexes them failed.
    """
    sessions = chosen_sessions().sessions
    programs = tuple(programs)
    unreadable: list[str] = []
    for program in programs:
        unreadable += index_sessions(cache, program, report)["unreadable"]
    return find_said(cache, programs, query, limit, sessions), unreadable


def forget_session(cache: Path, session: Session) -> None:
    """Leave a session out of every list and search, and take its words out of the index for good.

    Raises SaveError: What is not written yet is done by the next update of the index.
    """
    try:
        forget(session.id)
        SessionIndex(cache, session.program).forget(session.id)
    except OSError as error:
        raise SaveError(f"the session is not forgotten: {error_text(error)}") from error


def find_said(
    cache: Path, programs: Iterable[str], query: Query, limit: int, sessions: Sequence[Session]
) -> list[tuple[Hit, Message | None]]:
    """Find the messages with all words and phrases of a query in what is indexed now.

    The best come first, or the newest or oldest if the query asks for that order. Where phrases or
    excluded words are looked for, which the index cannot tell, a message that has changed is left
    out.
    """
    terms = analyze_terms(query.terms)
    passes = make_filter(query, sessions) if asks_sessions(query) else None
    is_by_time = query.order in (Sort.NEW, Sort.OLD)
    # The index orders by score and knows no phrases, so only its own order may be cut there.
    most = limit if is_exact(terms) and not is_by_time else None
    hits = [
        hit
        for program in programs
        for hit in SessionIndex(cache, program).search(
            [*terms.optional, *terms.required], most, query, passes
        )
    ]
    hits.sort(key=lambda each: -each.score)
    if is_by_time:
        hits.sort(key=lambda each: each.time.timestamp() if each.time else 0.0)
        hits = hits if query.order is Sort.OLD else hits[::-1]
    found = ((hit, read_message(hit, sessions)) for hit in hits)
    if not is_exact(terms):
        found = ((hit, said) for hit, said in found if said and holds_all(said.text, terms))
    return list(islice(found, limit))


def read_beginning(session: Session, cancelled: IsCancelled = never) -> list[Message]:
    """The first texts of a session. Raises UnreadableFile, Cancelled."""
    first: list[Message] = []
    for each in PROGRAMS[session.program].messages(session, Reading()):
        if cancelled():
            raise Cancelled
        if each.kind in (Kind.TEXT, Kind.SUMMARY):
            first.append(each)
            if len(first) == BEGINNING:
                break
    return first


BEGINNING = 12
"""Texts that are shown of a session that is listed as a whole."""


def read_neighbours(
    session: Session, message: Message, cancelled: IsCancelled = never
) -> tuple[list[Message], list[Message]]:
    """The texts before and behind a message of a session. Raises UnreadableFile, Cancelled."""
    before, behind, is_past = list[Message](), list[Message](), False
    start = _start_before(session, message)
    for each in PROGRAMS[session.program].messages(session, Reading(), start):
        if cancelled():
            raise Cancelled
        if each.place.offset == message.place.offset and each.text == message.text:
            is_past = True
        elif each.kind not in (Kind.TEXT, Kind.SUMMARY):
            continue
        elif is_past:
            behind.append(each)
            if len(behind) == NEIGHBOURS:
                break
        else:
            before = [*before, each][-NEIGHBOURS:]
    return before, behind


def _start_before(session: Session, message: Message) -> int:
    """The offset of a line some way before the message; 0 where the file has no lines."""
    offset = message.place.offset
    if not message.place.length or offset <= READ_BEFORE:
        return 0
    try:
        with open(session.path, "rb") as file:
            file.seek(offset - READ_BEFORE)
            line_end = file.read(READ_BEFORE).find(b"\n")
    except OSError:
        return 0
    return offset - READ_BEFORE + line_end + 1 if line_end >= 0 else offset


NEIGHBOURS = 2
"""Messages shown before and behind the one that was found."""
READ_BEFORE = 1 << 18
"""Bytes before a message in which its neighbours are looked for."""


# ---- filters: which messages pass, and what is left for memories ------------------------------


def asks_sessions(query: Query) -> bool:
    """Whether a filter is over what only sessions have."""
    return any(_is_of_sessions(each) for each in query.all_conditions)


def _is_of_sessions(condition: Condition) -> bool:
    field = FIELDS.get(condition.field)
    return field is not None and field.matching is Matching.SESSION


def make_filter(query: Query, sessions: Iterable[Session]) -> Callable[[Hit], bool]:
    """A predicate over hits in these sessions."""
    conditions = [each for each in query.conditions if _is_of_sessions(each)]
    known = {(each.program, each.id): each for each in sessions}

    def passes(hit: Hit) -> bool:
        session = known.get((hit.program, hit.session))
        return session is not None and all(
            _holds(each, session, is_user=hit.is_user) for each in conditions
        )

    return passes


def has_session(query: Query, session: Session) -> bool:
    """Whether a session passes the filters, whoever said something in it."""
    conditions = [each for each in query.conditions if _is_of_sessions(each)]
    return all(_holds(each, session) for each in conditions if each.field != "role")


def _holds(condition: Condition, session: Session, *, is_user: bool = False) -> bool:
    match condition.field:
        case "program":
            holds = session.program in condition.values
        case "session":
            holds = session.id.casefold().startswith(condition.values)
        case "role":
            holds = ("user" if is_user else "assistant") in condition.values
        case _:
            holds = session.project.casefold() in condition.values
    return holds != condition.negated


def for_memories(query: Query) -> Query | None:
    """The query as memories answer it: a project is the entity there. None where a filter is over
    what they do not have."""
    if any(each.field in ("program", "session", "role") for each in query.all_conditions):
        return None
    return replace(
        query,
        conditions=tuple(
            replace(each, field="entity") if each.field == "project" else each
            for each in query.conditions
        ),
    )
