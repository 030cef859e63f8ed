"""What an export leaves out of the open stores, counted and in words, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memtui.model import CURRENT, Memory
from memtui.text import number

NO_PLACE: Mapping[str, tuple[str, ...]] = {
    "csv": ("links", "extra"),
    "markdown": (
        "tags",
        "links",
        "supersedes",
        "superseded_by",
        "pinned",
        "confidence",
        "source",
        "extra",
    ),
}
"""Fields of a memory that a form cannot hold."""
_WORDS = {
    "supersedes": "what they supersede",
    "superseded_by": "what superseded them",
    "pinned": "pins",
    "extra": "fields of their own store",
}


def unchosen(every: Iterable[Memory], chosen: Sequence[Memory]) -> list[str]:
    """Lines about the memories that are not among the chosen ones."""
    refs = {memory.ref for memory in chosen}
    rest = Counter(memory.status for memory in every if memory.ref not in refs)
    current = sum(count for status, count in rest.items() if status in CURRENT)
    retired = [(status, count) for status, count in rest.most_common() if status not in CURRENT]
    lines = []
    if retired:
        total = _counted(sum(count for _, count in retired))
        what = ", ".join(f"{number(count)} {status}" for status, count in retired)
        lines.append(f"{total}, not current ({what}); status:all takes them too")
    if current:
        lines.append(f"{_counted(current)} by the filters")
    return lines


def without_place(memories: Iterable[Memory], form: str, names: Sequence[str]) -> list[str]:
    """A line about those of these fields that are set, because the form cannot hold them."""
    found = Counter(name for memory in memories for name in names if _is_set(memory, name))
    if not found:
        return []
    what = ", ".join(
        f"{_WORDS.get(name, name)} ({_counted(found[name])})" for name in names if found[name]
    )
    return [f"{what}: {form} has no place for them"]


def _counted(count: int) -> str:
    return "1 memory" if count == 1 else f"{number(count)} memories"


def _is_set(memory: Memory, name: str) -> bool:
    value = getattr(memory, name)
    return value != "active" if name == "status" else value not in (None, "", (), {}, False)
