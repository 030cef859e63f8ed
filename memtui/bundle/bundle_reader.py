"""Read and check files to import: bundles, exchange documents of formats, and JSON lines.

A file is checked completely before any of it is used; one fault refuses all of it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.bundle import archive as archives
from memtui.bundle.archive import Archive
from memtui.bundle.bundle_writer import parse_entry_name, quote_name
from memtui.errors import BundleError, StoreError
from memtui.model import Memory, find_defect, from_record
from memtui.paths import write_new
from memtui.stores import registry
from memtui.stores.format import IncomingStore
from memtui.stores.registry import format_of
from memtui.stores.values import parse_json
from memtui.text import counted, visible

LARGEST_TEXT = 256 << 20
"""Most bytes of a file that is no bundle; larger ones are refused."""
LAST_TIME = (1 << 63) * 10**9
"""Limit of modification times, in nanoseconds since 1970: 63 bits of seconds."""


class ImportDocument(Struct, frozen=True):
    """A file that can be imported."""

    path: Path
    kind: str
    """`bundle`, `jsonl`, or the name of the format whose exchange document it is."""
    stores: tuple[IncomingStore, ...]
    entries: int = 0
    """How many entries a bundle has, each checked by its SHA-256."""

    @property
    def count(self) -> int:
        return sum(len(store.memories) for store in self.stores)


def describe_importable_files() -> str:
    """Return the kinds of files that can be imported, for people."""
    own = [known.document.name for known in registry.formats() if known.document is not None]
    return f"a bundle, {', '.join(own)} or JSON lines"


def read_document(path: Path) -> ImportDocument:
    """Return the checked content of a file of any kind that can be imported.

    Raises:
        BundleError: it is of no known kind, damaged or too large.
        OSError: it cannot be read.
    """
    if archives.is_bundle(_read_bytes(path, 4)):
        return _read_bundle(path)
    data = _read_bytes(path, LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise BundleError(f"it is larger than {LARGEST_TEXT >> 20} MiB", where=visible(str(path)))
    try:
        return _read_text(path, data.decode("utf-8-sig"))
    except BundleError as error:
        raise _with_path(error, path) from None
    except (ValueError, RecursionError) as error:
        why = "too deep" if isinstance(error, RecursionError) else str(error)
        if isinstance(error, json.JSONDecodeError):
            why = f"no JSON at line {error.lineno}, column {error.colno}"
        elif isinstance(error, UnicodeDecodeError):
            why = f"byte {error.start} is not UTF-8"
        raise BundleError(
            f"unknown file format: {why}",
            where=visible(str(path)),
            do=f"it reads {describe_importable_files()}",
        ) from None


def _with_path(error: BundleError, path: Path) -> BundleError:
    do = error.do or "nothing was imported"
    return BundleError(error.what, where=visible(str(path)), do=do)


def _read_bytes(path: Path, most: int) -> bytes:
    if path.is_dir():
        do = "memtui opens a folder that holds a store; export makes a file of it"
        raise BundleError("it is a folder", where=visible(str(path)), do=do)
    with archives.open_file(path) as file:
        return file.read(most)


# ---- bundles ------------------------------------------------------------------------------------


def _read_bundle(path: Path) -> ImportDocument:
    archive = archives.read_archive(path)
    try:
        stores = tuple(_read_store(archive, about) for about in archive.stores)
        if len({store.label for store in stores}) != len(stores):
            raise BundleError("two of its stores have the same label")
        _check_strays(archive)
    except BundleError as error:
        archives.close_archive(archive)
        raise _with_path(error, path) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        archives.close_archive(archive)
        raise BundleError(
            f"its manifest or records are not as memtui writes them ({type(error).__name__})",
            where=visible(str(path)),
            do="nothing was imported",
        ) from error
    return ImportDocument(path, "bundle", stores, len(archive.entries))


def _read_store(archive: Archive, about: Mapping[str, Any]) -> IncomingStore:
    label, format = str(about["label"]), str(about["format"])
    lines = archive.entries[f"memories/{quote_name(label)}.jsonl"].decode("ascii").splitlines()
    memories = [decode_memory(json.loads(line)) for line in lines]
    if len(memories) != about["memories"] or any(m.store != label for m in memories):
        raise BundleError("its memories do not match its manifest")
    root = parse_entry_name(quote_name(about["root"])) if about["root"] else ""
    if "/" in root:
        raise BundleError("a store's root leads out of the bundle")
    home = about.get("home")
    home = parse_entry_name(home) if home else None if home is None else ""
    files, times = _read_files(archive, label, about["files"])
    name, entries = f"rows/{quote_name(label)}.jsonl", archive.entries

    def rows() -> list[str]:
        return entries[name].decode("ascii").splitlines()

    whole, has_rows = about["whole"] is True, name in entries
    return IncomingStore(
        label, format, memories, whole, files, times, root, rows if has_rows else None, home=home
    )


def _read_files(
    archive: Archive, label: str, listed: Mapping[str, Mapping[str, int]]
) -> tuple[dict[str, Callable[[], bytes]], dict[str, int]]:
    prefix = f"files/{quote_name(label)}/"
    found = {name.removeprefix(prefix) for name in archive.entries if name.startswith(prefix)}
    if found != listed.keys():
        raise BundleError("its files do not match its manifest")
    files: dict[str, Callable[[], bytes]] = {}
    times: dict[str, int] = {}
    for name, about in listed.items():
        path = parse_entry_name(name)
        time = about["mtime_ns"]
        if type(time) is not int or abs(time) >= LAST_TIME or path in files:
            raise BundleError("its manifest is not in the form memtui writes")
        files[path] = partial(archive.entries.__getitem__, prefix + name)
        times[path] = time
    folders = {path[:at] for path in files for at in range(len(path)) if path[at] == "/"}
    if folders & files.keys():
        raise BundleError("a file has the same name as a folder")
    return files, times


def _check_strays(archive: Archive) -> None:
    """Raise BundleError when an entry belongs to no store of the manifest."""
    labels = {quote_name(str(about["label"])) for about in archive.stores}
    for name in archive.entries:
        folder, _, rest = name.partition("/")
        label = rest.partition("/")[0] if folder == "files" else rest.removesuffix(".jsonl")
        if folder not in ("memories", "files", "rows") or label not in labels:
            raise BundleError("it holds a file that belongs to no store")


def decode_memory(record: Any) -> Memory:
    """Return the memory of a record. Raises BundleError."""
    try:
        memory = from_record(record)
    except KeyError as error:
        raise BundleError(f"a record has no field {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BundleError(f"a record is not a memory ({type(error).__name__})") from error
    if why := find_defect(memory):
        raise BundleError(f"a record is not a valid memory: {why}")
    return memory


# ---- other files --------------------------------------------------------------------------------


def _read_text(path: Path, text: str) -> ImportDocument:
    """Detect the kind of JSON and read its memories."""
    head = text.lstrip()[:1]
    if head == "[":
        return ImportDocument(path, "jsonl", _group_by_store(map(decode_memory, json.loads(text))))
    lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise BundleError("it is empty")
    if len(lines) > 1 and isinstance(parse_json(lines[0][1]), dict):
        return ImportDocument(path, "jsonl", _group_by_store(starmap(_read_line, lines)))
    document = json.loads(text)
    if not isinstance(document, dict):
        raise BundleError("it holds no memories")
    for known in registry.formats():
        if known.document is not None and known.document.member in document:
            store = replace(known.document.read(document), document=text)
            return ImportDocument(path, known.name, (store,))
    return ImportDocument(path, "jsonl", _group_by_store([decode_memory(document)]))


def _read_line(at: int, line: str) -> Memory:
    try:
        return decode_memory(json.loads(line))
    except json.JSONDecodeError as error:
        raise BundleError(f"no JSON at line {at}, column {error.colno}") from error
    except BundleError as error:
        raise BundleError(f"line {at}: {error.what}") from error


def _group_by_store(memories: Iterable[Memory]) -> tuple[IncomingStore, ...]:
    """Group memories by the label of the store they came from; its format is unknown."""
    found: dict[str, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.store, []).append(memory)
    return tuple(IncomingStore(label, "", memories) for label, memories in found.items())


def verify_document(document: ImportDocument) -> list[str]:
    """Look through the databases of a document in a temporary folder, as a last check.

    Returns:
        What was checked, a line each.

    Raises:
        BundleError: a database is damaged.
    """
    first = "every record was read; this kind of file has no checksums"
    if document.kind == "bundle":
        first = f"{counted(document.entries, 'entry')}, each with its size and SHA-256"
    lines = [first]
    for store in document.stores:
        line = f"{store.label} ({store.format or 'format not said'}): "
        line += counted(len(store.memories), "memory")
        files = counted(len(store.files), "file")
        if store.whole and has_database(store):
            _check_database(store)
            line += f", {files}, with a sound database"
        elif store.whole:
            line += f", {files}"
        else:
            line += f", a part of the store{f', {files}' if store.files else ''}"
        lines.append(line)
    return lines


def has_database(store: IncomingStore) -> bool:
    """Whether the document holds the database of this store, as a file or as rows."""
    known = format_of(store.format)
    if known is None or known.database is None:
        return False
    return store.rows is not None or known.database.name in store.files


def place_database(store: IncomingStore, folder: Path) -> Path:
    """Write the database of a store into a folder. Raises BundleError without one, SaveError."""
    known = format_of(store.format)
    if known is None or known.database is None or not has_database(store):
        raise BundleError(f"it holds no database of the format {store.format!r}")
    file = folder / known.database.name
    if store.rows is not None:
        known.database.rebuild(store.rows(), file)
    else:
        write_new(file, store.files[known.database.name]())
    return file


def _check_database(store: IncomingStore) -> None:
    """Raise BundleError where the database of a store is none, or damaged."""
    with tempfile.TemporaryDirectory(prefix="memtui-verify-") as folder:
        file = place_database(store, Path(folder))
        known = format_of(store.format)
        if known is None or known.database is None:
            return
        try:
            known.database.read(file.parent)
        except StoreError as error:
            raise BundleError(f"the database of {store.label} is damaged: {error.what}") from error
