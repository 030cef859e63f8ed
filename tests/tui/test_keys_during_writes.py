"""Keys pressed while a change is written wait for its outcome, and act on what it has made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memtui.journal import ActionState, JournalAction
from memtui.library import Library
from memtui.library.review_files import Decisions
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.widgets.inputs import TextInput

from .stage import NOW, Stage, fact, stage, write_store

pytestmark = pytest.mark.textual

TURNS = 500
"""Turns of the event loop, in which a key that does not wait comes to act."""


class Gate:
    """Holds up each write until the test opens it."""

    def __init__(self) -> None:
        self.began, self._is_open = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self.began.set()
        assert self._is_open.wait(30), "the test has not opened the gate"

    def open(self) -> None:
        self._is_open.set()


class GatedLibrary(Library):
    gate: Gate

    def apply(self, *given: Any, **options: Any) -> JournalAction:
        self.gate.pass_through()
        return super().apply(*given, **options)

    def undo(self, *given: Any, **options: Any) -> JournalAction:
        self.gate.pass_through()
        return super().undo(*given, **options)


NAMES = ("Alice", "Bob", "Carol")
FACTS = {
    f"people/{name.lower()}": [
        fact(2 * number, f"{name} works at Lumen Systems in the Porto office", "2026-01-02"),
        fact(
            2 * number + 1, f"{name} works at Lumen Systems in the Porto office now", "2026-03-02"
        ),
    ]
    for number, name in enumerate(NAMES, start=1)
}
"""Each pair is one near-duplicate, which accepting makes one memory."""


@asynccontextmanager
async def gated(tmp_path: Path, facts: Any = FACTS) -> AsyncIterator[tuple[Stage, Gate]]:
    """The app over a store, whose writes wait for the gate."""
    root, state, gate = write_store(tmp_path / "home", facts), tmp_path / "state", Gate()

    def opened() -> Library:
        library = GatedLibrary.open([root], cache=None, state=state, now=lambda: NOW)
        assert isinstance(library, GatedLibrary)
        library.gate = gate
        return library

    async with stage(root, state=state, open_library=opened, toasts=True) as on:
        await on.ready()
        try:
            yield on, gate
        finally:
            gate.open()


async def press_during(on: Stage, gate: Gate, first: list[str], *then: str) -> None:
    """Press `first`, whose last key begins a write, and the other keys before that is done."""
    await on.settle()
    on.strike(*first)
    while not gate.began.is_set():
        await asyncio.sleep(0.001)
    on.strike(*then)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    gate.open()
    await on.settle()


def log(on: Stage) -> list[tuple[str, ActionState]]:
    """The actions of the journal, the oldest first, with their titles."""
    library = on.browse.worker.library
    assert library is not None
    return [(action.title, action.state) for action in reversed(library.log())]


def text_of(tmp_path: Path) -> str:
    return "".join(file.read_text("utf-8") for file in (tmp_path / "home").rglob("items.json"))


def count_active(on: Stage) -> int:
    library = on.browse.worker.library
    assert library is not None
    return sum(memory.status == "active" for memory in library.memories("agent-memory"))


async def open_review(on: Stage) -> None:
    await on.press("V")
    await on.sees("Duplicates")


@pytest.mark.parametrize("at_once", [True, False], ids=["in one read", "during the write"])
async def test_two_accepts_accept_two_proposals_each_once(tmp_path: Path, at_once: bool) -> None:
    async with gated(tmp_path) as (on, gate):
        await open_review(on)
        first, then = (["a", "a"], []) if at_once else (["a"], ["a"])
        await press_during(on, gate, first, *then)
        await on.sees("0 to review · 1 hint")
        assert len(log(on)) == 2
        assert len({title for title, _ in log(on)}) == 2
        assert count_active(on) == 4


async def test_two_declines_decline_two_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = Decisions.decide
    async with gated(tmp_path) as (on, gate):

        def decide_late(*given: Any) -> None:
            gate.pass_through()
            decide(*given)

        monkeypatch.setattr(Decisions, "decide", decide_late)
        await open_review(on)
        await press_during(on, gate, ["x"], "x")
        await on.sees("2 declined")


async def test_a_second_pin_takes_the_first_back(tmp_path: Path) -> None:
    async with gated(tmp_path) as (on, gate):
        await press_during(on, gate, ["p"], "p")
        memory = on.browse.memories.memory
        assert memory is not None
        assert not memory.pinned
        (first, _), (second, _) = log(on)
        assert first.startswith("pin: ")
        assert second.startswith("unpin: ")
        await on.press("u", "u")
        assert [state for _, state in log(on)] == [ActionState.UNDONE] * 2


async def test_an_undo_during_a_write_undoes_that_write(tmp_path: Path) -> None:
    async with gated(tmp_path) as (on, gate):
        before = text_of(tmp_path)
        await press_during(on, gate, ["p"], "u", "u")
        assert [state for _, state in log(on)] == [ActionState.UNDONE]
        assert text_of(tmp_path) == before


async def test_an_edit_during_a_write_begins_with_what_was_written(tmp_path: Path) -> None:
    async with gated(tmp_path) as (on, gate):
        await on.press("e")
        screen = on.app.screen
        assert isinstance(screen, FormScreen)
        screen.query_one(TextInput).set_raw("The deploys happen on Fridays")
        await on.settle()
        await press_during(on, gate, ["ctrl+s"], "e", "!", "ctrl+s")
        assert '"!The deploys happen on Fridays"' in text_of(tmp_path)
        assert len(log(on)) == 2


async def test_a_second_retire_is_about_the_next_memory(tmp_path: Path) -> None:
    async with gated(tmp_path) as (on, gate):
        first, second = on.headlines()[:2]
        await press_during(on, gate, ["d", "enter"], "d", "enter")
        assert [title for title, _ in log(on)] == [f"retire: {first}", f"retire: {second}"]


async def test_a_click_during_a_write_waits_too(tmp_path: Path) -> None:
    async with gated(tmp_path) as (on, gate):
        await on.settle()
        on.strike("p")
        while not gate.began.is_set():
            await asyncio.sleep(0.001)
        footer = on.text().splitlines()[-1]
        click = asyncio.create_task(on.pilot.click("#keys", offset=(footer.index("retire"), 0)))
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert on.app.screen is on.browse
        gate.open()
        await click
        await on.settle()
        await on.sees("enter retire")
        assert len(log(on)) == 1


async def test_escape_stops_the_planning_that_the_keys_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(tmp_path) as (on, gate):
        plan = Library.plan

        def plan_late(*given: Any, **options: Any) -> Any:
            gate.pass_through()
            return plan(*given, **options)

        monkeypatch.setattr(Library, "plan", plan_late)
        await on.settle()
        on.strike("p")
        while not gate.began.is_set():
            await asyncio.sleep(0.001)
        on.strike("p", "escape")
        for _ in range(TURNS):
            await asyncio.sleep(0)
        gate.open()
        await on.settle()
        assert log(on) == []
