"""The sidecar: the latest line wins, damage is passed over, and a memory only gains by it."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Link, Memory, to_record
from memtui.stores.scanning import SidecarReader
from memtui.stores.sidecar import (
    kept_memory,
    kept_value,
    overlay,
    parse_sidecar,
    read_sidecar,
    sidecar_edits,
)

MEMORY = Memory(ref="s:1", id="1", store="s", kind="fact", content="a", tags=("native",))


def line(id: str, value: object) -> str:
    return json.dumps({"id": id, "set": value, "at": "2026-11-21T09:00:00Z"})


def test_the_latest_line_wins_and_null_takes_away() -> None:
    text = "\n".join(
        [line("1", {"pinned": True}), line("2", {"pinned": True}), line("1", {"rating": 3})]
    )
    assert dict(parse_sidecar(text).entry("1")) == {"rating": 3}
    assert not parse_sidecar(text + "\n" + line("2", None)).entry("2")


def test_damaged_lines_are_passed_over_and_counted() -> None:
    text = "\n".join(
        ["{", "7", '{"id": 3, "set": {}}', line("1", {"pinned": True}), '{"id": "1", "set": 4}']
    )
    sidecar = parse_sidecar(text)
    assert sidecar.damaged == 4
    assert sidecar.entry("1")["pinned"] is True


@given(st.text())
def test_no_text_is_too_damaged(text: str) -> None:
    parse_sidecar(text)


def test_all_that_an_entry_holds_is_laid_over_the_memory() -> None:
    entry = {
        "pinned": True,
        "tags": ["mine", "native", 7],
        "rating": 4,
        "links": [{"relation": "see", "target": "2", "note": "n"}, "no link", {"relation": 1}],
        "superseded_by": ["9"],
    }
    found = overlay(MEMORY, entry)
    assert found.pinned
    assert found.tags == ("native", "mine")
    assert found.links == (Link("see", "2", note="n"),)
    assert found.superseded_by == ("9",)
    assert found.extra["rating"] == 4


def test_a_kept_memory_comes_back_under_the_label_of_today() -> None:
    kept = kept_memory({"kept": kept_value(MEMORY)}, "renamed")
    assert kept is not None
    assert (kept.ref, kept.content, kept.extra["kept"]) == ("renamed:1", "a", True)
    for broken in (None, 7, {}, {"memory": 3}, {"memory": {**to_record(MEMORY), "x": 1}}):
        assert kept_memory({"kept": broken}, "s") is None


def test_an_edit_is_written_read_back_and_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    root.mkdir()
    reader = SidecarReader(root)
    assert not reader.current().entries
    made = sidecar_edits(root, reader.current(), "1", "shard", pinned=True, tags=["x"])
    commit(made, NullRecorder(tmp_path / "state"))
    assert dict(reader.current().entry("1")) == {"pinned": True, "tags": ["x"], "shard": "shard"}
    assert sidecar_edits(root, reader.current(), "1", "shard", pinned=True) == ()
    off = sidecar_edits(root, reader.current(), "1", "shard", pinned=False, tags=[])
    assert [edit.after for edit in off] == [None]


def test_a_store_that_is_one_file_has_its_sidecar_beside_it(tmp_path: Path) -> None:
    database = tmp_path / "engram.db"
    database.write_bytes(b"")
    assert sidecar_path(database) == tmp_path / ".memtui" / "engram.db.jsonl"
    assert sidecar_path(tmp_path) == tmp_path / ".memtui" / "sidecar.jsonl"


def test_a_sidecar_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / ".memtui" / "sidecar.jsonl").mkdir(parents=True)
    assert "folder" in read_sidecar(tmp_path).fault
