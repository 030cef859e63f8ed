"""What the last scan of the review queue found, kept in the cache folder for the next process.

The file holds what a group of memories or a text was found to hold, by a digest of it, so that a
scan in a new process looks at what changed only. It is left aside when the rules, the settings or
the stores are others.
"""

from __future__ import annotations

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
from memtui.upkeep import instruction_languages, instructions, secrets
from memtui.upkeep.proposals import Proposal, from_record, to_record
from memtui.upkeep.scanning import ScannedGroup

log = logging.getLogger(__name__)

CACHE_FILE = "review.json"
_VERSION = 3


@dataclass(frozen=True, slots=True)
class CachedReview:
    """The result of a scan."""

    groups: Mapping[str, ScannedGroup]
    checked: tuple[Proposal, ...]
    """Proposals of the checks, which do not go by groups."""
    texts: Mapping[str, Any]
    """As `TextChecks.to_record` gives it."""


@cache
def _rules() -> str:
    """Names the rules that the findings were made with."""
    parts = (secrets.ISSUED, secrets.NAMED, secrets.PRIVATE_KEY, instructions.PHRASES)
    text = repr((memtui.__version__, _VERSION, *parts, instruction_languages.PHRASES))
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).hexdigest()


def read_review(folder: Path, made_for: str) -> CachedReview | None:
    """What is kept in a cache folder; None if nothing is kept for these settings and stores."""
    value = read_json(folder / CACHE_FILE)
    if value.get("rules") != _rules() or value.get("for") != made_for:
        return None
    try:
        groups = {
            key: ScannedGroup(str(one["mark"]), tuple(map(from_record, one["found"])))
            for key, one in value["groups"].items()
        }
        return CachedReview(groups, tuple(map(from_record, value["checked"])), value["texts"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def write_review(folder: Path, made_for: str, review: CachedReview) -> None:
    """Keep the result of a scan; a failure is logged only."""
    groups = {
        key: {"mark": one.fingerprint, "found": [to_record(each) for each in one.proposals]}
        for key, one in review.groups.items()
    }
    value = {
        "rules": _rules(),
        "for": made_for,
        "checked": [to_record(each) for each in review.checked],
        "groups": groups,
        "texts": review.texts,
    }
    try:
        paths.write_private(folder / CACHE_FILE, json.dumps(value))
    except OSError as error:
        log.warning("what the review found could not be kept: %s", error)


def read_json(path: Path) -> dict[str, Any]:
    """The object in one of memtui's own files; {} if it is missing or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
