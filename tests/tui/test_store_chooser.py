"""`0`: the stores by project and program, which of them are open, and new ones as they come."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
from textual.widgets import Input

from memtui import paths
from memtui.config import LoadedSettings, Settings
from memtui.library import Library
from memtui.library.store_catalog import FILE, KnownStore, StoreCatalog
from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from memtui.tui.dialogs.stores import StoreChooser, StoreList
from tests.formats import EVERY_FORMAT
from tests.samples import SAMPLES
from tests.synthetic_home import build_home
from tests.unit.stores.engram.invented import build, sql

from .stage import NOW, Stage, compare, fact, write_store

VARIABLES = ("MEMORY_HOME", "ENGRAM_DATA_DIR", "CLAUDE_CONFIG_DIR", "BASIC_MEMORY_HOME")
VARIABLES += ("CODEX_HOME", "HERMES_HOME", "MEMORY_FILE_PATH", "OPENCLAW_WORKSPACE_DIR")
NOTE = "# Tides\n\nThe tide table is printed on Mondays\n"


def notes(folder: Path, name: str = "tides.md", text: str = NOTE) -> Path:
    """A note of Serena's in a project; returns the store."""
    store = folder / ".serena" / "memories"
    store.mkdir(parents=True, exist_ok=True)
    (store / name).write_text(text, encoding="utf-8")
    return store


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder: facts of one program, and a project with notes of another."""
    home = tmp_path / "person"
    project = home / "code" / "harbour"
    notes(project)
    facts = {"people/alice": [fact(1, "Alice prefers tea in the morning", "2026-03-02")]}
    write_store(project / "facts", facts)
    monkeypatch.setenv("HOME", str(home))
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return home


@asynccontextmanager
async def started(
    home: Path, size: tuple[int, int] = (100, 30), folder: Path | None = None
) -> AsyncIterator[Stage]:
    """memtui without arguments in the project, as the command line starts it."""
    state = home / "state"

    def open_stores(stores: list[KnownStore]) -> Library:
        roots, labels = [s.root for s in stores], [s.label for s in stores]
        formats = [s.format for s in stores]
        return Library.open(roots, state=state, now=lambda: NOW, labels=labels, formats=formats)

    @cache
    def catalog() -> StoreCatalog:
        where = folder or home / "code" / "harbour"
        return StoreCatalog(open_stores, folder=where, home=home, state=state)

    launch = Launch(
        lambda: catalog().open(catalog().chosen()),
        loaded=LoadedSettings(Settings(theme="dusk")),
        state=state,
        catalog=catalog,
        themes=(paths.bundled_folder("themes"),),
        now=lambda: NOW,
    )
    app = MemtuiApp(launch)
    async with app.run_test(size=size, notifications=True) as pilot:
        on = Stage(app, pilot)
        await on.begun()
        await on.ready()
        yield on
        assert app.backstop.hits == 0, "a call of visible() is missing"
    if app.fault is not None:
        raise app.fault


def toasts(on: Stage) -> list[str]:
    return [toast.message for toast in on.app._notifications]


@pytest.mark.slow
async def test_a_store_is_closed_opened_again_and_the_choice_is_kept(home: Path) -> None:
    async with started(home) as on:
        assert len(on.headlines()) == 2
        await on.press("0")
        assert isinstance(on.app.screen, StoreChooser)
        text = on.text()
        assert "~/code/harbour (this folder)" in text
        assert "Serena" in text
        await on.press("space", "enter")  # agent-memory, the first by program
        await on.ready()
        assert on.headlines() == ["tides"]
        choice = json.loads((home / "state" / FILE).read_text())
        assert [key.partition(":")[0] for key in choice] == ["agent-memory"]
    async with started(home) as on:
        assert on.headlines() == ["tides"]
        await on.press("0", "a", "enter")
        await on.ready()
        assert len(on.headlines()) == 2
        assert json.loads((home / "state" / FILE).read_text()) == {}
        await on.press("/")
        await on.type("tea")
        await on.press("enter")
        assert on.headlines() == ["Alice prefers tea in the morning"]


@pytest.mark.slow
async def test_at_least_one_store_stays_open_and_escape_changes_nothing(home: Path) -> None:
    async with started(home) as on:
        await on.press("0", "a", "enter")
        assert isinstance(on.app.screen, StoreChooser)
        assert "Choose at least one store." in toasts(on)
        await on.press("escape")
        assert len(on.headlines()) == 2
        assert not (home / "state" / FILE).exists()


@pytest.mark.slow
async def test_a_new_store_is_told_of_once_and_marked(home: Path) -> None:
    async with started(home) as on:
        bank = home / "code" / "harbour" / "memory-bank"
        bank.mkdir()
        for name in ("projectbrief", "progress"):
            (bank / f"{name}.md").write_text("# Harbour\n", encoding="utf-8")
        on.browse.stores.look()
        await on.settle()
        on.browse.stores.look()
        await on.settle()
        (told,) = [words for words in toasts(on) if "memory-bank" in words]
        assert told.endswith("Press 0 to open it.")
        assert told.startswith("Cline: ")
        await on.press("0")
        (line,) = [line for line in on.text().split("\n") if "[✓] Cline" in line]
        assert "new" in line


@pytest.mark.slow
async def test_what_stops_the_synchronisation_of_an_engram_is_shown(home: Path) -> None:
    engram = build(home / ".engram", "july")
    sql(engram, "INSERT INTO sync_state (target_key, lifecycle, reason_code, reason_message)"
        " VALUES ('cloud:belfry', 'degraded', 'paused', 'ask the bell ringer')")  # fmt: skip
    async with started(home) as on:
        await on.press("0", "G")
        await on.sees("sync paused")
        await on.sees("sync: paused, nothing queued, nothing pulled yet: belfry: ask the bell")


async def test_a_store_whose_program_keeps_no_memory_is_marked(home: Path) -> None:
    hermes = home / ".hermes"
    (hermes / "memories").mkdir(parents=True)
    (hermes / "memories" / "MEMORY.md").write_text("The bell is rung at noon.\n")
    (hermes / "config.yaml").write_text("memory:\n  memory_enabled: false\n")
    async with started(home, (120, 30)) as on:
        await on.press("0", "G")
        await on.sees("MEMORY.md off")
        await on.sees("MEMORY.md off (memory.memory_enabled in")
        await on.sees("USER.md on by default")


async def test_without_any_store_it_says_where_it_looked(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    async with started(empty, (80, 24), folder=empty) as on:
        assert isinstance(on.app.screen, StoreChooser)
        text = on.text()
        assert "No memory stores were found" in text
        assert "~/.claude" in text
        for key, words in (("d", "demo"), ("o", "open a path"), ("q", "quit")):
            assert f"{key} {words}" in text
        await on.press("escape")
        assert not isinstance(on.app.screen, StoreChooser)
        assert "/ search" not in on.text()
        await on.press("m")
        assert toasts(on)[-1] == "No store is open."


@pytest.mark.slow
async def test_a_store_that_comes_while_none_is_open_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the list of places was closed: a few seconds later it shows the store."""
    monkeypatch.setattr("memtui.tui.controllers.stores.LOOK_SOON", 0.1)
    empty = tmp_path / "empty"
    empty.mkdir()
    async with started(empty, (80, 24), folder=empty) as on:
        await on.press("escape")
        assert not isinstance(on.app.screen, StoreChooser)
        notes(empty)
        await on.until(lambda: "[✓] Serena" in on.text(), "the new store is listed")
        await on.press("enter")
        await on.ready()
        assert on.headlines() == ["tides"]


@pytest.mark.slow
async def test_without_any_store_the_demo_or_a_path_can_be_opened(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(SAMPLES / "hermes", empty / "bot" / "hermes")
    for keys, arguments in (("d", ("demo",)), ("o", (str(empty / "bot"),))):
        async with started(empty, (80, 24), folder=empty) as on:
            await on.press(keys)
            if keys == "o":
                await on.type(f"{empty}/nowhere")  # behind the ~/ that stands there already
                assert on.app.screen.query_one(Input).value == f"{empty}/nowhere"
                await on.settle()
                await on.press("enter")
                assert on.app.next_arguments == ()
                await on.press("ctrl+u")
                await on.type(f"{empty}/b")
                await on.settle()
                await on.press("tab")
                await on.settle()
                assert "Hermes" in on.text()
                await on.press("enter")
        assert on.app.next_arguments in (arguments, (f"{arguments[0]}/",))


@pytest.mark.slow
async def test_a_store_that_comes_is_offered_within_seconds(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    async with started(empty, folder=empty) as on:
        assert "No memory stores were found" in on.text()
        shutil.copytree(SAMPLES / "gemini", empty / ".gemini")
        await on.until(lambda: "[✓] Gemini CLI" in on.text(), "the store is offered")
        await on.press("enter")
        await on.until(lambda: on.browse.memories.slots, "it is open")


@pytest.mark.slow
async def test_a_folder_that_is_named_like_its_store_is_not_named_twice(home: Path) -> None:
    shutil.copytree(SAMPLES / "hermes", home / "all" / "hermes")
    async with started(home, (160, 35), folder=home / "all") as on:
        await on.press("0")
        row = next(line for line in on.text().splitlines() if "Hermes" in line)
        assert row.count("hermes") <= 1


@pytest.mark.slow
async def test_a_damaged_file_is_named(home: Path) -> None:
    (next((home / "code" / "harbour" / "facts").rglob("items.json"))).write_text("[{]")
    async with started(home) as on:
        await on.press("0")
        assert "× 1 unreadable" in on.text()
        assert "items.json" in on.text()


@pytest.mark.slow
async def test_every_fault_of_a_store_can_be_read_in_a_small_window(home: Path) -> None:
    folder = next((home / "code" / "harbour" / "facts").rglob("items.json")).parent
    for name in ("bob", "carol"):
        (folder.parent / name).mkdir()
        (folder.parent / name / "items.json").write_text("[{]")
    async with started(home, (40, 12)) as on:
        await on.press("0")
        await on.sees("× 2 unreadable")
        await on.press("tab")
        await on.sees("bob/items.json")
        await on.press("G")
        await on.sees("carol/items.json")
        await on.press("escape")
        await on.sees("× 2 unreadable")
        await on.press("escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_how_it_looks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLES / "ambient", home / ".ambient")
    monkeypatch.setattr("memtui.text.short_ago", lambda *_: "3d")
    async with started(home, (80, 24)) as on:
        await on.press("0", "j", "space")
        text = on.text()
        box = text[text.index("╭─ Stores") :].split("\n")
        end = next(at for at, line in enumerate(box) if line.startswith("╰"))
        shown = [line for line in box[: end + 1] if str(home)[:12] not in line]
        compare("stores-80x24", "\n".join(shown))


@pytest.mark.slow
async def test_the_stores_of_all_programs_are_listed_with_counts_and_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build_home(tmp_path / "person")
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in made.variables.items():
        monkeypatch.setenv(variable, value)
    (made.home / ".codex" / "memories" / "MEMORY.md").write_bytes(b"")
    async with started(made.home, (160, 45), made.project) as on:
        await on.press("0")
        stores = on.app.screen.query_one(StoreList).rows
        summaries = [line for line in stores if not isinstance(line, str)]
        without = {"project-instructions"}  # no project of this home has any
        every = {known.name for known in EVERY_FORMAT}
        assert {each.store.format for each in summaries} == every - without
        assert len(summaries) == made.stores
        assert all(each.count and each.last_write for each in summaries)
        assert [each.store.format for each in summaries if each.unreadable] == ["codex"]
        assert stores[0] == "~/code/towerd (this folder)"
        text = on.text()
        assert "× 1 unreadable" in text
        for program in ("Claude Code", "Codex", "Gemini CLI", "Hermes", "Letta", "basic-memory"):
            assert program in text


def test_two_memtui_keep_each_others_choice_of_stores(home: Path, tmp_path: Path) -> None:
    def catalog() -> StoreCatalog:
        return StoreCatalog(lambda _: Library([]), listed=stores, state=tmp_path / "state")

    stores = [KnownStore(home / name, "workspace") for name in ("one", "two")]
    first, second = catalog(), catalog()
    first.choose(first.known(), {stores[0].key})
    second.choose(second.known(), {stores[1].key})
    assert catalog().chosen() == []


@pytest.mark.slow
async def test_stores_of_one_program_can_be_told_apart_in_a_small_window(home: Path) -> None:
    """By their paths, which are cut last."""
    project = home / "code" / "harbour"
    facts = {"people/bob": [fact(1, "Bob prefers coffee", "2026-03-02")]}
    write_store(project / "other-facts", facts)
    async with started(home, (60, 20), project) as on:
        await on.press("0")
        for size in ((60, 20), (40, 12)):
            await on.resize(*size)
            await on.settle()
            assert "other-facts" in on.text(), size
