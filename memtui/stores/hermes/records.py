"""Convert the entries of a memory file to memories.

* Each entry is a fact. Its entity is what Hermes's own tool calls the file: `memory` or `user`.
* The format has no ids, times, types or tags. An id is a digest of the text; what memtui knows
  beyond it stands in the sidecar.
* Importance: what a person chose, else medium; low for an exact copy, which Hermes drops on load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memtui.model import Memory, Place
from memtui.stores.hermes.layout import MEMORY, USER
from memtui.stores.hermes.rules import HermesEntry, size_of, usage
from memtui.stores.listed_texts import ListedText, importance_in, name_texts, text_key
from memtui.stores.sidecar import Sidecar

ENTITIES = {MEMORY: "memory", USER: "user"}
FILES = {entity: name for name, entity in ENTITIES.items()}


def listed_entries(entries: Sequence[HermesEntry], name: str, sidecar: Sidecar) -> list[ListedText]:
    """The entries of a file with their ids; `at` is the index."""
    keys = [text_key(entry.text) for entry in entries]
    texts = [(key, f"{name}#{key}") for key in keys]
    ids = name_texts(texts, f"{name}#", sidecar, name)
    return [
        ListedText(id, entry.text, "", (number,))
        for number, (id, entry) in enumerate(zip(ids, entries, strict=True))
    ]


def entry_memories(
    entries: Sequence[HermesEntry],
    name: str,
    file: str,
    limit: int,
    sidecar: Sidecar,
    label: str,
) -> Iterator[Memory]:
    """The memories of one file."""
    used = usage(size_of([entry.text for entry in entries]), limit)
    ids: set[str] = set()
    for item, entry in zip(listed_entries(entries, name, sidecar), entries, strict=True):
        extra: dict[str, Any] = {"load_limit": used, "loaded_at_start": entry.text not in ids}
        if entry.text in ids:
            extra["duplicate"] = True
        yield Memory(
            ref=f"{label}:{item.id}",
            id=item.id,
            store=label,
            kind="fact",
            content=entry.text,
            entity=ENTITIES[name],
            importance="low" if entry.text in ids else importance_in(sidecar, item.id),
            origin=Place(file, entry.line),
            extra=extra,
        )
        ids.add(entry.text)
