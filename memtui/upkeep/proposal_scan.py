"""Run every finding over the memories of the open stores, again only where a memory changed.

Memories are looked at in groups: all of an entity, of a scope, or of a store. A group's proposals
are kept with its fingerprint and made anew only when that differs, so that a scan after one change
costs one group of each kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.format import GENERAL_RULES
from memtui.upkeep.proposals import (
    RULES,
    Proposal,
    ProposalKind,
    UpkeepContext,
    digest_memory,
    join_digests,
)
from memtui.upkeep.retention import find_compactions, find_expired, find_merged_branches
from memtui.upkeep.similar_memories import find_clusters, find_duplicates
from memtui.upkeep.staleness import (
    find_contradictions,
    find_long_history,
    find_outdated_schema,
    find_patterns,
    find_stale_summaries,
    find_superseded,
)

Find = Callable[[Sequence[Memory], UpkeepContext], Iterator[Proposal]]

_FINDERS: Mapping[str, Mapping[ProposalKind, Find]] = {
    "entity": {
        ProposalKind.DUPLICATE: find_duplicates,
        ProposalKind.CONFLICT: find_contradictions,
        ProposalKind.SUPERSEDED: find_superseded,
        ProposalKind.LONG_HISTORY: find_long_history,
    },
    "store": {
        ProposalKind.COMPACTION: find_compactions,
        ProposalKind.MERGED_BRANCH: find_merged_branches,
        ProposalKind.EXPIRY: find_expired,
        ProposalKind.PATTERN: find_patterns,
        ProposalKind.STALE_SUMMARY: find_stale_summaries,
        ProposalKind.OUTDATED_SCHEMA: find_outdated_schema,
    },
    "scope": {ProposalKind.CLUSTER: find_clusters},
}
"""Group -> findings among its memories; memories of one scope may be merged with one another."""
_DAILY = frozenset({ProposalKind.EXPIRY, ProposalKind.LONG_HISTORY, ProposalKind.STALE_SUMMARY})
"""Findings that also depend on the day."""
GROUPS_PER_REPORT = 64


class ScannedGroup(Struct, frozen=True):
    """What was found in one group, and from what."""

    fingerprint: str
    proposals: tuple[Proposal, ...]


def scan(
    memories: Iterable[Memory],
    context: UpkeepContext,
    known: Mapping[str, ScannedGroup],
    *,
    kinds: Collection[ProposalKind] | None = None,
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> dict[str, ScannedGroup]:
    """Find everything that could be tidied.

    Args:
        memories: Of all open stores and of every status.
        context: Clock, constants, and what each store can do.
        known: The groups of an earlier scan.
        kinds: Only these; None: all that are not switched off.
        report: Called with the groups done.
        cancelled: Asked between groups.

    Returns:
        What was found in each group, to keep for the next scan. A memory of several entities may be
        in the same proposal of each of them.

    Raises:
        Cancelled: The scan was stopped.
    """
    enabled = {
        kind
        for kind in (kinds if kinds is not None else RULES)
        if str(kind) not in context.settings.off
    }
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    digests: dict[int, bytes] = {}
    for memory in memories:
        digests[id(memory)] = digest_memory(memory)
        groups[f"store\0{memory.store}"].append(memory)
        rules = context.rules_of(memory.store)
        if rules.scope is not GENERAL_RULES.scope:  # only such programs consolidate
            groups[f"scope\0{memory.store}\0{rules.scope(memory)}"].append(memory)
        for entity in (memory.entity, *memory.also_entities):
            groups[f"entity\0{memory.store}\0{entity}"].append(memory)

    def step(done: int, total: int) -> None:
        if cancelled():
            raise Cancelled
        report(Progress("compare memories", done, total))

    context = replace(context, step=step)
    found: dict[str, ScannedGroup] = {}
    for number, (name, members) in enumerate(groups.items()):
        if cancelled():
            raise Cancelled
        if number % GROUPS_PER_REPORT == 0:
            report(Progress("review", number, len(groups)))
        digest = join_digests(digests[id(memory)] for memory in members)
        for kind, find in _FINDERS[name.partition("\0")[0]].items():
            if kind not in enabled:
                continue
            key, stamp = f"{kind}\0{name}", _stamp(kind, digest, context)
            group = known.get(key)
            if group is None or group.fingerprint != stamp:
                group = ScannedGroup(stamp, tuple(find(members, context)))
            found[key] = group
    return found


def _stamp(kind: ProposalKind, digest: str, context: UpkeepContext) -> str:
    """The fingerprint of a group for one kind: with all else that its findings depend on."""
    if kind in _DAILY:
        digest += f" {context.now:%Y-%m-%d}"
    if kind is ProposalKind.MERGED_BRANCH:
        digest += "".join(f" {one}:{sorted(context.merged[one])}" for one in context.merged)
    return digest
