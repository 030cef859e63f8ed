"""The checks of `memtui check` as proposals, with a change where there is an exact remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memtui.changes import Act, Change
from memtui.errors import RefError
from memtui.model import Memory
from memtui.text import without_hidden
from memtui.upkeep.checks import Finding, FindingKind
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
    propose_for_file,
)
from memtui.upkeep.secrets import find_secrets

KIND_OF = {
    FindingKind.OVERWRITTEN: ProposalKind.OVERWRITTEN,
    FindingKind.UNREADABLE: ProposalKind.UNREADABLE,
    FindingKind.DUPLICATE: ProposalKind.DUPLICATE_ID,
    FindingKind.DANGLING: ProposalKind.DANGLING,
    FindingKind.SECRET: ProposalKind.SECRET,
    FindingKind.INSTRUCTION: ProposalKind.INSTRUCTION,
    FindingKind.HIDDEN: ProposalKind.HIDDEN,
    FindingKind.ORPHAN: ProposalKind.ORPHAN,
}
REDACTED = "[REDACTED]"
"""What takes the place of a secret; Engram writes the same for what is marked private."""


def proposals_from(
    findings: Iterable[Finding], get: Callable[[str], Memory], context: UpkeepContext
) -> Iterator[Proposal]:
    """Convert findings; those of one kind on one memory become one proposal.

    Args:
        findings: As the checks give them.
        get: The memory of a ref. Raises RefError.
        context: What each store can do.
    """
    seen: set[tuple[FindingKind, str]] = set()
    for finding in findings:
        kind = KIND_OF[finding.kind]
        if not finding.ref:
            yield propose_for_file(
                kind, finding.file, finding.line, finding.message, RULE_TEXT[kind]
            )
            continue
        if (finding.kind, finding.ref) in seen and finding.kind is not FindingKind.DANGLING:
            continue
        seen.add((finding.kind, finding.ref))
        try:
            memory = get(finding.ref)
        except RefError:
            continue
        changes = _remedy(finding, memory, context)
        yield propose(
            kind,
            [memory],
            f"{finding.message}: {headline_of(memory)}",
            RULE_TEXT[kind],
            changes,
            also=finding.message,
        )


RULE_TEXT = {
    ProposalKind.DUPLICATE_ID: "an id names one memory; agents that look it up get either",
    ProposalKind.DANGLING: "what it names is not in the store",
    ProposalKind.ORPHAN: "an agent that reads the index is not led to it",
    ProposalKind.SECRET: f"accepting puts {REDACTED} in its place; change the secret itself too",
    ProposalKind.INSTRUCTION: "a memory states facts; read it before an agent does",
    ProposalKind.HIDDEN: "accepting removes the characters that cannot be seen",
    ProposalKind.OVERWRITTEN: "another program has written over a change of yours",
    ProposalKind.UNREADABLE: "its memories are not shown until it can be read",
}


def _remedy(finding: Finding, memory: Memory, context: UpkeepContext) -> tuple[Change, ...]:
    if finding.kind not in (FindingKind.SECRET, FindingKind.HIDDEN):
        return ()
    if not context.can(Act.EDIT, memory):
        return ()
    clean = _redacted if finding.kind is FindingKind.SECRET else without_hidden
    given = {"title": memory.title, "content": memory.content}
    fields = {name: clean(text) for name, text in given.items() if clean(text) != text}
    if not fields or not fields.get("content", memory.content).strip():
        return ()  # nothing would be left, which no store writes
    return (Change(Act.EDIT, memory.store, memory.ref, fields),)


def _redacted(text: str) -> str:
    for secret in reversed(list(find_secrets(text))):
        text = text[: secret.start] + REDACTED + text[secret.end :]
    return text
