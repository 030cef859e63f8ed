"""The review queue of the open stores: scan, decide, remember what was declined.

What a scan found lies in the cache folder, by group of memories: a later scan looks at changed
groups only, and at nothing where no file changed.

The screen has large stores scanned by a process of its own (`ReviewQueue.scan_aside`):

    python -m memtui.library.review < TASK

opens the same stores to read, takes their rows from the cache, scans what changed since the last
scan, keeps what it found in the cache, and prints the lines of a worker (see
`memtui.child_processes`), the last one with the proposals.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from memtui.changes import Act
from memtui.child_processes import run_worker, serve
from memtui.config import ReviewSettings
from memtui.errors import Conflict, MemtuiError, RefError, Refused, WorkerError
from memtui.files.git_history import GitHistory
from memtui.journal.action import ActionState
from memtui.library.agent_proposals import declining, open_proposals, proposals_of_programs
from memtui.library.learned_requests import GROUP, NOTHING_LEARNED, scan_learned
from memtui.library.library import Library
from memtui.library.opening import StoreSource, reopen_stores
from memtui.library.review_files import (
    CachedReview,
    Decision,
    Decisions,
    Findings,
    Queue,
    ReviewFile,
)
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.search import salience
from memtui.sessions.programs import programs_on
from memtui.stores import registry
from memtui.stores.format import GENERAL_RULES
from memtui.text import counted
from memtui.text.secrets import list_secrets
from memtui.upkeep.checks import asking_memories
from memtui.upkeep.claims import agree
from memtui.upkeep.model_requests import (
    ModelRequest,
    parse_summary,
    proposed_text,
    request_for,
    summary_request,
    with_answer,
    with_text,
)
from memtui.upkeep.proposal_scan import scan
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    fingerprint,
    from_record,
    to_record,
)
from memtui.upkeep.retention import due_batches, propose_summary
from memtui.upkeep.staleness import propose_unused

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.journal.purging import OwnCopies
    from memtui.library.planning import Planned

SCANNED_HERE = 500
"""Memories up to which the screen scans in its own process: a first scan of them takes a quarter of
a second, and to start another process takes longer."""
WORKER = "memtui.library.review"
ACCEPTED = "review: "
"""The beginning of the title of an action that accepts proposals."""


class ReviewQueue:
    """Scans the memories of a library and keeps the decisions on what was found."""

    def __init__(
        self,
        library: Library,
        settings: ReviewSettings | None = None,
        clones: Sequence[Path] = (),
    ) -> None:
        """Make the queue of a library; nothing is scanned yet.

        Args:
            library: Of the stores to review.
            settings: The constants of the findings; the defaults unless given.
            clones: Folders in git repositories whose merged branches may be archived.
        """
        self._library = library
        self.decisions = Decisions(library.state_folder, library.now)
        self._cache = library.cache_folder
        self._settings = settings or ReviewSettings()
        self._merged = _read_merged(clones)
        self.findings: Findings | None = None
        """What the last scan found, whatever was decided on it."""
        kinds = tuple(name for name in self._settings.off if "@" not in name)
        looked_for = replace(self._settings, off=kinds)  # the others are left out when shown
        stores = "\0".join(sorted(f"{store.label} {store.root}" for store in library.stores))
        self._file = ReviewFile.of(self._cache, stores, str(looked_for)) if self._cache else None
        self._rules = {store.label: registry.upkeep_rules_of(store) for store in library.stores}

    @property
    def context(self) -> UpkeepContext:
        """The context of the findings as of now: clock, settings, what each store can do."""
        return UpkeepContext(
            now=self._library.now(),
            settings=self._settings,
            can=self._can,
            is_read=self._library.is_read,
            rules_of=lambda label: self._rules.get(label, GENERAL_RULES),
            name_of=self._library.names.of,
            program_of=self._library.names.program_of,
            merged=self._merged,
        )

    def scan(
        self,
        kinds: Collection[ProposalKind] | None = None,
        report: Report = silent,
        cancelled: IsCancelled = never,
    ) -> Queue:
        """Find the proposals that are open.

        Args:
            kinds: Only these; None: all that are not switched off.
            report: Called with the groups of memories done.
            cancelled: Asked between groups.

        Raises:
            Cancelled: The scan was stopped; what was found before stays in the cache.
        """
        latest, stamp = self._latest(), self._stamp()
        if latest is None or latest.stamp != stamp:
            latest = self._scan_changed(kinds, stamp, report, cancelled)
        return self._open(latest.proposals, kinds)

    def _scan_changed(
        self,
        kinds: Collection[ProposalKind] | None,
        stamp: str,
        report: Report,
        cancelled: IsCancelled,
    ) -> Findings:
        """Scan the groups and the texts that changed, and keep what was found."""
        cached = self._file.read() if self._file is not None else None
        known = cached.groups if cached is not None else {}
        if cached is not None:
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                self._library.text_checks.remember(cached.texts)
        rows, context = self._library.numbered_memories(), self.context
        groups = scan(
            rows.values(), context, known, kinds=kinds, report=report, cancelled=cancelled
        )
        if kinds is not None:
            groups = {**known, **groups}
        groups.pop(GROUP, None)  # looked for below
        by_groups = [proposal for group in groups.values() for proposal in group.proposals]
        ruled = [set(one.refs) for one in by_groups if one.kind is ProposalKind.CONFLICT]
        last_uses = {
            memory.ref: salience.find_last_access(memory)
            for memory in rows.values()
            if salience.is_counted(memory) and salience.count_accesses(memory)
        }

        def step(done: int, total: int) -> None:
            if cancelled():
                raise Cancelled
            report(Progress("compare what they say", done, total))

        checked = (
            *(
                one
                for one in self._library.check(report, cancelled, replace(context, step=step))
                if not (one.says and any(refs.issuperset(one.refs) for refs in ruled))
            ),
            *propose_unused(rows.values(), last_uses, context),
        )
        texts = self._library.text_checks
        learned = known.get(GROUP, NOTHING_LEARNED)
        if kinds is None or ProposalKind.PLANTED in kinds:
            asking = asking_memories(list(rows.values()), texts.of(rows), context)
            learned = scan_learned(asking, learned, cancelled)
        groups[GROUP] = learned
        found = (*checked, *by_groups, *learned.proposals)
        findings = self.findings = Findings(stamp if kinds is None else "", found)
        if self._file is not None:
            self._file.write(CachedReview(findings.stamp, groups, checked, texts.to_record()))
        return findings

    def last(self) -> Queue | None:
        """What the last scan found, from the cache, without looking at the memories; None if no
        scan of these settings is kept there."""
        latest = self._latest()
        return None if latest is None else self._open(latest.proposals)

    def _latest(self) -> Findings | None:
        if self.findings is None and self._file is not None:
            self.findings = self._file.read_findings()
        return self.findings

    def _stamp(self) -> str:
        """Fingerprint of what a scan depends on: files, the day, what others have reverted, whose
        sessions are read."""
        library = self._library
        looked_at = (
            f"{library.now():%Y-%m-%d}",
            sorted((name, sorted(branches)) for name, branches in self._merged.items()),
            [(each.path, each.description) for each in library.peek_reverted()],
            library.loaded.stamps(),
            library.projects.stamp(library.numbered_memories().values()),
            programs_on(),
        )
        text = repr(looked_at).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    def scan_aside(self, report: Report = silent, cancelled: IsCancelled = never) -> Queue:
        """As `scan`, of all kinds; many memories are scanned by another process.

        Raises:
            Cancelled: The scan was stopped; what was found before stays in the cache.
            WorkerError: The process failed.
        """
        library = self._library
        small = library.snapshot.count <= SCANNED_HERE
        if small or not library.sources or self._cache is None:
            return self.scan(None, report, cancelled)
        latest = self._latest()
        if latest is not None and latest.stamp == self._stamp():
            return self._open(latest.proposals)
        task = {
            "stores": [asdict(source) for source in library.sources],
            "cache": str(self._cache),
            "state": str(state) if (state := library.state_folder) is not None else None,
            "now": library.now().isoformat(),
            "settings": asdict(self._settings),
        }
        answer = run_worker(WORKER, (), report, cancelled, stdin_text=json.dumps(task))
        try:
            found = tuple(map(from_record, answer["proposals"]))
            self.findings = Findings(str(answer["stamp"]), found)
        except (KeyError, TypeError, ValueError) as error:  # of another version of memtui
            raise WorkerError("the process found something unexpected", where=WORKER) from error
        return self._open(found)

    def plan(self, proposals: Iterable[Proposal], title: str = "") -> Planned:
        """Plan what accepting these proposals does, as one action.

        What one of them archives, the others leave alone: it goes as it is.

        Raises:
            Refused: one of them proposes no change, one of its memories changed since it was
                scanned, or a store cannot do it.
            Conflict: a file changed since it was read, or a memory since an agent read it.
            RefError: a memory is gone.
        """
        chosen = list(proposals)
        for proposal in chosen:
            if not proposal.changes:
                raise Refused(
                    f"{proposal.id} proposes no change to accept",
                    do="choose what they shall say with `memtui review agree`"
                    if proposal.says
                    else "edit or retire the memory, or decline it",
                )
            if fingerprint(map(self._library.get, proposal.refs)) != proposal.fingerprint:
                if proposal.kind is ProposalKind.AGENT:
                    raise Conflict(
                        "the memory has changed since the agent read it",
                        do="decline it, or make the change yourself",
                    )
                raise Refused("its memories changed since the scan", do="scan again")
        changes = [change for proposal in _without_archived(chosen) for change in proposal.changes]
        what = chosen[0].title if len(chosen) == 1 else f"accept {len(chosen)} proposals"
        planned = self._library.plan(changes, title or f"{ACCEPTED}{what}")
        agents = dict.fromkeys(proposal.agent for proposal in chosen if proposal.agent)
        return replace(planned, agent=", ".join(agents))

    def plan_agreement(self, proposal: Proposal, value: str) -> Planned:
        """Plan to make all memories of a conflict say one value, each in its own words.

        Raises Refused if no memory can be changed, or one changed since the scan; and what `plan`
        raises.
        """
        found = self.memories(proposal)
        if fingerprint(found) != proposal.fingerprint:
            raise Refused("its memories changed since the scan", do="scan again")
        by_ref = {memory.ref: memory for memory in found}
        changes = agree(proposal, value, by_ref, self.context)
        if not changes:
            raise Refused("no memory of it can be changed to say so", do="edit it yourself")
        return self._library.plan(changes, f"make agree: {proposal.message}: {value}")

    def decline(self, proposals: Sequence[Proposal]) -> JournalAction | None:
        """Decline proposals for good; those of programs as each of them does, which is an action.

        Raises Refused, Conflict or SaveError.
        """
        action = None
        if changes := declining(proposals):
            action = self._library.apply(self._library.plan(changes))
        others = [one for one in proposals if not declining([one])]
        if others:
            self.decisions.decide(others, Decision.DECLINED)
        return action

    def note_accepted(self, proposals: Iterable[Proposal], action: int) -> None:
        """Remember, for the agents that proposed them, which change accepted these proposals.

        Raises SaveError.
        """
        if of_agents := [one for one in proposals if one.kind is ProposalKind.AGENT]:
            self.decisions.decide(of_agents, Decision.ACCEPTED, action)

    def due_batches(self) -> list[tuple[str, list[Memory]]]:
        """Each entity past its limit, with the memories that one summary may replace."""
        context = self.context
        return [
            batch
            for store in self._library.stores
            for batch in due_batches(list(self._library.memories(store.label)), context)
        ]

    def summarised(self, entity: str, batch: Sequence[Memory], summary: str) -> Proposal:
        """The proposal that puts this summary in the place of a batch."""
        return propose_summary(entity, batch, summary, self.context)

    def memories(self, proposal: Proposal) -> list[Memory]:
        """The memories of a proposal that are still there; what stays comes first."""
        found = []
        for ref in proposal.refs:
            with suppress(RefError):
                found.append(self._library.get(ref))
        return found

    def secrets_in(self, proposals: Iterable[Proposal]) -> frozenset[str]:
        """The secrets that accepting these proposals takes out of their memories."""
        return frozenset(
            secret
            for proposal in proposals
            if proposal.kind is ProposalKind.SECRET and proposal.changes
            for memory in self.memories(proposal)
            for text in (memory.title, memory.content)
            for secret in list_secrets(text)
        )

    def unreachable_copies(self, proposals: Iterable[Proposal]) -> str:
        """Where copies of a secret may be that memtui does not erase, in words."""
        labels = {proposal.store for proposal in proposals}
        roots = [store.root for store in self._library.stores if store.label in labels]
        found = [f"the git history of {root}" for root in roots if GitHistory.of(root) is not None]
        return "; ".join([*found, "backups", "what agents and other programs keep"])

    def proposed_text(self, proposal: Proposal) -> str | None:
        """The text that accepting would write; None if there is none that could be edited."""
        remaining = next(iter(self.memories(proposal)), None)
        if remaining is None or not self._can(Act.EDIT, remaining):
            return None
        return proposed_text(proposal, remaining)

    def with_text(self, proposal: Proposal, text: str) -> Proposal:
        """The same proposal writing another text. Raises RefError."""
        return with_text(proposal, self._library.get(proposal.refs[0]), text)

    def model_request(self, proposal: Proposal) -> ModelRequest | None:
        """What a model would be asked; None where its text is of no use. Raises ModelError."""
        if proposal.kind is ProposalKind.COMPACTION:
            batch = self._batch_of(proposal)
            return summary_request(batch) if batch else None
        return request_for(proposal, self.memories(proposal))

    def with_answer(self, proposal: Proposal, answer: str) -> Proposal:
        """The proposal with the text of the model's answer. Raises ModelError or RefError."""
        if proposal.kind is ProposalKind.COMPACTION:
            batch = self._batch_of(proposal)
            return self.summarised(batch[0].entity, batch, parse_summary(answer))
        memories = [self._library.get(ref) for ref in proposal.refs]
        return with_answer(proposal, memories, answer, self.context)

    def _batch_of(self, proposal: Proposal) -> list[Memory]:
        """The memories that one summary may replace, among them those of this compaction."""
        for _, batch in self.due_batches():
            if proposal.refs[0] in {memory.ref for memory in batch}:
                return batch
        return []

    def _open(
        self, found: Iterable[Proposal], kinds: Collection[ProposalKind] | None = None
    ) -> Queue:
        own = proposals_of_programs(self._library)
        every = [*open_proposals(self._library), *own, *found]
        shown = (proposal for proposal in every if kinds is None or proposal.kind in kinds)
        return self.decisions.open_queue(shown, self._settings.off, self._is_undone)

    def _is_undone(self, number: int) -> bool:
        action = self._library.action(number)
        return action is not None and action.state is ActionState.UNDONE

    def _can(self, act: Act, memory: Memory) -> bool:
        try:
            return not self._library.refusal(act, memory)
        except MemtuiError:
            return False


def describe_copies(copies: OwnCopies) -> str:
    """Say where copies are: `2 changes of the journal, 1 backup or cache file`."""
    parts = []
    if copies.actions:
        parts.append(f"{counted(len(copies.actions), 'change')} of the journal")
    if copies.texts:
        parts.append(counted(len(copies.texts), "former text"))
    if copies.kept:
        parts.append(counted(len(copies.kept), "kept text"))
    if copies.files:
        parts.append(counted(len(copies.files), "backup or cache file"))
    return ", ".join(parts)


def _without_archived(chosen: Sequence[Proposal]) -> list[Proposal]:
    """Leave out proposals about memories that another proposal archives."""
    archives = {one.id for one in chosen if any(each.act is Act.ARCHIVE for each in one.changes)}
    archived = {ref for one in chosen if one.id in archives for ref in one.refs}
    return [one for one in chosen if one.id in archives or archived.isdisjoint(one.refs)]


def _read_merged(clones: Iterable[Path]) -> dict[str, frozenset[str]]:
    """Address of each clone's remote -> its merged branches. Raises Refused."""
    found: dict[str, frozenset[str]] = {}
    for clone in clones:
        git = GitHistory.of(clone)
        remote = git.remote() if git is not None else ""
        if git is None or not remote:
            raise Refused("not a git clone with a remote, or there is no git", where=str(clone))
        found[remote] = git.merged_branches()
    return found


def _scan_task(task: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Do the task that `ReviewQueue.scan_aside` wrote. Raises MemtuiError."""
    now = datetime.fromisoformat(task["now"])
    settings = {**task["settings"], "off": tuple(task["settings"]["off"])}
    library = Library(
        reopen_stores(StoreSource(**source) for source in task["stores"]),
        cache=Path(task["cache"]),
        state=Path(task["state"]) if task["state"] is not None else None,
        now=lambda: now,
    )
    library.load(report)
    queue = ReviewQueue(library, ReviewSettings(**settings))
    queue.scan(None, report)
    found = queue.findings
    assert found is not None
    return {"stamp": found.stamp, "proposals": list(map(to_record, found.proposals))}


if __name__ == "__main__":
    task = json.load(sys.stdin)
    sys.exit(serve(lambda report: _scan_task(task, report)))
