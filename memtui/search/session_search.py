"""Search what was said in the sessions of the programs that are on, whose index is brought up to
date first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memtui.progress import Report, silent
from memtui.query import Query
from memtui.search.query_terms import analyze_terms
from memtui.search.session_index import Hit, SessionIndex, read_message
from memtui.search.session_worker import index_sessions
from memtui.sessions import Message
from memtui.sessions.chosen import chosen_sessions


def search_chosen(
    cache: Path, programs: Iterable[str], query: Query, limit: int, report: Report = silent
) -> tuple[list[tuple[Hit, Message | None]], list[str]]:
    """Find the messages with all words of a query, best first.

    Args:
        cache: The cache folder.
        programs: Names of the programs whose sessions are searched.
        query: Its words, and its filters of time.
        limit: Most messages.
        report: Called with the sessions indexed.

    Returns:
        Each hit with its message, None where the session changed since it was indexed; and the
        sessions that could not be read.

    Raises:
        WorkerError: The process that indexes them failed.
    """
    terms = analyze_terms(query.terms)
    sessions = chosen_sessions().sessions
    found: list[tuple[Hit, Message | None]] = []
    unreadable: list[str] = []
    for program in programs:
        unreadable += index_sessions(cache, program, report)["unreadable"]
        hits = SessionIndex(cache, program).search([*terms.optional, *terms.required], limit, query)
        found += [(hit, read_message(hit, sessions)) for hit in hits]
    found.sort(key=lambda each: -each[0].score)
    return found[:limit], unreadable
