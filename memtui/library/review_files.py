"""The open proposals, and what is kept of them on disk: the last scan, a person's decisions.

What was found lies in the cache folder, a file for each choice of stores, of two lines: the
findings, which the screen shows at once; then what each group of memories and each text was found
to hold, by a digest of it, so that a scan in a new process looks at what changed only. The file is
not used when the rules or the settings are others.

Decisions lie in the state folder, by the proposal's id: that changes with the memories, so that a
declined proposal comes back only when one of them does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import memtui
from memtui import paths
from memtui.errors import Refused, SaveError
from memtui.sealed_lines import seal, unseal
from memtui.text import secrets
from memtui.upkeep import planted_text
from memtui.upkeep.proposal_scan import ScannedGroup
from memtui.upkeep.proposals import (
    HOUSEKEEPING,
    RULES,
    Proposal,
    ProposalKind,
    Rule,
    from_record,
    to_record,
)

log = logging.getLogger(__name__)

CACHE_FOLDER = "reviews"
MAX_FILES = 8
"""Choices of stores that are kept: memtui opens others in each project."""
_VERSION = 16
_Decisions = dict[str, dict[str, Any]]
_FAULTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Findings(Struct, frozen=True):
    """All that a scan found."""

    stamp: str
    """Names what it looked at; empty if it did not look at everything."""
    proposals: tuple[Proposal, ...]


class CachedReview(Struct, frozen=True):
    """The result of a scan, with what the next one needs."""

    stamp: str
    groups: Mapping[str, ScannedGroup]
    checked: tuple[Proposal, ...]
    """Proposals of the checks, which do not go by groups."""
    texts: Mapping[str, Any]
    """As `TextChecks.to_record` gives it."""


class ReviewFile(Struct, frozen=True):
    """The file for a choice of stores, and the settings of which it must hold the findings."""

    path: Path
    settings: str

    @classmethod
    def of(cls, cache: Path, stores: str, settings: str) -> ReviewFile:
        """The file in a cache folder for the stores that this text names."""
        name = hashlib.blake2b(stores.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return cls(cache / CACHE_FOLDER / f"{name}.json", settings)

    def read_findings(self) -> Findings | None:
        """All that was found, without what the next scan needs; None if nothing is kept."""
        with contextlib.suppress(OSError, *_FAULTS), self.path.open("rb") as file:
            return self._findings(file.readline())
        return None

    def _findings(self, line: bytes) -> Findings:
        """The findings of the first line. Raises ValueError if it is of other rules, and more."""
        head = unseal(line)
        if head["rules"] != _rules() or head["settings"] != self.settings:
            raise ValueError("made with other rules or settings")
        return Findings(str(head["stamp"]), tuple(map(from_record, head["proposals"])))

    def read(self) -> CachedReview | None:
        """All that is kept; None if nothing is."""
        with contextlib.suppress(OSError, *_FAULTS):
            with self.path.open("rb") as file:
                findings, rest = self._findings(file.readline()), unseal(file.readline())
            found = {one.id: one for one in findings.proposals}
            groups = {
                key: ScannedGroup(str(mark), tuple(found[id] for id in ids))
                for key, (mark, *ids) in rest["groups"].items()
            }
            checked = tuple(found[id] for id in rest["checked"])
            return CachedReview(findings.stamp, groups, checked, dict(rest["texts"]))
        return None

    def write(self, review: CachedReview) -> None:
        """Keep the result of a scan; a failure is logged only.

        What would write a secret is left out, with its group, and is found again by the next scan.
        """
        groups = {
            key: group
            for key, group in review.groups.items()
            if not any(map(_has_secret, group.proposals))
        }
        if len(groups) < len(review.groups) or any(map(_has_secret, review.checked)):
            checked = tuple(one for one in review.checked if not _has_secret(one))
            review = CachedReview("", groups, checked, review.texts)
        lists = (review.checked, *(group.proposals for group in review.groups.values()))
        found = {one.id: one for proposals in lists for one in proposals}
        head = {
            "rules": _rules(),
            "settings": self.settings,
            "stamp": review.stamp,
            "proposals": [to_record(one) for one in found.values()],
        }
        rest = {
            "checked": [one.id for one in review.checked],
            "groups": {
                key: [group.fingerprint, *(one.id for one in group.proposals)]
                for key, group in review.groups.items()
            },
            "texts": review.texts,
        }
        try:
            text = (seal(head) + seal(rest)).decode("ascii")
            paths.write_private(self.path, text, durable=False)
            files = sorted(self.path.parent.glob("*.json"), key=lambda file: -file.stat().st_mtime)
            for file in files[MAX_FILES:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            log.warning("what the review found could not be kept: %s", error)


def _has_secret(proposal: Proposal) -> bool:
    """Whether the changes of a proposal write a secret."""
    values = (value for change in proposal.changes for value in change.fields.values())
    return any(secrets.has_secret(value) for value in values if isinstance(value, str))


@cache
def _rules() -> str:
    """Digest of the rules that produced the findings."""
    parts = (secrets.ISSUED, secrets.NAMED, secrets.PRIVATE_KEY, planted_text.MARKER)
    text = repr((memtui.__version__, _VERSION, *parts))
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).hexdigest()


DECISIONS_FILE = "review.json"
SNOOZE_DAYS = 7


class Decision(StrEnum):
    """What a person decided on a proposal; `ACCEPTED` is kept only of those of agents, since
    others are gone once their memories changed."""

    DECLINED = "declined"
    SNOOZED = "snoozed"
    ACCEPTED = "accepted"


class Queue(Struct, frozen=True):
    """The open proposals, and how many are put aside."""

    proposals: tuple[Proposal, ...]
    declined: int = 0
    snoozed: int = 0

    @property
    def counted(self) -> int:
        """How many a person is told of: neither hints nor housekeeping."""
        return sum(not (one.is_hint or one.is_housekeeping) for one in self.proposals)

    @property
    def from_agents(self) -> int:
        """How many were proposed by agents."""
        return sum(proposal.kind is ProposalKind.AGENT for proposal in self.proposals)

    @property
    def hints(self) -> int:
        return sum(one.is_hint for one in self.proposals)

    @property
    def housekeeping(self) -> int:
        return sum(one.is_housekeeping and not one.is_hint for one in self.proposals)

    def without(self, ids: Collection[str]) -> Queue:
        """The same queue without the proposals that have these ids."""
        return replace(self, proposals=tuple(one for one in self.proposals if one.id not in ids))

    def latest(self, proposal: Proposal) -> Proposal:
        """Return what was found about the same memories, if they changed since; else the same."""
        if not proposal.refs or proposal in self.proposals:
            return proposal
        about = proposal.kind, proposal.refs
        found = (one for one in self.proposals if (one.kind, one.refs) == about)
        return next(found, proposal)

    def get(self, text: str) -> Proposal:
        """Return the proposal whose id begins with this text. Raises Refused."""
        found = [proposal for proposal in self.proposals if text and proposal.id.startswith(text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Refused(f"{len(found)} proposals begin with {text!r}", do="write more of the id")
        raise Refused(f"no open proposal {text!r}", do="memtui review lists them")


def group_of(proposal: Proposal) -> str:
    """The group of the queue that a proposal is shown in: its kind, or the housekeeping of its
    store."""
    if proposal.is_housekeeping:
        return f"{HOUSEKEEPING}@{proposal.store}"
    return str(proposal.kind)


class ReviewRow(Struct, frozen=True):
    """A line of the queue: a group's heading, or a proposal of it."""

    group: str
    """As `group_of` names it."""
    count: int
    """Proposals in the group."""
    is_open: bool = True
    proposal: Proposal | None = None
    """None for the heading."""

    @property
    def store(self) -> str:
        """Whose housekeeping it is; "" if it is none."""
        name, _, store = self.group.partition("@")
        return store if name == HOUSEKEEPING else ""

    @property
    def rule(self) -> Rule | None:
        """The rule of all proposals of the group; None for housekeeping."""
        name, _, _ = self.group.partition("@")
        return None if name == HOUSEKEEPING else RULES[ProposalKind(name)]


def queue_rows(
    proposals: Sequence[Proposal], toggled: Collection[str], *, hints: bool = False
) -> list[ReviewRow]:
    """Headings with their proposals, housekeeping last, one closed line for each store.

    Args:
        proposals: In the order of `RULES`.
        toggled: Groups that are closed, or of housekeeping open.
        hints: Also those that are hints.
    """
    groups: dict[str, list[Proposal]] = {}
    for one in proposals:
        if hints or not one.is_hint:
            groups.setdefault(group_of(one), []).append(one)
    rows = []
    for name, members in groups.items():
        is_open = name.startswith(HOUSEKEEPING) is (name in toggled)
        rows.append(ReviewRow(name, len(members), is_open))
        if is_open:
            rows += [ReviewRow(name, len(members), True, one) for one in members]
    return rows


def off_names(proposal: Proposal) -> set[str]:
    """The names under which a proposal can be off in the settings, the narrowest is the longest:
    its kind, its kind in its store, what was found in its store."""
    kind = str(proposal.kind)
    here = f"{kind}@{proposal.store}"
    return {kind, here, f"{here}: {proposal.message}"} if proposal.message else {kind, here}


class Decisions:
    """Reads and writes the decisions, by the id of the proposal."""

    def __init__(self, state: Path | None, now: Callable[[], datetime]) -> None:
        """`state`: the folder that keeps them; None: nothing can be decided."""
        self._state = state
        self._now = now

    @property
    def mark(self) -> int:
        """Another number whenever something was decided."""
        with contextlib.suppress(OSError, TypeError):
            return (self._state / DECISIONS_FILE).stat().st_mtime_ns  # type: ignore[operator]
        return 0

    def open_queue(
        self,
        proposals: Iterable[Proposal],
        off: Collection[str] = (),
        is_undone: Callable[[int], bool] = lambda _action: False,
    ) -> Queue:
        """The proposals that are open, the most serious first.

        Args:
            proposals: All that was found; one that comes twice counts once.
            off: Names of `off_names` that are left out.
            is_undone: Whether the change of this number in the log is undone, so that what it
                accepted is open again.
        """
        known, now = self._read(), self._now()
        shown, declined, snoozed = [], 0, 0
        for each in {proposal.id: proposal for proposal in proposals}.values():
            if not off_names(each).isdisjoint(off):
                continue
            entry = known.get(each.id, {})
            action = entry.get("action")
            if entry.get("decision") == Decision.ACCEPTED and not (
                isinstance(action, int) and is_undone(action)
            ):
                continue
            if entry.get("decision") == Decision.DECLINED:
                declined += 1
            elif entry.get("decision") == Decision.SNOOZED and _is_later(entry.get("until"), now):
                snoozed += 1
            else:
                shown.append(each)
        order = list(RULES)
        shown.sort(key=lambda each: order.index(each.kind))
        return Queue(tuple(shown), declined, snoozed)

    def of(self, ids: Iterable[str]) -> dict[str, tuple[Decision, int | None]]:
        """Those of these proposals that were accepted or declined -> which of them, and the number
        in the log of the change."""
        known = self._read()
        found = {}
        for id in ids:
            entry = known.get(id, {})
            if entry.get("decision") in (Decision.ACCEPTED, Decision.DECLINED):
                action = entry.get("action")
                number = action if isinstance(action, int) else None
                found[id] = Decision(entry["decision"]), number
        return found

    def decide(
        self, proposals: Iterable[Proposal], decision: Decision, action: int | None = None
    ) -> None:
        """Remember a decision, and the number in the log of the change that it made.

        Raises Refused or SaveError.
        """
        now, decided = self._now(), {}
        for proposal in proposals:
            entry: dict[str, Any] = {
                "decision": str(decision),
                "kind": str(proposal.kind),
                "time": now.isoformat(),
            }
            if action is not None:
                entry["action"] = action
            if decision is Decision.SNOOZED:
                entry["until"] = (now + timedelta(days=SNOOZE_DAYS)).isoformat()
            decided[proposal.id] = entry
        self._update(lambda known: {**known, **decided})

    def find(self, text: str) -> str:
        """Return the id, which begins with this text, of the only proposal that was decided on.
        Raises Refused."""
        found = [id for id in self._read() if text and id.startswith(text)]
        if len(found) != 1:
            count = f"{len(found)} decisions begin" if found else "no decision begins"
            raise Refused(f"{count} with {text!r}", do="`memtui review decline` prints the ids")
        return found[0]

    def reopen(self, ids: Iterable[str]) -> None:
        """Forget decisions. Raises Refused or SaveError."""
        reopened = set(ids)
        self._update(lambda known: {id: known[id] for id in known if id not in reopened})

    def _read(self) -> _Decisions:
        """Damaged entries are left out."""
        if self._state is None:
            return {}
        known = paths.read_private(self._state / DECISIONS_FILE)
        return {id: entry for id, entry in known.items() if isinstance(entry, dict)}

    def _update(self, change: Callable[[_Decisions], _Decisions]) -> None:
        if self._state is None:
            raise Refused("this library was opened read-only")
        path = self._state / DECISIONS_FILE
        try:
            with paths.sole_writer(self._state):
                paths.write_private(path, json.dumps(change(self._read()), indent=1) + "\n")
        except OSError as error:
            raise SaveError(str(error.strerror or error), where=str(path)) from error


def _is_later(text: object, now: datetime) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text) > now
    except (ValueError, TypeError):
        return False
