"""Summaries older than their facts, long historical facts, outdated schema, repeated patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from memtui.changes import Act, Change
from memtui.model import CURRENT, Memory
from memtui.text import counted, number
from memtui.text.cells import ELLIPSIS
from memtui.upkeep.proposals import Proposal, ProposalKind, UpkeepContext, headline_of, propose
from memtui.upkeep.similarity import words_of

_SUMMARY = "summary"
"""Type of the note that sums up an entity (agent-memory's summary.md)."""
_MONTH = timedelta(days=30.44)
_WEEK = timedelta(days=7)
"""agent-memory's weekly synthesis rewrites summaries: before that they are not stale."""
_FEWEST_FACTS = 2
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
    """Long facts that have been historical for months; the weekly synthesis shortens them."""
    settings = context.settings
    limit = context.now - settings.history_months * _MONTH
    for memory in memories:
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
        if len(facts) < _FEWEST_FACTS or not words:
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
        yield propose(
            ProposalKind.PATTERN,
            group,
            f"propose: {headline_of(group[0])}",
            f"{counted(len(facts), 'fact')} say the same{_and_episodes(len(citing))}; "
            "they become its evidence",
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


def _and_episodes(count: int) -> str:
    return f", {counted(count, 'episode')} with them" if count else ""
