"""From open stores to the contents of a bundle.

For each store `memories/<label>.jsonl`: a record per memory, its places named from the store, and
`files/<label>/...`, the bytes of every memory that is a file (the times of change stand in the
manifest, because formats read them). When the whole store is exported, the files are all that bring
it back exactly, or `rows/<label>.jsonl` does where it is a database.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memtui.bundle.archive import Archive
from memtui.bundle.archive_paths import (
    StoreLayout,
    layout_of_database,
    layout_of_files,
    quote_name,
    quote_names,
)
from memtui.bundle.open_stores import OpenStores
from memtui.errors import StoreError, UnreadableFile
from memtui.files.reading import read_bytes, walk
from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Memory, to_record
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.base import Store
from memtui.stores.format import Format
from memtui.stores.registry import format_of

LARGEST_BELONGING = 16 << 20
"""Bytes of a file without memories that is still taken along."""
FILE_KINDS = frozenset({"document", "note"})
"""Kinds of which each memory is a text file of its own: it comes along as it is."""
MOST_ATTEMPTS = 3
"""Times a store is read again because a program wrote to it meanwhile."""


@dataclass(slots=True)
class PackedStores:
    """What goes into the archive, and what had to be left out."""

    stores: list[Mapping[str, Any]] = field(default_factory=list)
    entries: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def archive(self) -> Archive:
        return Archive(tuple(self.stores), self.entries)


def pack_stores(
    library: OpenStores,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> PackedStores:
    """The contents of a bundle: these memories, or (None) every store whole.

    Raises StoreError when a store cannot be read or does not keep still, Cancelled.
    """
    packing = PackedStores()
    for number, store in enumerate(library.stores):
        report(Progress(f"packing {store.label}", number, len(library.stores)))
        if cancelled():
            raise Cancelled("stopped; nothing was written")
        if chosen is None:
            _pack_still(packing, library, store)
        else:
            memories = [memory for memory in chosen if memory.store == store.label]
            if memories:
                _pack_part(packing, store, memories)
    return packing


def _pack_part(packing: PackedStores, store: Store, memories: Sequence[Memory]) -> None:
    home = _home(store, [m.origin.file for m in memories])
    own = {memory.origin.file for memory in memories if memory.kind in FILE_KINDS}
    times = {} if home.database else _add_files(packing, store, home, own - {""})
    _add_memories(packing, store.label, memories, home)
    packing.stores.append(_about(store, memories, whole=False, files=times, root=home.inner))


def _about(store: Store, memories: Sequence[Memory], *, whole: bool, **more: Any) -> dict[str, Any]:
    return {
        "label": store.label,
        "format": store.format,
        "whole": whole,
        "memories": len(memories),
        **more,
    }


def _pack_still(packing: PackedStores, library: OpenStores, store: Store) -> None:
    """Pack a whole store as it was at one moment."""
    for _ in range(MOST_ATTEMPTS):
        library.refresh()
        before = store.scan()
        fresh = PackedStores(left_out=list(packing.left_out))
        _pack_whole(fresh, store, list(library.memories(store.label)))
        if store.scan().shards == before.shards:
            packing.stores += fresh.stores
            packing.entries.update(fresh.entries)
            packing.left_out = fresh.left_out
            return
    raise StoreError(
        "another program keeps writing to this store", where=str(store.root), do="try again later"
    )


def _pack_whole(packing: PackedStores, store: Store, memories: list[Memory]) -> None:
    known = format_of(store.format)
    database = known.database if known else None
    shards = {file for shard in store.scan().shards for file in shard.files}
    home = _home(store, shards)
    files = [str(sidecar_path(store.root))]
    if database is not None:
        lines = database.dump(store.root)
        data = "".join(line + "\n" for line in lines).encode("ascii")
        packing.entries[f"rows/{quote_name(store.label)}.jsonl"] = data
    else:
        files += [*shards, *_belongings(store.root, known)]
    times = _add_files(packing, store, home, files)
    _add_memories(packing, store.label, memories, home)
    about = _about(store, memories, whole=True, files=times, root=home.inner)
    packing.stores.append(about)


def _home(store: Store, files: Iterable[str]) -> StoreLayout:
    known = format_of(store.format)
    if known and known.database is not None:
        return layout_of_database(store.root, known.database.name)
    return layout_of_files(store.root, [file for file in files if file])


def _belongings(root: Path, known: Format | None) -> Iterator[str]:
    """Files without memories that the store's program needs."""
    patterns = known.transfer.belongings if known and known.transfer else ()
    for name in patterns:
        if "*" not in name and (root / name).is_file():
            yield str(root / name)
    wide = [name for name in patterns if "*" in name]
    if not wide:
        return
    start = len(os.path.join(str(root), ""))
    for entry in walk(root, (), (".git", ".memtui")):
        name = entry.path[start:]
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in wide) and _is_small(entry.path):
            yield entry.path


def _is_small(path: str) -> bool:
    try:
        return os.stat(path).st_size <= LARGEST_BELONGING
    except OSError:
        return False


def _add_files(
    packing: PackedStores, store: Store, home: StoreLayout, files: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Put the files' bytes into the archive; their times of change by name."""
    by_path = {home.name(file): file for file in files if os.path.lexists(file)}
    by_path.pop("", None)
    names = quote_names(by_path)
    times = {}
    for path, file in sorted(by_path.items()):
        try:
            data = read_bytes(Path(file), home.base)
            changed = os.stat(file).st_mtime_ns
        except (UnreadableFile, OSError) as error:
            packing.left_out.append(f"{file}: {getattr(error, 'what', error)}")
            continue
        packing.entries[f"files/{quote_name(store.label)}/{names[path]}"] = data
        times[names[path]] = {"mtime_ns": changed}
    return times


def _add_memories(
    packing: PackedStores, label: str, memories: Iterable[Memory], home: StoreLayout
) -> None:
    lines = (
        json.dumps(_record(memory, home), separators=(",", ":")) + "\n"
        for memory in sorted(memories, key=lambda memory: memory.ref)
    )
    packing.entries[f"memories/{quote_name(label)}.jsonl"] = "".join(lines).encode("ascii")


def _record(memory: Memory, home: StoreLayout) -> dict[str, Any]:
    """The record of a memory, the same wherever its store lies."""
    record = to_record(memory)
    kept = "kept" in memory.extra
    for place in (record["origin"], *record["also"]):
        place["file"] = "" if kept else home.name(place["file"])
    record["extra"] = _placed(record["extra"], home)
    return record


def _placed(value: Any, home: StoreLayout) -> Any:
    """Paths that an adapter put under a key `file` are the store's own, and lie relative to it."""
    if isinstance(value, dict):
        return {
            key: home.name(item) or item
            if key == "file" and isinstance(item, str)
            else _placed(item, home)
            for key, item in value.items()
        }
    return [_placed(item, home) for item in value] if isinstance(value, list) else value
