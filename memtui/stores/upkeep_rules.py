"""What a format's own documents say about tidying its memories, as one value.

The findings of `memtui.upkeep` ask these rules and know no format by name. A format gives them as
`Format.upkeep`; one that gives none is tidied by the general rules alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from memtui.model import Link, Memory


@dataclass(frozen=True, slots=True)
class Compaction:
    """When a format summarises old memories that are not important."""

    limits: tuple[tuple[str, int], ...]
    """Part of the entity's path (`project`, `branch`) and the memories it may hold."""
    batch: float
    """Share of the limit that is summarised at once, oldest first."""
    kinds: frozenset[str] = frozenset({"event"})
    summary_type: str = "session-summary"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Expiry:
    """When the format's program stops reading a memory by itself."""

    days: int
    """Days without activity."""
    archived_days: int
    """Days after a branch was archived."""
    source: str = ""


def _entity(memory: Memory) -> str:
    return memory.entity


def _no_key(_memory: Memory) -> str:
    return ""


def _none(_older: Memory, _newer: Memory) -> str:
    return ""


def _one_subject(_memory: Memory) -> Collection[str]:
    return ("",)


def _any(_memory: Memory) -> bool:
    return True


def _must_exist(_link: Link) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    """The rules of one format."""

    scope: Callable[[Memory], str] = _entity
    """Memories of different scopes are never merged with one another."""
    merge_key: Callable[[Memory], str] = _no_key
    """Memories with different keys are never merged; the empty key differs from none."""
    subjects: Callable[[Memory], Collection[str]] = _one_subject
    """What a memory says something about: it contradicts only memories that share a subject."""
    contradicts: Callable[[Memory, Memory], str] = _none
    """(older, newer) -> why both cannot hold, in words; empty if they can."""
    contradiction_source: str = ""
    is_replaceable: Callable[[Memory], bool] = _any
    """Whether `replaces` needs to be asked about a memory at all."""
    replaces: Callable[[Memory, Memory], str] = _none
    """(older, newer) -> why the newer one takes the older one's place; empty if it does not."""
    replacement_source: str = ""
    compaction: Compaction | None = None
    expiry: Expiry | None = None
    is_forward: Callable[[Link], bool] = _must_exist
    """Whether a link may name what does not exist yet, so that it is not reported as dangling."""


GENERAL_RULES = UpkeepRules()
