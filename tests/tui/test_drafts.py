"""What stands in a form outlives the program; forms come back as they were."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.files import save_hooks
from memtui.files.merging import CONFLICT_MARKS
from memtui.library import Library
from memtui.tui.dialogs.diff import ConflictScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.widgets.inputs import TextInput
from tests.torture.processes import KILLED, in_child

from .sample_stage import ChangingStage, changing
from .stage import stage, write_store
from .test_changing import _plain, _rewrite, prose, write

AGENT = "agent-memory"


def drafts(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "state" / "drafts"
    return sorted(folder.iterdir()) if folder.exists() else []


def form(on: ChangingStage) -> FormScreen:
    assert isinstance(on.app.screen, FormScreen), on.text()
    return on.app.screen


@pytest.mark.slow
@pytest.mark.parametrize("key", ["e", "S", "m", "ctrl+t"])
async def test_every_form_is_kept_and_comes_back(tmp_path: Path, key: str) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = on.first(AGENT, kind="fact", status="active")
        await on.stand(fact.ref)
        await on.keys(key)
        await on.type("written")
        values = form(on).values()
        assert "written" in "".join(values.values())
        on._strike("ctrl+q")
    assert len(drafts(tmp_path)) == 1
    async with changing(tmp_path, AGENT) as on:
        assert "Press K to open it." in on.toasts[-1]
        await on.keys("K")
        assert form(on).values() == values
        assert form(on).is_changed
        await on.keys("escape", "y")
        assert on.app.screen is on.browse
    assert drafts(tmp_path) == []


@pytest.mark.slow
async def test_a_form_without_changes_leaves_no_draft(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.keys("e", "x", "backspace")
        assert drafts(tmp_path) == []
        on._strike("ctrl+q")
    assert drafts(tmp_path) == []


@pytest.mark.slow
async def test_a_saved_form_leaves_no_draft(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        await on.type("saved ")
        await on.rest()
        assert len(drafts(tmp_path)) == 1
        await on.keys("ctrl+s")
        assert on.app.screen is on.browse
    assert drafts(tmp_path) == []


@pytest.mark.slow
async def test_a_draft_whose_memory_changed_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        await on.type("mine ")
        on._strike("ctrl+q")
    path = Path(fact.origin.file)
    records = json.loads(path.read_text(encoding="utf-8"))
    for record in records:
        if record["id"] == fact.id:
            record["content"] = "theirs"
    path.write_text(json.dumps(records), encoding="utf-8")
    async with changing(tmp_path, AGENT) as on:
        await on.keys("K", "ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)


@pytest.mark.slow
async def test_a_draft_with_marks_of_a_conflict_is_not_saved_with_them(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "Mine now stands.")
        _rewrite(on, fact.origin.file, fact.content, "Theirs now stands.")
        await on.keys("ctrl+s", "b")
        assert CONFLICT_MARKS[0] in prose(on).raw
        await on.rest()
        on._strike("ctrl+q")
    async with changing(tmp_path, AGENT) as on:
        await on.keys("K")
        assert CONFLICT_MARKS[0] in prose(on).raw
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, FormScreen), "it is not saved"
        assert on.memory(fact.ref).content == "Theirs now stands."
        await write(on, "Both now stand.")
        await on.keys("ctrl+s")
        assert on.memory(fact.ref).content == "Both now stand."


@pytest.mark.slow
async def test_a_draft_whose_memory_is_gone_becomes_a_new_one(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        await on.type("mine ")
        on._strike("ctrl+q")
    Path(fact.origin.file).write_text("[]", encoding="utf-8")
    async with changing(tmp_path, AGENT) as on:
        await on.keys("K")
        assert "New memory" in on.text()
        assert form(on).query_one(TextInput).raw == f"mine {fact.content}"
        assert form(on).values()["entity"] == fact.entity


@pytest.mark.slow
async def test_a_fault_keeps_the_text_and_prints_no_values(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        secret = "hunter2"  # noqa: F841
        raise ZeroDivisionError

    async def end_by_a_fault() -> None:
        async with changing(tmp_path, AGENT) as on:
            ended.append(on)
            await on.keys("e")
            await on.type("kept ")
            on.app.screen.call_later(broken)
            while on.app.fault is None:
                await asyncio.sleep(0.01)

    ended: list[ChangingStage] = []
    with pytest.raises(ZeroDivisionError):
        await end_by_a_fault()
    assert isinstance(ended[0].app.fault, ZeroDivisionError)
    assert "hunter2" not in "".join(capfd.readouterr())
    assert len(drafts(tmp_path)) == 1


@pytest.mark.slow
async def test_a_change_that_a_kill_cut_short_is_announced_at_the_next_start(
    tmp_path: Path,
) -> None:
    """One of two files was written: the toast says so, and undo takes that one back."""
    root = write_store(tmp_path)
    alice, shop = (root / "entities" / name / "items.json" for name in ("people-alice", "shop-api"))
    before = alice.read_bytes(), shop.read_bytes()

    def killed() -> None:
        library = Library.open([root], state=tmp_path / "state")
        library.load()
        facts = {Path(each.origin.file): each for each in library.memories("agent-memory")}
        changes = [
            Change(Act.EDIT, each.store, each.ref, {"content": "Cut short."})
            for each in (facts[alice], facts[shop])
        ]
        save_hooks.install(save_hooks.kill_at("exchange:2"))
        library.apply(library.plan(changes))

    assert in_child(killed) == KILLED
    assert (alice.read_bytes() == before[0]) != (shop.read_bytes() == before[1])
    async with stage(root, toasts=True, state=tmp_path / "state") as on:
        await on.press("f5")
        (toast,) = (each for each in on.app._notifications if "Interrupted" in each.title)
        assert toast.message.startswith("edit 2 memories: only a part of it reached the disk; undo")
        await on.press("u")
        assert (alice.read_bytes(), shop.read_bytes()) == before
