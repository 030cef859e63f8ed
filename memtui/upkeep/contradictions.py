"""Memories that cannot both hold, and decisions that a newer decision replaces.

What contradicts and what replaces is said by the rules of the store's format. Beside these, a
choice ("we chose PostgreSQL") and a later move ("moved to SQLite") in one entity are pointed out
and never resolved (Engram proposal, Conflict detection).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memtui.model import CURRENT, Memory
from memtui.stores.upkeep_rules import GENERAL_RULES
from memtui.text import cut, one_line
from memtui.upkeep.proposals import Proposal, ProposalKind, UpkeepContext, propose, retire
from memtui.upkeep.similarity import words_of

_TITLE = 60
_NEVER = datetime.min.replace(tzinfo=UTC)
_CHOICE = re.compile(
    r"\b(?:chose|chosen|picked|selected|settled on|decided on|went with|use|uses|using|adopted)\s+"
    r"(?:the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})",
    re.IGNORECASE,
)
_MOVE = re.compile(
    r"\b(?:moved|migrated|switched|changed|going back)\s+(?:away\s+)?"
    r"(?:from\s+(?:the\s+)?(?P<away>[\w.+#/-]{2,40})\s+)?(?:over\s+)?to\s+"
    r"(?:the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})"
    r"|\b(?:replaced|dropped|abandoned|removed|got rid of)\s+(?:the\s+)?(?P<gone>[\w.+#/-]{2,40})",
    re.IGNORECASE,
)
_COMMON = frozenset({"it", "this", "that", "them", "one", "same", "new", "old", "own", "their"})


def _in_order(memories: Sequence[Memory]) -> list[Memory]:
    current = [memory for memory in memories if memory.status in CURRENT]
    return sorted(current, key=lambda memory: (memory.created or _NEVER, memory.ref))


def _short(memory: Memory) -> str:
    return cut(one_line(memory.headline), _TITLE)


def find_contradictions(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Pairs of an entity of which the older one cannot hold any more; it would be retired."""
    if not memories:
        return
    rules = context.rules_of(memories[0].store)
    if rules.contradicts is GENERAL_RULES.contradicts:
        return
    ordered = _in_order(memories)
    replaced: dict[int, list[tuple[Memory, str]]] = {}
    for at, older in enumerate(ordered):
        for place in range(len(ordered) - 1, at, -1):
            reason = rules.contradicts(older, ordered[place])
            if reason:
                replaced.setdefault(place, []).append((older, reason))
                break
    for place, found in replaced.items():
        changes = [change for older, _ in found if (change := retire(older, context))]
        yield propose(
            ProposalKind.CONTRADICTION,
            [ordered[place], *(older for older, _ in found)],
            " | ".join(_short(one) for one in (ordered[place], found[-1][0])),
            f"{found[-1][1]}; what is older would be retired ({rules.contradiction_source})",
            changes if len(changes) == len(found) else (),
        )


def find_superseded(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Decisions of an entity that a newer one replaces by the rule of the store's program."""
    if not memories:
        return
    rules = context.rules_of(memories[0].store)
    if rules.replaces is GENERAL_RULES.replaces:
        return
    ordered = _in_order(memories)
    for at, older in enumerate(ordered):
        for newer in reversed(ordered[at + 1 :]):
            reason = rules.replaces(older, newer)
            if reason:
                change = retire(older, context)
                yield propose(
                    ProposalKind.SUPERSEDED,
                    [newer, older],
                    f"{_short(newer)} | {_short(older)}",
                    f"{reason}; the older one would be retired ({rules.replacement_source})",
                    [change] if change else (),
                )
                break


def find_opposed(memories: Sequence[Memory], _context: UpkeepContext) -> Iterator[Proposal]:
    """A choice and a later move away from it in one entity, as a hint."""
    chosen: dict[str, Memory] = {}
    for memory in _in_order(memories):
        text = f"{memory.title}\n{memory.content}"
        moves = list(_MOVE.finditer(text))
        left = {(m["away"] or m["gone"] or "").casefold().strip(".") for m in moves} - {""}
        into = {(m["what"] or "").casefold().strip(".") for m in moves} - {"", *_COMMON}
        for what, earlier in chosen.items():
            names_it = what in left or (into and what not in into and _same_matter(earlier, memory))
            if names_it and not memory.superseded_by and memory.id not in earlier.superseded_by:
                yield propose(
                    ProposalKind.OPPOSED,
                    [memory, earlier],
                    f"{_short(memory)} | {_short(earlier)}",
                    f"one chooses {what}, the later one moves on: decide which of them holds",
                    also=what,
                )
        for choice in _CHOICE.finditer(text):
            what = choice["what"].casefold().strip(".")
            if what not in _COMMON and len(what) > 2:
                chosen.setdefault(what, memory)


def _same_matter(one: Memory, other: Memory) -> bool:
    """Whether two texts share enough words to be about the same thing."""
    mine, theirs = words_of(one.content), words_of(other.content)
    longer = [word for word in mine & theirs if len(word) > 4]
    return len(longer) >= 3
