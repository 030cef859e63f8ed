"""Killed at any instant, a file is old or new, and the journal knows which (P2, P6)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memtui.changes import Edit
from memtui.files import save_hooks
from memtui.files.json.editing import insert_records
from memtui.files.merging import rebase
from memtui.files.reading import decode, encode
from memtui.journal import ActionState, Journal
from tests.long_run import count, share
from tests.torture import kills
from tests.torture.cases import AGENT, AMBIENT, CASES, NOTE, PROGRAMS, Case
from tests.torture.processes import KILLED, in_child

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_killed_at_every_point_of_a_save(
    tmp_path: Path, figures: Callable[[str], None], case: Case
) -> None:
    figures(kills.at_every_point(tmp_path, count(1, 10), 1, [case]) + f" [{case.name}]")


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.name)
def test_killed_at_every_point_of_a_save_in_the_stores_of_programs(
    tmp_path: Path, figures: Callable[[str], None], case: Case
) -> None:
    """The usual run kills at each point in every third store: a save is the same in all."""

    def choose(points: list[str]) -> Sequence[str]:
        return share(points, PROGRAMS.index(case), 3)

    figures(kills.at_every_point(tmp_path, 1, 1, [case], choose) + f" [{case.name}]")


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_times(tmp_path: Path, figures: Callable[[str], None], seed: int) -> None:
    figures(kills.at_random_times(tmp_path, count(10, 100), seed))


def test_killed_in_the_middle_of_two_files(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(kills.at_random_times(tmp_path, count(10, 100), 3, AMBIENT))


@pytest.mark.parametrize(
    "point", ["look:1", "keep:1", "intent:2", "temp:2", "exchange:2", "keep:2"]
)
def test_killed_while_another_programs_write_is_being_merged(tmp_path: Path, point: str) -> None:
    """What came out of the exchange is not lost with the process: the next start brings it in."""
    for case, path, theirs in (
        (AGENT, tmp_path / "a" / "items.json", '{"id": "theirs", "content": "new"}'),
        (NOTE, tmp_path / "n" / "2026-11-21.md", "- theirs\r\n"),
    ):
        path.parent.mkdir()
        case.make(path.parent)
        edits = case.plan(path.parent, random.Random(1))
        state = path.parent.parent / f"{case.name}-state"

        def work(
            path: Path = path, edits: tuple[Edit, ...] = edits, theirs: str = theirs,
            state: Path = state,
        ) -> None:  # fmt: skip
            kill, written = save_hooks.kill_at(point), []

            def hook(reached: str) -> None:
                if reached == "exchange" and not written:
                    text = decode(path.read_bytes())
                    grown = text + theirs if path.suffix == ".md" else _with(text, theirs)
                    written.append(path.write_bytes(encode(grown)))
                kill(reached)

            save_hooks.install(hook)
            kills.do(Journal(state), edits)

        assert in_child(work) == KILLED
        journal = Journal(state)
        journal.recover()
        text = decode(path.read_bytes())
        assert theirs in text
        assert [(a.state, a.note) for a in journal.log()] == [(ActionState.DONE, "")]
        assert rebase(text, edits) == text, "our own edit is not there"
        kills.take_back(journal, journal.undoable()[0])
        assert theirs in decode(path.read_bytes())
        assert not kills.strangers(path.parent, case.files)
        journal.close()


def _with(text: str, record: str) -> str:
    return insert_records(text, (), [record])
