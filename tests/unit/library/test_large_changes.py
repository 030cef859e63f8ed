"""Changes of thousands of memories report how far they are, and can be stopped while planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.progress import Cancelled, Progress
from tests.unit.library.stores_for_tests import agent_memory


def _open(folder: Path) -> tuple[Library, list[Change]]:
    home = agent_memory(folder / "memory", {f"place-{at}": ["kept"] * 50 for at in range(12)})
    library = Library.open([home], cache=None, state=folder / "state")
    library.refresh()
    changes = [
        Change(Act.EDIT, memory.store, memory.ref, {"content": f"{memory.content}, looked at"})
        for memory in library.memories(library.stores[0].label)
    ]
    return library, changes


@pytest.mark.slow
def test_planning_saving_and_undoing_report_progress(tmp_path: Path) -> None:
    library, changes = _open(tmp_path)
    reports: list[Progress] = []
    planned = library.plan(changes, report=reports.append)
    assert reports == [Progress("planning", 256, 600), Progress("planning", 512, 600)]
    for write in (
        lambda: library.apply(planned, reports.append),
        lambda: library.undo(report=reports.append),
    ):
        reports.clear()
        write()
        assert reports[:-1] == [Progress("saving", done, 12) for done in range(1, 13)]
        assert reports[-1] == Progress("reading what was written")


@pytest.mark.slow
def test_planning_can_be_stopped(tmp_path: Path) -> None:
    library, changes = _open(tmp_path)
    reports: list[Progress] = []
    with pytest.raises(Cancelled):
        library.plan(changes, report=reports.append, cancelled=lambda: bool(reports))
    assert len(reports) == 1
    assert not library.log()
