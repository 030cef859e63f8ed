"""What a person saw last of each store, and what agents have written since.

A look holds a digest of each memory, by shard with its stamp, in a file of the state folder for
each store. It is taken when the screen has read everything and when it is left, and by
`memtui status --seen`; what memtui itself changes in an open store is put into it. A shard that has
the same stamp as in the look is not read again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from msgspec import Struct

from memtui.model import Memory
from memtui.paths import read_private, real_root, write_private
from memtui.progress import IsCancelled, never

if TYPE_CHECKING:
    from memtui.library.reader import LibraryReader
    from memtui.library.snapshot import Rows, Snapshot
    from memtui.library.store_cache import LoadedShard
    from memtui.stores.base import Store

log = logging.getLogger(__name__)

FOLDER = "looks"
DIGITS = 8
"""Of one digest; a memory has two, of its ref and of what it says."""
_Shards = dict[str, tuple[str, dict[str, str]]]
"""Key of a shard -> its stamp, and by the digest of a ref that of what the memory says."""


class StoreLook(Struct, frozen=True):
    """What was seen of one store."""

    at: datetime
    shards: _Shards


class Written(Struct, frozen=True):
    """What was written since the last look."""

    since: datetime | None = None
    """The oldest look at one of the stores; None if there was none yet."""
    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def count(self) -> int:
        return self.added + self.changed + self.removed


def are_kept(state: Path | None) -> bool:
    """Whether anything was kept as seen."""
    return state is not None and (state / FOLDER).is_dir()


def take(library: LibraryReader, cancelled: IsCancelled = never) -> None:
    """Keep what there is now as seen; a failure is logged only. `cancelled` is asked often."""
    state, now = library.state_folder, library.now()
    if state is None:
        return
    for store, shards, rows in _stores(library):
        file = _file(state, store)
        former = _read(file)
        known = former.shards if former is not None else {}
        seen: _Shards = {}
        for key, stamp, digests in _digests(shards, rows, known):
            seen[key] = stamp, digests
            if cancelled():
                return
        _write(file, StoreLook(now, seen))


def since_last(library: LibraryReader) -> Written:
    """Count what is new, changed or gone since the last look; 0 in a store without one."""
    state = library.state_folder
    times, counts = list[datetime](), [0, 0, 0]
    if state is None:
        return Written()
    for store, shards, rows in _stores(library):
        look = _read(_file(state, store))
        if look is None:
            continue
        times.append(look.at)
        before, after = dict[str, str](), dict[str, str]()
        for key, stamp, digests in _digests(shards, rows, look.shards):
            former = look.shards.get(key)
            if former is None or former[0] != stamp:
                before |= former[1] if former is not None else {}
                after |= digests
        for key in look.shards.keys() - shards.keys():
            before |= look.shards[key][1]
        counts[0] += len(after.keys() - before.keys())
        counts[1] += sum(before[ref] != after[ref] for ref in before.keys() & after.keys())
        counts[2] += len(before.keys() - after.keys())
    return Written(min(times, default=None), *counts)


def _stores(library: LibraryReader) -> list[tuple[Store, Mapping[str, LoadedShard], Rows]]:
    """The stores that are read, with their shards and the rows of their slots as of now."""
    with library.loaded.lock:
        rows = library.snapshot.rows
        read = [cache for cache in library.loaded.caches if not cache.loading]
        return [(cache.store, dict(cache.shards), rows) for cache in read]


def note_own(library: LibraryReader, before: Snapshot) -> None:
    """Put what memtui has just changed into the looks: the person knows it."""
    state = library.state_folder
    gone, come = library.diff_memories(before, library.snapshot)
    if state is None or not len(gone) + len(come):
        return
    for store, loaded_shards, _ in _stores(library):
        label = store.label
        rows = library.snapshot.rows
        slots = {s: m for s in come.tolist() if (m := rows[s]).store == label}
        old = {
            _of_ref(m): _of_text(m) for s in gone.tolist() if (m := before.rows[s]).store == label
        }
        new = {_of_ref(memory): _of_text(memory) for memory in slots.values()}
        same = {ref for ref, text in old.items() if new.get(ref) == text}  # only its file is newer
        look = _read(file := _file(state, store)) if {*old, *new} - same else None
        if look is None:
            continue
        drop, shards = old.keys() - same, dict(look.shards)
        for key, (_, seen) in look.shards.items():
            if not drop.isdisjoint(seen):
                shards[key] = "", {ref: text for ref, text in seen.items() if ref not in drop}
        for key, loaded in loaded_shards.items():
            refs = {_of_ref(slots[s]) for s in slots.keys() & {*loaded.slots}} - same
            if refs:
                seen = shards[key][1] if key in shards else {}
                shards[key] = "", {**seen, **{ref: new[ref] for ref in refs}}
        _write(file, StoreLook(look.at, shards))


def _digests(
    shards: Mapping[str, LoadedShard], rows: Rows, known: _Shards
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each shard with its stamp and digests, those of a known stamp as they were."""
    for key, loaded in shards.items():
        former = known.get(key)
        if former is not None and former[0] == loaded.stamp:
            yield key, *former
        else:
            memories = (rows[slot] for slot in loaded.slots)
            yield key, loaded.stamp, {_of_ref(each): _of_text(each) for each in memories}


def _of_ref(memory: Memory) -> str:
    return _digest((memory.id,))


def _of_text(memory: Memory) -> str:
    return _digest((memory.title, memory.content, memory.status, memory.type))


def _digest(parts: Iterable[str]) -> str:
    return f"{crc32(chr(0).join(parts).encode('utf-8', 'surrogatepass')):0{DIGITS}x}"


def _file(state: Path, store: Store) -> Path:
    name = f"{store.format}:{real_root(store.root)}"
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state / FOLDER / f"{digest}.json"


def _read(file: Path) -> StoreLook | None:
    """The look; None if there is none, or its file is damaged."""
    record: dict[str, Any] = read_private(file)
    try:
        shards = {key: (stamp, _pairs(text)) for key, (stamp, text) in record["shards"].items()}
        return StoreLook(datetime.fromisoformat(record["at"]), shards)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _pairs(text: str) -> dict[str, str]:
    step = 2 * DIGITS
    starts = range(0, len(text), step)
    return {text[at : at + DIGITS]: text[at + DIGITS : at + step] for at in starts}


def _write(file: Path, look: StoreLook) -> None:
    shards = {
        key: (stamp, "".join(ref + text for ref, text in seen.items()))
        for key, (stamp, seen) in look.shards.items()
    }
    record = {"at": look.at.isoformat(), "shards": shards}
    try:
        write_private(file, json.dumps(record), durable=False)
    except OSError as error:
        log.warning("what was seen could not be kept: %s", error)
