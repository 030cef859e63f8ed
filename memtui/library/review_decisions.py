"""The decisions on proposals that were not accepted, and the queue that is left.

They lie in the state folder, by the proposal's id: that changes with the memories, so that a
declined proposal comes back only when one of them does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from memtui import paths
from memtui.errors import Refused, SaveError
from memtui.upkeep.proposals import RULES, Proposal

DECISIONS_FILE = "review.json"
SNOOZE_DAYS = 7


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
        found = [proposal for proposal in self.proposals if text and proposal.id.startswith(text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Refused(f"{len(found)} proposals begin with {text!r}", do="write more of the id")
        raise Refused(f"no open proposal {text!r}", do="memtui review lists them")


class Decisions:
    """What was decided, by the id of the proposal."""

    def __init__(self, state: Path | None, now: Callable[[], datetime]) -> None:
        """Those of a state folder; without one nothing can be decided."""
        self._state = state
        self._now = now

    def open_queue(self, proposals: Iterable[Proposal], off: Collection[str] = ()) -> Queue:
        """The proposals that are open, the most serious first.

        Args:
            proposals: All that was found; one that comes twice counts once.
            off: Kinds that are left out.
        """
        known, now = self._read(), self._now()
        shown, declined, snoozed = [], 0, 0
        for each in {proposal.id: proposal for proposal in proposals}.values():
            if str(each.kind) in off:
                continue
            entry = known.get(each.id, {})
            if entry.get("decision") == Decision.DECLINED:
                declined += 1
            elif entry.get("decision") == Decision.SNOOZED and _is_later(entry.get("until"), now):
                snoozed += 1
            else:
                shown.append(each)
        order = list(RULES)
        shown.sort(key=lambda each: order.index(each.kind))
        return Queue(tuple(shown), declined, snoozed)

    def decide(self, proposals: Iterable[Proposal], decision: Decision) -> None:
        """Remember a decision. Raises Refused or SaveError."""
        now, known = self._now(), self._read()
        for proposal in proposals:
            entry = {"decision": str(decision), "kind": str(proposal.kind), "time": now.isoformat()}
            if decision is Decision.SNOOZED:
                entry["until"] = (now + timedelta(days=SNOOZE_DAYS)).isoformat()
            known[proposal.id] = entry
        self._write(known)

    def reopen(self, ids: Iterable[str]) -> None:
        """Forget decisions. Raises Refused or SaveError."""
        reopened = set(ids)
        self._write({id: decision for id, decision in self._read().items() if id not in reopened})

    def _read(self) -> dict[str, dict[str, Any]]:
        """Damaged entries are left out."""
        if self._state is None:
            return {}
        try:
            value = json.loads((self._state / DECISIONS_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        entries = value.items() if isinstance(value, dict) else ()
        return {id: entry for id, entry in entries if isinstance(entry, dict)}

    def _write(self, decisions: Mapping[str, Mapping[str, Any]]) -> None:
        if self._state is None:
            raise Refused("this library was opened read-only")
        path = self._state / DECISIONS_FILE
        try:
            paths.write_private(path, json.dumps(decisions, indent=1) + "\n")
        except OSError as error:
            raise SaveError(str(error.strerror or error), where=str(path)) from error


def _is_later(text: object, now: datetime) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text) > now
    except (ValueError, TypeError):
        return False
