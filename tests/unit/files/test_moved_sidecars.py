"""What memtui keeps of a store is found again after the store was moved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.cli.main import run
from memtui.files import moved_sidecars
from memtui.files.sidecar_lines import sidecar_files
from memtui.library import Library
from memtui.paths import data_folder, state_folder

pytestmark = pytest.mark.usefixtures("own_places")


def graph(path: Path, *names: str) -> Path:
    """The file of MCP's memory server, with an observation for each name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        {"type": "entity", "name": name, "entityType": "person", "observations": [f"{name} rows"]}
        for name in names
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def opened(root: Path) -> Library:
    library = Library.open([root], state=state_folder())
    library.load()
    return library


def change(root: Path, act: Act, words: str) -> None:
    library = opened(root)
    (memory,) = (m for m in library.memories(library.stores[0].label) if words in m.content)
    library.apply(library.plan([Change(act, memory.store, memory.ref)]))
    library.close()


def statuses(root: Path) -> dict[str, str]:
    library = opened(root)
    found = library.memories(library.stores[0].label)
    library.close()
    return {m.content: f"{m.status}{' pinned' * m.pinned}" for m in found}


def own_names() -> set[str]:
    folders = (state_folder() / "kept", data_folder() / "sidecars")
    return {file.name for folder in folders for file in folder.glob("*.jsonl")}


def test_where_a_store_lies_is_noted_only_if_something_is_kept_of_it(tmp_path: Path) -> None:
    moved_sidecars.note_store(graph(tmp_path / "memory.jsonl", *"AB"))
    assert not list(tmp_path.rglob(moved_sidecars.PLACES))


@pytest.mark.parametrize("name", ["elsewhere/memory.jsonl", "graph.jsonl"])
def test_a_single_file_that_was_moved(tmp_path: Path, name: str) -> None:
    former = graph(tmp_path / "home" / "memory.jsonl", *"ABCDEF")
    change(former, Act.RETIRE, "A rows")
    change(former, Act.PIN, "B rows")
    before = statuses(former)
    assert before["A rows"] == "retired"
    assert before["B rows"] == "active pinned"
    now = tmp_path / "home" / name
    now.parent.mkdir(exist_ok=True)
    former.rename(now)
    assert statuses(now) == before
    assert sidecar_files(now).kept.name in own_names()
    assert moved_sidecars.list_homeless() == [], "it is known where they are"
    change(now, Act.RESTORE, "A rows")
    assert statuses(now)["A rows"] == "active"


def test_a_store_that_is_back_at_its_path(tmp_path: Path) -> None:
    """As on a disk that was away while a copy was open."""
    former = graph(tmp_path / "disk" / "memory.jsonl", *"ABCDEF")
    change(former, Act.RETIRE, "A rows")
    text, now = former.read_text(), tmp_path / "memory.jsonl"
    shutil.move(former.parent, tmp_path / "away")
    now.write_text(text)
    assert statuses(now)["A rows"] == "retired"
    shutil.move(tmp_path / "away", former.parent)
    assert statuses(former)["A rows"] == "retired"


def test_a_file_that_was_moved_and_then_written(tmp_path: Path) -> None:
    former = graph(tmp_path / "memory.jsonl", *"ABCDEF")
    change(former, Act.RETIRE, "A rows")
    now = tmp_path / "new" / "memory.jsonl"
    now.parent.mkdir()
    former.rename(now)
    with now.open("a") as file:
        file.write('{"type":"entity","name":"G","entityType":"person","observations":["G rows"]}\n')
    assert statuses(now)["A rows"] == "retired"


def test_a_folder_that_was_moved(tmp_path: Path) -> None:
    former = tmp_path / "hermes"
    (former / "memories").mkdir(parents=True)
    (former / "memories" / "MEMORY.md").write_text("Anna rows\n§\nBert sails\n§\nCleo swims\n")
    change(former, Act.RETIRE, "Anna rows")
    former.rename(tmp_path / "new")
    assert statuses(tmp_path / "new")["Anna rows"] == "retired"


def test_another_store_of_the_same_name_gets_nothing_and_the_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    former = graph(tmp_path / "one" / "memory.jsonl", *"ABC")
    change(former, Act.RETIRE, "A rows")
    kept = sidecar_files(former).kept
    shutil.rmtree(former.parent)
    other = graph(tmp_path / "two" / "memory.jsonl", *"XYZ")
    assert set(statuses(other)) == {"X rows", "Y rows", "Z rows"}
    assert kept.exists()
    capsys.readouterr()
    assert run(["stores", "--store", str(other)]) == 0
    assert f"kept of {former}, which is gone: 1 memory in {kept}" in capsys.readouterr().out


def test_a_copy_is_another_store(tmp_path: Path) -> None:
    former = graph(tmp_path / "one" / "memory.jsonl", *"ABC")
    change(former, Act.RETIRE, "A rows")
    copy = tmp_path / "two" / "memory.jsonl"
    copy.parent.mkdir()
    shutil.copy(former, copy)
    assert "A rows" not in statuses(copy)
    assert statuses(former)["A rows"] == "retired"


def test_where_two_may_be_meant_nothing_is_moved(tmp_path: Path) -> None:
    for name in ("one", "two"):
        former = graph(tmp_path / name / "memory.jsonl", *"ABC")
        change(former, Act.RETIRE, f"{'A' if name == 'one' else 'B'} rows")
        graph(former, *"CDEF")
        change(former, Act.PIN, "C rows")
    for name in ("one", "two"):
        shutil.rmtree(tmp_path / name)
    now = graph(tmp_path / "three" / "memory.jsonl", *"CDEF")
    assert len(moved_sidecars.list_homeless()) == 2
    assert set(statuses(now)) == {"C rows", "D rows", "E rows", "F rows"}


def test_a_damaged_list_of_places_is_no_list(tmp_path: Path) -> None:
    former = graph(tmp_path / "memory.jsonl", *"ABC")
    change(former, Act.RETIRE, "A rows")
    for damage in ("{", '{"x": 1}', '{"x": {"root": "/", "marks": [], "is_folder": true}}'):
        (state_folder() / "kept" / moved_sidecars.PLACES).write_text(damage)
        assert statuses(former)["A rows"] == "retired"
        assert moved_sidecars.list_homeless() == []


def test_marks_that_are_no_texts_recognise_nothing(tmp_path: Path) -> None:
    former = graph(tmp_path / "memory.jsonl", *"ABC")
    change(former, Act.RETIRE, "A rows")
    place = {"root": str(former), "marks": [[1]], "is_folder": False, "at": 1.0}
    places = {sidecar_files(former).kept.name: place}
    (state_folder() / "kept" / moved_sidecars.PLACES).write_text(json.dumps(places))
    assert "A rows" not in statuses(former.rename(tmp_path / "graph.jsonl"))
