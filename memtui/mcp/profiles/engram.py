"""Engram's tools. Source: `internal/mcp/mcp.go`, commit be4b613 of July 2026.

Engram numbers its observations. A memory of another store is numbered by its ref, so it has the
same number in every session. Prompts and sessions are no memory: memtui writes none, and the tools
for them fail as Engram's do when its database cannot be written. The project is found as Engram
finds it, but a single repository below the folder is not looked for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field

from memtui.changes import Act, Change
from memtui.errors import RefError, Refused
from memtui.files.git_history import GitHistory
from memtui.files.git_repository import find_repository
from memtui.mcp.framing import cut_text, shown
from memtui.mcp.profiles.answers import make_all, pack_text, store_label
from memtui.mcp.tools import Call, Reply, Text, Tool, Words, retiring
from memtui.model import Memory, format_time
from memtui.query import Query
from memtui.search.aggregates import list_entities
from memtui.stores.engram import NAME, rules
from memtui.text import one_line

MAX_FOUND = 20
MAX_MERGED = 200
"""Memories of one merge of projects."""
_PREVIEW = 300
_ANSWER = 9_000
"""Characters of an answer that has records beside it."""
_OTHERS = ("prompts/", "sessions/")
"""How the ids of Engram's other records begin."""

Number = Annotated[float, Field(ge=1, le=2**53)]
Verdict = Literal["related", "compatible", "scoped", "conflicts_with", "supersedes", "not_conflict"]


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


# ---- projects and numbers -----------------------------------------------------------------------


class Project(NamedTuple):
    """The project that a call is about, and how it was found."""

    name: str
    source: str
    path: str = ""


@lru_cache(maxsize=8)
def _project_of(folder: Path) -> Project:
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


def _projects(call: Call) -> list[str]:
    """The first parts of all entities, which are Engram's projects."""
    return sorted({each.partition("/")[0] for each in list_entities(call.library.snapshot.columns)})


def _asked(call: Call, project: str | None) -> Project:
    """The project of a tool that reads: that which it names, else that of the folder.

    The folder's project narrows nothing where no memory is filed under it.
    """
    known = {each.casefold(): each for each in _projects(call)}
    if project and project.strip():
        if (name := known.get(rules.project_name(project))) is None:
            names = ", ".join(list(known.values())[:30])
            raise RefError(f"unknown_project: {project!r} is not in the store", do=names)
        return Project(name, "explicit_override")
    found = _project_of(Path.cwd())
    return found if found.name in known else Project("", "all_projects")


def _number(call: Call, memory: Memory) -> int:
    if call.library.store(memory.store).format == NAME and memory.id.isdecimal():
        return int(memory.id)
    return _number_of_ref(memory.ref)


def _number_of_ref(ref: str) -> int:
    digest = hashlib.blake2b(ref.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest)


def _get(call: Call, number: float) -> Memory:
    """The memory with this number. Raises RefError."""
    wanted, library = int(number), call.library
    own = [each.label for each in library.stores if each.format == NAME]
    refs = [ref for label in own if (ref := f"{label}:{wanted}") in library.snapshot.slot_of]
    if not refs:
        refs = [ref for ref in library.snapshot.slot_of if _number_of_ref(ref) == wanted]
    if len(refs) != 1:
        many = "several stores have " if refs else "there is no "
        raise RefError(f"{many}observation #{wanted}")
    return library.get(refs[0])


def _is_observation(memory: Memory) -> bool:
    return not memory.id.startswith(_OTHERS)


def _answer(project: Project, text: str, most: int = _ANSWER) -> Envelope:
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


def _here(text: str) -> Envelope:
    return _answer(_project_of(Path.cwd()), text)


def _record(call: Call, memory: Memory) -> dict[str, Any]:
    """A memory in a list, with the keys of Engram's results."""
    record = {
        "id": _number(call, memory),
        "sync_id": str(memory.extra.get("sync_id") or memory.ref),
        "title": one_line(memory.headline, 80),
        "type": memory.shown_type,
        "state": "needs_review" if _is_due(call, memory) else "active",
        "scope": str(memory.extra.get("scope") or "project"),
        "pinned": memory.pinned,
        "project": memory.entity.partition("/")[0],
    }
    return shown(record)


def _line(record: dict[str, Any], memory: Memory, most: int) -> str:
    text = one_line(memory.content, most) + (" [preview]" if len(memory.content) > most else "")
    return (
        f"#{record['id']} ({record['type']}) — {record['title']}\n    {text}\n"
        f"    {format_time(memory.created or memory.when) or ''} | project: {record['project']}"
        f" | scope: {record['scope']} | state: {record['state']}"
    )


def _is_due(call: Call, memory: Memory) -> bool:
    due = memory.extra.get("review_after")
    return isinstance(due, str) and due <= rules.timestamp(call.library.now())


# ---- reading ------------------------------------------------------------------------------------


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
    chosen = Project("", "all_projects") if everywhere else _asked(call, project)
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
        if _is_observation(memory) and scope in (None, "", memory.extra.get("scope", "project")):
            memories.append(memory)
        if len(memories) >= min(int(limit or 10), MAX_FOUND):
            break
    records = [_record(call, each) for each in memories]
    lines = [_line(*pair, _PREVIEW) for pair in zip(records, memories, strict=True)]
    text = f"Found {len(lines)} memories:\n\n" + "\n\n".join(lines)
    answer = _answer(chosen, text if lines else f"No memories found for: {query!r}")
    answer["results"] = records
    return answer


def mem_context(call: Call, project: Words | None = None, scope: Words | None = None) -> Envelope:
    """Get what recent sessions left: what an agent is given when a session begins."""
    chosen = _asked(call, project)
    name = "" if scope == "personal" and not project else chosen.name
    text = pack_text(call, "loaded", name) or pack_text(call, "session", name)
    return _answer(chosen, text or "No previous session memories found.")


def mem_timeline(
    call: Call,
    observation_id: Number,
    before: float | None = None,
    after: float | None = None,
    project: Words | None = None,
) -> Envelope:
    """Get what was saved before and after a memory, in its session or about its entity."""
    focus = _get(call, observation_id)
    session = focus.extra.get("session_id")

    def is_near(memory: Memory) -> bool:
        if session:
            return bool(memory.extra.get("session_id") == session)
        return memory.entity == focus.entity

    near = [
        each
        for each in call.library.memories(focus.store)
        if each.status != "deleted" and is_near(each) and _is_observation(each)
    ]
    near.sort(
        key=lambda each: (format_time(each.created or each.when) or "", len(each.id), each.id)
    )
    at = next((at for at, each in enumerate(near) if each.ref == focus.ref), 0)
    first, last = at - min(int(before or 5), MAX_FOUND), at + min(int(after or 5), MAX_FOUND)
    lines = [
        f"{'>>> ' if each.ref == focus.ref else ''}{_line(_record(call, each), each, 150)}"
        for each in near[max(0, first) : last + 1]
    ]
    return _answer(_asked(call, project), "\n\n".join(lines) or "There is nothing near it.", 12_000)


def mem_get_observation(call: Call, id: Number) -> Envelope:
    """Get one memory with its whole text."""
    memory = _get(call, id)
    extra = memory.extra
    known = {
        "Session": extra.get("session_id"),
        "Project": memory.entity.partition("/")[0],
        "Scope": extra.get("scope"),
        "Topic": extra.get("topic_key"),
        "Status": memory.status,
        "Created": format_time(memory.created or memory.when),
    }
    head = f"#{_number(call, memory)} [{memory.shown_type}] {memory.headline}"
    about = "\n".join(f"{name}: {value}" for name, value in known.items() if value)
    return _answer(_project_of(Path.cwd()), f"{head}\n{about}\n\n{memory.content}", 12_000)


def mem_stats(call: Call, project: Words | None = None) -> Envelope:
    """Get how many memories, prompts and sessions there are."""
    ids = [ref.partition(":")[2] for ref in call.library.snapshot.slot_of]
    prompts, sessions = (sum(id.startswith(each) for id in ids) for each in _OTHERS)
    names = ", ".join(_projects(call)) or "none yet"
    return _answer(
        _asked(call, project),
        f"Memory System Stats:\n- Sessions: {sessions}\n- Observations: "
        f"{len(ids) - prompts - sessions}\n- Prompts: {prompts}\n- Projects: {names}",
    )


def mem_current_project(call: Call) -> Envelope:
    """Get the project of the folder that the server was started in."""
    found = _project_of(Path.cwd())
    answer = _answer(found, found.name)
    answer["cwd"] = str(Path.cwd())
    answer["available_projects"] = shown(_projects(call)[:100])
    return answer


def mem_suggest_topic_key(
    call: Call, type: Words | None = None, title: Text | None = None, content: Text | None = None
) -> Envelope:
    """Get a topic key for what will be saved again and again."""
    if not (title or "").strip() and not (content or "").strip():
        raise Refused("provide title or content to suggest a topic_key")
    family = _family(type or "", f"{title or ''} {content or ''}".lower())
    name = rules.segment(rules.redacted(title or "") or " ".join((content or "").split()[:8]))
    name = name.removeprefix(f"{family}-")
    key = f"{family}/{'general' if name in ('', family) else name}"
    return _here(f"Suggested topic_key: {key}")


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
    answer = _answer(_asked(call, project), status)
    answer["status"], answer["checks"] = status, shown(checks)
    return answer


# ---- saving -------------------------------------------------------------------------------------


def _entity_of(label_format: str, project: str, scope: str, topic_key: str) -> str:
    """Where a store files what is saved: by project and scope, or by the family of the topic."""
    family = topic_key.rpartition("/")[0] if label_format != NAME else ""
    return "/".join(filter(None, (project, family or (scope if scope != "project" else ""))))


def _save(call: Call, values: dict[str, str], project: str, why: str, done: str) -> Envelope:
    label = store_label(call.library, NAME)
    format = call.library.store(label).format
    scope, key = values.pop("scope", ""), values.pop("topic_key", "")
    fields = {name: each for name, each in values.items() if each}
    fields["entity"] = _entity_of(format, project, scope or "project", key)
    if format == NAME and key:
        fields["topic_key"] = key
    made = make_all(call, [Change(Act.ADD, label, "", fields)], why, done)
    answer = _here(made.text)
    answer["judgment_required"] = False
    if made.refs:
        memory = call.library.get(made.refs[0])
        answer["id"] = _number(call, memory)
        answer["sync_id"] = shown(str(memory.extra.get("sync_id") or memory.ref))
    return answer


def mem_save(
    call: Call,
    title: Annotated[str, Field(max_length=1_000)],
    content: Text | None = None,
    observation: Text | None = None,
    type: Words | None = None,
    session_id: Words | None = None,
    scope: Words | None = None,
    topic_key: Words | None = None,
    project: Words | None = None,
    project_choice_reason: Words | None = None,
    recovery_token: Words | None = None,
    capture_prompt: bool | None = None,
) -> Envelope:
    """Save what was decided, found out or mended: a short title, and what, why, where."""
    text = (content or "").strip() or (observation or "").strip()
    if not text:
        raise Refused("content is required for mem_save")
    values = {"title": title, "content": text, "type": type or "manual", "scope": scope or ""}
    values["topic_key"] = topic_key or ""
    name = rules.project_name(project or "") or _project_of(Path.cwd()).name
    done = f"Memory saved: {title!r} ({values['type']})"
    return _save(call, values, name, "saved by mem_save", done)


def mem_session_summary(call: Call, content: Text, session_id: Words | None = None) -> Envelope:
    """Save what a session did, as one memory."""
    name = _project_of(Path.cwd()).name
    values = {"title": f"Session summary: {name}", "content": content, "type": "session_summary"}
    done = f"Session summary saved for project {name!r}"
    return _save(call, values, name, "saved by mem_session_summary", done)


def mem_capture_passive(
    call: Call, content: Text, session_id: Words | None = None, source: Words | None = None
) -> Envelope:
    """Save each item below a heading such as "Key Learnings" as a memory."""
    label, name = store_label(call.library, NAME), _project_of(Path.cwd()).name
    texts = find_learnings(content)
    changes = [
        Change(
            Act.ADD,
            label,
            "",
            {
                "content": each,
                "title": each[:60] + ("..." if len(each) > 60 else ""),
                "type": "passive",
                "entity": name,
            },
        )
        for each in texts[:MAX_FOUND]
    ]
    done = f"Passive capture complete: extracted={len(texts)} saved={len(changes)}"
    return _here(make_all(call, changes, "saved by mem_capture_passive", done).text)


_HEADING = re.compile(
    r"#{2,3}\s+(?:aprendizajes(?:\s+clave)?|key\s+learnings?|learnings?):?\s*", re.IGNORECASE
)
_ITEM = re.compile(r"\s*(?:(\d+[.)])|[-*])\s+(\S.*)")


def find_learnings(text: str) -> list[str]:
    """The items of the last section with learnings that has some; numbered ones before others.

    Shorter ones than 20 characters or four words are left out (`ExtractLearnings` of store.go).
    """
    sections: list[tuple[list[str], list[str]]] = []
    is_inside = False
    for line in text.split("\n"):
        if _HEADING.fullmatch(line):
            sections.append(([], []))
            is_inside = True
        elif re.match(r"#{1,3} ", line):
            is_inside = False
        elif is_inside and (item := _ITEM.match(line)):
            clean = " ".join(re.sub(r"\*\*|[*`]", "", item[2]).split())
            if len(clean) >= 20 and len(clean.split()) >= 4:
                sections[-1][0 if item[1] else 1].append(clean)
    return next(
        (numbered or bullets for numbered, bullets in reversed(sections) if numbered or bullets), []
    )


# ---- changing -----------------------------------------------------------------------------------


def _change(call: Call, change: Change, tool: str, done: str) -> Envelope:
    return _here(make_all(call, [change], f"asked by {tool}", done).text)


def mem_update(
    call: Call,
    id: Number,
    title: Text | None = None,
    content: Text | None = None,
    type: Words | None = None,
    scope: Words | None = None,
    topic_key: Words | None = None,
) -> Envelope:
    """Change the given fields of a memory."""
    memory = _get(call, id)
    values = {"title": title, "content": content, "type": type, "scope": scope}
    values["topic_key"] = topic_key
    fields = {name: each for name, each in values.items() if each is not None}
    if not fields:
        raise Refused("provide at least one field to update")
    change = Change(Act.EDIT, memory.store, memory.ref, fields)
    done = f"Memory updated: #{int(id)} {title or memory.headline!r}"
    return _change(call, change, "mem_update", done)


def mem_delete(call: Call, id: Number, hard_delete: bool | None = None) -> Envelope:
    """Take a memory out of use: it is retired, also with hard_delete, and can be restored."""
    change = retiring(call.library, _get(call, id))
    return _change(
        call, change, "mem_delete", f"Memory #{int(id)} soft-deleted: it can be restored"
    )


def mem_pin(call: Call, id: Number) -> Envelope:
    """Pin a memory, so that it comes first in the context."""
    return _pin(call, id, Act.PIN)


def mem_unpin(call: Call, id: Number) -> Envelope:
    """Take the pin from a memory."""
    return _pin(call, id, Act.UNPIN)


def _pin(call: Call, id: float, act: Act) -> Envelope:
    memory = _get(call, id)
    done = f"Memory #{int(id)} {act}ned"
    answer = _change(call, Change(act, memory.store, memory.ref), f"mem_{act}", done)
    answer["id"], answer["pinned"] = int(id), call.library.get(memory.ref).pinned
    return answer


def mem_review(
    call: Call,
    action: Literal["list", "mark_reviewed"],
    project: Words | None = None,
    limit: float | None = None,
    observation_id: Number | None = None,
    id: Number | None = None,
) -> Envelope:
    """List the memories that are due for review, or mark one as reviewed."""
    if action == "mark_reviewed":
        if (number := observation_id or id) is None:
            raise Refused("observation_id is required for mark_reviewed")
        memory = _get(call, number)
        done = f"Memory marked reviewed: #{int(number)} {memory.headline!r}"
        change = Change(Act.REVIEW, memory.store, memory.ref)
        return _change(call, change, "mem_review", done)
    chosen = _asked(call, project) if project else Project("", "all_projects")
    about = f'entity:"{chosen.name}"' if chosen.name else ""
    found = call.find(about) if about else call.library.find(Query())
    due = (memory for slot in found.slots if _is_due(call, memory := found.rows[slot]))
    memories = [each for each, _ in zip(due, range(min(int(limit or 10), MAX_FOUND)), strict=False)]
    records = [_record(call, each) for each in memories]
    lines = [_line(*pair, _PREVIEW) for pair in zip(records, memories, strict=True)]
    answer = _answer(chosen, "\n\n".join(lines) or "No memories need review.")
    answer["observations"] = records
    return answer


def mem_merge_projects(
    call: Call,
    from_: Annotated[str, Field(alias="from", max_length=2_000)],
    to: Words,
) -> Envelope:
    """File the memories of other names of a project under this one."""
    target, changes = rules.project_name(to), list[Change]()
    for name in filter(None, map(str.strip, from_.split(","))):
        source = _asked(call, name).name
        found = call.find(f'entity:"{source}"')
        for slot in found.slots:
            memory = found.rows[slot]
            if _is_observation(memory) and source != target:
                is_own = call.library.store(memory.store).format == NAME
                rest = "" if is_own else memory.entity.partition("/")[2]
                entity = "/".join(filter(None, (target, rest)))
                changes.append(Change(Act.EDIT, memory.store, memory.ref, {"entity": entity}))
    if len(changes) > MAX_MERGED:
        raise Refused(f"Merge failed: {len(changes)} memories are too many for an agent")
    done = f"Merged into {target!r}:\n  Observations moved: {len(changes)}"
    return _here(make_all(call, changes, "asked by mem_merge_projects", done).text)


def mem_judge(
    call: Call,
    judgment_id: Words,
    relation: Verdict,
    reason: Text | None = None,
    evidence: Text | None = None,
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None,
    session_id: Words | None = None,
) -> Envelope:
    """Say what two memories are to each other of which Engram asked."""
    for label in (each.label for each in call.library.stores if each.format == NAME):
        memories = list(call.library.memories(label))
        for source in memories:
            for each in source.extra.get("relations", ()):
                if each.get("sync_id") != judgment_id:
                    continue
                ends = (one for one in memories if one.extra.get("sync_id") == each["target_id"])
                if (target := next(ends, None)) is not None:
                    why = "; ".join(filter(None, (reason, evidence))) or "asked by mem_judge"
                    return _link(call, source, target, relation, why)
    raise RefError(f"relation {judgment_id!r} is not found")


def mem_compare(
    call: Call,
    memory_id_a: Number,
    memory_id_b: Number,
    relation: Verdict,
    confidence: Annotated[float, Field(ge=0, le=1)],
    reasoning: Text,
    model: Words | None = None,
) -> Envelope:
    """Keep what you found two memories to be to each other."""
    first, second = _get(call, memory_id_a), _get(call, memory_id_b)
    if relation == "not_conflict":
        answer = _here("They do not conflict: nothing is kept of that.")
        answer["sync_id"] = ""
        return answer
    return _link(call, first, second, relation, reasoning)


def _link(call: Call, source: Memory, target: Memory, relation: str, why: str) -> Envelope:
    if source.store != target.store:
        raise Refused("the memories are in different stores")
    fields = {"relation": relation, "target": call.library.link_target(source, target.ref)}
    change = Change(Act.LINK, source.store, source.ref, fields)
    return _here(make_all(call, [change], why[:500], f"Recorded: {relation}").text)


# ---- what is no memory --------------------------------------------------------------------------


def mem_save_prompt(
    call: Call,
    content: Text,
    session_id: Words | None = None,
    project: Words | None = None,
    project_choice_reason: Words | None = None,
    recovery_token: Words | None = None,
) -> Envelope:
    """Save what the person asked; memtui keeps no prompts."""
    raise Refused("Failed to save prompt: memtui keeps no prompts")


def mem_session_start(call: Call, id: Words, directory: Words | None = None) -> Envelope:
    """Note that a session begins; memtui keeps no sessions."""
    raise Refused("Failed to start session: memtui keeps no sessions")


def mem_session_end(call: Call, id: Words, summary: Text | None = None) -> Envelope:
    """Note that a session ended; memtui keeps no sessions."""
    raise Refused("Failed to end session: memtui keeps no sessions", do="mem_session_summary")


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


# ---- the table ----------------------------------------------------------------------------------

_READS: Sequence[tuple[Callable[..., Any], str]] = (
    (mem_search, "Search Memory"),
    (mem_context, "Get Memory Context"),
    (mem_timeline, "Memory Timeline"),
    (mem_get_observation, "Get Observation"),
    (mem_stats, "Memory Stats"),
    (mem_current_project, "Detect Current Project"),
    (mem_suggest_topic_key, "Suggest Topic Key"),
    (mem_doctor, "Run Engram Doctor"),
)
_STORES: Sequence[tuple[Callable[..., Any], str, str]] = (
    (mem_save, "Save Memory", ""),
    (mem_update, "Update Memory", ""),
    (mem_review, "Review Memories", ""),
    (mem_judge, "Judge Memory Conflict", ""),
    (mem_save_prompt, "Save User Prompt", ""),
    (mem_session_summary, "Save Session Summary", ""),
    (mem_session_start, "Start Session", "repeatable"),
    (mem_session_end, "End Session", "repeatable"),
    (mem_capture_passive, "Capture Learnings", "repeatable"),
    (mem_compare, "Compare Memory Pair (Persist Semantic Verdict)", "repeatable"),
    (mem_pin, "Pin Memory", "repeatable"),
    (mem_unpin, "Unpin Memory", "repeatable"),
    (mem_delete, "Delete Memory", "replaces"),
    (mem_merge_projects, "Merge Projects", "replaces repeatable"),
)
TOOLS = (
    *(Tool(function, title, reads=True) for function, title in _READS),
    *(
        Tool(
            function,
            title,
            writes=True,
            replaces="replaces" in hints,
            repeatable="repeatable" in hints,
        )
        for function, title, hints in _STORES
    ),
)
