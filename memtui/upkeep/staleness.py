"""Memories that may not hold any more: contradicted, replaced by a newer decision, or out of date.

What contradicts and what replaces is said by the rules of the store's format; what memories of any
stores say differently is found by `memtui.upkeep.claims`. Out of date are summaries older than
their facts, long historical facts and schema; facts that repeat a pattern are proposed as schema.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memtui.changes import Act, Change
from memtui.model import CURRENT, Memory
from memtui.stores.format import GENERAL_RULES
from memtui.text import counted, number
from memtui.text.cells import ELLIPSIS
from memtui.upkeep.dated_memories import are_of_one_series
from memtui.upkeep.proposals import (
    NEVER,
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
    retire_all,
)
from memtui.upkeep.similarity import words_of

_SUMMARY = "summary"
"""Type of the note that sums up an entity (agent-memory's summary.md)."""
_MONTH = timedelta(days=30.44)
_WEEK = timedelta(days=7)
"""agent-memory rewrites summaries weekly; until then they are not stale."""
_MIN_FACTS = 2
"""Facts of a pattern; the rest of its evidence may be episodes."""


def find_stale_summaries(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Summaries of entities whose facts are newer (agent-memory: rewritten once a week)."""
    facts: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.kind != "note" and memory.status in CURRENT and memory.created:
            facts[memory.entity].append(memory)
    for summary in memories:
        made = summary.updated or summary.created
        if summary.kind != "note" or summary.type != _SUMMARY or made is None:
            continue
        if context.now - made < _WEEK:
            continue
        newer = [
            one for one in facts[summary.entity] if one.created and one.created.date() > made.date()
        ]
        if newer:
            newer.sort(key=lambda one: (str(one.created), one.ref), reverse=True)
            yield propose(
                ProposalKind.STALE_SUMMARY,
                [summary, *newer],
                f"{summary.entity}: summary older than {counted(len(newer), 'fact')}",
                f"last updated {made:%Y-%m-%d}, newest fact {newer[0].created:%Y-%m-%d}; "
                "a language model can rewrite it, nothing else does",
            )


def find_long_history(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Long facts that have been historical for months; the weekly synthesis shortens them.

    Only where the program does so: what others retire, such as a closed issue, is kept whole.
    """
    settings = context.settings
    limit = context.now - settings.history_months * _MONTH
    for memory in memories:
        if not context.rules_of(memory.store).shortens_history:
            continue
        if memory.kind != "fact" or memory.status not in ("superseded", "retired"):
            continue
        if (
            memory.created
            and memory.created < limit
            and len(memory.content) > settings.history_chars
        ):
            yield propose(
                ProposalKind.LONG_HISTORY,
                [memory],
                headline_of(memory),
                f"historical, {number(len(memory.content))} characters, "
                f"from {memory.created:%Y-%m-%d}: its beginning stays, or your own text",
                _shorten(memory, context),
            )


def _shorten(memory: Memory, context: UpkeepContext) -> list[Change]:
    """Cut to the limit, as agent-memory's README says ("content truncated"): at a word's end."""
    if not context.can(Act.EDIT, memory):
        return []
    beginning = memory.content[: context.settings.history_chars - len(ELLIPSIS)]
    whole_words = beginning.rstrip().rpartition(" ")[0]
    if len(whole_words) > len(beginning) // 2:  # scripts without blanks are cut where they are
        beginning = whole_words
    shortened = beginning.rstrip(" \n,;:") + ELLIPSIS
    return [Change(Act.EDIT, memory.store, memory.ref, {"content": shortened})]


def find_outdated_schema(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Confirmed schema items all of whose evidence is no longer current.

    They are marked outdated, as Simple Memory's proposal says ("mark stale schema as outdated").
    """
    by_id = {(memory.store, memory.id): memory for memory in memories}
    for item in memories:
        if item.kind != "schema" or item.status != "active":
            continue
        named = [by_id.get((item.store, link.target)) for link in item.links]
        known = [one for one in named if one is not None]
        if known and all(one.status not in CURRENT for one in known):
            yield propose(
                ProposalKind.OUTDATED_SCHEMA,
                [item, *known],
                headline_of(item),
                f"none of its {counted(len(known), 'piece')} of evidence is current any more"
                if len(known) > 1
                else "its only piece of evidence is no longer current",
                [Change(Act.RETIRE, item.store, item.ref)] if context.can(Act.RETIRE, item) else (),
            )


def find_patterns(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """The same subject, predicate and object in several facts: a schema item is proposed.

    Episodes that name one of these facts count as well; two facts are needed. Only stores that
    hold schema items are looked at.
    """
    items = [memory for memory in memories if memory.kind == "schema"]
    if not items:
        return
    known = [words_of(item.content) for item in items]
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.kind == "fact" and memory.status in CURRENT:
            day = context.rules_of(memory.store).merge_key(memory)  # of a measurement
            groups[" ".join((day, *sorted(words_of(memory.content))))].append(memory)
    episodes = _by_fact(memories)
    for facts in groups.values():
        words = words_of(facts[0].content)
        if len(facts) < _MIN_FACTS or not words:
            continue
        citing = {one.ref: one for fact in facts for one in episodes[fact.id]}
        group = [*facts, *citing.values()]
        if len(group) < context.settings.pattern_repeats:
            continue
        if any(len(words & item_words) >= 0.6 * len(words) for item_words in known):
            continue
        content = group[0].content
        fields = {
            "kind": "schema",
            "type": "preference",
            "status": "proposed",
            "content": content,
            "entity": group[0].entity,
            "links": [("evidence", memory.id) for memory in group],
        }
        also = f", {counted(len(citing), 'episode')} with them" if citing else ""
        yield propose(
            ProposalKind.PATTERN,
            group,
            f"propose: {headline_of(group[0])}",
            f"{counted(len(facts), 'fact')} say the same{also}; they become its evidence",
            [Change(Act.ADD, group[0].store, "", fields)],
        )


def _by_fact(memories: Sequence[Memory]) -> defaultdict[str, list[Memory]]:
    """Id of a fact -> the episodes that name it."""
    found: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.kind == "episode" and memory.status in CURRENT:
            for link in memory.links:
                found[link.target].append(memory)
    return found


def _in_order(memories: Sequence[Memory]) -> list[Memory]:
    current = [memory for memory in memories if memory.status in CURRENT]
    return sorted(current, key=lambda memory: (memory.created or NEVER, memory.ref))


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
            newer = ordered[place]
            reason = rules.contradicts(older, newer)
            if reason and not (
                _adds_to(older, newer)
                or _may_both_hold(older, newer)
                or are_of_one_series(older, newer)
            ):
                replaced.setdefault(place, []).append((older, reason))
                break
    source = f" ({rules.contradiction_source})" if rules.contradiction_source else ""
    for place, found in replaced.items():
        outdated = [older for older, _ in found]
        yield propose(
            ProposalKind.CONFLICT,
            [ordered[place], *outdated],
            " | ".join(headline_of(one) for one in (ordered[place], found[-1][0])),
            f"{found[-1][1]}; what is older would be retired{source}",
            retire_all(outdated, context),
        )


_OF_MANY = re.compile(
    r"\b(?:speaks?|likes?|loves?|enjoys?|uses?|using|has|have|owns?|knows?|plays?|met|visited|bought)\b"
)


def _may_both_hold(one: Memory, other: Memory) -> bool:
    """Whether both tell of something that one may have several of."""
    verbs, other_verbs = (set(_OF_MANY.findall(each.content)) for each in (one, other))
    return not verbs.isdisjoint(other_verbs)


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
                yield propose(
                    ProposalKind.SUPERSEDED,
                    [newer, older],
                    f"{headline_of(newer)} | {headline_of(older)}",
                    f"{reason}; the older one would be retired ({rules.replacement_source})",
                    retire_all([older], context),
                )
                break


UNUSED_DAYS = 90
"""Days without a use after which a memory is pointed out: Ambient archives what is idle so long."""


def propose_unused(
    memories: Iterable[Memory], uses: Mapping[str, datetime | None], context: UpkeepContext
) -> Iterator[Proposal]:
    """The current memories that nothing has used in ninety days, as one hint for a store.

    A store says so only if it counted a use as long ago: before, a memory without one may have
    been used uncounted. Pinned memories are given without being asked for.

    Args:
        memories: Of all open stores and of every status.
        uses: Ref -> the last use, or None if its time is unknown, of the memories with one.
        context: The clock.
    """
    limit = context.now - timedelta(days=UNUSED_DAYS)
    counting, unused = set[str](), defaultdict[str, list[Memory]](list)
    for memory in memories:
        last = uses.get(memory.ref)
        if last is not None and last <= limit:
            counting.add(memory.store)
        is_old = memory.created is not None and memory.created <= limit
        if is_old and memory.status in CURRENT and not memory.pinned and memory.ref not in uses:
            unused[memory.store].append(memory)
    for store in sorted(counting & set(unused)):
        found = unused[store]
        what = f"never used in {UNUSED_DAYS} days"
        one = f"{what}: {headline_of(found[0])}"
        several = f"{counted(len(found), 'memory')} of {context.name_of(store)} were {what}"
        yield propose(
            ProposalKind.UNUSED,
            found,
            one if len(found) == 1 else several,
            "the store counts uses and has none of them; is:unused lists such memories",
        )
