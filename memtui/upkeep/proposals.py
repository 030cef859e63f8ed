"""Proposals: changes that tidy memories, each with its reason, for a person to decide on.

A rule of `RULES` names each kind of finding, where its idea comes from, and how often it is right
on labelled cases, as `tests/unit/upkeep/test_precision.py` measures it. What proposes no change, or
is right in fewer than 80 of 100 of the cases that it names, is only a hint.

Secrets are masked in everything that is shown of a proposal. What a person edits before accepting
is the text as it will be written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from memtui.changes import Act, Change
from memtui.config import ReviewSettings
from memtui.model import Memory
from memtui.stores.format import GENERAL_RULES, UpkeepRules
from memtui.text import cut_line, masked_always
from memtui.upkeep.similarity import Step, no_step


class ProposalKind(StrEnum):
    """What was found, or by whom it is proposed."""

    AGENT = "agent"
    """A change that an agent proposes; see `memtui.library.agent_proposals`."""
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    OPPOSED = "opposed"
    SUPERSEDED = "superseded"
    CLUSTER = "cluster"
    COMPACTION = "compaction"
    MERGED_BRANCH = "merged-branch"
    EXPIRY = "expiry"
    PATTERN = "pattern"
    STALE_SUMMARY = "stale-summary"
    LONG_HISTORY = "long-history"
    OUTDATED_SCHEMA = "outdated-schema"
    UNREADABLE = "unreadable"
    DANGLING = "dangling"
    DUPLICATE_ID = "duplicate-id"
    HIDDEN = "hidden-characters"
    SECRET = "secret"
    INSTRUCTION = "instruction"
    OVERWRITTEN = "overwritten"
    ORPHAN = "orphan"
    OUTDATED = "outdated"
    UNUSED = "unused"
    DISAGREE = "disagree"
    ACROSS = "across"


_TITLE = 60
"""Maximum number of characters of a memory in the title of a proposal."""
NEVER = datetime.min.replace(tzinfo=UTC)
"""Stands for a missing time in an order by time: earlier than any other."""
FROM_MODEL = "written by a model: read it before it is accepted"
MIN_PRECISION = 0.8
"""Minimum precision of a finding; below it, it is shown as a hint, whatever it proposes."""


class Rule(Struct, frozen=True):
    """One kind of finding, for people, and how often it is right."""

    heading: str
    source: str
    """Document or program that the rule comes from."""
    right: int
    """Labelled cases that it names and that are what it says."""
    named: int
    """Labelled cases that it names, right or wrong."""
    about: str
    """What it finds, or why that matters, in one sentence."""

    @property
    def is_uncertain(self) -> bool:
        return self.right < MIN_PRECISION * self.named

    @property
    def explanation(self) -> str:
        """What it finds, and the document or program that it follows if that is another one.

        The reason of a proposal names the source of a store's own rule.
        """
        own = self.source in (MEMTUI, STORE)
        return self.about if own else f"{self.about} Found by: {self.source}."


MEMTUI, STORE = "memtui", "the store's own rule"
# fmt: off
RULES: Mapping[ProposalKind, Rule] = {
    ProposalKind.AGENT: Rule("Proposed by agents", MEMTUI, 1, 1,
        "An agent asks for this change through memtui mcp; nothing is changed unless you accept."),
    ProposalKind.UNREADABLE: Rule("Unreadable files", MEMTUI, 1, 1,
        "memtui, or the file's own program, cannot read it."),
    ProposalKind.OVERWRITTEN: Rule("Overwritten changes", MEMTUI, 1, 1,
        "Another program has reverted a change made with memtui."),
    ProposalKind.SECRET: Rule("Secrets", "issuers' documented formats", 75, 76,
        "The text has the form of a password or key, which every agent that reads it gets."),
    ProposalKind.INSTRUCTION: Rule("Planted instructions", MEMTUI, 105, 117,
        "The text tells an agent what to do; it may come from a page or a mail that was read."),
    ProposalKind.OUTDATED: Rule("Outdated", MEMTUI, 9, 9,
        "The memory names a file, command, package or version that its project no longer has."),
    ProposalKind.DUPLICATE: Rule("Near-duplicates", "agent-memory, Deduplication (Jaccard 70 %)",
        9, 9, "Two memories say nearly the same."),
    ProposalKind.CONTRADICTION: Rule("Contradictions", STORE, 9, 11,
        "Two current memories about one subject cannot both be true."),
    ProposalKind.DISAGREE: Rule("They disagree", MEMTUI, 8, 8,
        "Two stores give one attribute of one entity two values: agents read either."),
    ProposalKind.OPPOSED: Rule("Choices and moves", "Engram proposal, Conflict detection", 11, 11,
        "One memory tells of a choice, a later one of a move away from it."),
    ProposalKind.SUPERSEDED: Rule("Superseded decisions", STORE, 3, 3,
        "A newer decision replaces this one, which is still current."),
    ProposalKind.CLUSTER: Rule("Consolidation", "Engram proposal, Automatic Consolidation", 3, 3,
        "Several memories about the same could be one."),
    ProposalKind.COMPACTION: Rule("Compaction", "Ambient, memory guide, Compaction", 3, 3,
        "There are more memories than the program keeps: the oldest could be one summary."),
    ProposalKind.MERGED_BRANCH: Rule("Merged branches", "Ambient, memory guide, Branch Merge", 2, 2,
        "The branch is merged, so its memories can be archived."),
    ProposalKind.EXPIRY: Rule("Expiry", "Ambient, memory guide, TTL", 11, 11,
        "The memories are older than the program keeps them."),
    ProposalKind.PATTERN: Rule("Patterns for the schema", "Simple Memory, proposals with evidence",
        2, 2, "Several facts and episodes tell the same: it could be an item of the schema."),
    ProposalKind.STALE_SUMMARY: Rule("Stale summaries", "agent-memory, weekly synthesis", 3, 3,
        "A summary is older than the facts that it sums up."),
    ProposalKind.LONG_HISTORY: Rule("Long history", "agent-memory, semantic decay", 3, 3,
        "A long fact has been historical for months and could be shortened."),
    ProposalKind.OUTDATED_SCHEMA: Rule("Outdated schema", "Simple Memory, outdated items", 3, 3,
        "No evidence of a schema item is current any more."),
    ProposalKind.HIDDEN: Rule("Hidden characters", MEMTUI, 16, 16,
        "The text has characters that people do not see but agents read."),
    ProposalKind.DUPLICATE_ID: Rule("Duplicate ids", MEMTUI, 1, 1,
        "Different memories have one id, so a link or a command may reach the wrong one."),
    ProposalKind.DANGLING: Rule("Dangling references", MEMTUI, 9, 9,
        "A memory refers to a memory or entity that is not in its store."),
    ProposalKind.ORPHAN: Rule("Files not in the index", MEMTUI, 2, 2,
        "The index that agents read first does not name the file, so they do not find it."),
    ProposalKind.UNUSED: Rule("Never used", MEMTUI, 1, 1,
        "Its store counts uses, and has counted none of the memory for ninety days."),
    ProposalKind.ACROSS: Rule("The same in two stores", "memtui, when asked", 1, 1,
        "A change of one of them leaves the other as it was."),
}
# fmt: on
"""In the order of the queue: whom an answer is waited for by, then what is most serious first. The
counts are held by the test."""


class Proposal(Struct, frozen=True):
    """One finding, and the changes that would settle it."""

    id: str
    """Names the finding as long as its memories stay as they are."""
    kind: ProposalKind
    store: str
    """Label of the store; of the first memory if there are several."""
    title: str
    """One line: what would be done, or what was found."""
    reason: str
    refs: tuple[str, ...] = ()
    """The memories concerned; what stays comes first."""
    changes: tuple[Change, ...] = ()
    """What accepting does, as one action; empty for a hint that only leads to the memories."""
    file: str = ""
    line: int | None = None
    message: str = ""
    """What was found in the memory, where the title begins with it."""
    fingerprint: str = ""
    """Digest of its memories as they were; empty if it has none."""
    agent: str = ""
    """The agent that proposes it; "" for a finding of memtui. Untrusted text."""

    @property
    def is_hint(self) -> bool:
        """Whether it proposes nothing, or its finding is too often wrong."""
        return not self.changes or RULES[self.kind].is_uncertain


class UpkeepContext(Struct, frozen=True):
    """What findings need beside the memories: clock, settings, what each store can do."""

    now: datetime
    settings: ReviewSettings = field(default_factory=ReviewSettings)
    can: Callable[[Act, Memory], bool] = lambda _act, _memory: True
    """Whether the store can do an act on a memory."""
    rules_of: Callable[[str], UpkeepRules] = lambda _label: GENERAL_RULES
    """The rules of a store, by its label."""
    step: Step = no_step
    """Called within long comparisons; it reports how far they are, and raises to stop them."""
    merged: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Address of a clone's remote -> its merged branches, of the clones that were named."""


def fingerprint(memories: Iterable[Memory]) -> str:
    """A digest of all that a finding is made from; it changes when one of the memories does."""
    digests = b"".join(map(_digest_memory, memories))
    return hashlib.blake2b(digests, digest_size=16).hexdigest()


def _digest_memory(memory: Memory) -> bytes:
    """The part of a fingerprint that one memory gives."""
    parts = (
        memory.ref,
        memory.status,
        memory.type,
        memory.importance,
        memory.title,
        memory.content,
        str(memory.pinned),
        *memory.supersedes,
        *memory.superseded_by,
        *(f"{link.relation} {link.target}" for link in memory.links),
    )
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()


def headline_of(memory: Memory) -> str:
    """The beginning of a memory on one line, its secrets always masked: it is kept in a cache."""
    with masked_always():
        return cut_line(memory.headline, _TITLE)


_DATE = re.compile(r"\d{4}[-_.]?(?:[01]\d[-_.]?[0-3]\d|w[0-5]\d)", re.IGNORECASE)
"""A day or a week, as names of notes have it."""


def are_of_one_series(one: Memory, other: Memory) -> bool:
    """Whether they are notes of one series on different days, by their titles or files: each is
    true of its day."""
    for name, other_name in zip(_names_of(one), _names_of(other), strict=True):
        day, other_day = _DATE.search(name), _DATE.search(other_name)
        if day and other_day and day[0] != other_day[0]:
            return name[: day.start()] == other_name[: other_day.start()]
    return False


def _names_of(memory: Memory) -> tuple[str, str]:
    """Its title, or what it begins with before a colon; and its file, if it is all of it: some
    programs keep the facts of each day in a file."""
    label, colon, _ = memory.content[:_TITLE].partition(":")
    file = os.path.basename(memory.origin.file) if memory.kind in ("note", "document") else ""
    return memory.title or (label if colon else ""), file


def propose(
    kind: ProposalKind,
    memories: Sequence[Memory],
    title: str,
    reason: str,
    changes: Sequence[Change] = (),
    *,
    also: str = "",
) -> Proposal:
    """Make a proposal on these memories.

    Args:
        kind: What was found.
        memories: Those concerned; at least one.
        title: One line for the list.
        reason: Why, in one line.
        changes: What accepting does; none for a hint.
        also: Further text that names the finding, where a memory may have several of a kind.
    """
    made_from = fingerprint(memories)
    mark = hashlib.blake2b(
        "\0".join((kind, also, made_from)).encode("utf-8", "surrogatepass"), digest_size=6
    )
    first = memories[0]
    return Proposal(
        id=mark.hexdigest(),
        kind=kind,
        store=first.store,
        title=title,
        reason=reason,
        refs=tuple(memory.ref for memory in memories),
        changes=tuple(changes),
        file=first.origin.file,
        line=first.origin.line,
        message=also if title.startswith(also) else "",
        fingerprint=made_from,
    )


_OF_ENTITIES = frozenset({ProposalKind.COMPACTION, ProposalKind.MERGED_BRANCH, ProposalKind.EXPIRY})
"""Findings about an entity: their memories have nothing about them."""
_OF_THE_FIRST = frozenset({ProposalKind.STALE_SUMMARY, ProposalKind.OUTDATED_SCHEMA})
"""Findings about their first memory; the others are what it was compared with."""


def badges_of(proposals: Iterable[Proposal]) -> dict[str, list[str]]:
    """Ref of each memory -> in one line for each kind, what was found about it."""
    found: dict[str, dict[ProposalKind, list[str]]] = {}
    for one in proposals:
        if one.kind not in _OF_ENTITIES:
            for ref in one.refs[:1] if one.kind in _OF_THE_FIRST else one.refs:
                kinds = found.setdefault(ref, {})
                kinds.setdefault(one.kind, []).append(one.message or one.reason)
    return {
        ref: [f"{RULES[kind].heading}: {'; '.join(words)}" for kind, words in kinds.items()]
        for ref, kinds in found.items()
    }


def retire(memory: Memory, context: UpkeepContext) -> Change | None:
    """The change that takes a memory out of use; None if the store has none."""
    for act in (Act.RETIRE, Act.DELETE):
        if context.can(act, memory):
            return Change(act, memory.store, memory.ref)
    return None


def retire_all(memories: Sequence[Memory], context: UpkeepContext) -> tuple[Change, ...]:
    """The changes that retire all of these; () if one of them cannot be."""
    changes = [change for memory in memories if (change := retire(memory, context))]
    return tuple(changes) if len(changes) == len(memories) else ()


def merge_into(
    target: Memory, others: Sequence[Memory], context: UpkeepContext, content: str = ""
) -> tuple[Change, ...]:
    """The changes after which only `target` is current, with the lineage where the store keeps it.

    Args:
        target: The memory that stays.
        others: Those that it takes the place of.
        content: Its new text; empty: as it is.
    """
    ids = [other.id for other in others]
    if context.can(Act.MERGE, target) and all(context.can(Act.MERGE, one) for one in others):
        fields: dict[str, Any] = {"others": ids}
        if content and content != target.content:
            fields["content"] = content
        return (Change(Act.MERGE, target.store, target.ref, fields),)
    changes = retire_all(others, context)
    if changes and content and content != target.content and context.can(Act.EDIT, target):
        changes = (Change(Act.EDIT, target.store, target.ref, {"content": content}), *changes)
    return changes


_OWN_FIELDS = {*Proposal.__struct_fields__} - {"kind", "refs", "changes"}
"""Fields that a record stores exactly as the proposal has them."""


def to_record(proposal: Proposal) -> dict[str, Any]:
    """The proposal as a JSON object, for the cache."""
    record = {
        **asdict(proposal),
        "hint": proposal.is_hint,
        "changes": [
            {"act": change.act, "store": change.store, "ref": change.ref, "fields": change.fields}
            for change in proposal.changes
        ],
        "source": RULES[proposal.kind].source,
    }
    made: dict[str, Any] = json.loads(json.dumps(record, default=list))
    return made


def from_record(record: Mapping[str, Any]) -> Proposal:
    """The inverse of `to_record`. Raises KeyError, TypeError or ValueError."""
    changes = tuple(
        Change(Act(one["act"]), one["store"], one["ref"], dict(one["fields"]))
        for one in record["changes"]
    )
    own = {name: record[name] for name in _OWN_FIELDS}
    kind, refs = ProposalKind(record["kind"]), tuple(map(str, record["refs"]))
    return Proposal(**own, kind=kind, refs=refs, changes=changes)
