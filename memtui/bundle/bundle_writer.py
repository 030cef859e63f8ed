"""Collect the contents of a bundle from the open stores, and name its entries.

For each store: `memories/<label>.jsonl` with a record per memory, its paths relative to the store;
and `files/<label>/...` with the bytes of every memory that is a file (modification times are in the
manifest, because formats read them). A store that is exported whole has all files that are needed
to restore it; a database among them as SQLite copies it, with what is in its log and without what
was deleted.

An entry's name is the file's path relative to the store's base folder; bytes that are not plain
ASCII are written as `%XX`. Where two names differ only in case, the later one is written as `%XX`
throughout.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct, field

from memtui.bundle.archive import Archive
from memtui.errors import BundleError, StoreError, UnreadableFile
from memtui.files.reading import LONGEST_NAME, encode, read_bytes, walk
from memtui.files.sidecar_lines import FOLDER, PLACE_FILE, join_sidecar, sidecar_path, sidecar_paths
from memtui.model import Memory, to_record
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.accesses import sidecar_access_path
from memtui.stores.base import OpenStores, Store
from memtui.stores.format import Format
from memtui.stores.registry import format_of

LARGEST_BELONGING = 16 << 20
"""Most bytes of a file without memories that is included."""
FILE_KINDS = frozenset({"document", "note"})
"""Kinds of memories that are a text file each; the file is included."""
SKIPPED = frozenset({".git", ".memtui", "node_modules", "__pycache__"})
"""Folders that are not searched for files that a program needs."""
MAX_ATTEMPTS = 3
"""Times a store is read when other programs keep writing to it."""


class PackedStores(Struct):
    """The contents of the archive, and what could not be read."""

    stores: list[Mapping[str, Any]] = field(default_factory=list)
    entries: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """What could not be read, and why."""
    as_bytes: list[str] = field(default_factory=list)
    """Files that are included, but hold no memories that could be read."""

    @property
    def archive(self) -> Archive:
        return Archive(tuple(self.stores), self.entries)


def pack_stores(
    library: OpenStores,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> PackedStores:
    """Return the contents of a bundle.

    Args:
        library: the open stores.
        chosen: the memories to include; None exports every store whole.
        report: called with the stores packed.
        cancelled: asked between stores.

    Raises:
        StoreError: no store can be read, or another program keeps writing to one.
        Cancelled: `cancelled` returned True.
    """
    packed = PackedStores()
    unreadable: UnreadableFile | None = None
    for number, store in enumerate(library.stores):
        report(Progress(f"packing {store.label}", number, len(library.stores)))
        if cancelled():
            raise Cancelled("stopped; nothing was written")
        if chosen is None:
            try:
                _pack_consistently(packed, library, store)
            except UnreadableFile as error:
                unreadable = error
                packed.left_out.append(f"{error.where}: {error.what}")
        else:
            packed.left_out += describe_unreadable(library, store)
            memories = [memory for memory in chosen if memory.store == store.label]
            if memories:
                layout = _layout(store, [m.origin.file for m in memories])
                own = {
                    m.origin.file for m in memories if m.kind in FILE_KINDS and not layout.database
                }
                times = _add_files(packed, store, layout, own - {""})
                _add_memories(packed, store, memories, layout)
                packed.stores.append(_about(store, memories, False, files=times, root=layout.inner))
    if unreadable and not packed.stores:
        raise unreadable
    return packed


def describe_unreadable(library: OpenStores, store: Store) -> list[str]:
    """Return path and reason of each file of the `store` that the `library` could not read."""
    return [f"{item.file}: {item.reason}" for item in library.unreadable(store.label)]


def _about(store: Store, memories: Sequence[Memory], whole: bool, **more: Any) -> dict[str, Any]:
    head = {"label": store.label, "format": store.format, "whole": whole}
    return {**head, "memories": len(memories), **more}


def _place_in_home(base: Path) -> dict[str, str]:
    """Where a store lies below the home folder, in which its program looks for it."""
    with suppress(ValueError):
        place = base.relative_to(Path.home())
        return {"home": quote_name(str(place)) if place.parts else ""}
    return {}


def _pack_consistently(packed: PackedStores, library: OpenStores, store: Store) -> None:
    """Pack a whole store; again if another program wrote to it meanwhile."""
    if store.is_shared:
        raise UnreadableFile(
            "it has no files, which a bundle holds",
            where=str(store.root),
            do="--format jsonl takes its memories",
        )
    for _ in range(MAX_ATTEMPTS):
        before = store.scan()  # first, so that the memories are of these files too
        library.refresh()
        attempt = PackedStores()
        _pack_whole(attempt, library, store)
        if store.scan().shards == before.shards:
            packed.stores += attempt.stores
            packed.entries.update(attempt.entries)
            packed.left_out += attempt.left_out
            packed.as_bytes += attempt.as_bytes
            return
    raise StoreError(
        "another program keeps writing to this store", where=str(store.root), do="try again later"
    )


def _pack_whole(packed: PackedStores, library: OpenStores, store: Store) -> None:
    memories = list(library.memories(store.label))
    known = format_of(store.format)
    database = known.database if known else None
    shards = {file for shard in store.scan().shards for file in shard.files}
    layout = _layout(store, shards)
    files = [str(sidecar_access_path(store.root))]
    if database is not None:
        try:
            data = database.read(store.root)
        except StoreError as error:
            raise UnreadableFile(error.what, where=error.where) from error
        packed.entries[f"files/{quote_name(store.label)}/{quote_name(database.name)}"] = data
    else:
        files += [*shards, *_belongings(store.root, known)]
    times = _add_files(packed, store, layout, files)
    if database is not None:
        times[quote_name(database.name)] = {"mtime_ns": 0}  # the copy has no time of its own
    for item in library.unreadable(store.label):
        path, line = layout.name(item.file), f"{item.file}: {item.reason}"
        if {quote_name(path), _escape_path(path)} & times.keys():
            packed.as_bytes.append(line)
        elif not any(each.startswith(f"{item.file}: ") for each in packed.left_out):
            packed.left_out.append(line)
    times.update(_add_place_facts(packed, store, layout))
    times.update(_add_sidecar(packed, store, layout))
    _add_memories(packed, store, memories, layout)
    place = _place_in_home(layout.base)
    packed.stores.append(_about(store, memories, True, files=times, root=layout.inner, **place))


def _layout(store: Store, files: Iterable[str]) -> StoreLayout:
    """The layout of a store whose memories lie in these files, or in one database."""
    root, known = store.root, format_of(store.format)
    if known and known.database is not None:
        name = known.database.name
        if root.is_dir():
            return StoreLayout(root, "", root, root / name, name)
        return StoreLayout(root.parent, "", root, root, name)
    start = os.path.join(str(root), "")
    if all(file.startswith(start) for file in files if file):
        return StoreLayout(root, "", root)
    return StoreLayout(root.parent, root.name, root)


def _belongings(root: Path, known: Format | None) -> Iterator[str]:
    """Yield files without memories that the store's program needs."""
    patterns = known.transfer.belongings if known else ()
    for name in patterns:
        if "*" not in name and (root / name).is_file():
            yield str(root / name)
    wide = [name for name in patterns if "*" in name]
    if not wide:
        return
    start = len(os.path.join(str(root), ""))
    for entry in walk(root, (), SKIPPED):
        if any(fnmatch.fnmatchcase(entry.path[start:], pattern) for pattern in wide):
            with suppress(OSError):
                if entry.stat().st_size <= LARGEST_BELONGING:
                    yield entry.path


def _add_files(
    packed: PackedStores, store: Store, layout: StoreLayout, files: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Add files to the archive; return name -> modification time."""
    by_path = {layout.name(file): file for file in files if os.path.lexists(file)}
    by_path.pop("", None)
    names = quote_names(by_path)
    times = {}
    for path, file in sorted(by_path.items()):
        try:
            data = read_bytes(Path(file), layout.base)
            changed = os.stat(file).st_mtime_ns
        except (UnreadableFile, OSError) as error:
            packed.left_out.append(f"{file}: {getattr(error, 'what', error)}")
            continue
        packed.entries[f"files/{quote_name(store.label)}/{names[path]}"] = data
        times[names[path]] = {"mtime_ns": changed}
    return times


def _add_place_facts(
    packed: PackedStores, store: Store, layout: StoreLayout
) -> dict[str, dict[str, int]]:
    """Add what the place of the store tells about it; return name -> modification time."""
    facts = store.place_facts()
    if not facts:
        return {}
    name = layout.name(str(store.root / PLACE_FACTS))
    data = json.dumps(facts, indent=1, sort_keys=True).encode("ascii") + b"\n"
    packed.entries[f"files/{quote_name(store.label)}/{name}"] = data
    return {name: {"mtime_ns": 0}}  # the same whenever it is exported


def _add_sidecar(
    packed: PackedStores, store: Store, layout: StoreLayout
) -> dict[str, dict[str, int]]:
    """Add the whole sidecar as one file, wherever its parts lie; return name -> modification time.

    It is restored as it is, and brought to its form by the first write.
    """
    files = [path for path in sidecar_paths(store.root) if os.path.lexists(path)]
    try:
        data = encode(join_sidecar(store.root))
        changed = max((os.stat(path).st_mtime_ns for path in files), default=0)
    except (UnreadableFile, OSError) as error:
        packed.left_out.append(f"{files[-1]}: {getattr(error, 'what', error)}")
        return {}
    if not data.strip():
        return {}
    name = layout.name(str(sidecar_path(store.root)))
    packed.entries[f"files/{quote_name(store.label)}/{quote_name(name)}"] = data
    return {quote_name(name): {"mtime_ns": changed}}


def _add_memories(
    packed: PackedStores, store: Store, memories: Iterable[Memory], layout: StoreLayout
) -> None:
    known = format_of(store.format)
    local = known.transfer.local_keys if known else ()
    lines = (
        json.dumps(_record(memory, layout, local), separators=(",", ":")) + "\n"
        for memory in sorted(memories, key=lambda memory: memory.ref)
    )
    packed.entries[f"memories/{quote_name(store.label)}.jsonl"] = "".join(lines).encode("ascii")


def _record(memory: Memory, layout: StoreLayout, local: Collection[str]) -> dict[str, Any]:
    """The record of a memory, independent of the path of its store."""
    record = to_record(memory)
    record["extra"] = {key: value for key, value in record["extra"].items() if key not in local}
    is_kept = "kept" in memory.extra
    for place in (record["origin"], *record["also"]):
        place["file"] = "" if is_kept else layout.name(place["file"])
    record["extra"] = _relative_paths(record["extra"], layout)
    return record


def _relative_paths(value: Any, layout: StoreLayout) -> Any:
    """Make paths relative to the store that a format keeps under a key `file`."""
    if isinstance(value, dict):
        return {
            key: layout.name(item) or item
            if key == "file" and isinstance(item, str)
            else _relative_paths(item, layout)
            for key, item in value.items()
        }
    return [_relative_paths(item, layout) for item in value] if isinstance(value, list) else value


# ---- names of entries ----------------------------------------------------------------------------

SIDECAR = ".memtui/sidecar.jsonl"
"""The sidecar's name in a bundle, also where the store is a single file."""
ACCESSES = ".memtui/access.json"
"""The same for the accesses that memtui counts beside a store."""
PLACE_FACTS = f"{FOLDER}/{PLACE_FILE}"
"""The same for what the place of a store tells about it, see `TransferSupport.place_facts`."""
_PLAIN = "/ !#$&'()+,;=@[]{}^~"
_NEVER = frozenset({".git", ".hg", ".svn", ".ssh", ".memtui"})
"""Names of folders that a bundle must not contain, except for memtui's own three files in them."""


def quote_name(name: str) -> str:
    """Return a file name or path as part of an entry's name."""
    text = quote(os.fsencode(name), safe=_PLAIN)
    return "/".join("%2E" * len(p) if p in (".", "..") else p for p in text.split("/"))


def quote_names(paths: Iterable[str]) -> dict[str, str]:
    """Return path -> name; no two names differ only in case."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for path in sorted(paths):
        name = quote_name(path)
        if name.casefold() in used:
            name = _escape_path(path)
        used.add(name.casefold())
        found[path] = name
    return found


def _escape_path(path: str) -> str:
    return "/".join(
        "".join(f"%{byte:02X}" for byte in os.fsencode(part)) for part in path.split("/")
    )


def parse_entry_name(name: str) -> str:
    """Return the relative path that an entry's name stands for.

    Raises:
        BundleError: it leads out of the store, is too long, or is a forbidden name.
    """
    path = os.fsdecode(unquote_to_bytes(name))
    parts = PurePosixPath(path).parts
    plain = path == "/".join(parts) and not path.startswith("/") and "\0" not in path
    if not parts or not plain or ".." in parts:
        raise BundleError("a file's name leads out of its store")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        raise BundleError(f"a file's name is longer than {LONGEST_NAME} bytes")
    # As file systems see a name that ignore case and invisible characters (CVE-2014-9390).
    if any(
        "".join(letter for letter in part.casefold() if letter.isprintable()) in _NEVER
        for part in (parts[:-2] if path.endswith((SIDECAR, ACCESSES, PLACE_FACTS)) else parts)
    ):
        raise BundleError("a file's name is not allowed in a bundle")
    return path


class StoreLayout(Struct, frozen=True):
    """The base folder of a store and the names of its files relative to it."""

    base: Path
    """The folder that contains every file of the store."""
    inner: str
    """Name of the root in `base`; empty when they are the same."""
    root: Path
    database: Path | None = None
    database_name: str = ""

    def name(self, file: str) -> str:
        """Return the path relative to the base; empty for a file outside it."""
        if self.database is not None and file == str(self.database):
            return self.database_name
        extra_files = {
            str(sidecar_path(self.root)): SIDECAR,
            str(sidecar_access_path(self.root)): ACCESSES,
        }
        if file in extra_files:
            return f"{self.inner}/{extra_files[file]}" if self.inner else extra_files[file]
        start = os.path.join(str(self.base), "")
        return file.removeprefix(start) if file.startswith(start) else ""
