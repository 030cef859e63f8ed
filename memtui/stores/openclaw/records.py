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

from collections.abc import Iterator
from typing import Any

from memtui.model import Memory, Place
from memtui.stores.listed_texts import importance_in
from memtui.stores.markdown import MarkdownFile
from memtui.stores.markdown_lists import SECTION, ItemFile
from memtui.stores.openclaw.layout import FOLDER, day_of
from memtui.stores.openclaw.rules import BOOTSTRAP_CHARACTERS, PROMOTED, entity_of, promotion_of
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso


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
        extra: dict[str, Any] = {"updated_from": "file time"}
        if item.section:
            extra[SECTION] = item.section
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
            ref=f"{label}:{id}",
            id=id,
            store=label,
            kind="fact" if is_curated else "event",
            type=PROMOTED if mark else "",
            content=item.text,
            entity=entity_of(document.path, item.section),
            created=from_iso(day_of(document.path)),
            updated=document.changed,
            importance=chosen if is_rated or loaded or not is_curated else "low",
            confidence=mark.score if mark and 0 <= mark.score <= 1 else None,
            tags=recalls_tag(item.text),
            source=mark.source if mark else "",
            origin=Place(document.file, document.line - 1 + item.line),
            extra=extra,
        )


def note_memory(document: MarkdownFile, label: str) -> Memory:
    """A file that tells the agent who it is."""
    return Memory(
        ref=f"{label}:{document.path}",
        id=document.path,
        store=label,
        kind="document",
        type="bootstrap",
        title=document.path,
        content=document.body,
        entity="bootstrap",
        updated=document.changed,
        importance="high",
        origin=Place(document.file, document.line),
        extra={"updated_from": "file time"},
    )
