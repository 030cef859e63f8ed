"""Convert the entries of a memory file to memories.

* Each entry is a fact. Its entity is what Hermes's own tool calls the file: `memory` or `user`.
* The format has no ids, times, types or tags. An id is a digest of the text; what memtui knows
  beyond it stands in the sidecar.
* Importance: what a person chose, else medium; low for an exact copy, which Hermes drops on load.

The rules of reading and limits are those of hermes-agent 0.19.0, tools/memory_tool.py: `_read_file`
(entries), `load_from_disk` (duplicates), `add` and `replace` (limits), `_detect_external_drift`
(refusals), `_render_block` (what a session is given). Hermes reads with universal newlines, so a
carriage return counts as a line feed here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memtui.dataclass import dataclass
from memtui.files.frontmatter import BadYaml, read_yaml
from memtui.files.text_items import DELIMITER, entry_spans
from memtui.model import Memory, Place
from memtui.stores.hermes import MEMORY, USER
from memtui.stores.listed_texts import ListedText, importance_in, name_texts, text_key
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import memory_name, whole_number

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
RULE = "═" * 46


LIMITS = {MEMORY: ("memory_char_limit", 2200), USER: ("user_char_limit", 1375)}
"""Most characters of each file, and the key of `memory` in config.yaml that sets another number."""


@dataclass(frozen=True, slots=True)
class HermesEntry:
    """One entry, stripped, and where it stands."""

    text: str
    start: int
    end: int
    line: int


def parse_limits(text: str) -> Mapping[str, int]:
    """The limits that config.yaml sets by file; the usual ones where it says nothing usable."""
    try:
        table = read_yaml(text).get("memory")
    except BadYaml:
        table = None
    values = table if isinstance(table, dict) else {}
    return {name: whole_number(values.get(key), usual) for name, (key, usual) in LIMITS.items()}


def parse_entries(text: str) -> list[HermesEntry]:
    """The entries in order; empty ones are none."""
    return [
        HermesEntry(text[start:end], start, end, 1 + len(_LINE_ENDS.findall(text, 0, start)))
        for start, end in entry_spans(text)
    ]


def size_of(entries: Sequence[str]) -> int:
    """Characters that Hermes counts: of the distinct entries, joined."""
    joined = DELIMITER.join(dict.fromkeys(_as_read(entry) for entry in entries))
    return len(joined)


def _as_read(text: str) -> str:
    return _LINE_ENDS.sub("\n", text)


def why_refused(text: str, limit: int) -> str:
    """Why Hermes would refuse to replace or remove an entry of this file; "" if it would not."""
    entries = [_as_read(entry.text) for entry in parse_entries(text)]
    longest = max(map(len, entries), default=0)
    if longest > limit:
        return f"Hermes refuses to write it: an entry of {longest:,} characters, limit {limit:,}"
    if _as_read(text).strip() != DELIMITER.join(entries):
        return "Hermes refuses to write it: it is not a clean list of entries"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "Hermes cannot load it: it is not UTF-8"
    return ""


def usage(size: int, limit: int) -> str:
    """`56% — 1,234/2,200 chars`, as in the header of the block."""
    percent = min(100, int((size / limit) * 100)) if limit > 0 else 0
    return f"{percent}% — {size:,}/{limit:,} chars"


# ---- memories ------------------------------------------------------------------------------------


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
    entries: Sequence[HermesEntry], name: str, file: str, limit: int, sidecar: Sidecar, label: str
) -> Iterator[Memory]:
    """The memories of one file."""
    used = usage(size_of([entry.text for entry in entries]), limit)
    ids: set[str] = set()
    for item, entry in zip(listed_entries(entries, name, sidecar), entries, strict=True):
        extra: dict[str, Any] = {"load_limit": used, "loaded_at_start": entry.text not in ids}
        if entry.text in ids:
            extra["duplicate"] = True
        yield Memory(
            **memory_name(label, item.id),
            kind="fact",
            content=entry.text,
            entity=ENTITIES[name],
            importance="low" if entry.text in ids else importance_in(sidecar, item.id),
            origin=Place(file, entry.line),
            extra=extra,
        )
        ids.add(entry.text)
