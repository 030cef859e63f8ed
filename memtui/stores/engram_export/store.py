"""The chunks of an export as one shard: a later chunk may hold a row of an earlier one again.

A row is known by its `sync_id`, or by chunk and number where it has none, as before Engram 1.9:
numbers belong to the machine that exported them. Chunks hold `sessions`, `observations` and
`prompts`, and in newer versions `mutations` too, whose `payload` is a row (`op` is upsert or
delete). Rows become memories as those of a database do (`memtui.stores.engram.records`).
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, file_stamp, read_bytes
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Scan, Shard, Store, Unreadable
from memtui.stores.engram import records
from memtui.stores.engram.records import PROMPT, SESSION, DatabasePlace
from memtui.stores.engram_export import CHUNKS, MANIFEST, manifest
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.scanning import as_unreadable
from memtui.stores.values import list_of, memory_name, parse_object, text_of

READ_ONLY = "Engram only adds to its export: change the memory in its database"
SUFFIX = ".jsonl.gz"
MAX_CHUNK_BYTES = 256 << 20
"""A chunk that unpacks to more is refused: a small file can unpack to any size."""

Rows = dict[str, tuple[dict[str, Any], tuple[str, ...]]]
"""Name of a row -> the row, and the files of its chunks, the latest first."""


def chunk(path: Path, root: Path) -> dict[str, Any]:
    """The members of a chunk. Raises UnreadableFile."""
    try:
        with gzip.open(io.BytesIO(read_bytes(path, root))) as packed:
            data = packed.read(MAX_CHUNK_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"it cannot be unpacked ({error})", where=str(path)) from error
    if len(data) > MAX_CHUNK_BYTES:
        raise UnreadableFile(f"it unpacks to more than {MAX_CHUNK_BYTES >> 20} MiB")
    found = parse_object(decode(data))
    if not found:
        raise UnreadableFile("it holds no chunk of an export", where=str(path))
    return found


class Tables:
    """The rows of all chunks, the latest of each."""

    def __init__(self) -> None:
        self.rows: dict[str, Rows] = {"session": {}, "observation": {}, "prompt": {}}

    def add(self, file: str, found: Mapping[str, Any]) -> None:
        """Add the rows of a chunk, and do what its mutations say."""
        name = os.path.basename(file).removesuffix(SUFFIX)
        for kind in self.rows:
            for each in _objects(found.get(f"{kind}s")):
                self._put(kind, each, name, file)
        for mutation in _objects(found.get("mutations")):
            kind, payload = text_of(mutation.get("entity")), mutation.get("payload")
            row: Any = parse_object(payload) if isinstance(payload, str) else payload
            if kind not in self.rows or not isinstance(row, dict):
                continue
            key = text_of(mutation.get("entity_key"))
            if mutation.get("op") != "delete":
                known = self.rows[kind].get(key, ({}, ()))[0]
                self._put(kind, {**known, **row, "sync_id": key}, name, file)
            elif row.get("hard_delete") or key not in self.rows[kind]:
                self.rows[kind].pop(key, None)
            else:
                known = self.rows[kind][key][0]
                deleted = {**known, "deleted_at": row.get("deleted_at") or ""}
                self._put(kind, deleted, name, file)

    def _put(self, kind: str, row: dict[str, Any], chunk_name: str, file: str) -> None:
        key = text_of(row.get("id")) if kind == "session" else text_of(row.get("sync_id"))
        key = key or (f"{chunk_name}/{text_of(row['id'])}" if row.get("id") else "")
        if key:
            files = self.rows[kind].get(key, ({}, ()))[1]
            self.rows[kind][key] = ({"id": key, **row}, tuple(dict.fromkeys((file, *files))))


def _objects(value: object) -> Iterator[dict[str, Any]]:
    return (each for each in list_of(value) if isinstance(each, dict))


@dataclass
class EngramExport(Store):
    """The export in one project."""

    root: Path
    label: str
    format: str = "engram-export"

    @property
    def read_only(self) -> str:
        return READ_ONLY

    def scan(self) -> Scan:
        folder = self.root / CHUNKS
        try:
            names = sorted(each for each in os.listdir(folder) if each.endswith(SUFFIX))
        except OSError as error:
            return Scan((), (Unreadable(str(folder), error.strerror or "it cannot be listed"),))
        files = (str(self.root / MANIFEST), *(str(folder / name) for name in names))
        return Scan((Shard(CHUNKS, files, file_stamp(files)),))

    def read(self, shard: Shard) -> Reading:
        """The latest row of each name, in the order in which the manifest lists the chunks."""
        listed = [text_of(each.get("id")) for each in _objects(manifest(self.root).get("chunks"))]
        order = {f"{id}{SUFFIX}": at for at, id in enumerate(listed)}
        chunks = sorted(shard.files[1:], key=lambda f: order.get(os.path.basename(f), len(order)))
        tables, faults = Tables(), []
        for file in chunks:
            try:
                tables.add(file, chunk(Path(file), self.root))
            except UnreadableFile as error:
                faults.append(as_unreadable(error, Path(file)))
        if not order:
            faults.append(Unreadable(str(self.root / MANIFEST), "it lists no chunks"))
        return Reading(tuple(self._memories(tables)), tuple(faults))

    def _memories(self, tables: Tables) -> Iterator[Memory]:
        readers: dict[str, tuple[str, Callable[[DatabasePlace, Any], Memory]]] = {
            "observation": ("", lambda home, row: records.observation(home, row, (), ())),
            "prompt": (PROMPT, records.prompt),
            "session": (SESSION, records.session),
        }
        for kind, (prefix, reader) in readers.items():
            for key, (row, files) in tables.rows[kind].items():
                if kind == "session" and not row.get("summary"):
                    continue
                memory = reader(DatabasePlace(self.label, files[0]), row)
                name = memory_name(self.label, f"{prefix}{key}")
                yield replace(memory, **name, also=tuple(map(Place, files[1:])))


SUPPORT = FormatSupport(
    EngramExport, transfer=TransferSupport(belongings=("manifest.json",), identity="sync_id")
)
