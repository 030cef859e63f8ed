"""Ambient's tools. Source: `src/mcp/server.ts` of averyjennings/ambient, commit cfdfe1d."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from memtui.changes import Act, Change
from memtui.mcp.call import Call
from memtui.mcp.profiles.answers import (
    Said,
    carry_out,
    reading,
    said,
    store_label,
    storing,
)
from memtui.mcp.tools import find_by, retiring
from memtui.model import Memory, format_time
from memtui.query import Query
from memtui.text import one_line

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
    label = store_label(call.library, "ambient")
    fields = {"content": content, "entity": _entity(), "type": type, "importance": importance}
    return carry_out(
        call, [Change(Act.ADD, label, "", fields)], f"stored by {tool}", "Memory recorded."
    )


def get_shell_context(call: Call) -> Said:
    """Get the current shell context; memtui has only the folder and the memory."""
    memory = get_task_context(call)["text"]
    return said(f"Working directory: {Path.cwd()}\n(no shell daemon: limited context)\n\n{memory}")


def get_command_history(
    call: Call,
    failuresOnly: bool | None = None,
    limit: float | None = None,
) -> Said:
    """Get recent commands; memtui keeps none."""
    return said("No commands recorded (daemon may not be running)")


def get_project_info(call: Call) -> Said:
    """Get the project type; memtui does not look for it."""
    return said("No project detected in current directory")


def get_recent_output(call: Call) -> Said:
    """Get captured output; memtui captures none."""
    return said("No captured output available (daemon may not be running)")


def get_task_context(call: Call) -> Said:
    """Get the memory of the current project and branch."""
    text = call.draft("session", _entity()).pack().text
    return said(text or "No memory stored for this project/branch.")


def get_decisions(call: Call, scope: _Scope | None = None) -> Said:
    """Get the decisions of the current project and branch."""
    blocks = []
    for heading, memories in _events(call, scope or "both").items():
        if lines := [f"- {each.content}" for each in memories if each.type == "decision"]:
            blocks.append("\n".join([f"[{heading}]", *lines]))
    return said("\n\n".join(blocks) or "No decisions recorded.")


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
    return said(_lines(memories) or "No matching memories found.")


def get_recent_activity(call: Call, limit: float | None = None) -> Said:
    """Get the newest memories of all projects."""
    found = call.library.find(Query())
    memories = [found.rows[slot] for slot in found.slots[: int(limit or 30)]]
    return said(_lines(memories) or "No memory events found across any projects.")


def update_memory(
    call: Call,
    eventId: str,
    newContent: Annotated[str, Field(max_length=1000)],
) -> Said:
    """Replace the content of a memory."""
    memory = call.library.resolve(eventId)
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": newContent})
    return carry_out(call, [change], "asked by update_memory", "Memory updated successfully.")


def delete_memory(call: Call, eventId: str) -> Said:
    """Take a memory out of use: it is retired, and can be restored."""
    memory = call.library.resolve(eventId)
    done = "Memory retired: it is not given any more, and can be restored."
    return carry_out(call, [retiring(call.library, memory)], "asked by delete_memory", done)


def list_memory_events(
    call: Call, scope: _Scope | None = None, type: _EventType | None = None
) -> Said:
    """List the memories of the current project and branch with their ids."""
    blocks = []
    for heading, memories in _events(call, scope or "both").items():
        chosen = [each for each in memories if type in (None, each.type)]
        if chosen:
            blocks.append(f"[{heading}] ({len(chosen)} events)\n{_lines(chosen)}")
    return said("\n\n".join(blocks) or "No memory events found.")


TOOLS = (
    *reading(
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
    *storing(store_decision, store_task_update, store_error_resolution),
    *storing(update_memory, delete_memory, replaces=True),
)
