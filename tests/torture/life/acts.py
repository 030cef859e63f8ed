"""A change of any act for numbers and a word, as the state machine draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.model import Memory
from memtui.testing.fixtures import memories

MOVE = "move"
"""An edit of the entity."""
ACTS: tuple[str, ...] = (*Act, MOVE)

_Fields = Callable[[Memory, Memory, str], dict[str, Any]]


def _addition(memory: Memory, other: Memory, word: str) -> dict[str, Any]:
    fields = {"title": word, "entity": other.entity, "type": memory.type}
    return {"content": f"{word} is remembered", **{k: v for k, v in fields.items() if v}}


def _unlinked(memory: Memory, other: Memory, word: str) -> dict[str, Any]:
    links = memory.links
    return {"relation": links[0].relation, "target": links[0].target} if links else {}


_FIELDS: dict[str, _Fields] = {
    Act.ADD: _addition,
    Act.EDIT: lambda memory, other, word: {"content": f"{memory.content.rstrip()[:200]} {word}"},
    Act.SUPERSEDE: lambda memory, other, word: {"content": f"{memory.content[:200]} {word}"},
    Act.RETYPE: lambda memory, other, word: {"type": other.type},
    Act.TAG: lambda memory, other, word: {"tags": [*memory.tags, word]},
    Act.LINK: lambda memory, other, word: {"relation": "related", "target": other.id},
    Act.UNLINK: _unlinked,
    Act.MERGE: lambda memory, other, word: {"others": [other.id]},
    Act.RATE: lambda memory, other, word: {"rating": 1 + len(word) % 5},
    MOVE: lambda memory, other, word: {"entity": other.entity},
}


def change_of(library: Library, act: str, which: Sequence[int], word: str) -> Change | None:
    """The act on one of the memories; None where there is none to do it on."""
    among = list(memories(library).values())
    if not among:
        return None
    memory, other = (among[number % len(among)] for number in which)
    fields = _FIELDS[act](memory, other, word) if act in _FIELDS else {}
    doing = Act.EDIT if act == MOVE else Act(act)
    ref = "" if doing is Act.ADD else memory.ref
    return Change(doing, memory.store, ref, fields, force=True)
