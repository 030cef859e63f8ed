"""A bundle that memtui 0.1 wrote is read, restored and imported by every later version."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document, verify_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.import_plan import plan_import
from memtui.bundle.restoring import plan_restore, restore
from memtui.library import Library
from memtui.model import FRONTMATTER_FAULT

RECORDED = Path(__file__).with_name("recorded_0_1.zip")
COUNTS = {
    "agent-memory": 5,
    "ambient": 8,
    "engram": 12,
    "simple-memory": 7,
    "workspace": 12,
    "hermes": 65,
    "mcp-memory": 69,
}


def restored(folder: Path) -> Library:
    document = read_document(RECORDED)
    restore(plan_restore(document, folder / "there"))
    opened = Library.open([folder / "there" / label for label in COUNTS])
    opened.load()
    return opened


def test_its_stores_are_read() -> None:
    document = read_document(RECORDED)
    assert {store.label: len(store.memories) for store in document.stores} == COUNTS
    assert all(store.whole for store in document.stores)
    assert len(verify_document(document)) == 1 + len(COUNTS)


def test_its_stores_are_restored_and_give_the_same_bundle(tmp_path: Path) -> None:
    """But for the times of files, by which later versions date what has no other date, and faults
    of the frontmatter, which later versions name."""
    packed = pack_stores(restored(tmp_path), None)
    again = BytesIO(b"".join(archive.encode_archive(packed.archive)))
    with ZipFile(RECORDED) as recorded, ZipFile(again) as written:
        assert set(recorded.namelist()) ^ set(written.namelist()) == {
            "rows/engram.jsonl",  # a database is a file since
            "files/engram/engram.db",
        }
        for name in set(recorded.namelist()) & set(written.namelist()):
            before, after = recorded.read(name), written.read(name)
            if name.startswith("memories/"):
                assert list(map(_as_of_then, after.splitlines())) == [
                    json.loads(line) for line in before.splitlines()
                ]
            elif name != "manifest.json":  # it has the digests of the others
                assert after == before


def _as_of_then(line: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line)
    record["extra"].pop(FRONTMATTER_FAULT, None)
    if record["extra"].pop("updated_from", None):
        record["updated"] = None
    return record


def test_an_import_into_the_restored_stores_finds_every_memory(tmp_path: Path) -> None:
    plan = plan_import(read_document(RECORDED), restored(tmp_path))
    assert plan.counts == {
        "new": 0,
        "same": sum(COUNTS.values()),
        "conflicts": 0,
        "refused": 0,
    }
    assert not plan.has_edits
