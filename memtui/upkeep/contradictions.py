"""Memories that cannot both hold, and decisions that a newer decision replaces.

What contradicts and what replaces is said by the rules of the store's format. Beside these, a
choice ("we chose PostgreSQL") and a later move ("moved to SQLite") in one entity are pointed out
and never resolved (Engram proposal, Conflict detection).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memtui.model import CURRENT, Memory
from memtui.stores.format import GENERAL_RULES
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
    retire,
)
from memtui.upkeep.similarity import words_of

_NEVER = datetime.min.replace(tzinfo=UTC)
_CHOICE = re.compile(
    r"\b(?:chose|chosen|picked|selected|settled on|decided on|went with|use|uses|using|adopted)\s+"
    r"(?:the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})",
    re.IGNORECASE,
)
_MOVE = re.compile(
    r"\b(?:moved|migrated|switched|changed|going back)\s+(?:away\s+)?"
    r"(?:from\s+(?:the\s+)?(?P<away>[\w.+#/-]{2,40})\s+)?(?:over\s+)?to\s+"
    r"(?P<article>the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})"
    r"|\b(?:replaced|dropped|abandoned|removed|got rid of)\s+(?:the\s+)?(?P<gone>[\w.+#/-]{2,40})",
    re.IGNORECASE,
)
_STATEMENTS = frozenset({"fact", "event", "observation"})
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_COMMON = frozenset({"it", "this", "that", "them", "one", "same", "new", "old", "own", "their"})


def _in_order(memories: Sequence[Memory]) -> list[Memory]:
    current = [memory for memory in memories if memory.status in CURRENT]
    return sorted(current, key=lambda memory: (memory.created or _NEVER, memory.ref))


def find_contradictions(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Pairs of an entity of which the older one cannot hold any more; it would be retired."""
    if not memories:
        return
    rules = context.rules_of(memories[0].store)
    if rules.contradicts is GENERAL_RULES.contradicts:
        return
    ordered = _in_order(memories)
    subjects = [rules.subjects(memory) for memory in ordered]
    by_subject: defaultdict[str, list[int]] = defaultdict(list)
    for at, named in enumerate(subjects):
        for subject in named:
            by_subject[subject].append(at)
    replaced: dict[int, list[tuple[Memory, str]]] = {}
    for at, older in enumerate(ordered):
        places = {place for subject in subjects[at] for place in by_subject[subject]}
        for place in sorted((place for place in places if place > at), reverse=True):
            reason = rules.contradicts(older, ordered[place])
            if reason and not _adds_to(older, ordered[place]):
                replaced.setdefault(place, []).append((older, reason))
                break
    for place, found in replaced.items():
        changes = [change for older, _ in found if (change := retire(older, context))]
        yield propose(
            ProposalKind.CONTRADICTION,
            [ordered[place], *(older for older, _ in found)],
            " | ".join(headline_of(one) for one in (ordered[place], found[-1][0])),
            f"{found[-1][1]}; what is older would be retired ({rules.contradiction_source})",
            changes if len(changes) == len(found) else (),
        )


def _adds_to(one: Memory, other: Memory) -> bool:
    """Whether one text has all words of the other: "works at NewCorp", and "… as CTO"."""
    words, other_words = words_of(one.content), words_of(other.content)
    return words <= other_words or other_words <= words


def find_superseded(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Decisions of an entity that a newer one replaces by the rule of the store's program."""
    if not memories:
        return
    rules = context.rules_of(memories[0].store)
    if rules.replaces is GENERAL_RULES.replaces:
        return
    ordered = [memory for memory in _in_order(memories) if rules.is_replaceable(memory)]
    for at, older in enumerate(ordered):
        for newer in reversed(ordered[at + 1 :]):
            reason = rules.replaces(older, newer)
            if reason:
                change = retire(older, context)
                yield propose(
                    ProposalKind.SUPERSEDED,
                    [newer, older],
                    f"{headline_of(newer)} | {headline_of(older)}",
                    f"{reason}; the older one would be retired ({rules.replacement_source})",
                    [change] if change else (),
                )
                break


def find_opposed(memories: Sequence[Memory], _context: UpkeepContext) -> Iterator[Proposal]:
    """A choice and a later move away from it in one entity, as a hint.

    Only texts of one statement are read: a long text chooses and moves many things in passing.
    """
    chosen: dict[str, tuple[Memory, str]] = {}
    for memory in _in_order(memories):
        if memory.kind not in _STATEMENTS:
            continue
        for sentence in _SENTENCE.split(f"{memory.title}\n{memory.content}"):
            moves = list(_MOVE.finditer(sentence))
            left = {_name(m["away"] or m["gone"]) for m in moves} - {"", *_COMMON}
            into = {_name(m["what"]) for m in moves if not m["article"]} - {"", *_COMMON}
            for what, (earlier, choice) in chosen.items() if moves else ():
                names_it = what in left or (
                    into and what not in into and _same_matter(choice, sentence)
                )
                if names_it and not memory.superseded_by and memory.id not in earlier.superseded_by:
                    yield propose(
                        ProposalKind.OPPOSED,
                        [memory, earlier],
                        f"{headline_of(memory)} | {headline_of(earlier)}",
                        f"one chooses {what}, the later one moves on: decide which of them holds",
                        also=what,
                    )
            for found in _CHOICE.finditer(sentence):
                what = _name(found["what"])
                if what not in _COMMON and len(what) > 2:
                    chosen.setdefault(what, (memory, sentence))


def _name(what: str | None) -> str:
    return (what or "").casefold().strip(".")


def _same_matter(choice: str, move: str) -> bool:
    """Whether two sentences share enough words to be about the same thing."""
    longer = [word for word in words_of(choice) & words_of(move) if len(word) > 4]
    return len(longer) >= 3
