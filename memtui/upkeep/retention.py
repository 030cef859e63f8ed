"""Compaction, expiry and merged branches, by the rules of the store's program.

Compaction: past a number of events the oldest low and medium ones become one summary; high ones
never. Without a summariser only the low ones are dropped, as the guide says. Expiry: what the
program no longer reads, or will delete, is proposed for removal, a branch at a time. Merged
branches: those that git calls merged in a clone that was named are archived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from memtui.changes import Act, Change
from memtui.model import CURRENT, Memory
from memtui.stores.values import from_iso
from memtui.text import counted, number
from memtui.upkeep.proposals import (
    FROM_MODEL,
    NEVER,
    Proposal,
    ProposalKind,
    UpkeepContext,
    propose,
    retire_all,
)


def _by_entity(memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    """Entity -> its memories in use, oldest first."""
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        for entity in (memory.entity, *memory.also_entities) if memory.status in CURRENT else ():
            groups[entity].append(memory)
    return {
        entity: sorted(group, key=lambda memory: (memory.created or NEVER, memory.ref))
        for entity, group in groups.items()
    }


def _find_due(
    memories: Sequence[Memory], context: UpkeepContext
) -> Iterator[tuple[str, list[Memory], list[Memory]]]:
    """Each entity of one store that is past its limit, with its memories in use and those of them
    that are due to be summarised, oldest first."""
    rule = context.rules_of(memories[0].store).compaction if memories else None
    if rule is None:
        return
    for entity, group in _by_entity(memories).items():
        limit = _limit(entity, context)
        summarised = [m for m in group if m.importance != "high" and m.kind in rule.kinds]
        batch = summarised[: int(limit * rule.batch)]
        if len(group) > limit and batch:
            yield entity, group, batch


def _limit(entity: str, context: UpkeepContext) -> int:
    """Most events of a branch, whose path has a `/`, or of a project."""
    settings = context.settings
    return settings.branch_events if "/" in entity else settings.project_events


def find_compactions(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Entities past their limit, with the low memories that may go without a summary; if there are
    none, with those of which a language model can write one."""
    for entity, group, batch in _find_due(memories, context):
        low = [memory for memory in batch if memory.importance == "low"]
        yield propose(
            ProposalKind.COMPACTION,
            low or batch,
            f"{entity}: drop {number(len(low))} old memories of low importance"
            if low
            else f"{entity}: {number(len(batch))} old memories could be one summary",
            f"{number(len(group))} events, the limit is {number(_limit(entity, context))}; "
            f"{number(len(batch))} are due, high ones never",
            retire_all(low, context),
            also=entity,
        )


def _summary_changes(
    batch: Sequence[Memory], entity: str, summary: str, context: UpkeepContext
) -> tuple[Change, ...]:
    """The changes that put one summary in the place of a batch; () if the store cannot."""
    rule = context.rules_of(batch[0].store).compaction if batch else None
    if rule is None:
        return ()
    fields = {
        "content": summary,
        "entity": entity,
        "type": rule.summary_type,
        "importance": "medium",
    }
    changes = retire_all(batch, context)
    return (Change(Act.ADD, batch[0].store, "", fields), *changes) if changes else ()


def due_batches(
    memories: Sequence[Memory], context: UpkeepContext
) -> Iterator[tuple[str, list[Memory]]]:
    """Each entity of one store that is past its limit, with the memories to be summarised."""
    for entity, _, batch in _find_due(memories, context):
        yield entity, batch


def propose_summary(
    entity: str, batch: Sequence[Memory], summary: str, context: UpkeepContext
) -> Proposal:
    """The proposal that puts a summary, such as a model's, in the place of a batch."""
    return propose(
        ProposalKind.COMPACTION,
        batch,
        f"{entity}: one summary for {number(len(batch))} old memories",
        FROM_MODEL,
        _summary_changes(batch, entity, summary, context),
        also=f"{entity}\0{summary}",
    )


def find_merged_branches(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Branches whose remote is that of a named clone, in which they are merged."""
    for entity, group in _by_entity(memories).items():
        first = group[0]
        merged = context.merged.get(str(first.extra.get("remote", "")), frozenset())
        branch = entity.partition("/")[2]
        if branch not in merged or not context.can(Act.ARCHIVE, first):
            continue
        yield propose(
            ProposalKind.MERGED_BRANCH,
            group,
            f"{entity}: archive the merged branch, {counted(len(group), 'memory')}",
            "git branch --merged lists it; its high decisions are copied to the project",
            [Change(Act.ARCHIVE, first.store, first.ref, {"entity": entity})],
            also=entity,
        )


def find_expired(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Branches and projects that the store's program no longer reads."""
    rule = context.rules_of(memories[0].store).expiry if memories else None
    if rule is None:
        return
    for entity, group in _by_entity(memories).items():
        due = [memory for memory in group if _expired(memory, context)]
        if not due:
            continue
        state = "archived" if _is_archived(due[0]) else "idle"
        yield propose(
            ProposalKind.EXPIRY,
            due,
            f"{entity}: remove {counted(len(due), 'expired memory')}",
            f"{state} for more than {_allowed_days(due[0], context)} days ({rule.source})",
            retire_all(due, context),
            also=entity,
        )


def _expired(memory: Memory, context: UpkeepContext) -> bool:
    """Whether the time of its file is over; the store says it as `extra["expires"]`."""
    rule = context.rules_of(memory.store).expiry
    end = from_iso(memory.extra.get("expires"))
    if rule is None or end is None:
        return False
    unused = context.now - end + timedelta(days=rule.days)
    return unused > timedelta(days=_allowed_days(memory, context))


def _is_archived(memory: Memory) -> bool:
    return memory.extra.get("archived") is True


def _allowed_days(memory: Memory, context: UpkeepContext) -> float:
    """Days without activity after which the memory has expired."""
    settings = context.settings
    return settings.archived_days if _is_archived(memory) else settings.idle_days
