"""What Engram's tools share: the project of a call, the numbers of memories, and the answers."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired

from pydantic import Field

from memtui.errors import RefError
from memtui.files.git_history import GitHistory
from memtui.files.git_repository import find_repository
from memtui.mcp.framing import cut_text, shown
from memtui.mcp.tools import Call, Reply
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
