"""Another program writes during a save that fails: both texts are kept, and the message is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.files import save_transaction
from tests.long_run import count
from tests.torture import pairs

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program here writes from an old reading after a merge, so nothing is waited for."""
    monkeypatch.setattr(save_transaction, "MAX_CHECKS", 1)


@pytest.mark.parametrize("save", pairs.SAVES, ids=lambda save: save.name)
def test_a_write_of_another_program_and_errors_of_the_system(
    tmp_path: Path, figures: Callable[[str], None], save: pairs.Save
) -> None:
    number = count(8, 2000)
    figures(pairs.all_kept(tmp_path, save, 27, number, number))


@pytest.mark.parametrize(
    ("save", "style", "written", "refused"),
    [
        ("list", ("rename", "adds to what it read before"), ("exchange 1",), ("keep 1", "temp 2")),
        ("list", ("rename", "adds"), ("exchange 1",), ("keep 1", "intent 2")),
        ("list", ("rename", "adds"), ("exchange 1",), ("temp 2", "restore 1")),
        ("record", ("rename", "changes"), ("exchange 1",), ("keep 1",)),
        ("record", ("rename", "adds"), ("exchange 1", "look 1"), ("look 1",)),
        ("record", ("rename", "adds"), ("exchange 1", "folder 1"), ("folder 1", "keep 1")),
        ("text", ("truncate", "adds"), ("exchange 1", "exchange 2"), ("look 2",)),
        ("removed file", ("rename", "adds"), ("exchange 1", "look 1"), ("look 1",)),
        ("removed file", ("rename", "adds"), ("exchange 1", "look 1"), ("look 1", "keep 1")),
        ("new file", ("rename", "adds"), ("folder 1",), ("folder 1",)),
        ("last of two", ("rename", "adds"), ("exchange 2",), ("keep 2", "temp 3")),
    ],
)
def test_what_a_failing_save_displaced_is_kept(
    tmp_path: Path,
    save: str,
    style: tuple[str, str],
    written: tuple[str, ...],
    refused: tuple[str, ...],
) -> None:
    runner = pairs.Runner(tmp_path)
    chosen = next(one for one in pairs.SAVES if one.name == save)
    runner.run(pairs.Faults(chosen, style, written, refused))
    runner.close()
    assert not runner.problems
