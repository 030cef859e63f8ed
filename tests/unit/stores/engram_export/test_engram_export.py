"""Chunks that `engram sync` commits: the latest row counts, what cannot be unpacked is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from memtui.stores.base import Reading
from memtui.stores.engram_export import FORMAT

OLD = {"id": 7, "session_id": "s", "type": "decision", "title": "Ports", "content": "8123"}


def export(root: Path, *chunks: dict[str, Any]) -> Path:
    (root / "chunks").mkdir(parents=True)
    listed = []
    for number, chunk in enumerate(chunks):
        id = f"{9 - number}0000000"
        data = json.dumps({"sessions": None, "observations": None, "prompts": None, **chunk})
        (root / "chunks" / f"{id}.jsonl.gz").write_bytes(gzip.compress(data.encode()))
        listed.append({"id": id, "created_at": f"2026-01-0{number + 1}T00:00:00Z"})
    (root / "manifest.json").write_text(json.dumps({"version": 1, "chunks": listed}))
    return root


def read(root: Path) -> Reading:
    store = FORMAT.open(root, "x")
    return store.read(store.scan().shards[0])


def test_numbers_of_two_machines_do_not_collide(tmp_path: Path) -> None:
    root = export(
        tmp_path / ".engram",
        {"observations": [OLD]},
        {"observations": [{**OLD, "content": "of another machine"}]},
    )
    assert FORMAT.detect(tmp_path) == root
    found = read(root).memories
    assert {m.id: m.content for m in found} == {
        "90000000/7": "8123",
        "80000000/7": "of another machine",
    }


def test_the_latest_row_of_a_name_counts(tmp_path: Path) -> None:
    row = {**OLD, "sync_id": "obs-1", "project": "shop", "scope": "project"}
    payload = json.dumps({"content": "8124", "title": "Ports"})
    upsert = {"entity": "observation", "entity_key": "obs-1", "op": "upsert", "payload": payload}
    deletion = {**upsert, "op": "delete", "payload": json.dumps({"deleted_at": "2026-01-03"})}
    root = export(tmp_path, {"observations": [row]}, {"mutations": [upsert]})
    (memory,) = read(root).memories
    assert (memory.id, memory.content, memory.entity) == ("obs-1", "8124", "shop/project")
    again = export(tmp_path / "b", {"observations": [row]}, {"mutations": [deletion]})
    (deleted,) = read(again).memories
    assert deleted.status == "deleted"
    hard = {**deletion, "payload": json.dumps({"hard_delete": True})}
    gone = export(tmp_path / "c", {"observations": [row]}, {"mutations": [hard]})
    assert read(gone).memories == ()


_STREAM = gzip.compress(b"[]", mtime=0)


@pytest.mark.parametrize("data", [b"", b"no gzip", _STREAM, _STREAM[:9]])
def test_a_chunk_that_cannot_be_read_is_named(tmp_path: Path, data: bytes) -> None:
    root = export(tmp_path, {"observations": [OLD]}, {})
    bad = root / "chunks" / "80000000.jsonl.gz"
    bad.write_bytes(data)
    found = read(root)
    assert [fault.file for fault in found.unreadable] == [str(bad)]
    assert len(found.memories) == 1


def test_a_chunk_that_unpacks_to_any_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtui.stores.engram_export.store.MAX_CHUNK_BYTES", 100)
    found = read(export(tmp_path, {"observations": [{**OLD, "content": "x" * 1000}]}))
    assert "unpacks to more" in found.unreadable[0].reason
