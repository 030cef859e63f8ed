"""The tools of other memory servers, names and arguments as theirs, over the stores that are open.

So instructions that a person has already given to an agent go on working. The same rules hold:
without `--write` a tool that stores proposes, and says so; one that deletes retires.

Sources: Ambient, `src/mcp/server.ts`; `@modelcontextprotocol/server-memory` 2026.8.31.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused
from memtui.library import Library
from memtui.mcp.framing import cut_text, length, shown
from memtui.mcp.tools import Call, Reply, Tool, find_by, make, retiring
from memtui.model import Memory, format_time
from memtui.query import Query
from memtui.text import one_line

_ROOM = 16_000
"""Characters of a graph."""


class Said(Reply):
    """An answer in words."""

    text: str


def _store(library: Library, format: str) -> str:
    """The label of the store that is written to: the one of this format, else the only one."""
    own = [store.label for store in library.stores if store.format == format]
    labels = own or [store.label for store in library.stores]
    if len(labels) != 1:
        raise Refused("several stores are open", do="start memtui mcp with one --store")
    return labels[0]


def _said(text: str) -> Said:
    return {"text": shown(cut_text(text)[0])}


def _do(call: Call, changes: Iterable[Change], why: str, done: str) -> Said:
    """Make or propose these changes, and say what became of each."""
    outcomes: Counter[str] = Counter()
    reasons: dict[str, None] = {}
    for change in changes:
        try:
            result = make(call, change, why)
        except MemtuiError as error:
            outcomes["refused"] += 1
            reasons[str(error)] = None
        else:
            outcomes[result["status"]] += 1
            if result["status"] != "done":
                reasons[result["reason"]] = None
    if not outcomes:
        return _said("There is nothing to do.")
    if set(outcomes) == {"done"}:
        return _said(done)
    counts = ", ".join(f"{number} {status}" for status, number in outcomes.items())
    return _said(f"{counts}: {'; '.join(reasons)}")


# ---- Ambient ------------------------------------------------------------------------------------

_Scope = Literal["project", "task", "both"]
_EventType = Literal[
    "decision", "error-resolution", "task-update", "file-context", "session-summary"
]


def _place() -> tuple[str, str]:
    """Project and branch of the folder that the server was started in."""
    folder = Path.cwd()
    with suppress(OSError):
        head = (folder / ".git" / "HEAD").read_text("utf-8", "replace")
        return folder.name, head.strip().removeprefix("ref: refs/heads/")
    return folder.name, ""


def _entity() -> str:
    return "/".join(filter(None, _place()))


def _events(call: Call, scope: str) -> dict[str, list[Memory]]:
    """Heading -> current memories of the project and of the branch, oldest first."""
    project, branch = _place()
    wanted = {"project": (f"Project: {project}", project), "task": (f"Task: {branch}", _entity())}
    found: dict[str, list[Memory]] = {}
    for name, (heading, entity) in wanted.items():
        if scope in (name, "both") and (name == "project" or branch):
            memories = find_by(call.library, entity)
            if memories:
                found[heading] = memories[::-1]
    return found


def _remember(call: Call, type: str, importance: str, content: str, tool: str) -> Said:
    label = _store(call.library, "ambient")
    fields = {"content": content, "entity": _entity(), "type": type, "importance": importance}
    return _do(call, [Change(Act.ADD, label, "", fields)], f"stored by {tool}", "Memory recorded.")


def get_shell_context(call: Call) -> Said:
    """Get the current shell context; memtui has only the folder and the memory."""
    memory = get_task_context(call)["text"]
    return _said(f"Working directory: {Path.cwd()}\n(no shell daemon: limited context)\n\n{memory}")


def get_command_history(
    call: Call,
    failuresOnly: bool | None = None,
    limit: float | None = None,
) -> Said:
    """Get recent commands; memtui keeps none."""
    return _said("No commands recorded (daemon may not be running)")


def get_project_info(call: Call) -> Said:
    """Get the project type; memtui does not look for it."""
    return _said("No project detected in current directory")


def get_recent_output(call: Call) -> Said:
    """Get captured output; memtui captures none."""
    return _said("No captured output available (daemon may not be running)")


def get_task_context(call: Call) -> Said:
    """Get the memory of the current project and branch."""
    from memtui.context import draft_pack, find_recipe

    now = call.library.now().astimezone()
    recipe = find_recipe("session", call.context_settings)
    pack = draft_pack(recipe, _entity(), call.library, call.context_settings, now).pack(None)
    return _said(pack.text or "No memory stored for this project/branch.")


def get_decisions(call: Call, scope: _Scope | None = None) -> Said:
    """Get the decisions of the current project and branch."""
    blocks = []
    for heading, memories in _events(call, scope or "both").items():
        if lines := [f"- {each.content}" for each in memories if each.type == "decision"]:
            blocks.append("\n".join([f"[{heading}]", *lines]))
    return _said("\n\n".join(blocks) or "No decisions recorded.")


def store_decision(call: Call, decision: str, reasoning: str | None = None) -> Said:
    """Record a decision about the project."""
    text = f"{decision} (Reason: {reasoning})" if reasoning else decision
    return _remember(call, "decision", "high", text, "store_decision")


def store_task_update(
    call: Call,
    description: str,
    status: Literal["started", "in-progress", "completed", "blocked"] | None = None,
) -> Said:
    """Record the state of the current task."""
    text = f"[{status}] {description}" if status else description
    return _remember(call, "task-update", "medium", text, "store_task_update")


def store_error_resolution(
    call: Call, error: str, resolution: str, file: str | None = None
) -> Said:
    """Record how an error was resolved."""
    text = f"Error: {error}\nResolution: {resolution}"
    if file:
        text += f"\nFile: {file}"
    return _remember(call, "error-resolution", "medium", text, "store_error_resolution")


def _lines(memories: Sequence[Memory]) -> str:
    return "\n".join(
        f"id={each.id}  [{each.shown_type}] [{each.importance}] "
        f"{format_time(each.when) or '':.10}  {each.entity}: {one_line(each.content, 120)}"
        for each in memories
    )


def search_all_memory(call: Call, query: str, maxResults: float | None = None) -> Said:
    """Search the memories of all projects."""
    found = call.find(query)
    memories = [found.rows[slot] for slot in found.slots[: int(maxResults or 25)]]
    return _said(_lines(memories) or "No matching memories found.")


def get_recent_activity(call: Call, limit: float | None = None) -> Said:
    """Get the newest memories of all projects."""
    found = call.library.find(Query())
    memories = [found.rows[slot] for slot in found.slots[: int(limit or 30)]]
    return _said(_lines(memories) or "No memory events found across any projects.")


def update_memory(
    call: Call,
    eventId: str,
    newContent: Annotated[str, Field(max_length=1000)],
) -> Said:
    """Replace the content of a memory."""
    memory = call.library.resolve(eventId)
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": newContent})
    return _do(call, [change], "asked by update_memory", "Memory updated successfully.")


def delete_memory(call: Call, eventId: str) -> Said:
    """Take a memory out of use: it is retired, and can be restored."""
    memory = call.library.resolve(eventId)
    done = "Memory retired: it is not given any more, and can be restored."
    return _do(call, [retiring(call.library, memory)], "asked by delete_memory", done)


def list_memory_events(
    call: Call, scope: _Scope | None = None, type: _EventType | None = None
) -> Said:
    """List the memories of the current project and branch with their ids."""
    blocks = []
    for heading, memories in _events(call, scope or "both").items():
        chosen = [each for each in memories if type in (None, each.type)]
        if chosen:
            blocks.append(f"[{heading}] ({len(chosen)} events)\n{_lines(chosen)}")
    return _said("\n\n".join(blocks) or "No memory events found.")


# ---- the reference server -----------------------------------------------------------------------


class NewEntity(TypedDict):
    name: str
    entityType: str
    observations: list[str]


class NewObservations(TypedDict):
    entityName: str
    contents: list[str]


class OldObservations(TypedDict):
    entityName: str
    observations: list[str]


Relation = TypedDict("Relation", {"from": str, "to": str, "relationType": str})


class Graph(Reply):
    """Entities with their observations, and relations."""

    entities: list[dict[str, Any]]
    relations: list[dict[str, str]]
    left_out: int
    """Entities that did not fit the result."""


def _graph(memories: Iterable[Memory]) -> Graph:
    by_entity: dict[str, list[Memory]] = {}
    for memory in memories:
        by_entity.setdefault(memory.entity, []).append(memory)
    graph: Graph = {"entities": [], "relations": [], "left_out": 0}
    room = _ROOM
    for name, about in by_entity.items():
        entity = {
            "name": name,
            "entityType": Counter(each.shown_type for each in about).most_common(1)[0][0],
            "observations": [each.full_text for each in about if each.full_text],
        }
        relations = {
            (name, link.target, link.relation): None for each in about for link in each.links
        }
        records = shown(
            [{"from": a, "to": b, "relationType": relation} for a, b, relation in relations]
        )
        room -= length(record := shown(entity)) + length(records)
        if room < 0:
            graph["left_out"] = len(by_entity) - len(graph["entities"])
            break
        graph["entities"].append(record)
        graph["relations"] += records
    return graph


def read_graph(call: Call) -> Graph:
    """Read the graph, as much of it as fits a result; search_nodes finds the rest."""
    found = call.library.find(Query())
    return _graph(found.rows[slot] for slot in found.slots)


def search_nodes(call: Call, query: str) -> Graph:
    """Search entities by their names, types and observations."""
    found = call.find(query)
    return _graph(found.rows[slot] for slot in found.slots[:200])


def open_nodes(call: Call, names: list[str]) -> Graph:
    """Read the entities with these names."""
    return _graph(memory for name in names for memory in find_by(call.library, name))


def _observations(call: Call, items: Iterable[tuple[str, str, Sequence[str]]]) -> Iterable[Change]:
    label = _store(call.library, "mcp-memory")
    for name, type, contents in items:
        for content in contents:
            fields = {"content": content, "entity": name, "type": type}
            yield Change(Act.ADD, label, "", {key: each for key, each in fields.items() if each})


def create_entities(call: Call, entities: list[NewEntity]) -> Said:
    """Create entities with their observations."""
    items = ((each["name"], each["entityType"], each["observations"]) for each in entities)
    return _do(call, _observations(call, items), "asked by create_entities", "Created.")


def add_observations(call: Call, observations: list[NewObservations]) -> Said:
    """Add observations to entities."""
    items = ((each["entityName"], "", each["contents"]) for each in observations)
    return _do(call, _observations(call, items), "asked by add_observations", "Added.")


def _linked(call: Call, act: Act, relations: Iterable[Relation]) -> Iterable[Change]:
    for each in relations:
        start = next(iter(find_by(call.library, each["from"])), None)
        if start is None:
            raise Refused(f"there is no entity {each['from']!r}")
        target = call.library.link_target(start, each["to"])
        fields = {"relation": each["relationType"], "target": target}
        yield Change(act, start.store, start.ref, fields)


def create_relations(call: Call, relations: list[Relation]) -> Said:
    """Create relations between entities."""
    return _do(call, _linked(call, Act.LINK, relations), "asked by create_relations", "Created.")


def delete_relations(call: Call, relations: list[Relation]) -> Said:
    """Remove relations; this can be undone."""
    return _do(call, _linked(call, Act.UNLINK, relations), "asked by delete_relations", "Removed.")


def delete_entities(call: Call, entityNames: list[str]) -> Said:
    """Retire all that is known of entities; it can be restored."""
    memories = [memory for name in entityNames for memory in find_by(call.library, name)]
    changes = (retiring(call.library, memory) for memory in memories)
    return _do(call, changes, "asked by delete_entities", "Retired.")


def delete_observations(call: Call, deletions: list[OldObservations]) -> Said:
    """Retire observations of entities; they can be restored."""
    memories = [
        memory
        for each in deletions
        for memory in find_by(call.library, each["entityName"])
        if memory.content in each["observations"]
    ]
    changes = (retiring(call.library, memory) for memory in memories)
    return _do(call, changes, "asked by delete_observations", "Retired.")


def _tools(
    read: Iterable[Callable[..., Any]],
    store: Iterable[Callable[..., Any]],
    replace: Iterable[Callable[..., Any]],
) -> tuple[Tool, ...]:
    def title(function: Callable[..., Any]) -> str:
        return function.__name__.replace("_", " ").capitalize()

    return (
        *(Tool(each, title(each), reads=True) for each in read),
        *(Tool(each, title(each), writes=True) for each in store),
        *(Tool(each, title(each), writes=True, replaces=True) for each in replace),
    )


PROFILES: Mapping[str, tuple[Tool, ...]] = {
    "ambient": _tools(
        (
            get_shell_context,
            get_command_history,
            get_project_info,
            get_task_context,
            get_decisions,
            get_recent_output,
            search_all_memory,
            get_recent_activity,
            list_memory_events,
        ),
        (store_decision, store_task_update, store_error_resolution),
        (update_memory, delete_memory),
    ),
    "reference": _tools(
        (read_graph, search_nodes, open_nodes),
        (create_entities, create_relations, add_observations),
        (delete_entities, delete_observations, delete_relations),
    ),
}
"""Name -> the tools that are offered in place of memtui's own."""
