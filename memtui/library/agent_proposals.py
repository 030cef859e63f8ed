"""Changes that agents propose, kept until a person accepts or declines them.

Each is a private file in the state folder, written once by `memtui mcp`. What the person decided is
kept with the other decisions of the review queue (`Decisions`), by the proposal's id.

One whose text has a secret is kept with it until it is accepted, or for `SECRET_DAYS`; then its
values are erased, and it cannot be accepted any more.

A proposal names its store by path and its memories by their own ids, since a store may have another
label in each process. It carries the version of each memory that the agent had read: a proposal on
a memory that is another now stays in the queue, says so, and cannot be accepted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from memtui import paths
from memtui.changes import Act, Change, texts_of
from memtui.errors import RefError, Refused, SaveError
from memtui.journal.action import ActionState, Author
from memtui.library.review_files import Decision, Decisions
from memtui.model import Memory, Place
from memtui.query import Query
from memtui.stores.registry import format_of
from memtui.text import cut_line, mask_all_secrets, masked_always
from memtui.text.secrets import has_secret
from memtui.upkeep.proposals import Proposal, ProposalKind, fingerprint

if TYPE_CHECKING:
    from memtui.library.library import Library
    from memtui.library.planning import Planned
    from memtui.library.reader import LibraryReader

FOLDER = "proposals"
MAX_WAITING = 200
"""Proposals that may wait for the person; an agent that goes on is refused."""
KEPT_DAYS = 90
"""Days that a proposal is kept after it was made, once it is decided on."""
SECRET_DAYS = 7
"""Days that a secret in a proposal is kept after it was made."""
UNDONE, EXPIRED = "undone", "expired"
"""What became of a proposal, beside a decision: it was accepted and then undone; its secret was
erased before the person decided."""
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
    new_id: str = ""
    """The id that the new memory will have; empty where its store gives one when it is written."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Id of each memory that the agent had read -> `version_of` it."""
    note: str = ""
    """Why it is a proposal although its agent may write."""
    told: str = ""
    """What the agent was told last of what became of it; empty: nothing."""
    has_secret: bool = False
    is_erased: bool = False
    """Its values are erased, since they had a secret."""

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
        waiting = self.waiting(decisions)
        for each in waiting:
            if each.asks == proposal.asks:
                return each
        if len(waiting) >= MAX_WAITING:
            raise Refused(
                f"{MAX_WAITING} proposals wait for the person",
                do="they are decided on with `memtui review`",
            )
        oldest = proposal.time - timedelta(days=KEPT_DAYS)
        open_ids = {each.id for each in waiting}
        for each in self:
            if each.id not in open_ids and each.time < oldest:
                self._path(each.id).unlink(missing_ok=True)
        self._write(proposal)
        return proposal

    def waiting(self, decisions: Decisions) -> list[AgentProposal]:
        """Those that the person has not decided on."""
        kept = [each for each in self if not each.is_erased]
        decided = decisions.of(each.id for each in kept)
        return [each for each in kept if each.id not in decided]

    def erase_secrets(self, decisions: Decisions, now: datetime) -> None:
        """Erase the values that are not kept any longer. Raises SaveError."""
        found = [each for each in self if each.has_secret and not each.is_erased]
        decided = decisions.of(each.id for each in found) if found else {}
        for each in found:
            is_accepted = decided.get(each.id, (None,))[0] is Decision.ACCEPTED
            if is_accepted or each.time < now - timedelta(days=SECRET_DAYS):
                reason = mask_all_secrets(each.reason)
                self._write(replace(each, fields={}, reason=reason, is_erased=True))

    def mark_told(self, answer: Answer) -> None:
        """Note that the agent knows what became of its proposal. Raises SaveError."""
        self._write(replace(answer.proposal, told=answer.decision))

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


def find_new_id(change: Change, planned: Planned, library: Library) -> str:
    """The id that the new memory of a planned change will have whenever it is made; empty if there
    is none, or if it is not known before."""
    known = format_of(library.store(change.store).format)
    if known is None or known.is_database:  # numbers of rows
        return ""
    label = f"{change.store}:"
    refs = [ref for ref in planned.refs if ref.startswith(label) and not _is_there(ref, library)]
    if len(refs) != 1:
        return ""
    id = refs[0].removeprefix(label)
    again = library.plan([replace(change, new_id=id)])
    return id if again.refs == planned.refs else ""


def _is_there(ref: str, library: Library) -> bool:
    with contextlib.suppress(RefError):
        return bool(library.get(ref))
    return False


def make_proposal(
    author: Author,
    change: Change,
    reason: str,
    library: Library,
    *,
    note: str = "",
    new_id: str = "",
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
        root=paths.real_root(store.root),
        act=change.act,
        memory=memories[0].id if change.ref else "",
        fields=change.fields,
        versions={memory.id: version_of(memory) for memory in memories},
        note=note,
        new_id=new_id,
        has_secret=any(map(has_secret, (reason, *texts_of(change)))),
    )


def open_proposals(library: Library) -> Iterator[Proposal]:
    """The proposals on the stores of a library, as the review queue shows them."""
    if library.state_folder is None:
        return
    labels = {paths.real_root(store.root): store.label for store in library.stores}
    proposals = AgentProposals(library.state_folder)
    proposals.erase_secrets(_decisions(library), library.now())
    for each in proposals:
        if each.root in labels and not each.is_erased:
            yield _to_proposal(each, labels[each.root], library)


def proposals_of_programs(library: LibraryReader) -> Iterator[Proposal]:
    """What the programs of the stores propose themselves and leave to the person, such as the
    patches in an inbox: accepting and declining are acts of the store."""
    for slot in library.find_loaded(Query().with_status("proposed")).slots:
        memory = library.snapshot.rows[int(slot)]
        store = library.store(memory.store)
        if store.refusal(Act.ACCEPT, memory):
            continue
        made_from = fingerprint([memory])
        program = library.names.by_label[memory.store].product.name
        with masked_always():
            title = f"accept: {cut_line(memory.headline, _TITLE)}"
        yield Proposal(
            id=hashlib.blake2b(f"{memory.ref} {made_from}".encode(), digest_size=4).hexdigest(),
            kind=ProposalKind.AGENT,
            store=memory.store,
            title=title,
            reason=f"{program} waits for the answer",
            refs=(memory.ref,),
            changes=(Change(Act.ACCEPT, memory.store, memory.ref),),
            file=memory.origin.file,
            line=memory.origin.line,
            fingerprint=made_from,
        )


def declining(proposals: Iterable[Proposal]) -> list[Change]:
    """The acts by which a program's own proposals are declined."""
    changes = (change for proposal in proposals for change in proposal.changes)
    return [replace(each, act=Act.DECLINE) for each in changes if each.act is Act.ACCEPT]


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
        changes=(Change(each.act, label, ref, each.fields, new_id=each.new_id),),
        file=origin.file,
        line=origin.line,
        fingerprint=made_from,
        agent=str(each.author),
    )


class Answer(Struct, frozen=True):
    """What became of a proposal."""

    proposal: AgentProposal
    decision: str
    """A `Decision`, `UNDONE` or `EXPIRED`."""
    action: int | None = None
    """Number in the log of the change that accepted it."""


def answers_for(client: str, library: Library) -> list[Answer]:
    """What became of this client's proposals and it was not told yet. Raises SaveError."""
    assert library.state_folder is not None
    proposals, decisions = AgentProposals(library.state_folder), _decisions(library)
    proposals.erase_secrets(decisions, library.now())
    own = [each for each in proposals if each.author.client == client]
    decided = decisions.of(each.id for each in own)
    found = []
    for each in own:
        decision, number = decided.get(each.id, (None, None))
        word = str(decision or (EXPIRED if each.is_erased else ""))
        if number is not None:
            action = library.action(number)
            if action is not None and action.state is ActionState.UNDONE:
                word = UNDONE
        if word and word != each.told:
            found.append(Answer(each, word, number))
    return found


def _decisions(library: Library) -> Decisions:
    return Decisions(library.state_folder, library.now)
