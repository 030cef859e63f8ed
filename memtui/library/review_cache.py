"""What the last scan of the review queue found, kept in the cache folder for the next process.

A file for each choice of stores, of two lines: the findings, which the screen shows at once; then
what each group of memories and each text was found to hold, by a digest of it, so that a scan in a
new process looks at what changed only. It is left aside when the rules or the settings are others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import memtui
from memtui import paths
from memtui.upkeep import instruction_meanings, instructions, secrets
from memtui.upkeep.proposals import Proposal, from_record, to_record
from memtui.upkeep.scanning import ScannedGroup

log = logging.getLogger(__name__)

CACHE_FOLDER = "reviews"
MOST_FILES = 8
"""Choices of stores that are kept: memtui opens others in each project."""
_VERSION = 6
_FAULTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a scan found."""

    stamp: str
    """Names what it looked at; empty if it did not look at everything."""
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class CachedReview:
    """The result of a scan, with what the next one needs."""

    stamp: str
    groups: Mapping[str, ScannedGroup]
    checked: tuple[Proposal, ...]
    """Proposals of the checks, which do not go by groups."""
    texts: Mapping[str, Any]
    """As `TextChecks.to_record` gives it."""


@dataclass(frozen=True, slots=True)
class ReviewFile:
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
        with contextlib.suppress(OSError, *_FAULTS), self.path.open(encoding="utf-8") as file:
            head = json.loads(file.readline())
            if head["rules"] == _rules() and head["settings"] == self.settings:
                return Findings(head["stamp"], tuple(map(from_record, head["proposals"])))
        return None

    def read(self) -> CachedReview | None:
        """All that is kept; None if nothing is."""
        with contextlib.suppress(OSError, *_FAULTS):
            first, second, _ = self.path.read_text(encoding="utf-8").split("\n")
            head, rest = json.loads(first), json.loads(second)
            if head["rules"] != _rules() or head["settings"] != self.settings:
                return None
            found = {one.id: one for one in map(from_record, head["proposals"])}
            groups = {
                key: ScannedGroup(str(mark), tuple(found[id] for id in ids))
                for key, (mark, *ids) in rest["groups"].items()
            }
            checked = tuple(found[id] for id in rest["checked"])
            return CachedReview(str(head["stamp"]), groups, checked, dict(rest["texts"]))
        return None

    def write(self, review: CachedReview) -> None:
        """Keep the result of a scan; a failure is logged only."""
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
            text = f"{json.dumps(head)}\n{json.dumps(rest)}\n"
            paths.write_private(self.path, text, durable=False)
            files = sorted(self.path.parent.glob("*.json"), key=lambda file: -file.stat().st_mtime)
            for file in files[MOST_FILES:]:
                file.unlink(missing_ok=True)
        except OSError as error:
            log.warning("what the review found could not be kept: %s", error)


@cache
def _rules() -> str:
    """Names the rules that the findings were made with."""
    parts = (secrets.ISSUED, secrets.NAMED, secrets.PRIVATE_KEY, instructions.PHRASES)
    text = repr(
        (memtui.__version__, _VERSION, *parts, instruction_meanings.WORDS.read_text("utf-8"))
    )
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).hexdigest()
