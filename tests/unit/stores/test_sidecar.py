"""The sidecar: the latest line wins, damage is passed over, and a memory only gains by it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import invert_edits, sidecar_edit
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit, preview
from memtui.files.sidecar_lines import (
    join_sidecar,
    read_entries,
    read_sidecar_texts,
    sidecar_files,
    sidecar_path,
)
from memtui.model import Link, Memory, to_record
from memtui.paths import state_folder
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


@pytest.mark.parametrize("damaged", ['{"id": "1", "set": [1]}', '{"id": "1", "set": 4}', "{"])
def test_a_damaged_line_locks_no_memory(tmp_path: Path, damaged: str) -> None:
    """What is passed over on reading is passed over on writing, and stays where it is."""
    root = tmp_path / "store"
    file = sidecar_path(root)
    file.parent.mkdir(parents=True)
    file.write_text(f"{line('1', {'pinned': True})}\n{damaged}\n")
    reader = SidecarReader(root)
    made = sidecar_edits(root, reader.current(), "1", "shard", rating=3)
    commit(made, NullRecorder(tmp_path / "state"))
    assert dict(reader.current().entry("1")) == {"pinned": True, "rating": 3, "shard": "shard"}
    assert damaged in file.read_text().split("\n")
    commit(invert_edits(made), NullRecorder(tmp_path / "state"))
    assert dict(reader.current().entry("1")) == {"pinned": True}


def test_a_sidecar_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / ".memtui" / "sidecar.jsonl").mkdir(parents=True)
    assert "folder" in read_sidecar(tmp_path).fault


def test_a_sidecar_that_is_a_link_out_of_the_store_is_not_read(tmp_path: Path) -> None:
    store, beside = tmp_path / "store", tmp_path / "beside.jsonl"
    beside.write_text(line("1", {"pinned": True}) + "\n")
    (store / ".memtui").mkdir(parents=True)
    sidecar_path(store).symlink_to(beside)
    found = read_sidecar(store)
    assert (found.fault, dict(found.entry("1"))) == (
        "it is a symbolic link to a place outside the store",
        {},
    )


OLD = "\n".join(
    [
        line("a", {"text": "d1", "updated": "2026-11-21T09:00:00Z", "shard": "s"}),
        line("b", {"pinned": True, "tags": ["x"], "text": "d2", "shard": "s"}),
        "damaged",
        line("c", {"kept": kept_value(MEMORY), "superseded_by": ["b"], "shard": "s"}),
        line("d", {"kept": kept_value(MEMORY), "rating": 2, "shard": "s"}),
        line("b", {"pinned": True, "text": "d3", "shard": "s"}),
        "",
    ]
)
"""A sidecar of version 1: one file for all."""


@pytest.fixture(params=["a folder", "a file"])
def old_store(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The root of a store with such a sidecar."""
    root = tmp_path / "store"
    if request.param == "a folder":
        root.mkdir()
    else:
        root.write_text("{}")
    files = sidecar_files(root)
    file = files.former or files.asked
    file.parent.mkdir()
    file.write_text(OLD)
    return root


def _without_times(text: str | None) -> str | None:
    """Each line has the second in which it is made."""
    return text and re.sub(r'"at": "[^"]*"', '"at"', text)


def test_a_sidecar_of_version_1_is_brought_to_its_form_by_the_next_write(old_store: Path) -> None:
    files, state = sidecar_files(old_store), NullRecorder(state_folder())
    before = read_sidecar(old_store)
    assert dict(before.entries) == dict(parse_sidecar(OLD).entries)
    made = sidecar_edits(old_store, before, "a", "s", rating=5)
    diffs = preview(made)
    commit(made, state)
    after = read_sidecar(old_store)
    assert dict(after.entries) == {**before.entries, "a": {**before.entry("a"), "rating": 5}}
    assert after.damaged == 1
    assert {diff.path: _without_times(diff.after) for diff in diffs} == {
        str(path): _without_times(path.read_text() if path.exists() else None)
        for path in filter(None, files)
    }
    beside = {id: entry for id, entry in read_entries(files.asked.read_text()).items() if entry}
    assert beside == {
        "a": {**before.entry("a"), "rating": 5},
        "b": before.entry("b"),
        "d": {"rating": 2, "shard": "s"},
    }
    kept = {"kept": before.entry("d")["kept"], "shard": "s"}
    assert read_entries(files.kept.read_text())["d"] == kept
    assert files.former is None or not files.former.exists()
    assert files.kept.stat().st_mode & 0o777 == 0o600
    assert files.kept.parent.stat().st_mode & 0o777 == 0o700
    assert "d2" in "".join(read_sidecar_texts(old_store)), "former names of texts are still known"
    commit(invert_edits(made), state)
    assert dict(read_sidecar(old_store).entries) == dict(before.entries)
    assert dict(parse_sidecar(join_sidecar(old_store)).entries) == dict(before.entries)


def test_a_change_that_version_1_has_recorded_is_undone(old_store: Path) -> None:
    """Its edits are of whole entries."""
    before = read_sidecar(old_store)
    recorded = sidecar_edit(str(old_store), "c", None, before.entry("c"))
    commit(invert_edits((recorded,)), NullRecorder(state_folder()))
    found = read_sidecar(old_store)
    assert not found.entry("c")
    assert found.entry("d") == before.entry("d")
    commit([recorded], NullRecorder(state_folder()))
    assert read_sidecar(old_store).entry("c") == before.entry("c")


def test_what_only_memtui_needs_lies_in_its_state_until_a_person_asks(tmp_path: Path) -> None:
    files, state = sidecar_files(tmp_path), NullRecorder(state_folder())
    steps = (
        {"text": "d1"},
        {"pinned": True},
        {"kept": kept_value(MEMORY)},
        {"pinned": None},
        {"kept": None, "text": None},
    )
    made = []
    for values in steps:
        edits = sidecar_edits(tmp_path, read_sidecar(tmp_path), "1", "s", **values)
        commit(edits, state)
        made += edits
        beside = read_entries(files.asked.read_text()) if files.asked.exists() else {}
        assert set(beside.get("1") or {}) in (set(), {"pinned", "text", "shard"})
        assert bool(beside.get("1")) is bool(read_sidecar(tmp_path).entry("1").get("pinned"))
    assert not read_sidecar(tmp_path).entries
    for edit in reversed(made):
        commit(invert_edits((edit,)), state)
    assert not read_sidecar(tmp_path).entries
    assert not files.asked.exists()
    assert not files.kept.exists()
