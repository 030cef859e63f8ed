"""Changes that agents propose, kept until a person accepts or declines them.

Each is a private file in the state folder, written once by `memtui mcp`. What the person decided is
kept with the other decisions of the review queue (`Decisions`), by the proposal's id.

A proposal names its store by path and its memories by their own ids, since a store may have another
label in each process. It carries the version of each memory that the agent had read: a proposal on
a memory that is another now stays in the queue, says so, and cannot be accepted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from memtui import paths
from memtui.changes import Act, Change
from memtui.errors import RefError, Refused, SaveError
from memtui.journal.action import Author
from memtui.library.review_files import Decision, Decisions
from memtui.model import Memory, Place
from memtui.text import cut_line, masked_always
from memtui.upkeep.proposals import Proposal, ProposalKind, fingerprint

if TYPE_CHECKING:
    from memtui.library.library import Library

FOLDER = "proposals"
MAX_WAITING = 200
"""Proposals that may wait for the person; an agent that goes on is refused."""
KEPT_DAYS = 90
"""Days that a proposal is kept after it was made, once it is decided on."""
_TITLE = 60


class AgentProposal(Struct, frozen=True):
    """One change that an agent proposes."""

    id: str
    author: Author
    time: datetime
    """Aware, in UTC."""
    reason: str
    """The agent's own words."""
    root: str
    """Path of the store."""
    act: Act
    memory: str = ""
    """The store's id of the memory; empty for a new one."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    """Id of each memory that the agent had read -> `version_of` it."""
    note: str = ""
    """Why it is a proposal although its agent may write."""
    is_told: bool = False
    """The agent was told what the person decided."""

    @property
    def asks(self) -> tuple[Any, ...]:
        """What it asks for, and whose program; equal for a proposal that is made again."""
        fields = json.dumps(to_builtins(self.fields), sort_keys=True)
        return self.author.client, self.root, self.act, self.memory, fields, dict(self.versions)


def version_of(memory: Memory) -> str:
    """Names what a memory says and is, whatever label its store has; another text is another one.

    Counts of accesses and times are left out: to be read changes no memory.
    """
    parts = (fingerprint([replace(memory, ref=memory.id)]), memory.entity, *memory.tags)
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


class AgentProposals:
    """Reads and writes the proposals of a state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._folder = state / FOLDER

    @property
    def mark(self) -> int:
        """Another number whenever a proposal was made."""
        with contextlib.suppress(OSError):
            return self._folder.stat().st_mtime_ns
        return 0

    def add(self, proposal: AgentProposal, decisions: Decisions) -> AgentProposal:
        """Keep a new proposal, or return the one that asks for the same and waits already.

        Raises Refused where too many wait, SaveError.
        """
        kept = list(self)
        decided = decisions.of(each.id for each in kept)
        for each in kept:
            if each.id not in decided and each.asks == proposal.asks:
                return each
        oldest = proposal.time - timedelta(days=KEPT_DAYS)
        if len(kept) - len(decided) >= MAX_WAITING:
            raise Refused(
                f"{MAX_WAITING} proposals wait for the person",
                do="they are decided on with `memtui review`",
            )
        for each in kept:
            if each.id in decided and each.time < oldest:
                self._path(each.id).unlink(missing_ok=True)
        self._write(proposal)
        return proposal

    def mark_told(self, proposal: AgentProposal) -> None:
        """Note that the agent knows what was decided. Raises SaveError."""
        self._write(replace(proposal, is_told=True))

    def _write(self, proposal: AgentProposal) -> None:
        path = self._path(proposal.id)
        try:
            paths.write_private(path, json.dumps(to_builtins(proposal)))
        except OSError as error:
            raise SaveError(str(error.strerror or error), where=str(path)) from error

    def _path(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    def __iter__(self) -> Iterator[AgentProposal]:
        """All of them, the oldest first; a damaged file is left out."""
        found = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.json"):
                with contextlib.suppress(TypeError, ValueError):
                    found.append(convert(paths.read_private(path), AgentProposal))
        return iter(sorted(found, key=lambda each: (each.time, each.id)))


def make_proposal(
    author: Author, change: Change, reason: str, library: Library, *, note: str = ""
) -> AgentProposal:
    """Make a proposal of a change that was planned. Raises RefError."""
    store = library.store(change.store)
    memories = [library.get(change.ref)] if change.ref else []
    memories += [library.get(f"{change.store}:{id}") for id in change.fields.get("others", ())]
    return AgentProposal(
        id=secrets.token_hex(6),
        author=author,
        time=library.now().astimezone(UTC),
        reason=reason,
        root=os.path.realpath(store.root),
        act=change.act,
        memory=memories[0].id if change.ref else "",
        fields=change.fields,
        versions={memory.id: version_of(memory) for memory in memories},
        note=note,
    )


def open_proposals(library: Library) -> Iterator[Proposal]:
    """The proposals on the stores of a library, as the review queue shows them."""
    if library.state_folder is None:
        return
    labels = {os.path.realpath(store.root): store.label for store in library.stores}
    for each in AgentProposals(library.state_folder):
        if each.root in labels:
            yield _to_proposal(each, labels[each.root], library)


def _to_proposal(each: AgentProposal, label: str, library: Library) -> Proposal:
    refs = tuple(f"{label}:{id}" for id in each.versions)
    ref = f"{label}:{each.memory}" if each.memory else ""
    text = str(each.fields.get("content", ""))
    made_from, origin = "", Place("")
    with contextlib.suppress(RefError):
        memories = [library.get(one) for one in refs]
        if [version_of(memory) for memory in memories] == list(each.versions.values()):
            made_from = fingerprint(memories)
        if memories:
            text, origin = memories[0].headline, memories[0].origin
    why = f"; {each.note}" if each.note else ""
    with masked_always():
        title = f"{each.act}: {cut_line(text, _TITLE)}"
    return Proposal(
        id=each.id,
        kind=ProposalKind.AGENT,
        store=label,
        title=title,
        reason=f"{each.author}: {each.reason}{why}",
        refs=refs,
        changes=(Change(each.act, label, ref, each.fields),),
        file=origin.file,
        line=origin.line,
        fingerprint=made_from,
    )


class Answer(Struct, frozen=True):
    """What became of a proposal."""

    proposal: AgentProposal
    decision: Decision
    action: int | None = None
    """Number in the log of the change that accepted it."""


def answers_for(client: str, state: Path, decisions: Decisions) -> list[Answer]:
    """What the person decided on this client's proposals and it was not told yet."""
    waiting = [
        each for each in AgentProposals(state) if each.author.client == client and not each.is_told
    ]
    decided = decisions.of(each.id for each in waiting)
    return [Answer(each, *decided[each.id]) for each in waiting if each.id in decided]
