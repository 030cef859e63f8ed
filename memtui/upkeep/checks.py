"""The checks of `memtui check` over memories that can be read, as pure functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memtui.model import Memory, Place
from memtui.stores.base import Unreadable
from memtui.text import hidden_count
from memtui.upkeep.instructions import find_domains, find_suspicions
from memtui.upkeep.secrets import find_secrets


class FindingKind(StrEnum):
    OVERWRITTEN = "overwritten change"
    UNREADABLE = "unreadable"
    DUPLICATE = "duplicate id"
    DANGLING = "dangling reference"
    SECRET = "secret"
    INSTRUCTION = "instruction"
    HIDDEN = "hidden characters"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person should look at."""

    kind: FindingKind
    file: str
    line: int | None
    ref: str
    """The ref of the memory; empty for a whole file."""
    message: str
    """May contain text of the store: show it through `visible`."""


def _at(kind: FindingKind, memory: Memory, message: str, place: Place | None = None) -> Finding:
    where = place or memory.origin
    return Finding(kind, where.file, where.line, memory.ref, message)


def check_unreadable_files(unreadable: Iterable[Unreadable]) -> Iterator[Finding]:
    for item in unreadable:
        yield Finding(FindingKind.UNREADABLE, item.file, None, "", item.reason)


def check_duplicate_ids(memories: Iterable[Memory]) -> Iterator[Finding]:
    """Different memories of a store with the same id; one memory in two places is not reported."""
    seen: dict[tuple[str, str], Memory] = {}
    for memory in memories:
        first = seen.setdefault((memory.store, memory.id), memory)
        if first is not memory:
            other = first.origin.file
            yield _at(FindingKind.DUPLICATE, memory, f"id {memory.id} is also in {other}")


def check_dangling_references(memories: Sequence[Memory]) -> Iterator[Finding]:
    """References to a memory, and links to a memory or entity, that are not in the store."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for memory in memories:
        ids[memory.store].add(memory.id)
        for entity in (memory.entity, *memory.also_entities):
            ids[memory.store].update((entity, *entity.split("/")))
        ids[memory.store].add(str(memory.extra.get("sync_id", "")))
    refs = {memory.ref for memory in memories}
    """A link in the sidecar may lead to another store."""
    for memory in memories:
        known = ids[memory.store]
        for target in memory.supersedes:
            if target not in known:
                yield _at(FindingKind.DANGLING, memory, f"supersedes {target}: no such memory")
        for link in memory.links:
            if link.target not in known and link.target not in refs:
                message = f"{link.relation} {link.target}: no such memory or entity"
                yield _at(FindingKind.DANGLING, memory, message)


def check_secrets(memories: Iterable[Memory]) -> Iterator[Finding]:
    for memory in memories:
        for text in (memory.title, memory.content):
            for secret in find_secrets(text):
                yield _at(FindingKind.SECRET, memory, f"{secret.what}: {secret.masked}")


def check_instructions(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Memories that instruct the agent instead of stating something, with the reasons."""
    named = Counter(domain for memory in memories for domain in find_domains(memory.content))
    known = {domain for domain, count in named.items() if count > 1}
    for memory in memories:
        reasons = find_suspicions(f"{memory.title}\n{memory.content}", known)
        if reasons:
            yield _at(FindingKind.INSTRUCTION, memory, "; ".join(reasons))


def check_hidden_characters(memories: Iterable[Memory]) -> Iterator[Finding]:
    """Characters that are not visible: escapes, zero-width, bidi."""
    for memory in memories:
        count = hidden_count(memory.title) + hidden_count(memory.content)
        if count:
            plural = "" if count == 1 else "s"
            yield _at(FindingKind.HIDDEN, memory, f"{count} hidden character{plural}")


def check_all(memories: Sequence[Memory], unreadable: Iterable[Unreadable]) -> Iterator[Finding]:
    """Run all checks, the most serious first."""
    yield from check_unreadable_files(unreadable)
    yield from check_secrets(memories)
    yield from check_instructions(memories)
    yield from check_duplicate_ids(memories)
    yield from check_hidden_characters(memories)
    yield from check_dangling_references(memories)
