"""The tools of Engram that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from memtui.errors import Refused
from memtui.mcp.framing import shown
from memtui.mcp.profiles.answers import pack_text
from memtui.mcp.profiles.engram.observations import (
    MAX_FOUND,
    OTHERS,
    PREVIEW,
    Envelope,
    Number,
    Project,
    answer,
    answer_here,
    get_observation,
    is_observation,
    line_of,
    list_projects,
    number_of,
    project_asked,
    project_of_folder,
    quoted,
    record_of,
)
from memtui.mcp.tools import Call, Text, Words
from memtui.model import Memory, format_time
from memtui.stores.engram import rules


def mem_search(
    call: Call,
    query: Annotated[str, Field(max_length=2_000)],
    type: Words | None = None,
    project: Words | None = None,
    all_projects: bool | None = None,
    scope: Words | None = None,
    match_mode: Words | None = None,
    limit: float | None = None,
) -> Envelope:
    """Search the memories of this project, or of all of them."""
    if match_mode not in (None, "", "all", "any"):
        raise Refused(f'invalid match_mode {match_mode!r}: must be "all" or "any"')
    everywhere = all_projects or (scope == "personal" and not project)
    chosen = Project("", "all_projects") if everywhere else project_asked(call, project)
    words = [
        f'"{word}"' if not word.isalnum() else word for word in query.replace('"', " ").split()
    ]
    line = (" " if match_mode == "any" else " AND ").join(words)
    for name, value in (("entity", chosen.name), ("type", type)):
        line += f' {name}:"{value.replace(chr(34), "")}"' if value else ""
    found = call.find(line)
    memories: list[Memory] = []
    for slot in found.slots:
        memory = found.rows[slot]
        if is_observation(memory) and scope in (None, "", memory.extra.get("scope", "project")):
            memories.append(memory)
        if len(memories) >= min(int(limit or 10), MAX_FOUND):
            break
    records = [record_of(call, each) for each in memories]
    lines = [
        f"[{at}] {line_of(record, memory, PREVIEW)}"
        for at, (record, memory) in enumerate(zip(records, memories, strict=True), 1)
    ]
    text = f"Found {len(lines)} memories:\n\n" + "\n\n".join(lines)
    told = answer(chosen, text if lines else f"No memories found for: {quoted(query)}")
    told["results"] = records
    return told


def mem_context(call: Call, project: Words | None = None, scope: Words | None = None) -> Envelope:
    """Get what recent sessions left: what an agent is given when a session begins."""
    chosen = project_asked(call, project)
    name = "" if scope == "personal" and not project else chosen.name
    text = pack_text(call, "loaded", name) or pack_text(call, "session", name)
    return answer(chosen, text or "No previous session memories found.")


def mem_timeline(
    call: Call,
    observation_id: Number,
    before: float | None = None,
    after: float | None = None,
    project: Words | None = None,
) -> Envelope:
    """Get what was saved before and after a memory, in its session or about its entity."""
    focus = get_observation(call, observation_id)
    session = focus.extra.get("session_id")

    def is_near(memory: Memory) -> bool:
        if session:
            return bool(memory.extra.get("session_id") == session)
        return memory.entity == focus.entity

    near = [
        each
        for each in call.library.memories(focus.store)
        if each.status != "deleted" and is_near(each) and is_observation(each)
    ]
    near.sort(
        key=lambda each: (format_time(each.created or each.when) or "", len(each.id), each.id)
    )
    at = next((at for at, each in enumerate(near) if each.ref == focus.ref), 0)
    first, last = at - min(int(before or 5), MAX_FOUND), at + min(int(after or 5), MAX_FOUND)
    lines = [
        f"{'>>> ' if each.ref == focus.ref else ''}{line_of(record_of(call, each), each, 150)}"
        for each in near[max(0, first) : last + 1]
    ]
    return answer(
        project_asked(call, project), "\n\n".join(lines) or "There is nothing near it.", 12_000
    )


def mem_get_observation(call: Call, id: Number) -> Envelope:
    """Get one memory with its whole text."""
    memory = get_observation(call, id)
    extra = memory.extra
    known = {
        "Session": extra.get("session_id"),
        "Project": memory.entity.partition("/")[0],
        "Scope": extra.get("scope"),
        "Topic": extra.get("topic_key"),
        "Status": memory.status,
        "Created": format_time(memory.created or memory.when),
    }
    head = f"#{number_of(call, memory)} [{memory.shown_type}] {memory.headline}"
    about = "\n".join(f"{name}: {value}" for name, value in known.items() if value)
    return answer(project_of_folder(Path.cwd()), f"{head}\n{about}\n\n{memory.content}", 12_000)


def mem_stats(call: Call, project: Words | None = None) -> Envelope:
    """Get how many memories, prompts and sessions there are."""
    snapshot = call.library.snapshot
    memories = snapshot.take(snapshot.columns.live_slots()).values()
    prompts, sessions = OTHERS
    named = {each.id.removeprefix(sessions) for each in memories if each.id.startswith(sessions)}
    named |= {str(id) for each in memories if (id := each.extra.get("session_id"))}
    counts = {
        "Sessions": len(named),
        "Observations": sum(is_observation(one) and one.status != "deleted" for one in memories),
        "Prompts": sum(each.id.startswith(prompts) for each in memories),
        "Projects": ", ".join(list_projects(call)) or "none yet",
    }
    lines = "\n".join(f"- {name}: {value}" for name, value in counts.items())
    return answer(project_asked(call, project), f"Memory System Stats:\n{lines}")


def mem_current_project(call: Call) -> Envelope:
    """Get the project of the folder that the server was started in."""
    found = project_of_folder(Path.cwd())
    told = answer(found, found.name)
    told["cwd"] = str(Path.cwd())
    told["available_projects"] = shown(list_projects(call)[:100])
    return told


def mem_suggest_topic_key(
    call: Call, type: Words | None = None, title: Text | None = None, content: Text | None = None
) -> Envelope:
    """Get a topic key for what will be saved again and again."""
    if not (title or "").strip() and not (content or "").strip():
        raise Refused("provide title or content to suggest a topic_key")
    return answer_here(suggestion(type or "", title or "", content or ""))


def mem_doctor(call: Call, project: Words | None = None, check: Words | None = None) -> Envelope:
    """Get what cannot be read in the stores."""
    checks = [
        {
            "check_id": "store_is_readable",
            "result": "warning" if state.unreadable else "ok",
            "message": f"{state.label}: {state.count} memories",
            "evidence": [f"{one.file}: {one.reason}" for one in state.unreadable[:5]],
        }
        for state in call.library.snapshot.stores[:MAX_FOUND]
    ]
    status = "warning" if any(each["evidence"] for each in checks) else "ok"
    told = answer(project_asked(call, project), status)
    told["status"], told["checks"] = status, shown(checks)
    return told


_FAMILIES: Sequence[tuple[str, str, str]] = (
    ("bug", "bug|bugfix|fix|incident|hotfix", "bug|fix|panic|error|crash|regression|incident"),
    ("architecture", "architecture|design|adr|refactor", "design|adr|boundary|hexagonal|refactor"),
    ("decision", "decision", "decision|tradeoff|chose|choose|decide"),
    ("pattern", "pattern|convention|guideline", "pattern|convention|naming|guideline"),
    ("config", "config|setup|infra|infrastructure|ci", "config|setup|env|docker|pipeline"),
    ("discovery", "discovery|investigation|root_cause|root-cause", "investigat|found|root cause"),
    ("learning", "learning|learn", "learned|learning"),
    ("session", "session_summary", "session_summary"),
)
"""Family, its types, and what names it in a text (`inferTopicFamily` of store.go)."""


def _family(type: str, text: str) -> str:
    type = type.strip().lower()
    named = (family for family, types, _ in _FAMILIES if type in types.split("|"))
    meant = (f for f, _, words in _FAMILIES if any(word in text for word in words.split("|")))
    own = rules.segment(type) if type not in ("", "manual") else "topic"
    return next(named, None) or next(meant, own)


def suggestion(type: str, title: str, content: str) -> str:
    """The topic key that Engram suggests for a memory, in words."""
    family = _family(type, f"{title} {content}".lower())
    name = rules.segment(rules.redacted(title) or " ".join(content.split()[:8]))
    name = name.removeprefix(f"{family}-")
    return f"Suggested topic_key: {family}/{'general' if name in ('', family) else name}"
