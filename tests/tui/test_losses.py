"""What becomes unreadable while the screen is open is announced, and stands in the status line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui import config, paths
from memtui.files.text_history import TextHistory
from memtui.tui.dialogs.edit_form import FormScreen
from tests.unit.sessions.transcripts import claude_line, write_lines

from .stage import FACTS, NOW, Stage, stage, write_store


def toasts(on: Stage) -> list[str]:
    return [f"{toast.title}: {toast.message}" for toast in on.app._notifications]


async def look(on: Stage) -> None:
    """Two looks at the stores: what both see is no program that is just writing."""
    for _ in range(2):
        await on.press("f5")


@pytest.mark.slow
async def test_a_broken_file_is_announced_and_marked_until_it_is_mended(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    items = root / "entities" / "shop-api" / "items.json"
    whole = items.read_bytes()
    async with stage(root, toasts=True) as on:
        assert "unreadable" not in on.text()
        items.write_bytes(whole[:-20])
        await look(on)
        (toast,) = toasts(on)
        assert toast.startswith(
            "agent-memory: 5 memories became unreadable: entities/shop-api/items"
        )
        assert "Press U" in toast
        assert "! 1 unreadable" in on.text().split("\n")[1]
        await look(on)
        assert len(toasts(on)) == 1, "said once"
        items.write_bytes(whole)
        await look(on)
        assert "! 1 unreadable" not in on.text()
        assert len(toasts(on)) == 1


async def test_a_store_deleted_underneath_is_announced(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    async with stage(root, (80, 24), toasts=True) as on:
        shutil.rmtree(root)
        await look(on)
        (toast,) = toasts(on)
        count = sum(len(facts) for facts in FACTS.values())
        assert f"{count} memories became unreadable" in toast
        assert "it is not there" in toast
        assert "! 1 unreadable" in on.text().split("\n")[1]
        assert "No readable memories." in on.text()


async def test_what_an_agent_deleted_is_announced_with_its_program(
    own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    config.save_value(paths.config_file(), "sessions.programs", ["claude"])
    folder = tmp_path / ".claude" / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    for name in ("money.md", "tests.md"):
        (folder / name).write_text(f"---\nname: {name}\n---\n\nWhat is known of {name}.\n")
        os.utime(folder / name, (NOW.timestamp() - 3600, NOW.timestamp() - 3600))
    async with stage(tmp_path / ".claude", toasts=True, state=paths.state_folder()) as on:
        on.app.settings = replace(on.app.settings, session_programs=("claude",))
        looks = TextHistory(paths.state_folder())
        await on.until(lambda: any(looks.marks().values()), "the memories have been looked at")
        command = {"command": f"cd {folder} && rm money.md tests.md"}
        use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": command}
        line = claude_line("assistant", [use], "a1", timestamp=NOW.isoformat())
        write_lines(folder.parent / "5c0f.jsonl", [line])
        (folder / "money.md").unlink()
        (folder / "tests.md").unlink()
        await look(on)
        await on.until(lambda: bool(toasts(on)), "the loss is announced")
        (toast,) = toasts(on)
        assert "Deleted: 2 memories by Claude Code" in toast


@pytest.mark.slow
async def test_a_form_whose_memory_is_gone_says_so_and_keeps_the_text(tmp_path: Path) -> None:
    """As another disk mounted over the store: nothing is left to compare with in a conflict."""
    root = write_store(tmp_path / "store")
    async with stage(root, (80, 24), state=tmp_path / "state") as on:
        await on.press("e")
        await on.type("KINGFISHER ")
        shutil.rmtree(root / "entities")
        await on.press("ctrl+s")
        await on.sees("another program deleted this memory")
        form = on.app.screen
        assert isinstance(form, FormScreen)
        await on.until(lambda: not form.is_previewing, "what was typed has been looked at")
        assert "another program deleted this memory" in on.text(), "the reason stays"
        assert "KINGFISHER" in on.text()
        assert "Conflict" not in on.text()
        assert any("your text is still here" in toast for toast in toasts(on))


@pytest.mark.slow
async def test_a_new_memory_in_a_folder_that_is_gone_is_not_called_read_only(
    tmp_path: Path,
) -> None:
    root = write_store(tmp_path / "store")
    async with stage(root, (80, 24), state=tmp_path / "state") as on:
        await on.press("m")
        await on.sees("New memory in")
        await on.type("A kingfisher sat there")
        shutil.rmtree(root)
        await on.press("ctrl+s")
        await on.sees("the folder is gone")
        assert "A kingfisher sat there" in on.text()


@pytest.mark.slow
async def test_the_mark_is_clicked_to_list_what_cannot_be_read(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    (root / "entities" / "shop-api" / "items.json").write_text("[{")
    async with stage(root, toasts=True) as on:
        assert not toasts(on), "what was so at the start is marked only"
        column = on.text().split("\n")[1].index("! 1 unreadable")
        await on.pilot.click("#chips", offset=(column + 3, 0))
        await on.sees("Stores and unreadable files")


@pytest.mark.slow
async def test_one_list_of_unreadable_files_leads_to_everything_that_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_store(tmp_path / "store")
    items = root / "entities" / "shop-api" / "items.json"
    whole = items.read_text()
    state = tmp_path / "state"
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    async with stage(root, (80, 24), state=state, toasts=True) as on:
        items.write_text(whole[:-20])
        (root / "entities" / "people-bob" / "items.json").write_text("[{")
        await look(on)
        await on.press("U")
        await on.sees("Stores and unreadable files")
        await on.sees("enter show  e edit  r restore  o open folder")
        assert "entities/people-bob/items.json" in on.text()
        assert "entities/shop-api/items.json" in on.text()
        await on.press("j", "enter")
        await on.sees("items.json (read-only)")
        await on.sees("▶")
        await on.press("escape")
        await on.sees("Stores and unreadable files")
        await on.press("o")
        await on.sees("Its folder")
        assert str(items.parent)[:12] in on.text()  # the rest is wrapped at any letter
        await on.press("r")
        await on.sees("Restore: items.json")
        await on.press("enter")
        assert items.read_text() == whole
        await on.until(lambda: "shop-api" not in on.text(), "what can be read leaves the list")
        assert "× entities/people-bob" in on.text()
        await on.press("escape", "U")
        await on.sees("Stores and unreadable files")


@pytest.mark.slow
async def test_the_list_says_so_when_everything_can_be_read(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    async with stage(root) as on:
        await on.press("U")
        await on.sees("No unreadable files")
        assert "restore" not in on.text()
        await on.press("enter", "e", "r", "o")
        await on.sees("No unreadable files")
