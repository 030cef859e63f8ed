"""The tools of Engram that store: they propose without `--write`, and nothing deletes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from memtui.changes import Act, Change
from memtui.errors import RefError, Refused
from memtui.mcp.call import Call, Text, Words
from memtui.mcp.framing import shown
from memtui.mcp.profiles.answers import make_all, store_label
from memtui.mcp.profiles.engram.reading import (
    MAX_FOUND,
    Envelope,
    Number,
    Project,
    answer,
    answer_here,
    get_observation,
    is_due,
    is_observation,
    project_asked,
    project_of_folder,
    quoted,
    record_of,
    suggestion,
)
from memtui.mcp.tools import retiring
from memtui.model import Memory
from memtui.query import Query
from memtui.stores.engram import NAME, rules

MAX_MERGED = 200
"""Memories of one merge of projects."""

Verdict = Literal["related", "compatible", "scoped", "conflicts_with", "supersedes", "not_conflict"]


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
    told = answer_here(made.text)
    told["judgment_required"] = False
    if made.refs:
        record = record_of(call, call.library.get(made.refs[0]))
        told["id"], told["sync_id"] = record["id"], record["sync_id"]
    return told


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
    name = rules.project_name(project or "") or project_of_folder(Path.cwd()).name
    done = f"Memory saved: {quoted(title)} ({values['type']})"
    if not topic_key:
        done += f"\n{suggestion(values['type'], title, text)}"
    return _save(call, values, name, "saved by mem_save", done)


def mem_session_summary(call: Call, content: Text, session_id: Words | None = None) -> Envelope:
    """Save what a session did, as one memory."""
    name = project_of_folder(Path.cwd()).name
    values = {"title": f"Session summary: {name}", "content": content, "type": "session_summary"}
    done = f"Session summary saved for project {quoted(name)}"
    return _save(call, values, name, "saved by mem_session_summary", done)


def mem_capture_passive(
    call: Call, content: Text, session_id: Words | None = None, source: Words | None = None
) -> Envelope:
    """Save each item below a heading such as "Key Learnings" as a memory."""
    label, name = store_label(call.library, NAME), project_of_folder(Path.cwd()).name
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
    done = f"Passive capture complete: extracted={len(texts)} saved={len(changes)} duplicates=0"
    return answer_here(make_all(call, changes, "saved by mem_capture_passive", done).text)


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
    return answer_here(make_all(call, [change], f"asked by {tool}", done).text)


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
    memory = get_observation(call, id)
    values = {"title": title, "content": content, "type": type, "scope": scope}
    values["topic_key"] = topic_key
    fields = {name: each for name, each in values.items() if each is not None}
    if not fields:
        raise Refused("provide at least one field to update")
    change = Change(Act.EDIT, memory.store, memory.ref, fields)
    done = f"Memory updated: #{int(id)} {quoted(title or memory.headline)}"
    return _change(call, change, "mem_update", done)


def mem_delete(call: Call, id: Number, hard_delete: bool | None = None) -> Envelope:
    """Take a memory out of use: it is retired, also with hard_delete, and can be restored."""
    change = retiring(call.library, get_observation(call, id))
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
    memory = get_observation(call, id)
    done = f"Memory #{int(id)} {act}ned"
    told = _change(call, Change(act, memory.store, memory.ref), f"mem_{act}", done)
    told["id"], told["pinned"] = int(id), call.library.get(memory.ref).pinned
    return told


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
        memory = get_observation(call, number)
        done = f"Memory marked reviewed: #{int(number)} {quoted(memory.headline)}"
        change = Change(Act.REVIEW, memory.store, memory.ref)
        return _change(call, change, "mem_review", done)
    chosen = project_asked(call, project) if project else Project("", "all_projects")
    about = f'entity:"{chosen.name}"' if chosen.name else ""
    found = call.find(about) if about else call.library.find(Query())
    due = [memory for slot in found.slots if is_due(call, memory := found.rows[slot])]
    due.sort(key=lambda memory: str(memory.extra["review_after"]))
    records = [
        {**record_of(call, memory), "review_after": shown(str(memory.extra["review_after"]))}
        for memory in due[: min(int(limit or 10), MAX_FOUND)]
    ]
    lines = [
        f"[{at}] #{{id}} ({{type}}) — {{title}}\n    state: {{state}} | project: {{project}}"
        " | review_after: {review_after}".format(**record)
        for at, record in enumerate(records, 1)
    ]
    text = f"Found {len(lines)} memories needing review:\n\n" + "\n".join(lines)
    told = answer(chosen, text if lines else "No memories need review.")
    told["observations"] = records
    return told


def mem_merge_projects(
    call: Call,
    from_: Annotated[str, Field(alias="from", max_length=2_000)],
    to: Words,
) -> Envelope:
    """File the memories of other names of a project under this one."""
    target, changes = rules.project_name(to), list[Change]()
    for name in filter(None, map(str.strip, from_.split(","))):
        source = project_asked(call, name).name
        found = call.find(f'entity:"{source}"')
        for slot in found.slots:
            memory = found.rows[slot]
            if is_observation(memory) and source != target:
                is_own = call.library.store(memory.store).format == NAME
                rest = "" if is_own else memory.entity.partition("/")[2]
                entity = "/".join(filter(None, (target, rest)))
                changes.append(Change(Act.EDIT, memory.store, memory.ref, {"entity": entity}))
    if len(changes) > MAX_MERGED:
        raise Refused(f"Merge failed: {len(changes)} memories are too many for an agent")
    done = f"Merged into {quoted(target)}:\n  Observations moved: {len(changes)}"
    return answer_here(make_all(call, changes, "asked by mem_merge_projects", done).text)


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
                    said = {"reason": reason, "evidence": evidence, "confidence": confidence}
                    return _link(call, source, target, relation, said)
    raise RefError(f"relation {quoted(judgment_id)} not found")


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
    first, second = get_observation(call, memory_id_a), get_observation(call, memory_id_b)
    if relation == "not_conflict":
        told = answer_here("They do not conflict: nothing is kept of that.")
        told["sync_id"] = ""
        return told
    said = {"reason": reasoning, "confidence": confidence, "marked_by_model": model}
    return _link(call, first, second, relation, said)


def _link(
    call: Call,
    source: Memory,
    target: Memory,
    relation: str,
    said: Mapping[str, object],
) -> Envelope:
    """Link two memories; `said`: columns that Engram keeps of a judgement."""
    if source.store != target.store:
        raise Refused("the memories are in different stores")
    fields: dict[str, object] = {"relation": relation}
    fields["target"] = call.library.link_target(source, target.ref)
    if call.library.store(source.store).format == NAME:
        fields |= {"confidence": 1.0} | {
            name: each for name, each in said.items() if each is not None
        }
    change = Change(Act.LINK, source.store, source.ref, fields)
    why = str(said["reason"] or said.get("evidence") or "asked for by an agent")
    return answer_here(make_all(call, [change], why[:500], f"Recorded: {relation}").text)


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
