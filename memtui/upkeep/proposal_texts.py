"""The text that accepting a proposal would write: shown, edited by a person, or asked of a model.

A model's text becomes part of a proposal only: it is planned by the store's rules and read by a
person before it is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memtui.changes import Act, Change
from memtui.model import Memory
from memtui.upkeep.model_requests import ModelRequest, merge_request, parse_summary, summary_request
from memtui.upkeep.proposals import Proposal, ProposalKind, UpkeepContext

_MERGES = frozenset({ProposalKind.DUPLICATE, ProposalKind.CLUSTER})
FROM_MODEL = "written by a model: read it before it is accepted"


def proposed_text(proposal: Proposal, kept: Memory) -> str | None:
    """The text that the first memory, or the new one, would have; None if there is none to write.

    Args:
        proposal: With its changes.
        kept: The first memory of the proposal.
    """
    for change in proposal.changes:
        content = change.fields.get("content")
        if isinstance(content, str):
            return content
    touched = {change.ref for change in proposal.changes if change.act is not Act.MERGE}
    return None if kept.ref in touched or not proposal.changes else kept.content


def with_text(proposal: Proposal, kept: Memory, content: str) -> Proposal:
    """The same proposal writing another text; it is unchanged where none can be written."""
    before = proposed_text(proposal, kept)
    if before is None or content == before:
        return proposal
    changes = list(proposal.changes)
    for at, change in enumerate(changes):
        if "content" in change.fields or change.act is Act.MERGE:
            changes[at] = replace(change, fields={**change.fields, "content": content})
            break
    else:
        changes.insert(0, Change(Act.EDIT, kept.store, kept.ref, {"content": content}))
    return replace(proposal, changes=tuple(changes))


def request_for(proposal: Proposal, memories: Sequence[Memory]) -> ModelRequest | None:
    """What a model would be asked about a merge or an old summary; None for other proposals.

    Raises:
        ModelError: The text is too long for one request.
    """
    if proposal.kind in _MERGES and len(memories) > 1:
        return merge_request(memories)
    if proposal.kind is ProposalKind.STALE_SUMMARY and memories:
        return summary_request(memories)
    return None


def with_answer(
    proposal: Proposal, memories: Sequence[Memory], answer: str, context: UpkeepContext
) -> Proposal:
    """The proposal with the text of a model's answer. Raises ModelError."""
    written, kept = parse_summary(answer), memories[0]
    if proposal.kind is ProposalKind.STALE_SUMMARY:
        can_edit = context.can(Act.EDIT, kept)
        edit = Change(Act.EDIT, kept.store, kept.ref, {"content": written})
        return replace(proposal, changes=(edit,) if can_edit else (), reason=FROM_MODEL)
    return replace(with_text(proposal, kept, written), reason=FROM_MODEL)
