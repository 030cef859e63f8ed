"""What an agent can read, a function each; `tools.py` has the tables.

The first argument is the call: the library and who asks. The others, with their types and words,
are what the agent is told. Every function returns a JSON object, which the server frames.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from memtui import query as queries
from memtui.errors import QueryError
from memtui.library import Library
from memtui.mcp.call import MAX_LISTED, Call, Ref, Reply, parse
from memtui.mcp.framing import cut_text, fit_page, memory_line, memory_text, shown
from memtui.model import Memory, format_time
from memtui.progress import Cancelled
from memtui.query import Query, relax
from memtui.stores.queryable import MAX_RANKED, Accuracy, Count
from memtui.text import mask_part, one_line

if TYPE_CHECKING:
    from memtui.library.finding import SearchResult

MAX_BUDGET = 4_000
"""Tokens of a context at most, so that its text fits a result."""
MAX_VERSION = 1_500
"""Characters of each text in a history."""
MAX_PASSAGE = 300
ORIGIN_SECONDS = 2.0
"""In which sessions are read for the origin of a memory."""
Limit = Annotated[int, Field(ge=1, le=50, description="Most memories.")]
CursorText = Annotated[str, Field(max_length=200, description="`next_cursor` of the last result.")]


class Found(Reply):
    """Memories, one line each."""

    memories: list[dict[str, Any]]
    total: int
    total_is: NotRequired[str]
    """`at least` or `about`, if it is not exact."""
    next_cursor: NotRequired[str]
    hints: NotRequired[list[str]]
    said_in_sessions: NotRequired[list[dict[str, Any]]]


class Origins(TypedDict, total=False):
    """The sessions that taught a memory."""

    origins: list[dict[str, Any]]
    """`share`: the part of the memory's rare words that was said, where it only looks like it."""
    origins_left_out: str


class One(Reply, Origins):
    """One memory."""

    memory: dict[str, Any]


class Context(Reply):
    """What a recipe gives an agent for a task."""

    recipe: str
    text: str
    tokens: int
    budget: int
    refs: list[str]
    cut: list[dict[str, Any]]
    """What was left out, and why."""
    notes: list[str]


class History(Reply):
    """The versions of a memory, oldest first."""

    versions: list[dict[str, Any]]
    next_cursor: NotRequired[str]
    left_out: str


class Explanation(Reply):
    """Why a memory ranks where it does, or what hides it."""

    found: bool
    rank: int | None
    score: float | None
    parts: dict[str, float]
    hidden_by: list[str]
    """What to leave out of the query so that it is found."""


class Related(Reply):
    """What is linked to a memory, and what is similar."""

    links: list[dict[str, Any]]
    similar: list[dict[str, Any]]


class Overview(Reply):
    """The stores, and what is allowed here."""

    stores: list[dict[str, Any]]
    may_write: bool
    recipes: list[str]
    waiting_proposals: int
    session: str


def search_memories(
    call: Call,
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2_000,
            description='Words, "a phrase", -without, wild*, filters such as type:decision, '
            "entity:people/alice, since:7d, status:all, importance:high, store:engram; "
            "~words search by meaning.",
        ),
    ],
    everywhere: Annotated[
        bool, Field(description="Also what was said in sessions, if the person turned that on.")
    ] = False,
    limit: Limit = 10,
    cursor: CursorText = "",
) -> Found:
    """Search the person's memories, best first. Memories with all words come before the others."""
    library = call.library
    parsed = parse(query, library.now())
    if parsed.is_empty and not (parsed.sort or parsed.prefer):
        raise QueryError("there is nothing to search for", do="list_memories lists them")
    library.embed_query(parsed)
    found = library.find(parsed)
    answer = _page(call, f"search\0{query}", found, library, limit, cursor)
    hints = [*found.hints, *found.limits]
    if not found.total:
        hints += [f"nothing is found; {what} there is more" for what in _weaker(library, parsed)]
    answer["hints"] = shown(hints)
    if everywhere:
        answer["said_in_sessions"] = _said_in_sessions(call, parsed, limit)
    return answer


def list_memories(
    call: Call,
    filters: Annotated[
        str,
        Field(
            max_length=2_000,
            description="Filters of the search line: entity:shop-api type:decision since:30d "
            "status:all sort:importance.",
        ),
    ] = "",
    as_of: Annotated[
        str,
        Field(max_length=40, description="A date or age: what was believed then, as it was then."),
    ] = "",
    limit: Limit = 20,
    cursor: CursorText = "",
) -> Found:
    """List the person's current memories, newest first, or those of an earlier time."""
    library = call.library
    parsed = parse(filters, library.now())
    if as_of:
        from memtui.library.past_library import library_at

        past = library_at(library, queries.parse_time_end(as_of, library.now()).time)
        return _page(call, f"list\0{filters}\0{as_of}", past.find(parsed), past, limit, cursor)
    return _page(call, f"list\0{filters}", library.find(parsed), library, limit, cursor)


def get_memory(
    call: Call,
    ref: Ref,
    start: Annotated[int, Field(ge=0, description="`next_start` of the last result.")] = 0,
) -> One:
    """Get one memory with its whole text, its version, its links and where it comes from."""
    memory = call.library.resolve(ref)
    answer: One = {"memory": shown(memory_text(memory, call.library, start))}
    return {**answer, **_origins(memory)} if call.settings.session_programs else answer


def get_context(
    call: Call,
    recipe: Annotated[
        str, Field(max_length=60, description="Name of a recipe; get_overview lists them.")
    ],
    task: Annotated[
        str, Field(max_length=2_000, description="The task in plain words, or a project.")
    ] = "",
    budget: Annotated[int, Field(ge=50, le=MAX_BUDGET, description="Most tokens.")] = 2_000,
) -> Context:
    """Get what a recipe gives for a task within a budget of tokens, and what was left out."""
    pack = call.draft(recipe, task).pack(budget)
    dropped = [
        {"ref": one.entry.ref, "section": one.section, "reason": one.reason}
        for one in pack.dropped[:MAX_LISTED]
    ]
    text, rest = cut_text(pack.text)
    notes = [*pack.notes, *(["the text was cut: ask with a smaller budget"] if rest else [])]
    return shown(
        Context(
            recipe=pack.recipe,
            text=text,
            tokens=pack.tokens,
            budget=budget,
            refs=list(pack.refs)[:100],
            cut=dropped,
            notes=notes[:MAX_LISTED],
        )
    )


def get_history(call: Call, ref: Ref, cursor: CursorText = "") -> History:
    """Get the former texts of a memory, oldest first: who changed it, when, and through what."""
    from memtui.insight.comparison import diff_words, mark_words

    library = call.library
    found = library.history(library.resolve(ref))

    def record(version: Any, at: int) -> dict[str, Any]:
        former = found.previous(at)
        told = version.text if former is None else mark_words(diff_words(former.text, version.text))
        return {
            "number": at + 1,
            "ref": version.memory.ref,
            "time": format_time(version.time) or "",
            "through": str(version.origin),
            "author": version.author,
            "is_present": version.is_present,
            "change": cut_text(told, 0, MAX_VERSION)[0],
        }

    at = call.cursors.decode(f"history\0{ref}", cursor)
    versions, rest = fit_page(found.versions, at, 50, record)
    answer: History = {"versions": versions, "left_out": shown(found.left_out)}
    if rest is not None:
        answer["next_cursor"] = call.cursors.encode(f"history\0{ref}", rest)
    return answer


def explain_match(
    call: Call, query: Annotated[str, Field(min_length=1, max_length=2_000)], ref: Ref
) -> Explanation:
    """Explain the rank of a memory in a search: the parts of its score, or what hides it."""
    library = call.library
    memory = library.resolve(ref)
    parsed = parse(query, library.now())
    found = library.find(parsed)
    place = _place_of(found, memory)
    if place is None:
        return {
            "found": False,
            "rank": None,
            "score": None,
            "parts": {},
            "hidden_by": shown(_weaker(library, parsed, memory)),
        }
    return {
        "found": True,
        "rank": place + 1,
        "score": found.scores[place] if found.scores is not None else None,
        "parts": {part.name: part.value for part in library.explain(found, place)},
        "hidden_by": [],
    }


def get_related(call: Call, ref: Ref, limit: Limit = 10) -> Related:
    """Get what a memory links to and is linked from, and the memories most similar to it."""
    from memtui.insight.traversal import edge_record

    library = call.library
    memory = library.resolve(ref)
    node = library.resolve_node(memory.ref)
    with library.links.reading() as index:
        edges = [*index.outgoing(node), *index.incoming(node)]
    similar = library.similar(memory.ref, limit)
    memories, _ = fit_page(
        [similar.rows[slot] for slot in similar.slots],
        0,
        limit,
        lambda one, at: {**memory_line(one, library), "similarity": similar.scores[at]},
    )
    links = [edge_record(edge) for edge in edges[:MAX_LISTED]]
    return {"links": shown(links), "similar": memories}


def _counted(count: Count) -> dict[str, Any]:
    """The number of memories of a store, and how far it can be trusted if it is not exact."""
    accuracy = {} if count.accuracy is Accuracy.EXACT else {"memories_are": str(count.accuracy)}
    return {"memories": count.value, **accuracy}


def get_overview(call: Call) -> Overview:
    """Get the stores with their counts, what cannot be read, and what you are allowed to do."""
    library = call.library
    stores = [
        {
            "store": state.label,
            "program": library.names.of(state.label),
            **_counted(library.count_in(state)),
            "unreadable": [f"{one.file}: {one.reason}" for one in state.unreadable[:5]],
            "read_only": library.away(state.label) or library.store(state.label).read_only,
        }
        for state in library.snapshot.stores[:100]
    ]
    waiting = 0 if library.state_folder is None else len(call.proposals.waiting(call.decisions))
    return {
        "stores": shown(stores),
        "may_write": call.may_write,
        "recipes": [*call.recipes],
        "waiting_proposals": waiting,
        "session": call.author.session,
    }


def _page(
    call: Call, asked: str, found: SearchResult, library: Library, limit: int, cursor: str
) -> Found:
    def record(slot: int, at: int) -> dict[str, Any]:
        memory = found.rows[slot]
        passage = library.passage(found, at)
        start = passage.start if passage is not None else 0
        end = min(passage.end, start + MAX_PASSAGE) if passage is not None else 0
        line = memory_line(memory, library, memory.content[start:end])
        if found.scores is not None:
            line["score"] = round(float(found.scores[at]), 4)
        if end:
            line["passage"] = mask_part(memory.content, start, end)
        return line

    at = call.cursors.decode(asked, cursor)
    memories, rest = fit_page(found.slots, at, limit, record)
    answer: Found = {"memories": memories, "total": found.total}
    if found.accuracy is not Accuracy.EXACT:
        answer["total_is"] = str(found.accuracy)
    if rest is not None:
        answer["next_cursor"] = call.cursors.encode(asked, rest)
    return answer


def _place_of(found: SearchResult, memory: Memory) -> int | None:
    first = islice(found.slots, MAX_RANKED)  # a store of millions is not gone through
    return next((at for at, s in enumerate(first) if found.rows[s].ref == memory.ref), None)


def _weaker(library: Library, query: Query, memory: Memory | None = None) -> list[str]:
    """What may be left out of a query so that anything, or this memory, is found."""
    for step in relax(query):
        found = [
            what
            for what, weaker in step.items()
            if (hits := library.find(weaker)).total
            and (memory is None or _place_of(hits, memory) is not None)
        ]
        if found:
            return found
    return []


def _said_in_sessions(call: Call, query: Query, limit: int) -> list[dict[str, Any]]:
    from memtui.search.session_search import search_chosen

    cache, programs = call.library.cache_folder, call.settings.session_programs
    if cache is None or not programs:
        return []
    found, _ = search_chosen(cache, programs, query, min(limit, 10))
    return shown(
        [
            {
                "program": hit.program,
                "session": hit.session,
                "said_by": "person" if hit.is_user else "agent",
                "time": format_time(hit.time) or "",
                "text": one_line(message.text, 500) if message is not None else "",
            }
            for hit, message in found
        ]
    )


def _origins(memory: Memory) -> Origins:
    """The sessions that taught a memory, as `memtui origin` finds them within some time."""
    from memtui.search.mentions import origins_of
    from memtui.sessions.origin import find_recorded
    from memtui.sessions.programs import chosen_sessions

    deadline = time.monotonic() + ORIGIN_SECONDS
    left_out = ""
    sessions = chosen_sessions().sessions
    try:
        found = origins_of([memory], sessions, lambda: time.monotonic() > deadline)[0]
    except Cancelled:
        left_out = f"not all sessions were read within {ORIGIN_SECONDS} s"
        found = find_recorded(memory, sessions)
    origins = [
        {
            "how": str(each.kind),
            "program": each.session.program,
            "session": each.session.id,
            "said": one_line(each.words.text, 500) if each.words is not None else "",
            "said_by": str(each.words.role) if each.words is not None else "",
            "share": round(each.share, 2) if each.strength is not None else None,
        }
        for each in found[:5]
    ]
    return {"origins": shown(origins), "origins_left_out": left_out}
