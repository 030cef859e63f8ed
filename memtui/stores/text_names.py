"""Names for texts that a file holds without ids.

The name comes from the text, so it changes when the text does. Where memtui itself edits a text,
the sidecar keeps the name for the new text (key `text`), so that tags, links and undo stay with it.
A text that another program edits is another memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from memtui.stores.sidecar import Sidecar

TEXT_KEY = "text"
"""Key of a sidecar entry: the `text_key` of the text that has this name now."""


def text_key(text: str) -> str:
    """A short digest of a text: its name where it has no better one."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def name_texts(
    texts: Iterable[tuple[str, str]], prefix: str, sidecar: Sidecar, shard: str
) -> list[str]:
    """Give each text of a file an id that no other has.

    Args:
        texts: the `text_key` of each text, and the id that the text itself gives.
        prefix: what every id of the file begins with.
        sidecar: holds the names of texts that memtui edited.
        shard: the shard of the file.
    """
    kept: dict[str, list[str]] = {}
    for id, entry in sidecar.of_shard(shard):
        key = entry.get(TEXT_KEY)
        if isinstance(key, str) and id.startswith(prefix):
            kept.setdefault(key, []).append(id)
    taken = {id for ids in kept.values() for id in ids}
    present: set[str] = set()
    named = []
    counts: Counter[str] = Counter()
    for key, natural in texts:
        id = next((id for id in kept.get(key, ()) if id not in present), "")
        if not id:
            id = natural
            while id in taken or id in present:
                counts[natural] += 1
                id = f"{natural}~{counts[natural] + 1}"
        present.add(id)
        named.append(id)
    return named
