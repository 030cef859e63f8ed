"""What the index knows of a memory: its text, field by field."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memtui.model import Memory


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """The searchable text of one memory."""

    ref: str
    title: str = ""
    content: str = ""
    tags: tuple[str, ...] = ()
    entity: str = ""
    type: str = ""
    source: str = ""

    def fields(self) -> tuple[str, str, str, str, str, str]:
        """The texts in the order of `FIELD_WEIGHTS`."""
        return (self.title, self.content, "\n".join(self.tags), self.entity, self.type, self.source)


FIELD_WEIGHTS = (2.0, 1.0, 2.0, 1.0, 0.5, 0.25)
"""What one occurrence of a word counts in title, content, tags, entity, type, source.

Multiples of a quarter, up to 63 in sum (see `memtui.search.postings`). Title and tags are weighted
because a person chose those words to find the memory by; type and source are the same for many
memories and say little.
"""


def to_document(memory: Memory) -> IndexedDocument:
    """The searchable text of this memory."""
    return IndexedDocument(
        memory.ref,
        memory.title,
        memory.content,
        memory.tags,
        "\n".join((memory.entity, *memory.also_entities)),
        memory.type,
        memory.source,
    )


def document_from_record(record: Mapping[str, Any]) -> IndexedDocument:
    """The same from a row as `memtui.model.to_record` writes it. Raises KeyError, TypeError."""
    return IndexedDocument(
        record["ref"],
        record["title"],
        record["content"],
        tuple(record["tags"]),
        "\n".join((record["entity"], *record["also_entities"])),
        record["type"],
        record["source"],
    )


def digest_document(document: IndexedDocument) -> str:
    """What the document says, in twelve bytes of hexadecimal: to know whether it changed."""
    text = "\x00".join(document.fields()).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=12).hexdigest()
