"""The filters of a query over sessions: which messages pass, and what is left for memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from memtui.query import Condition, Query
from memtui.query.query_fields import FIELDS, Matching
from memtui.search.session_index import Hit
from memtui.sessions import Session


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
