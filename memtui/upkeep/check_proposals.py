"""The checks of `memtui check` as proposals, with a change where there is an exact remedy."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath

from memtui.changes import Act, Change
from memtui.errors import RefError
from memtui.model import Memory
from memtui.text import and_more, counted, without_hidden
from memtui.text.secrets import replace_secrets
from memtui.upkeep.checks import Finding, FindingKind
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
)

REDACTED = "[REDACTED]"
"""What takes the place of a secret; Engram writes the same for what is marked private."""


def proposals_from(
    findings: Iterable[Finding], get: Callable[[str], Memory], context: UpkeepContext
) -> Iterator[Proposal]:
    """Convert findings; those of one kind on one memory become one proposal.

    References to several files of one folder become one as well: they mostly have one cause, a
    folder that was not copied along, or moved.

    Args:
        findings: As the checks give them.
        get: The memory of a ref. Raises RefError.
        context: What each store can do.
    """
    reported: set[tuple[FindingKind, str]] = set()
    findings, folders = _apart(findings)
    for folder, within in folders.items():
        yield from _propose_for_folder(folder, within, get)
    for finding in findings:
        kind = ProposalKind[finding.kind.name]
        if not finding.ref:
            yield _propose_for_file(
                kind, finding.file, finding.line, finding.message, RULE_TEXT[kind]
            )
            continue
        if (finding.kind, finding.ref) in reported and finding.kind is not FindingKind.DANGLING:
            continue
        reported.add((finding.kind, finding.ref))
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


def _apart(findings: Iterable[Finding]) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """Findings that stand alone, and by folder those that name several files of it."""
    alone: list[Finding] = []
    folders: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        folder = finding.target.rpartition("/")[0]
        (folders[folder] if folder else alone).append(finding)
    for folder in [one for one, within in folders.items() if len(within) < _MIN_FILES]:
        alone += folders.pop(folder)
    return alone, folders


def _propose_for_folder(
    folder: str, within: Iterable[Finding], get: Callable[[str], Memory]
) -> Iterator[Proposal]:
    by_store: defaultdict[str, dict[str, Memory]] = defaultdict(dict)
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for finding in within:
        try:
            memory = get(finding.ref)
        except RefError:
            continue
        by_store[memory.store][memory.ref] = memory
        targets[memory.store].add(finding.target)
    for store, memories in by_store.items():
        names = sorted(targets[store])
        missing = counted(len(names), "missing file")
        message = f"{folder}/: {missing}, named by {counted(len(memories), 'memory')}"
        shown = ", ".join(name.rpartition("/")[2] for name in names[:_MAX_NAMED])
        more = and_more(len(names) - _MAX_NAMED)
        yield propose(
            ProposalKind.DANGLING,
            list(memories.values()),
            message,
            f"{shown}{more}: {RULE_TEXT[ProposalKind.DANGLING]}",
            also=message,
        )


_MIN_FILES = 2
"""References into one folder that become one hint."""
_MAX_NAMED = 4
"""Missing files that the reason names."""


RULE_TEXT = {
    ProposalKind.DUPLICATE_ID: "an id names one memory; agents that look it up get either",
    ProposalKind.DANGLING: "correct the reference, or restore what it names",
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
    fields = {}
    for name, text in (("title", memory.title), ("content", memory.content)):
        is_secret = finding.kind is FindingKind.SECRET
        clean = replace_secrets(text, REDACTED)[0] if is_secret else without_hidden(text)
        if clean != text:
            fields[name] = clean
    if not fields or not fields.get("content", memory.content).strip():
        return ()  # nothing would be left, which no store writes
    return (Change(Act.EDIT, memory.store, memory.ref, fields),)


def _propose_for_file(
    kind: ProposalKind, file: str, line: int | None, message: str, reason: str
) -> Proposal:
    """Make a hint on a file that holds no memory which could be named."""
    text = "\0".join((kind, file, message)).encode("utf-8", "surrogatepass")
    id = hashlib.blake2b(text, digest_size=6).hexdigest()
    name = "/".join(PurePath(file).parts[-2:])
    return Proposal(id, kind, "", f"{name}: {message}", reason, file=file, line=line)
