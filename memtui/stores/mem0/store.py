"""The tables of mem0 (mem0/memory/storage.py, mem0ai 2.0.18) and of a local Qdrant.

Each row of `history` is a version of a memory: `event` is ADD, UPDATE or DELETE. The latest row of
a memory is current, or deleted; it supersedes the one before. A point of Qdrant is a memory as mem0
searches it, with its owner (`user_id`, `agent_id`, `run_id`) as entity (mem0/memory/main.py:
`data`, `hash`, `created_at`, `updated_at` in the payload). Nothing is written: a memory is a vector
too, which only mem0 can compute.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.mem0 import HISTORY, STORAGE
from memtui.stores.sqlite.rows import text
from memtui.stores.sqlite.tables import (
    Rows,
    Table,
    TableStore,
    database_support,
    existing_file,
    holds_tables,
)
from memtui.stores.values import from_iso, text_of

NEEDED = {
    HISTORY: {"history": "id memory_id old_memory new_memory event created_at"},
    STORAGE: {"points": "id point"},
}
_OWNERS = (("user_id", "users"), ("agent_id", "agents"), ("run_id", "runs"))
_SHOWN = frozenset({"data", "created_at", "updated_at"})


def is_mem0(file: Path) -> bool:
    """Whether the tables of mem0 or of a local Qdrant are in this file."""
    return file.name in NEEDED and holds_tables(file, NEEDED[file.name], by_name=False)


def _relate(rows: Rows) -> None:
    """Note for each row of a memory what came before and after it."""
    last: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if (before := last.get(row["memory_id"])) is not None:
            before["later"], row["former"] = row["id"], before["id"]
        last[row["memory_id"]] = row


def _version(row: Mapping[str, Any]) -> dict[str, Any]:
    is_deleted = bool(row.get("is_deleted")) or row.get("event") == "DELETE"
    status = "deleted" if is_deleted else "superseded" if row.get("later") else "active"
    extra = {n: row[n] for n in ("memory_id", "event", "role") if row.get(n) is not None}
    times = {n: row[n] for n in ("created_at", "updated_at") if row.get(n) is not None}
    return {
        "content": text(row.get("new_memory") or row.get("old_memory")),
        "status": status,
        "supersedes": (text(row["former"]),) if row.get("former") else (),
        "superseded_by": (text(row["later"]),) if row.get("later") else (),
        "updated": from_iso(row.get("updated_at")) or from_iso(row.get("created_at")),
        "extra": extra | times,
    }


def _unpacked(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The row with the point's own id; its key is a pickle of it."""
    id, payload = point(row["point"])
    yield {"id": id or text(row["id"]), "payload": payload}


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    found = row["payload"]
    owner = next((f"{kind}/{found[key]}" for key, kind in _OWNERS if found.get(key)), "")
    return {
        "content": text_of(found.get("data") or found.get("memory")),
        "entity": owner,
        "created": from_iso(found.get("created_at")),
        "updated": from_iso(found.get("updated_at")) or from_iso(found.get("created_at")),
        "source": text_of(found.get("run_id")),
        "extra": _as_json({key: value for key, value in found.items() if key not in _SHOWN}),
    }


def _as_json(values: dict[str, Any]) -> Any:
    return json.loads(json.dumps(values, default=str))


def _has_text(row: Mapping[str, Any]) -> bool:
    found = row["payload"]
    return bool(text_of(found.get("data") or found.get("memory")).strip())


TABLES = (
    Table(
        "history",
        "",
        "fact",
        {"source": "actor_id", "created": "created_at"},
        {"new_memory": ""},
        relate=_relate,
        more=_version,
    ),
    Table("points", "points/", "fact", {}, {}, expand=_unpacked, more=_point, is_shown=_has_text),
)


class Mem0(TableStore):
    """One database: the history, or a collection of a local Qdrant."""

    format = "mem0"
    tables = TABLES
    why_read_only = "a memory here is a vector too, which only mem0 can compute"


def open_store(root: Path, label: str) -> Mem0:
    """Open a database. Raises StoreError when there is none."""
    return Mem0(root, label, existing_file(_database(root)))


def _database(root: Path) -> Path:
    return root / HISTORY if root.is_dir() else root


SUPPORT = FormatSupport(
    open_store, transfer=TransferSupport(), database=database_support(HISTORY, _database)
)


# ---- pickled points ------------------------------------------------------------------------------

# Read the points of a local Qdrant, which are pickled, without running anything that they name.
#
# `qdrant_client.local.persistence` stores `pickle.dumps(point)`. A pickle names classes and
# functions that are called while it is loaded, so only the classes of a point are allowed, and
# each of them is replaced by a plain object that keeps what it is given.


_MODELS = "qdrant_client.http.models.models"
_ALLOWED = frozenset(
    {
        *((_MODELS, name) for name in ("PointStruct", "SparseVector", "Record")),
        ("qdrant_client.conversions.common_types", "PointStruct"),
    }
)


class _Plain:
    """Stands for a class of Qdrant's: keeps its state, does nothing."""

    def __setstate__(self, state: Any) -> None:
        values = state.get("__dict__") if isinstance(state, Mapping) else None
        self.values = values if isinstance(values, Mapping) else {}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"a point does not hold a {module}.{name}")
        return _Plain

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002
        raise pickle.UnpicklingError("a point does not refer to anything outside")


def point(data: object) -> tuple[str, dict[str, Any]]:
    """The id and the payload of a pickled point; ("", {}) if it is not one. Never raises."""
    if not isinstance(data, bytes):
        return "", {}
    try:
        found = _Reader(io.BytesIO(data)).load()
        id, values = found.values["id"], found.values["payload"]
        return str(id), {str(key): value for key, value in values.items()}
    except Exception:  # a hostile pickle may raise anything
        return "", {}
