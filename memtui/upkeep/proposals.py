"""Proposals: changes that tidy memories, each with its reason, for a person to decide on.

`RULES` describes each kind of finding. A kind may be found by several rules, and `MEASURED` says
how often each of them was right on stores that it was not made with: what a rule finds that is
right in fewer than 80 of 100 cases is only a hint.

Secrets are masked in everything that is shown of a proposal. What a person edits before accepting
is the text as it will be written.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert, field, to_builtins

from memtui.changes import Act, Change
from memtui.config import ReviewSettings
from memtui.model import CURRENT, Memory
from memtui.stores.format import GENERAL_RULES, UpkeepRules
from memtui.text import cut_line, masked_always
from memtui.upkeep.similarity import Step, no_step


class ProposalKind(StrEnum):
    """What was found, or by whom it is proposed: the names of `--kind`, `--fail-on` and `off`."""

    SECRET = "secret"
    PLANTED = "planted-text"
    CONFLICT = "conflict"
    OUTDATED = "outdated"
    DUPLICATE = "duplicate"
    BROKEN_LINK = "broken-link"
    AGENT = "agent"
    """A change that an agent or its program proposes; see `memtui.library.agent_proposals`."""

    UNREADABLE = "unreadable"
    OVERWRITTEN = "overwritten"
    DAMAGED = "damaged"
    DUPLICATE_ID = "duplicate-id"
    ORPHAN = "not-in-index"
    REMARK = "remark"
    SUPERSEDED = "superseded"
    CLUSTER = "cluster"
    COMPACTION = "compaction"
    MERGED_BRANCH = "merged-branch"
    EXPIRY = "expiry"
    PATTERN = "pattern"
    STALE_SUMMARY = "stale-summary"
    LONG_HISTORY = "long-history"
    OUTDATED_SCHEMA = "outdated-schema"
    UNUSED = "unused"


HOUSEKEEPING = "housekeeping"
"""The name of all kinds that are not `SHOWN`, one group for each program."""
_TITLE = 60
"""Maximum number of characters of a memory in the title of a proposal."""
NEVER = datetime.min.replace(tzinfo=UTC)
"""Stands for a missing time in an order by time: earlier than any other."""
FROM_MODEL = "written by a model: read it before it is accepted"
MIN_PRECISION = 0.8
"""Minimum precision of a rule; what it finds below that is a hint, whatever it proposes."""


class Rule(Struct, frozen=True):
    """One kind of finding, for people."""

    heading: str
    about: str
    """What it finds, or why that matters, in one sentence."""
    source: str = ""
    """Document or program that the rule comes from, if it is not memtui's own."""

    @property
    def explanation(self) -> str:
        """What it finds, and the document or program that it follows if that is another one."""
        return f"{self.about} Found by: {self.source}." if self.source else self.about


# fmt: off
RULES: Mapping[ProposalKind, Rule] = {
    ProposalKind.SECRET: Rule("Secrets",
        "The text has the form of a password or key, which every agent that reads it gets.",
        "issuers' documented formats"),
    ProposalKind.PLANTED: Rule("Planted text",
        "The text poses as the prompt of an agent, hides words, or asks its reader for harm."),
    ProposalKind.CONFLICT: Rule("Who says otherwise",
        "Memories give one thing different values: agents read either."),
    ProposalKind.OUTDATED: Rule("Outdated",
        "The memory names a file, command, package or version that its project no longer has."),
    ProposalKind.DUPLICATE: Rule("Duplicates", "Memories say nearly the same.",
        "agent-memory, Deduplication (Jaccard 70 %)"),
    ProposalKind.BROKEN_LINK: Rule("Broken links",
        "A memory refers to a memory or file that is not in its store."),
    ProposalKind.AGENT: Rule("Proposed by agents",
        "An agent or its program asks for this change; nothing is changed unless you accept."),
    ProposalKind.UNREADABLE: Rule("Unreadable files",
        "memtui, or the file's own program, cannot read it."),
    ProposalKind.OVERWRITTEN: Rule("Overwritten changes",
        "Another program has reverted a change made with memtui."),
    ProposalKind.DAMAGED: Rule("Damaged text",
        "Text was lost or doubled there, or its frontmatter is no valid YAML."),
    ProposalKind.DUPLICATE_ID: Rule("Duplicate ids",
        "Different memories have one id, so a link or a command may reach the wrong one."),
    ProposalKind.ORPHAN: Rule("Files not in the index",
        "The index that agents read first does not name the file, so they do not find it."),
    ProposalKind.REMARK: Rule("Remarks", "What the store's program does with its files."),
    ProposalKind.SUPERSEDED: Rule("Superseded decisions",
        "A newer decision replaces this one, which is still current."),
    ProposalKind.CLUSTER: Rule("Consolidation", "Several memories about the same could be one.",
        "Engram proposal, Automatic Consolidation"),
    ProposalKind.COMPACTION: Rule("Compaction",
        "There are more memories than the program keeps: the oldest could be one summary.",
        "Ambient, memory guide, Compaction"),
    ProposalKind.MERGED_BRANCH: Rule("Merged branches",
        "The branch is merged, so its memories can be archived.",
        "Ambient, memory guide, Branch Merge"),
    ProposalKind.EXPIRY: Rule("Expiry", "The memories are older than the program keeps them.",
        "Ambient, memory guide, TTL"),
    ProposalKind.PATTERN: Rule("Patterns for the schema",
        "Several facts and episodes tell the same: it could be an item of the schema.",
        "Simple Memory, proposals with evidence"),
    ProposalKind.STALE_SUMMARY: Rule("Stale summaries",
        "A summary is older than the facts that it sums up.", "agent-memory, weekly synthesis"),
    ProposalKind.LONG_HISTORY: Rule("Long history",
        "A long fact has been historical for months and could be shortened.",
        "agent-memory, semantic decay"),
    ProposalKind.OUTDATED_SCHEMA: Rule("Outdated schema",
        "No evidence of a schema item is current any more.", "Simple Memory, outdated items"),
    ProposalKind.UNUSED: Rule("Never used",
        "Its store counts uses, and has counted none of the memory for ninety days."),
}
# fmt: on
"""In the order of the queue: the most dangerous first, then housekeeping."""


class Precision(Struct, frozen=True):
    """How often a rule was right: findings in public stores that it was not made with, read by
    hand, without those that nobody could decide."""

    right: int
    named: int

    @property
    def is_enough(self) -> bool:
        return self.right >= MIN_PRECISION * self.named


MEASURED: Mapping[str, Precision] = {
    "issued-secret": Precision(9, 9),
    "random-secret": Precision(8, 9),
    "named-secret": Precision(9, 18),
    "prompt-text": Precision(0, 0),
    "learned-request": Precision(0, 0),
    "other-hidden-characters": Precision(1, 4),
    "port-of-a-thing": Precision(0, 0),
    "version": Precision(5, 7),
    "manager": Precision(1, 3),
    "other-value": Precision(0, 1),
    "said-by-one": Precision(5, 13),
    "moved-file": Precision(20, 24),
    "removed-file": Precision(16, 18),
    "other-version": Precision(13, 16),
    "missing-command": Precision(40, 47),
    "former-package": Precision(1, 2),
    "same-record": Precision(0, 0),
    "similar-text": Precision(5, 16),
    "instructed-memory": Precision(0, 0),
    "instructed-line": Precision(7, 17),
    "broken-link": Precision(15, 17),
}
"""Name of a rule -> its precision. Counted are the findings of the sets of stores that were read
since the rule was last changed if these are at least five, else of all sets; see docs/review.md."""
_ORDER = tuple(RULES)
SHOWN = _ORDER[: _ORDER.index(ProposalKind.UNREADABLE)]
"""The kinds that a person sees at once; the others are housekeeping."""
FAULTS = _ORDER[len(SHOWN) : _ORDER.index(ProposalKind.SUPERSEDED)]
"""Kinds of housekeeping that are faults of files, which `check` names too."""


class Saying(Struct, frozen=True):
    """What one memory of a conflict says."""

    ref: str
    value: str
    """The value as it is written there; empty if the memory only leaves another one."""
    text: str
    """The line that says it, secrets masked."""
    line: int
    """0-based line of its content; -1: its title."""

    @property
    def store(self) -> str:
        """Label of the store of the memory."""
        return self.ref.partition(":")[0]


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
    says: tuple[Saying, ...] = ()
    """Of a conflict: what each of its memories says, in the order of `refs`."""
    rule: str = ""
    """Which rule of `MEASURED` found it; "" if there can be no doubt, or a program's own document
    asks for it."""

    @property
    def is_hint(self) -> bool:
        """Whether its rule is too often wrong to be shown unasked; never counted."""
        return self.rule != "" and not MEASURED[self.rule].is_enough

    @property
    def is_housekeeping(self) -> bool:
        return self.kind not in SHOWN


def shown_sayings(says: Sequence[Saying]) -> tuple[list[Saying], int]:
    """The newest of each value, and how many more there are."""
    count = Counter[str]()
    shown = []
    for each in says:
        count[each.value] += 1
        if count[each.value] <= _MAX_OF_VALUE:
            shown.append(each)
    return shown, len(says) - len(shown)


_MAX_OF_VALUE = 3
"""Memories that say one value which are shown."""


class UpkeepContext(Struct, frozen=True):
    """What findings need beside the memories: clock, settings, what each store can do."""

    now: datetime
    settings: ReviewSettings = field(default_factory=ReviewSettings)
    can: Callable[[Act, Memory], bool] = lambda _act, _memory: True
    """Whether the store can do an act on a memory."""
    is_read: Callable[[Memory], bool] = lambda memory: memory.status in CURRENT
    """Whether the program of its store still gives a memory to agents."""
    rules_of: Callable[[str], UpkeepRules] = lambda _label: GENERAL_RULES
    """The rules of a store, by its label."""
    name_of: Callable[[str], str] = str
    """The name of a store for people, by its label."""
    program_of: Callable[[str], str] = str
    """The program that writes a store, by the store's label."""
    step: Step = no_step
    """Called within long comparisons; it reports how far they are, and raises to stop them."""
    merged: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Address of a clone's remote -> its merged branches, of the clones that were named."""


def fingerprint(memories: Iterable[Memory]) -> str:
    """A digest of all that a finding is made from; it changes when one of the memories does."""
    return join_digests(map(digest_memory, memories))


def join_digests(digests: Iterable[bytes]) -> str:
    """The fingerprint of memories with these digests."""
    return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()


def digest_memory(memory: Memory) -> bytes:
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


def propose(
    kind: ProposalKind,
    memories: Sequence[Memory],
    title: str,
    reason: str,
    changes: Sequence[Change] = (),
    *,
    rule: str = "",
    also: str = "",
) -> Proposal:
    """Make a proposal on these memories.

    Args:
        kind: What was found.
        memories: Those concerned; at least one.
        title: One line for the list.
        reason: Why, in one line.
        changes: What accepting does; none for a hint.
        rule: Which rule of `MEASURED` found it.
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
        rule=rule,
    )


def badges_of(proposals: Iterable[Proposal]) -> dict[str, list[str]]:
    """Ref of each memory -> in one line for each kind, what was found about it: neither hints nor
    housekeeping."""
    found: dict[str, dict[ProposalKind, list[str]]] = {}
    for one in proposals:
        if not (one.is_hint or one.is_housekeeping):
            words = one.title if one.says else one.message or one.reason
            for ref in one.refs:
                found.setdefault(ref, {}).setdefault(one.kind, []).append(words)
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


def rewritten_texts(memory: Memory, rewrite: Callable[[str], str]) -> dict[str, str]:
    """What a function changes in the title and the content of a memory."""
    return {
        name: changed
        for name, text in (("title", memory.title), ("content", memory.content))
        if (changed := rewrite(text)) != text
    }


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


def to_record(proposal: Proposal) -> dict[str, Any]:
    """The proposal as a JSON object, for commands and the cache."""
    record = {
        **to_builtins(proposal),
        "hint": proposal.is_hint,
        "housekeeping": proposal.is_housekeeping,
        "source": RULES[proposal.kind].source,
    }
    made: dict[str, Any] = json.loads(json.dumps(record))  # lists, as it is read
    return made


def from_record(record: Mapping[str, Any]) -> Proposal:
    """The inverse of `to_record`. Raises ValueError."""
    return convert(record, Proposal)
