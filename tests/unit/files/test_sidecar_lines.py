"""The lines of a sidecar: what is appended, what an undo takes out, and what is a conflict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Edit, sidecar_edit
from memtui.errors import Conflict
from memtui.files.sidecar_lines import read_entries, sidecar_files, sidecar_path, write_entries
from memtui.paths import data_folder, state_folder

PINNED, RATED = {"pinned": True}, {"rating": 3}


def edit(
    id: str, before: dict[str, Any] | None, after: dict[str, Any] | None, undoes: bool = False
) -> Edit:
    return replace(sidecar_edit("/store", id, before, after), undoes=undoes)


def line(id: str, value: Any) -> str:
    return json.dumps({"id": id, "set": value, "at": "2026-11-21T09:00:00Z"})


def written(text: str | None, *edits: Edit) -> str:
    result = write_entries(text, edits, "the sidecar")
    assert result is not None
    return result


def test_a_change_is_a_line_with_its_time_below_the_others() -> None:
    first = written(None, edit("1", None, PINNED))
    record = json.loads(first)
    assert list(record) == ["id", "set", "at"]
    assert (record["id"], record["set"]) == ("1", PINNED)
    assert record["at"].endswith("Z")
    assert len(record["at"]) == len("2026-11-21T09:00:00Z")
    assert first.endswith("\n")
    both = written(first, edit("1", PINNED, RATED), edit("é", None, PINNED))
    assert both.startswith(first)
    assert both.count("\n") == 3
    assert '"é"' in both
    assert read_entries(both) == {"1": RATED, "é": PINNED}


@pytest.mark.parametrize(
    ("lines", "change", "left"),
    [
        ([("1", PINNED)], edit("1", PINNED, None, undoes=True), []),
        ([("1", PINNED), ("1", RATED)], edit("1", RATED, PINNED, undoes=True), [0]),
        ([("1", PINNED), ("2", RATED)], edit("1", PINNED, None, undoes=True), [1]),
        ([("1", PINNED), ("2", RATED), ("1", None)], edit("1", None, PINNED, undoes=True), [0, 1]),
    ],
)
def test_an_undo_takes_out_the_newest_line_of_its_memory(
    lines: list[tuple[str, Any]], change: Edit, left: list[int]
) -> None:
    texts = [line(*each) + "\n" for each in lines]
    result = write_entries("".join(texts), [change])
    assert result == ("".join(texts[number] for number in left) or None)


def test_an_undo_that_finds_another_line_below_appends_instead() -> None:
    text = "".join(line("1", value) + "\n" for value in (PINNED, {"rating": 1}, RATED))
    result = written(text, edit("1", RATED, PINNED, undoes=True))
    assert result.startswith(text)
    assert read_entries(result) == {"1": PINNED}


def test_what_is_there_already_is_not_written_again() -> None:
    text = line("1", PINNED) + "\n"
    assert write_entries(text, [edit("1", None, PINNED)]) == text
    assert write_entries(None, [edit("1", PINNED, None)]) is None
    assert write_entries("", [edit("1", PINNED, {})]) == ""


def test_a_torn_last_line_stays_and_its_end_is_not_invented() -> None:
    text = line("1", PINNED) + '\n{"torn'
    result = written(text, edit("2", None, RATED))
    assert result.startswith(text + "\n")
    assert not result.endswith("\n")
    assert write_entries(result, [edit("2", RATED, None, undoes=True)]) == text


@pytest.mark.parametrize(
    "damaged", ["7", "[]", "{", '{"id": 7, "set": {}}', '{"set": {}}', "[" * 9999]
)
def test_damaged_lines_stay_where_they_are(damaged: str) -> None:
    text = f"{damaged}\n" + line("1", PINNED) + "\n"
    result = written(text, edit("1", PINNED, RATED))
    assert result.startswith(text)
    assert read_entries(result) == {"1": RATED}


def test_an_entry_that_is_neither_as_before_nor_as_after_is_a_conflict() -> None:
    text = line("1", {"rating": 1, "tags": ["é"]}) + "\n"
    with pytest.raises(Conflict, match="another memtui") as caught:
        write_entries(text, [edit("1", PINNED, None)], "the sidecar")
    error = caught.value
    assert (error.where, error.yours) == ("the sidecar", None)
    assert (error.base, error.theirs) == (
        '{\n  "pinned": true\n}',
        '{\n  "rating": 1,\n  "tags": [\n    "é"\n  ]\n}',
    )


def test_half_a_character_is_escaped_and_read_back() -> None:
    odd = {"tags": ["\ud83d é"]}
    result = written(None, edit("1", None, odd))
    assert result.isascii()
    assert read_entries(result) == {"1": odd}


def test_where_the_sidecar_of_a_store_is(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.touch()
    assert sidecar_path(file).parent == data_folder() / "sidecars"
    assert sidecar_path(file).name.startswith("memory.jsonl-")
    assert sidecar_files(file).former == tmp_path / ".memtui" / "memory.jsonl.jsonl"
    assert sidecar_files(tmp_path).former is None
    assert sidecar_files(tmp_path).kept.parent == state_folder() / "kept"
    assert sidecar_path(tmp_path / "none") == tmp_path / "none" / ".memtui" / "sidecar.jsonl"
