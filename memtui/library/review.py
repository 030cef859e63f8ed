"""The review queue of the open stores: scan, decide, remember what was declined.

Decisions lie in the state folder, by the proposal's id: that changes with the memories, so that a
declined proposal comes back only when one of them does. What a scan found lies in the cache folder,
by group of memories; a later scan looks at changed groups only. The screen has large stores scanned
by a process of its own (`review_worker`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memtui import paths
from memtui.changes import Act
from memtui.config import ReviewSettings
from memtui.errors import MemtuiError, RefError, Refused, SaveError, WorkerError
from memtui.files.git_history import GitHistory
from memtui.library.library import Library
from memtui.library.review_cache import CachedReview, ReviewFile
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.search.child_processes import run_worker
from memtui.stores import registry
from memtui.stores.format import GENERAL_RULES
from memtui.upkeep.duplicates import find_across
from memtui.upkeep.integrity import proposals_from
from memtui.upkeep.model_requests import (
    ModelRequest,
    parse_summary,
    proposed_text,
    request_for,
    summary_request,
    with_answer,
    with_text,
)
from memtui.upkeep.proposals import (
    RULES,
    Proposal,
    ProposalKind,
    UpkeepContext,
    fingerprint,
    from_record,
    masked,
)
from memtui.upkeep.retention import due_batches, propose_summary
from memtui.upkeep.scanning import ScannedGroup, scan

if TYPE_CHECKING:
    from memtui.library.planning import Planned

DECISIONS_FILE = "review.json"
SNOOZE_DAYS = 7
SCANNED_HERE = 500
"""Memories up to which the screen scans in its own process: a first scan of them takes a quarter of
a second, and to start another process takes longer."""
WORKER = "memtui.library.review_worker"


class Decision(StrEnum):
    """What a person decided on a proposal without accepting it."""

    DECLINED = "declined"
    SNOOZED = "snoozed"


@dataclass(frozen=True, slots=True)
class Queue:
    """The open proposals, and how many are put aside."""

    proposals: tuple[Proposal, ...]
    declined: int = 0
    snoozed: int = 0

    def get(self, text: str) -> Proposal:
        """Return the proposal whose id begins with this text. Raises Refused."""
        found = [one for one in self.proposals if text and one.id.startswith(text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Refused(f"{len(found)} proposals begin with {text!r}", do="write more of the id")
        raise Refused(f"no open proposal {text!r}", do="memtui review lists them")


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
        self._state = library.state_folder
        self._cache = library.cache_folder
        self._settings = settings or ReviewSettings()
        self._merged = _read_merged(clones)
        self._groups: dict[str, ScannedGroup] | None = None
        self._checked: tuple[Proposal, ...] = ()
        self.found: tuple[Proposal, ...] | None = None
        """All that the last scan found, whatever was decided on it; None before the first."""
        self._rules = {store.label: registry.upkeep_rules_of(store) for store in library.stores}

    @property
    def context(self) -> UpkeepContext:
        """What the findings know beside the memories, as of now."""
        return UpkeepContext(
            now=self._library.now(),
            settings=self._settings,
            can=self._can,
            rules_of=lambda label: self._rules.get(label, GENERAL_RULES),
            merged=self._merged,
        )

    def scan(
        self,
        kinds: Collection[ProposalKind] | None = None,
        report: Report = silent,
        cancelled: IsCancelled = never,
        *,
        across: bool = False,
    ) -> Queue:
        """Find the proposals that are open.

        Args:
            kinds: Only these; None: all that are not switched off.
            report: Called with the groups of memories done.
            cancelled: Asked between groups.
            across: Also look for the same memory in different stores.

        Raises:
            Cancelled: The scan was stopped; what was found before stays in the cache.
        """
        known = self._groups
        if known is None:
            known = self._groups = self._read_cache()
        rows = self._library.numbered_memories()
        context = self.context
        result = scan(
            rows.values(),
            context,
            known,
            kinds=kinds,
            report=report,
            cancelled=cancelled,
        )
        groups = {**known, **result.groups} if kinds else dict(result.groups)
        found = self._library.check(report, cancelled, rows)
        checked = tuple(proposals_from(found, self._library.get, context))
        if (groups, checked) != (known, self._checked):
            self._groups, self._checked = groups, checked
            self._write_cache()
        self.found = (*checked, *(one for group in groups.values() for one in group.proposals))
        wanted = set(kinds) if kinds is not None else set(RULES)
        shared = find_across(list(rows.values()), context) if across else ()
        return self._open(
            one for one in (*checked, *result.proposals, *shared) if one.kind in wanted
        )

    def last(self) -> Queue | None:
        """What the last scan found, from the cache, without looking at the memories; None if no
        scan of these settings is kept there."""
        if self.found is None and (file := self._file) is not None:
            self.found = file.read_proposals()
        return None if self.found is None else self._open(self.found)

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
        given = {
            "stores": [asdict(source) for source in library.sources],
            "cache": str(self._cache),
            "state": str(self._state) if self._state is not None else None,
            "now": library.now().isoformat(),
            "settings": asdict(self._settings),
        }
        answer = run_worker(WORKER, (), report, cancelled, given=json.dumps(given))
        try:
            self.found = tuple(map(from_record, answer["proposals"]))
        except (KeyError, TypeError, ValueError) as error:  # of another version of memtui
            raise WorkerError("the process found something unexpected", where=WORKER) from error
        return self._open(self.found)

    def plan(self, proposals: Iterable[Proposal], title: str = "") -> Planned:
        """Plan what accepting these proposals does, as one action.

        Raises:
            Refused: one of them proposes no change, one of its memories changed since it was
                scanned, or a store cannot do it.
            Conflict: a file changed since it was read.
            RefError: a memory is gone.
        """
        chosen = list(proposals)
        for one in chosen:
            if not one.changes:
                raise Refused(
                    f"{one.id} is a hint without a change to accept",
                    do="decline it, or edit the memory",
                )
            if fingerprint(map(self._library.get, one.refs)) != one.fingerprint:
                raise Refused("its memories changed since the scan", do="scan again")
        changes = [change for one in chosen for change in one.changes]
        words = (
            title or f"review: {chosen[0].title}"
            if len(chosen) == 1
            else (title or f"review: accept {len(chosen)} proposals")
        )
        return self._library.plan(changes, words)

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

    def shown_memories(self, proposal: Proposal) -> list[Memory]:
        """As `memories`, with their secrets masked."""
        return list(map(masked, self.memories(proposal)))

    def proposed_text(self, proposal: Proposal) -> str | None:
        """The text that accepting would write; None if there is none that could be edited."""
        kept = next(iter(self.memories(proposal)), None)
        if kept is None or not self._can(Act.EDIT, kept):
            return None
        return proposed_text(proposal, kept)

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

    def decide(self, proposals: Iterable[Proposal], decision: Decision) -> None:
        """Remember a decision. Raises Refused or SaveError."""
        if self._state is None:
            raise Refused("this library was opened read-only")
        now = self._library.now()
        known = self._decisions()
        for one in proposals:
            entry = {"decision": str(decision), "kind": str(one.kind), "time": now.isoformat()}
            if decision is Decision.SNOOZED:
                entry["until"] = (now + timedelta(days=SNOOZE_DAYS)).isoformat()
            known[one.id] = entry
        self._write_decisions(known)

    def reopen(self, ids: Iterable[str]) -> None:
        """Forget decisions. Raises Refused or SaveError."""
        if self._state is None:
            raise Refused("this library was opened read-only")
        gone = set(ids)
        self._write_decisions({id: one for id, one in self._decisions().items() if id not in gone})

    # --- decisions -----------------------------------------------------------------------------

    def _open(self, proposals: Iterable[Proposal]) -> Queue:
        known, now = self._decisions(), self._library.now()
        shown, declined, snoozed = [], 0, 0
        for one in {proposal.id: proposal for proposal in proposals}.values():
            if str(one.kind) in self._settings.off:
                continue
            entry = known.get(one.id, {})
            if entry.get("decision") == Decision.DECLINED:
                declined += 1
            elif entry.get("decision") == Decision.SNOOZED and _is_later(entry.get("until"), now):
                snoozed += 1
            else:
                shown.append(one)
        order = list(RULES)
        shown.sort(key=lambda one: order.index(one.kind))
        return Queue(tuple(shown), declined, snoozed)

    def _decisions(self) -> dict[str, dict[str, Any]]:
        if self._state is None:
            return {}
        value = _read_json(self._state / DECISIONS_FILE)
        return {id: one for id, one in value.items() if isinstance(one, dict)}

    def _write_decisions(self, decisions: Mapping[str, Mapping[str, Any]]) -> None:
        assert self._state is not None
        path = self._state / DECISIONS_FILE
        try:
            paths.write_private(path, json.dumps(decisions, indent=1) + "\n")
        except OSError as error:
            raise SaveError(str(error.strerror or error), where=str(path)) from error

    # --- cache ---------------------------------------------------------------------------------

    @property
    def _file(self) -> ReviewFile | None:
        """Where the findings are kept; None without a cache."""
        if self._cache is None:
            return None
        roots = sorted(f"{store.label} {store.root}" for store in self._library.stores)
        return ReviewFile.of(self._cache, "\0".join(roots), str(self._settings))

    def _read_cache(self) -> dict[str, ScannedGroup]:
        file = self._file
        kept = file.read() if file is not None else None
        if kept is None:
            return {}
        self._checked = kept.checked
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            self._library.text_checks.remember(kept.texts)
        return dict(kept.groups)

    def _write_cache(self) -> None:
        if (file := self._file) is not None and self._groups is not None:
            texts = self._library.text_checks.to_record()
            file.write(CachedReview(self._groups, self._checked, texts))

    def _can(self, act: Act, memory: Memory) -> bool:
        try:
            return not self._library.refusal(act, memory)
        except MemtuiError:
            return False


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


def _is_later(text: object, now: datetime) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text) > now
    except (ValueError, TypeError):
        return False


def _read_json(path: Path) -> dict[str, Any]:
    """The object in one of memtui's own files; {} if it is missing or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
