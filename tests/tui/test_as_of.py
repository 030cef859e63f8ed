"""As of a time: the whole screen shows what was believed then, says so, and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.library import Library, past_library
from memtui.tui import actions

from .sample_stage import changing
from .stage import NOW, Stage, compare, fact, stage, write_store
from .test_keys_during_writes import Gate, press_during

SIZES = ((80, 24), (40, 12))
WRITING = ("edit", "new", "retire", "pin", "undo", "source", "import")


async def go_to(on: Stage, time: str) -> None:
    await on.press("@")
    await on.type(time)
    await on.press("enter")


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
async def test_the_banner_cannot_be_overlooked(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await go_to(on, "2026-05-31")
        compare(f"as-of-{size[0]}x{size[1]}", await on.still())
        assert "AS OF 2026-05-31" in on.text()
        assert "@ leave" in on.text()


@pytest.mark.slow
async def test_what_was_believed_then_is_shown_and_searched(root: Path) -> None:
    async with stage(root) as on:
        await go_to(on, "2026-05-31")
        assert on.headlines() == [
            "Alice lives in Porto",
            "Alice prefers tea in the morning",
            "Use Postgres for the ledger, not SQLite",
        ]
        await on.press("/")
        await on.type("lives")
        await on.press("enter")
        assert on.headlines() == ["Alice lives in Porto"]
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.status == "active"
        await on.press("@")
        assert on.headlines() == ["Alice lives in Lisbon since June"]
        assert "AS OF" not in on.text()


@pytest.mark.slow
async def test_escape_leaves_once_nothing_else_is_left_to_leave(root: Path) -> None:
    async with stage(root) as on:
        await go_to(on, "2026-05-31")
        await on.press("/")
        await on.type("tea")
        await on.press("escape", "escape")
        assert "AS OF" in on.text()
        await on.press("escape")
        assert "AS OF" not in on.text()
        assert len(on.headlines()) == 9


@pytest.mark.slow
async def test_the_present_is_not_said_to_be_read_only(root: Path) -> None:
    async with stage(root, toasts=True) as on:
        await go_to(on, "2026-05-31")
        await on.press("e")
        await on.sees("nothing can")
        await on.press("@")
        assert "nothing can" not in await on.still()


@pytest.mark.slow
async def test_nothing_is_written_and_the_keys_are_not_offered(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory") as on:
        before = on.files()
        await go_to(on, "2026-11-01")
        footer = on.text().splitlines()[-1]
        for name in WRITING:
            reason = on.browse.refusal(name)
            assert "as of 2026-11-01" in reason, name
            assert f" {actions.BY_ID[name].label}  " not in footer
        await on.press("d")
        assert "nothing can be changed there" in on.toasts[-1]
        await on.press("p", "u", "e")
        assert on.app.screen is on.browse
        assert on.files() == before
        await on.press("@")
        assert not on.browse.refusal("new")


@pytest.mark.slow
async def test_a_key_pressed_while_the_past_is_read_acts_on_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()

    def library_at_last(*given: Any, **options: Any) -> past_library.PastLibrary:
        gate.pass_through()
        return library_at(*given, **options)

    library_at = past_library.library_at
    monkeypatch.setattr(past_library, "library_at", library_at_last)
    async with changing(tmp_path, "agent-memory") as on:
        before = on.files()
        await press_during(on, gate, ["@", *"2026-11-01", "enter"], "d")
        await on.until(lambda: on.toasts, "the refusal is said")
        assert "nothing can be changed there" in on.toasts[-1]
        assert "AS OF 2026-11-01" in on.text()
        assert on.files() == before


@pytest.mark.slow
async def test_a_time_that_is_none_is_said_and_not_taken(root: Path) -> None:
    async with stage(root) as on:
        await go_to(on, "soonish")
        assert "soonish" in on.text()
        assert on.app.screen is not on.browse
        await on.press("escape")
        assert "AS OF" not in on.text()


@pytest.mark.slow
async def test_what_another_program_writes_meanwhile_is_there_on_coming_back(
    tmp_path: Path,
) -> None:
    root = write_store(tmp_path / "store", {"people/alice": []})
    async with stage(
        root, open_library=lambda: Library.open([root], cache=None, state=None, now=lambda: NOW)
    ) as on:
        await on.ready()
        await go_to(on, "2026-03-31")
        write_store(tmp_path / "store")
        on.browse.worker.refresh()
        await on.settle()
        assert "AS OF" in on.text()
        await on.press("@")
        assert len(on.headlines()) == 9


@pytest.mark.slow
async def test_what_is_shown_of_then_can_be_exported(root: Path, tmp_path: Path) -> None:
    async with stage(root) as on:
        await go_to(on, "2026-05-31")
        await on.press("x")
        assert "bundle" not in on.text().replace("files only in a bundle", "")
        await on.press("tab", "tab", "ctrl+u")
        await on.type(str(tmp_path / "then.jsonl"))
        await on.press("enter")
        await on.still()
    lines = [json.loads(line) for line in (tmp_path / "then.jsonl").read_text().splitlines()]
    texts = [line["content"] for line in lines if "content" in line]
    assert "Alice lives in Porto" in texts
    assert not any("Lisbon" in text for text in texts)


@pytest.mark.slow
async def test_the_past_has_nothing_to_review_and_leaves_the_marks_of_the_present(
    tmp_path: Path,
) -> None:
    texts = ("Alice works at Lumen Systems in Porto",) * 2
    facts = {"people/alice": [fact(at, words, "2026-02-10") for at, words in enumerate(texts)]}
    async with stage(write_store(tmp_path / "home", facts)) as on:
        await on.sees("1 to review")
        await on.press("space")
        marked = on.browse.marked_memories()
        assert len(marked) == 1
        await go_to(on, "2026-05-31")
        assert "1 to review" not in await on.still()
        assert "1 marked" not in on.text()
        assert not on.browse.marked_memories()
        await on.press("@")
        await on.sees("1 to review")
        assert "1 marked" in on.text()
        assert on.browse.marked_memories() == marked
