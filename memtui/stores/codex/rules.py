"""Rules of Codex's files: task groups, head lines of rollout summaries, and notes that ask."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memtui.model import Memory

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
MOST_HEAD_LINES = 12


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
    for match, after in zip(starts, [*starts[1:], None], strict=True):
        group_text = text[match.end() : after.start() if after else len(text)]
        head_fields = dict(_HEAD_LINE.findall(group_text))
        groups.append(
            TaskGroup(
                match.start(),
                match[1],
                head_fields.get("scope", ""),
                head_fields.get("applies_to", ""),
            )
        )
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
    for line in text.split("\n", MOST_HEAD_LINES)[:MOST_HEAD_LINES]:
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
