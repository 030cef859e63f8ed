"""A delete, a change of many rows or an import that is killed is whole or not there at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.bundle.bundle_reader import read_document
from memtui.bundle.import_plan import plan_import
from memtui.changes import Act, Change
from memtui.files import save_hooks
from memtui.journal import ActionState
from memtui.library import Library
from memtui.library.planning import Planned, planned_import
from memtui.model import Memory, to_record
from memtui.stores.sqlite.connection import FAILPOINTS
from tests.long_run import share
from tests.samples import SAMPLES
from tests.torture.processes import KILLED, in_child

from .test_writing import healthy, person_columns


def opened(folder: Path) -> Library:
    library = Library.open([folder / "engram"], state=folder / "state", cache=None)
    library.load()
    return library


def deletion(library: Library, folder: Path) -> Planned:
    refs = [m.ref for m in library.memories("engram") if m.kind == "observation"][:3]
    return library.plan([Change(Act.DELETE, "engram", ref, force=True) for ref in refs])


def edit_of_many(library: Library, folder: Path) -> Planned:
    found = [m for m in library.memories("engram") if m.kind == "observation" and not m.pinned]
    fields = {"type": "rewritten"}
    return library.plan([Change(Act.EDIT, "engram", m.ref, fields) for m in found[:20]])


def importing(library: Library, folder: Path) -> Planned:
    bell = Memory(ref="", id="", store="x", kind="observation", type="discovery")
    lines = [
        {**to_record(bell), "id": f"b{n}", "ref": f"x:b{n}", "content": f"Bell {n} hangs"}
        for n in range(30)
    ]
    file = folder / "new.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return planned_import(plan_import(read_document(file), library, "engram"))


CASES = [
    (make, point)
    for row, make in enumerate((deletion, edit_of_many, importing))
    for point in (*FAILPOINTS[row % 2 :], *FAILPOINTS[: row % 2])
]
"""The usual run takes every other point of each change, with the next change the others."""


@pytest.mark.slow
@pytest.mark.parametrize(("make", "point"), share(CASES, 0, 2))
def test_after_a_kill_all_rows_are_old_or_all_are_new(
    tmp_path: Path, make: Callable[[Library, Path], Planned], point: str
) -> None:
    shutil.copytree(SAMPLES / "engram", tmp_path / "engram")
    old = person_columns(tmp_path / "engram")
    library = opened(tmp_path)
    planned = make(library, tmp_path)
    library.close()

    def work() -> None:
        save_hooks.install(save_hooks.kill_at(f"{point}:1"))
        opened(tmp_path).apply(planned)

    assert in_child(work) == KILLED
    healthy(tmp_path / "engram")
    now = person_columns(tmp_path / "engram")
    library = opened(tmp_path)
    log = library.log()
    if point != "done":
        assert now == old
        assert all(action.state is ActionState.VOID for action in log)
        library.apply(planned)
        assert person_columns(tmp_path / "engram") != old, "it can be done again"
    else:
        assert now != old
        assert [action.state for action in log] == [ActionState.DONE]
    assert library.snapshot.count == opened(tmp_path).snapshot.count
    library.undo()
    assert person_columns(tmp_path / "engram") == old
    healthy(tmp_path / "engram")
