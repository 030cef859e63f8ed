"""What the tools of Engram share, and those that change nothing."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired

from pydantic import Field

from memtui.errors import RefError, Refused
from memtui.files.git_history import GitHistory
from memtui.files.git_repository import find_repository
from memtui.mcp.call import Call, Reply, Text, Words
from memtui.mcp.framing import cut_text, shown
from memtui.model import Memory, format_time
from memtui.search.aggregates import list_entities
from memtui.stores.engram import NAME, rules
from memtui.text import one_line

MAX_FOUND = 20
PREVIEW = 300
"""Characters of a memory's text in a list."""
_ANSWER = 9_000
"""Characters of an answer that has records beside it."""
OTHERS = ("prompts/", "sessions/")
"""How the ids of Engram's other records begin."""

Number = Annotated[float, Field(ge=1, le=2**53)]


class Envelope(Reply):
    """An answer as Engram gives it: words, with the project that was found."""

    project: str
    project_source: str
    project_path: str
    result: str
    id: NotRequired[int]
    sync_id: NotRequired[str]
    pinned: NotRequired[bool]
    judgment_required: NotRequired[bool]
    results: NotRequired[list[dict[str, Any]]]
    observations: NotRequired[list[dict[str, Any]]]
    cwd: NotRequired[str]
    available_projects: NotRequired[list[str]]
    status: NotRequired[str]
    checks: NotRequired[list[dict[str, Any]]]


class Project(NamedTuple):
    """The project that a call is about, and how it was found."""

    name: str
    source: str
    path: str = ""


@lru_cache(maxsize=8)
def project_of_folder(folder: Path) -> Project:
    """The project that Engram finds for a folder: its configuration, the remote, or a name."""
    top = find_repository(folder)
    inside = (folder, *folder.parents) if top is not None else (folder,)
    for each in inside:
        try:
            name = json.loads((each / ".engram" / "config.json").read_bytes())["project_name"]
            return Project(rules.project_name(name), "config", str(each))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            if each == top:
                break
    if top is None:
        return Project(rules.project_name(folder.name) or "unknown", "dir_basename", str(folder))
    git = GitHistory.of(top)
    remote = re.split(r"[/:]", git.remote().rstrip("/"))[-1].removesuffix(".git") if git else ""
    source = "git_remote" if remote else "git_root"
    return Project(rules.project_name(remote or top.name), source, str(top))


def list_projects(call: Call) -> list[str]:
    """The first parts of all entities, which are Engram's projects."""
    return sorted({each.partition("/")[0] for each in list_entities(call.library.snapshot.columns)})


def project_asked(call: Call, project: str | None) -> Project:
    """The project of a tool that reads: that which it names, else that of the folder.

    The folder's project narrows nothing where no memory is filed under it.
    """
    known = {each.casefold(): each for each in list_projects(call)}
    if project and project.strip():
        if (name := known.get(rules.project_name(project))) is None:
            names = ", ".join(list(known.values())[:30])
            raise RefError(f"unknown_project: {project!r} is not in the store", do=names)
        return Project(name, "explicit_override")
    found = project_of_folder(Path.cwd())
    return found if found.name in known else Project("", "all_projects")


def number_of(call: Call, memory: Memory) -> int:
    """The number that an agent calls a memory by."""
    if call.library.store(memory.store).format == NAME and memory.id.isdecimal():
        return int(memory.id)
    return _number_of_ref(memory.ref)


def _number_of_ref(ref: str) -> int:
    digest = hashlib.blake2b(ref.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest)


def get_observation(call: Call, number: float) -> Memory:
    """The memory with this number. Raises RefError, also where it was deleted."""
    wanted, library = int(number), call.library
    own = [each.label for each in library.stores if each.format == NAME]
    refs = [ref for label in own if (ref := f"{label}:{wanted}") in library.snapshot.slot_of]
    if not refs:
        refs = [ref for ref in library.snapshot.slot_of if _number_of_ref(ref) == wanted]
    if len(refs) > 1:
        raise RefError(f"several stores have observation #{wanted}")
    if not refs or (memory := library.get(refs[0])).status == "deleted":
        raise RefError(f"Observation #{wanted} not found")
    return memory


def is_observation(memory: Memory) -> bool:
    """Whether it is neither a prompt nor a session."""
    return not memory.id.startswith(OTHERS)


def answer(project: Project, text: str, most: int = _ANSWER) -> Envelope:
    """Words about a project, cut to this many characters."""
    part, rest = cut_text(text, 0, most)
    if rest is not None:
        part += f"\n[cut: {len(text) - rest:,} more characters]"
    return shown(
        Envelope(
            project=project.name,
            project_source=project.source,
            project_path=project.path,
            result=part,
        )
    )


def answer_here(text: str) -> Envelope:
    """An answer about the project of the folder."""
    return answer(project_of_folder(Path.cwd()), text)


def record_of(call: Call, memory: Memory) -> dict[str, Any]:
    """A memory in a list, with the keys of Engram's results."""
    record = {
        "id": number_of(call, memory),
        "sync_id": str(memory.extra.get("sync_id") or memory.ref),
        "title": one_line(memory.headline, 80),
        "type": memory.shown_type,
        "state": "needs_review" if is_due(call, memory) else "active",
        "scope": str(memory.extra.get("scope") or "project"),
        "pinned": memory.pinned,
        "project": memory.entity.partition("/")[0],
    }
    return shown(record)


def line_of(record: dict[str, Any], memory: Memory, most: int) -> str:
    """A memory in the words of an answer. Its text stays on one line, so that it cannot pass for
    the next memory."""
    text = one_line(memory.content, most) + (" [preview]" if len(memory.content) > most else "")
    return (
        f"#{record['id']} ({record['type']}) — {record['title']}\n    {text}\n"
        f"    {format_time(memory.created or memory.when) or ''} | project: {record['project']}"
        f" | scope: {record['scope']} | state: {record['state']}"
    )


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def is_due(call: Call, memory: Memory) -> bool:
    """Whether Engram asks for a review of it."""
    due = memory.extra.get("review_after")
    return isinstance(due, str) and due <= rules.timestamp(call.library.now())


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
    text = call.draft("loaded", name).pack().text or call.draft("session", name).pack().text
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
