"""Parse Codex's files and convert them to memories.

* Items of MEMORY.md are facts; the entity is the name of their task group, the type follows from
  the heading. Items of memory_summary.md are facts of `summary/<heading>`.
* A rollout summary is an episode of its working folder; `thread_id` and `rollout_path` lead to the
  session it was made from. A skill is a document.
* An ad-hoc note is a note. It has the type `pending` until MEMORY.md is newer than the note, which
  is when Codex has consolidated.
* A memory that a note asks to forget or to change is retired or superseded by the sidecar
  (`extra.pending`), though it stands in its file until Codex consolidates.
* Importance: high in the summary, which every prompt holds; low for rollout summaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Any

from memtui.dataclass import dataclass, replace
from memtui.model import Link, Memory
from memtui.stores.codex import MEMORY, NOTES, ROLLOUTS, SUMMARY
from memtui.stores.markdown.documents import MarkdownFile, document_fields, outline, to_json_value
from memtui.stores.markdown.items import ItemFile, item_extra, item_fields
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso

FIRST_LINE = "v1"
"""Of memory_summary.md; without it Codex does not put the summary into the prompt."""
_GROUP = re.compile(r"^# Task Group:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_HEAD_LINE = re.compile(r"^(scope|applies_to):[ \t]*(.*)$", re.MULTILINE)
_CWD = re.compile(r"cwd=([^;\s]+)")
_HEAD = re.compile(r"([a-z_]+):[ \t]*(\S.*)")
_TYPES = {
    "user preferences": "preference",
    "reusable knowledge": "knowledge",
    "failures and how to do differently": "lesson",
    "rollout_summary_files": "rollouts",
    "keywords": "keywords",
}
MAX_HEAD_LINES = 12


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A part of MEMORY.md, and where it begins."""

    start: int
    name: str
    scope: str = ""
    applies_to: str = ""

    @property
    def cwd(self) -> str:
        found = _CWD.search(self.applies_to)
        return found[1] if found else ""


def task_groups(text: str) -> list[TaskGroup]:
    """The task groups in order."""
    starts = list(_GROUP.finditer(text))
    groups = []
    for match, after in zip_longest(starts, starts[1:]):
        group_text = text[match.end() : after.start() if after else len(text)]
        head_fields: dict[str, str] = dict(_HEAD_LINE.findall(group_text))
        scope, applies_to = (head_fields.get(key, "") for key in ("scope", "applies_to"))
        groups.append(TaskGroup(match.start(), match[1], scope, applies_to))
    return groups


def is_head_line(text: str) -> bool:
    """Whether an item is the lines about its task group."""
    return all(_HEAD_LINE.fullmatch(line) for line in text.split("\n"))


def type_of(section: str) -> str:
    """The type that a heading stands for."""
    return _TYPES.get(section.lower(), "task" if section.startswith("Task ") else "")


def head_lines(text: str) -> Mapping[str, str]:
    """`thread_id`, `updated_at`, `rollout_path`, `cwd` and the like at the head of a summary."""
    found: dict[str, str] = {}
    for line in text.split("\n", MAX_HEAD_LINES)[:MAX_HEAD_LINES]:
        match = _HEAD.fullmatch(line.rstrip())
        if match is None:
            break
        found[match[1]] = match[2]
    return found


def asking_note(memory: Memory, new_text: str | None) -> str:
    """The text of a note that asks Codex to change a memory, or to forget it (None)."""
    file = memory.id.partition("#")[0]
    place = f"{file}, {memory.entity}" if memory.entity else file
    quoted = _quoted(memory.content)
    if new_text is None:
        return f"Forget this memory. It stands in {place}:\n\n{quoted}\n"
    return (
        f"Change this memory. It stands in {place}:\n\n{quoted}\n\nIt should say:\n\n{new_text}\n"
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


# ---- memories ------------------------------------------------------------------------------------


PENDING = "pending until Codex consolidates"
STATUS = "status"
"""Key of a sidecar entry: retired or superseded, by a note."""
_ROLLOUT = re.compile(rf"({ROLLOUTS}/[\w.:-]+\.md)")
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2})[-:](\d{2})[-:](\d{2}))?")


def item_memories(parsed: ItemFile, sidecar: Sidecar, label: str) -> Iterator[Memory]:
    """The memories of MEMORY.md or of memory_summary.md."""
    document = parsed.document
    groups = task_groups(document.body) if document.path == MEMORY else []
    for id, item in parsed.items:
        if document.path == SUMMARY and item.text == "v1":
            continue
        group = next((g for g in reversed(groups) if g.start <= item.start), None)
        if group is not None and is_head_line(item.text):
            continue
        extra = item_extra(item)
        if group is not None:
            extra |= _about(group)
        if document.path == SUMMARY:
            extra["loaded_at_start"] = True
        rollouts = dict.fromkeys(_ROLLOUT.findall(item.text))
        yield _with_request(
            Memory(
                **item_fields(document, id, item, label),
                kind="fact",
                type=type_of(item.section),
                entity=_entity(document.path, group, item.section),
                importance="high" if document.path == SUMMARY else "medium",
                links=tuple(Link("drawn_from", path) for path in rollouts),
                extra=extra,
            ),
            sidecar,
        )


def _entity(path: str, group: TaskGroup | None, section: str) -> str:
    if path == SUMMARY:
        return f"summary/{section.replace('/', '-')}" if section else "summary"
    return group.name if group is not None and group.name else "memory"


def _about(group: TaskGroup) -> dict[str, str]:
    fields = {"scope": group.scope, "applies_to": group.applies_to, "cwd": group.cwd}
    return {key: value for key, value in fields.items() if value}


def file_memory(document: MarkdownFile, sidecar: Sidecar, label: str, *, pending: bool) -> Memory:
    """A rollout summary, a skill or an ad-hoc note."""
    is_rollout = document.path.startswith(f"{ROLLOUTS}/")
    is_note = document.path.startswith(f"{NOTES}/")
    head: Mapping[str, str] = head_lines(document.body) if is_rollout else {}
    extra: dict[str, Any] = {
        **{str(key): to_json_value(value) for key, value in document.frontmatter.items()},
        **head,
    }
    if is_note and pending:
        extra["pending"] = PENDING
    thread = head.get("thread_id", "")
    name = document.path.rpartition("/")[2]
    title = outline(document.body).title
    if not is_note and not is_rollout:
        title = str(document.frontmatter.get("name") or title or document.path.split("/")[-2])
    return _with_request(
        Memory(
            **document_fields(document, label),
            kind="note" if is_note else "episode" if is_rollout else "document",
            type=("pending" if pending else "ad-hoc") if is_note else "" if is_rollout else "skill",
            title=title,
            entity="ad_hoc" if is_note else (head.get("cwd", "").strip("/") or "skills"),
            created=_time_in(name) if is_note or is_rollout else None,
            updated=from_iso(head.get("updated_at")) or document.changed,
            importance="low" if is_rollout else "medium",
            source=f"thread {thread}" if thread else "",
            extra=extra,
        ),
        sidecar,
    )


def _time_in(name: str) -> datetime | None:
    found = _TIME.match(name)
    if found is None:
        return None
    return from_iso(f"{found[1]}T{found[2]}:{found[3]}:{found[4]}" if found[2] else found[1])


def _with_request(memory: Memory, sidecar: Sidecar) -> Memory:
    """Return the memory with the status that a note has asked for."""
    status = sidecar.entry(memory.id).get(STATUS)
    if status not in ("retired", "superseded"):
        return memory
    return replace(memory, status=status, extra={**memory.extra, "pending": PENDING})
