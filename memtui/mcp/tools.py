"""What an agent can change, a function each, as in `reading.py`; the tables of what is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from msgspec import Struct
from pydantic import Field
from typing_extensions import TypedDict

from memtui.changes import Act, Change, Outcome, diff_lines
from memtui.errors import Conflict, Refused
from memtui.journal import ActionState
from memtui.library import Library
from memtui.library.agent_proposals import find_new_id, make_proposal, version_of
from memtui.library.planning import Planned, name_below
from memtui.mcp.call import Call, Reason, Ref, Reply, Text, Words
from memtui.mcp.framing import cut_text, shown
from memtui.mcp.reading import (
    explain_match,
    get_context,
    get_history,
    get_memory,
    get_overview,
    get_related,
    list_memories,
    search_memories,
)
from memtui.model import Memory
from memtui.upkeep.checks import dangers_of_change

MAX_DIFF = 6_000


class Changed(Reply):
    """What became of a change."""

    status: Literal["done", "proposed", "not needed", "rejected", "undone"]
    outcome: str
    """PROPOSED, or the store's own word: ADDED, DEDUPE, SUPERSEDED, REJECTED, DONE, NOTHING."""
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
    chosen = _retiring(library, memory).act if act == Act.RETIRE else Act(act)
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


def _retiring(library: Library, memory: Memory) -> Change:
    """The change that takes a memory out of use: retired, or else hidden in memtui."""
    act = Act.RETIRE
    if library.refusal(act, memory) and not library.refusal(Act.HIDE, memory):
        act = Act.HIDE
    return Change(act, memory.store, memory.ref)


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
    new_id = find_new_id(change, planned, call.library)
    proposal = make_proposal(call.author, change, reason, call.library, note=note, new_id=new_id)
    proposal = call.proposals.add(proposal, call.decisions)
    answer = _outcome(call, planned, "proposed")
    answer["proposal"] = proposal.id
    new_ref = f"{change.store}:{proposal.new_id}" if proposal.new_id else ""
    answer["refs"] = shown([ref for ref in (new_ref, change.ref) if ref])
    told = "nothing is changed yet: a person decides on it in `memtui review`"
    answer["outcome"] = "PROPOSED"
    answer["reason"] = "; ".join(filter(None, (told, note)))
    return answer


def make(call: Call, change: Change, reason: str) -> Changed:
    """Make the change if this tool writes and its text is harmless, else propose it."""
    dangers = "; ".join(dangers_of_change(change))
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
        "Add a memory by the rules of its store. One with a secret or the marks of a prompt is "
        "proposed.",
        writes=True,
    ),
    Tool(
        change,
        "Change a memory",
        "change_memory",
        "Change a memory. It is refused if the memory is another than you read, and only proposed "
        "if the new text has a secret or the marks of a prompt.",
        writes=True,
        replaces=True,
    ),
    Tool(undo_change, "Undo a change", writes=True, replaces=True),
)
