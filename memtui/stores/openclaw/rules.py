"""Rules of OpenClaw: promoted lines, entities of headings, and what a session is given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memtui.stores.openclaw.layout import FOLDER, SUFFIX, day_of

BOOTSTRAP_CHARACTERS = 12_000
"""Characters of a bootstrap file that a session is given (formats page of OpenClaw)."""
CURATED = "memory"
"""Entity of what stands in MEMORY.md; a heading is the next part of the path."""
DAILY = "daily"
PROMOTED = "promoted"

_PROMOTED = re.compile(r"\[score=([\d.]+) recalls=(\d+) avg=([\d.]+) source=([^\]\s]+)\]\s*$")


@dataclass(frozen=True, slots=True)
class Promotion:
    """What the nightly job wrote at the end of a promoted line."""

    score: float
    recalls: int
    average: float
    source: str
    """File and lines: `memory/2026-05-01.md:12-12`."""


def promotion_of(text: str) -> Promotion | None:
    """The mark of a promoted line; None for any other."""
    found = _PROMOTED.search(text)
    if found is None:
        return None
    try:
        return Promotion(float(found[1]), int(found[2]), float(found[3]), found[4])
    except ValueError:
        return None


def entity_of(path: str, section: str) -> str:
    """The entity of an item: by its heading in MEMORY.md, by the file's name in `memory/`."""
    if not path.startswith(f"{FOLDER}/"):
        return f"{CURATED}/{section.replace('/', '-')}" if section else CURATED
    stem = path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX)
    return f"{DAILY}/{stem}" if day_of(path) else f"notes/{stem}"
