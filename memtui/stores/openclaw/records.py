"""Convert the files of a workspace to memories.

* Bullets and paragraphs of MEMORY.md are facts; the entity is `memory/<heading>`.
* Those of a daily log are events of that day; the entity is `daily/<name of the file>`.
* A promoted line has the type `promoted`, its score as confidence, the line it came from as source,
  and a tag such as `recalls=0`, so that `type:promoted tag:recalls=0` finds what nobody recalled.
* SOUL.md and its like are notes, one for each file.
* Importance: what a person chose; else low for what MEMORY.md holds beyond the bootstrap cap.
* updated: the file's time of change (`extra.updated_from`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memtui.dataclass import dataclass
from memtui.model import Memory
from memtui.stores.listed_texts import importance_in
from memtui.stores.markdown.documents import MarkdownFile, document_fields
from memtui.stores.markdown.items import ItemFile, item_extra, item_fields
from memtui.stores.openclaw import FOLDER, SUFFIX, day_of
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso

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


def recalls_tag(text: str) -> tuple[str, ...]:
    """The tags that a text gives itself."""
    mark = promotion_of(text)
    return (f"recalls={mark.recalls}",) if mark else ()


def item_memories(parsed: ItemFile, sidecar: Sidecar, label: str) -> Iterator[Memory]:
    """The memories of MEMORY.md or of a file in `memory/`."""
    document = parsed.document
    is_curated = not document.path.startswith(f"{FOLDER}/")
    size = len(document.head) + len(document.body)
    for id, item in parsed.items:
        extra = item_extra(item)
        loaded = len(document.head) + item.end <= BOOTSTRAP_CHARACTERS
        if is_curated:
            extra["loaded_at_start"] = loaded
            extra["load_limit"] = f"{size:,} of {BOOTSTRAP_CHARACTERS:,} characters"
        mark = promotion_of(item.text)
        if mark is not None:
            extra |= {"score": mark.score, "recalls": mark.recalls, "avg": mark.average}
        chosen = importance_in(sidecar, id)
        is_rated = "rating" in sidecar.entry(id)
        yield Memory(
            **item_fields(document, id, item, label),
            kind="fact" if is_curated else "event",
            type=PROMOTED if mark else "",
            entity=entity_of(document.path, item.section),
            created=from_iso(day_of(document.path)),
            importance=chosen if is_rated or loaded or not is_curated else "low",
            confidence=mark.score if mark and 0 <= mark.score <= 1 else None,
            tags=recalls_tag(item.text),
            source=mark.source if mark else "",
            extra=extra,
        )


def note_memory(document: MarkdownFile, label: str) -> Memory:
    """A file that tells the agent who it is."""
    return Memory(
        **document_fields(document, label),
        kind="document",
        type="bootstrap",
        title=document.path,
        entity="bootstrap",
        updated=document.changed,
        importance="high",
        extra={"updated_from": "file time"},
    )
