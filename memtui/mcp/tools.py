"""What an agent can do, a function each; `TOOLS` is the table that the server offers them from.

The first argument is the call: the library and who asks. The others, with their types and words,
are what the agent is told. Every function returns a JSON object, which the server frames.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from msgspec import Struct
from pydantic import Field
from typing_extensions import TypedDict

from memtui import query as queries
from memtui.changes import Act, Change, Outcome, diff_lines
from memtui.config import Settings
from memtui.errors import Conflict, QueryError, Refused
from memtui.journal import ActionState, Author
from memtui.library import Library
from memtui.library.agent_proposals import (
    AgentProposals,
    answers_for,
    make_proposal,
    texts_in,
    version_of,
)
from memtui.library.planning import Planned, name_below
from memtui.library.review_files import Decisions
from memtui.mcp.framing import (
    Cursors,
    cut_text,
    dangers_in,
    fit_page,
    memory_line,
    memory_text,
    shown,
)
from memtui.model import Memory, format_time
from memtui.progress import Cancelled
from memtui.query import Query, relax
from memtui.stores.queryable import MAX_RANKED, Accuracy, Count
from memtui.text import mask_part, mask_secrets, one_line

if TYPE_CHECKING:
    from memtui.context import ContextSettings
    from memtui.library.finding import SearchResult

MAX_BUDGET = 4_000
"""Tokens of a context at most, so that its text fits a result."""
MAX_VERSION = 1_500
"""Characters of each text in a history."""
MAX_DIFF = 6_000
MAX_PASSAGE = 300
ORIGIN_SECONDS = 2.0
"""In which sessions are read for the origin of a memory."""
_MAX_LISTED = 20

Ref = Annotated[str, Field(max_length=500, description="Ref of a memory, as a result names it.")]
Text = Annotated[str, Field(max_length=100_000)]
Reason = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="Why, in one sentence, for the person who decides; say who told you.",
    ),
]
Words = Annotated[str, Field(max_length=300)]
Limit = Annotated[int, Field(ge=1, le=50, description="Most memories.")]
CursorText = Annotated[str, Field(max_length=200, description="`next_cursor` of the last result.")]


class Reply(TypedDict):
    """What every result has."""

    notice: NotRequired[str]
    answers: NotRequired[list[dict[str, Any]]]
    """What the person decided on proposals since the last call."""


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


class Changed(Reply):
    """What became of a change."""

    status: Literal["done", "proposed", "not needed", "rejected", "undone"]
    outcome: str
    """The store's own word: ADDED, DEDUPE, SUPERSEDED, REJECTED, DONE, NOTHING."""
    reason: str
    refs: list[str]
    effects: list[str]
    diff: str
    number: NotRequired[int]
    """Of the change in the log; `undo_change` takes it."""
    proposal: NotRequired[str]


class Read(TypedDict):
    """A memory as the agent read it."""

    ref: str
    version: str


class Call(Struct, frozen=True):
    """The library, and who asks."""

    library: Library
    settings: Settings
    author: Author
    may_write: bool
    """The person allows agents to write."""
    writes: bool
    """This tool writes."""
    cursors: Cursors
    answered: dict[str, object]
    """Client -> what was there to see when nothing was left to tell it."""

    @property
    def proposals(self) -> AgentProposals:
        state = self.library.state_folder
        if state is None:
            raise Refused("this library was opened read-only")
        return AgentProposals(state)

    @property
    def decisions(self) -> Decisions:
        return Decisions(self.library.state_folder, self.library.now)

    @property
    def context_settings(self) -> ContextSettings:
        from memtui.context import read_settings

        own = self.settings
        return read_settings(own.recipe_constants, own.recipes, own.salience_types)

    def find(self, text: str) -> SearchResult:
        """What a search line finds. Raises QueryError."""
        return self.library.find(_parse(text, self.library.now()))

    def told_answers(self) -> list[dict[str, Any]]:
        """What became of this agent's proposals; each is told once."""
        if self.library.state_folder is None or not (made := self.proposals.mark):
            return []
        hour = int(self.library.now().timestamp() / 3600)
        mark = made, self.decisions.mark, self.library.log_mark, hour
        if self.answered.get(self.author.client) == mark:
            return []
        found = answers_for(self.author.client, self.library)
        if not found:
            self.answered[self.author.client] = mark
        for answer in found[:_MAX_LISTED]:
            self.proposals.mark_told(answer)
        return [
            {
                "proposal": answer.proposal.id,
                "decision": answer.decision,
                "act": str(answer.proposal.act),
                "reason_you_gave": mask_secrets(answer.proposal.reason),
            }
            for answer in found[:_MAX_LISTED]
        ]


# ---- reading ------------------------------------------------------------------------------------


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
    parsed = _parse(query, library.now())
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
    parsed = _parse(filters, library.now())
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
    from memtui.context import draft_pack, find_recipe, task_query

    settings = call.context_settings
    chosen = find_recipe(recipe, settings)
    now = call.library.now().astimezone()
    library = call.library.hold(task_query(task))
    remarks = library.unheld
    pack = draft_pack(chosen, task, library, settings, now, remarks=remarks).pack(budget)
    dropped = [
        {"ref": one.entry.ref, "section": one.section, "reason": one.reason}
        for one in pack.dropped[:_MAX_LISTED]
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
            notes=notes[:_MAX_LISTED],
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
    parsed = _parse(query, library.now())
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
    links = [edge_record(edge) for edge in edges[:_MAX_LISTED]]
    return {"links": shown(links), "similar": memories}


def _counted(count: Count) -> dict[str, Any]:
    """The number of memories of a store, and how far it can be trusted if it is not exact."""
    accuracy = {} if count.accuracy is Accuracy.EXACT else {"memories_are": str(count.accuracy)}
    return {"memories": count.value, **accuracy}


def get_overview(call: Call) -> Overview:
    """Get the stores with their counts, what cannot be read, and what you are allowed to do."""
    from memtui.context import list_recipes

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
        "recipes": [each.name for each in list_recipes(call.context_settings)],
        "waiting_proposals": waiting,
        "session": call.author.session,
    }


# ---- changing -----------------------------------------------------------------------------------

NewAct = Literal["edit", "supersede", "retire", "link", "merge"]


def add(
    call: Call,
    content: Text,
    reason: Reason,
    entity: Annotated[Words, Field(description="What it is about: people/alice, shop-api.")] = "",
    type: Annotated[Words, Field(description="In the store's words: decision, person ...")] = "",
    title: Words = "",
    importance: Literal["", "high", "medium", "low"] = "",
    store: Annotated[Words, Field(description="Name of the store, if there are several.")] = "",
) -> Changed:
    """Add a memory, or propose it."""
    values = {"content": content, "entity": entity, "type": type, "title": title}
    values |= {"importance": importance}
    fields = {name: value for name, value in values.items() if value}
    return make(call, Change(Act.ADD, _label(call.library, store), "", fields), reason)


def change(
    call: Call,
    ref: Ref,
    version: Annotated[Words, Field(description="`version` of the memory as you read it.")],
    act: Annotated[
        NewAct,
        Field(
            description="edit: other values; supersede: another text in its place; retire: it is "
            "not true any more; link: to `target`; merge: `others` into it."
        ),
    ],
    reason: Reason,
    content: Text | None = None,
    title: Words | None = None,
    type: Words | None = None,
    importance: Literal["high", "medium", "low"] | None = None,
    entity: Words | None = None,
    tags: Annotated[list[Words], Field(max_length=50)] | None = None,
    relation: Annotated[Words, Field(description="Of a link: works_at.")] = "",
    target: Annotated[Words, Field(description="Of a link: a ref or an entity.")] = "",
    others: Annotated[list[Read], Field(max_length=50)] | None = None,
) -> Changed:
    """Change a memory, or propose that."""
    values: dict[str, Any] = {"content": content, "title": title, "type": type, "entity": entity}
    values |= {"importance": importance, "tags": None if tags is None else tuple(tags)}
    made = _change_of(call.library, ref, version, act, values, relation, target, others or ())
    return make(call, made, reason)


def undo_change(
    call: Call, number: Annotated[int, Field(ge=1, description="`number` of your change.")]
) -> Changed:
    """Undo a change that you made in this session."""
    made = call.library.action(number)
    if made is None or made.author != call.author:
        raise Refused(f"{number} is no change of yours in this session")
    if made.state is ActionState.UNDONE:
        raise Refused(f"{number} is undone already")
    action = call.library.undo(number)
    return shown(
        Changed(
            status="undone",
            outcome=str(Outcome.DONE),
            reason=action.title,
            refs=[],
            effects=list(action.effects),
            diff="",
            number=number,
        )
    )


def _label(library: Library, name: str) -> str:
    """The label of the store with this label or name. Raises Refused."""
    labels = [store.label for store in library.stores]
    if not name and len(labels) == 1:
        return labels[0]
    found = [label for label in labels if name in (label, library.names.of(label))]
    if len(found) != 1:
        raise Refused("name one store", do=f"stores: {', '.join(labels)}")
    return found[0]


def _change_of(
    library: Library,
    ref: str,
    version: str,
    act: str,
    values: Mapping[str, Any],
    relation: str,
    target: str,
    others: Sequence[Read],
) -> Change:
    """The change that an agent asks for. Raises Conflict if a memory is another now, Refused."""
    memory = _as_read(library, ref, version)
    fields: dict[str, Any] = {name: each for name, each in values.items() if each is not None}
    chosen = retiring(library, memory).act if act == Act.RETIRE else Act(act)
    if chosen in (Act.RETIRE, Act.HIDE) and fields:
        raise Refused("retire takes no values", do="use edit or supersede")
    if chosen is Act.EDIT and not fields:
        raise Refused("there is nothing to edit", do="give content, title, type or tags")
    if chosen is Act.SUPERSEDE and not fields.get("content"):
        raise Refused("supersede needs the new content")
    if chosen is Act.LINK:
        if not relation or not target:
            raise Refused("link needs relation and target")
        fields = {"relation": relation, "target": library.link_target(memory, target)}
    if chosen is Act.MERGE:
        merged = [_as_read(library, each["ref"], each["version"]) for each in others]
        if not merged or any(each.store != memory.store for each in merged):
            raise Refused("merge needs others of the same store")
        fields["others"] = [each.id for each in merged]
    return Change(chosen, memory.store, memory.ref, fields)


def retiring(library: Library, memory: Memory) -> Change:
    """The change that takes a memory out of use: retired, or else hidden in memtui."""
    act = Act.RETIRE
    if library.refusal(act, memory) and not library.refusal(Act.HIDE, memory):
        act = Act.HIDE
    return Change(act, memory.store, memory.ref)


def find_by(library: Library, entity: str) -> list[Memory]:
    """The current memories of an entity, newest first."""
    found = library.find(queries.parse_query(f'entity:"{entity}"', library.now()))
    memories = (found.rows[slot] for slot in found.slots)
    return [each for each in memories if entity in (each.entity, *each.also_entities)]


def _as_read(library: Library, ref: str, version: str) -> Memory:
    memory = library.resolve(ref)
    if version_of(memory) != version:
        raise Conflict(
            "the memory has changed since you read it", where=memory.ref, do="get_memory reads it"
        )
    return memory


def _propose(call: Call, change: Change, reason: str, note: str = "") -> Changed:
    planned = call.library.plan([change])
    if not planned.has_edits:
        return _outcome(call, planned)
    proposal = make_proposal(call.author, change, reason, call.library, note=note)
    proposal = call.proposals.add(proposal, call.decisions)
    answer = _outcome(call, planned, "proposed")
    answer["proposal"] = proposal.id
    answer["refs"] = [change.ref] if change.ref else []
    told = "nothing is changed yet: a person decides on it in `memtui review`"
    answer["reason"] = "; ".join(filter(None, (told, note, answer["reason"])))
    return answer


def make(call: Call, change: Change, reason: str) -> Changed:
    """Make the change if this tool writes and its text is harmless, else propose it."""
    dangers = "; ".join(dangers_in(texts_in(change.fields.values())))
    if dangers or not call.writes:
        return _propose(call, change, reason, dangers)
    planned = call.library.plan([change])
    if not planned.has_edits:
        return _outcome(call, planned)
    answer = _outcome(call, planned, "done")  # the diff is of what was there before
    action = call.library.apply(planned, author=call.author)
    answer["refs"] = shown(list(planned.with_written_refs(action.refs).refs))
    answer["number"] = action.id
    return answer


def _outcome(call: Call, planned: Planned, status: Literal["", "done", "proposed"] = "") -> Changed:
    rejected = planned.outcome is Outcome.REJECTED
    diff = "\n".join(diff_lines(name_below(planned.diffs(), call.library)))
    return {
        "status": status or ("rejected" if rejected else "not needed"),
        "outcome": str(planned.outcome),
        "reason": shown(planned.reason),
        "refs": shown(list(planned.refs)),
        "effects": shown(list(planned.effects)),
        "diff": cut_text(diff, 0, MAX_DIFF)[0],
    }


# ---- what several need --------------------------------------------------------------------------


def _parse(text: str, now: datetime) -> Query:
    """The query of a search line. Raises QueryError."""
    parsed = queries.parse_search(text, now)
    if parsed.error is not None:
        raise QueryError(parsed.error.text)
    return parsed


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


class Tool(Struct, frozen=True):
    """One line of the table: what the server says of a function."""

    function: Callable[..., Any]
    title: str
    name: str = ""
    """Empty: that of the function."""
    description: str = ""
    """Empty: the docstring of the function."""
    reads: bool = False
    """Changes nothing, not even the person's queue."""
    writes: bool = False
    """Changes stores."""
    replaces: bool = False
    """May take text out of what is current; everything can be undone."""
    repeatable: bool = False
    """To call it twice changes no more than to call it once."""


_WAITS = "It waits for the person, who accepts or declines it."
READ_TOOLS = tuple(
    Tool(function, title, reads=True)
    for function, title in (
        (search_memories, "Search memories"),
        (list_memories, "List memories"),
        (get_memory, "Get a memory"),
        (get_context, "Get context for a task"),
        (get_history, "Get the history of a memory"),
        (explain_match, "Explain a match"),
        (get_related, "Get related memories"),
        (get_overview, "Get an overview"),
    )
)
PROPOSE_TOOLS = (
    Tool(add, "Propose a memory", "propose_memory", f"Propose a new memory. {_WAITS}"),
    Tool(change, "Propose a change", "propose_change", f"Propose a change. {_WAITS}"),
)
WRITE_TOOLS = (
    Tool(
        add,
        "Add a memory",
        "add_memory",
        "Add a memory by the rules of its store. One with a secret or an instruction is proposed.",
        writes=True,
    ),
    Tool(
        change,
        "Change a memory",
        "change_memory",
        "Change a memory. It is refused if the memory is another than you read, and only proposed "
        "if the new text has a secret or an instruction.",
        writes=True,
        replaces=True,
    ),
    Tool(undo_change, "Undo a change", writes=True, replaces=True),
)
