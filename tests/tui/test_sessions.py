"""What is kept between runs and while other programs write: place, marks, theme, keys."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.events import MouseScrollDown
from textual.widgets import Input

from memtui import config
from memtui.config import Settings, session
from memtui.errors import SaveError
from memtui.files.staging import write_file
from memtui.tui import actions
from memtui.tui.app import NOT_SAVED, MemtuiApp
from memtui.tui.layout import Pane, arrange
from tests.samples import SAMPLES

from .stage import FACTS, fact, stage, write_store


@pytest.mark.slow
async def test_a_session_goes_on_where_it_ended(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with stage(root, state=state) as on:
        await on.press("/")
        await on.type("tea type:preference")
        await on.press("enter", "j", "3", "z")
        left = on.browse.memories.memory
        on.app.leave()
    async with stage(root, state=state) as on:
        await on.sees("type preference ×")
        assert on.query == "tea"
        assert on.browse.pane is Pane.DETAIL
        assert on.browse.zoomed
        assert left is not None
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == left.ref
        await on.press("z", "2", "escape", "/", "up")
        assert on.query.startswith("tea")


async def test_a_session_that_cannot_be_saved_says_so_at_the_end(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    (state / "session.json" / "in the way").mkdir(parents=True)
    async with stage(root, state=state) as on:
        await on.press("q")
        assert on.app._exit_renderables == [NOT_SAVED]
    assert not [path for path in state.iterdir() if path.name.startswith(".session")]


@pytest.mark.parametrize("room", [0, 10, 4000])
def test_a_pack_on_a_full_disk_leaves_the_older_file(tmp_path: Path, room: int) -> None:
    file = tmp_path / "pack.md"
    file.write_text("the older pack")
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, former[1]))
    try:
        with pytest.raises(SaveError, match="not written: the file would be larger"):
            write_file(file, [b"the new pack\n" * 1000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert [path.name for path in tmp_path.iterdir()] == ["pack.md"]
    assert file.read_text() == "the older pack"


@pytest.mark.slow
async def test_restoring_can_be_turned_off(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with stage(root, state=state) as on:
        await on.press("3", "z")
        on.app.leave()
    async with stage(root, state=state, settings=Settings(restore=False)) as on:
        assert on.browse.pane is Pane.MEMORIES
        assert not on.browse.zoomed


@pytest.mark.slow
async def test_a_theme_is_looked_at_and_kept(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with stage(root, config_file=config) as on:
        first = on.app.theme
        await on.press("T", "j")
        assert on.app.theme != first
        await on.press("escape")
        assert on.app.theme == first
        await on.press("T", "k", "enter")
        assert on.app.theme != first
        assert on.app.theme in config.read_text()


@pytest.mark.slow
async def test_other_keys(root: Path) -> None:
    keys = {"zoom": ("Q",), "search": ("ctrl+s",), "mark": ("ctrl+k",)}
    async with stage(root, (200, 35), settings=Settings(keys=keys)) as on:
        await on.sees("^s search")
        await on.sees("^k mark")
        await on.press("z")
        assert not on.browse.zoomed
        await on.press("Q")
        assert on.browse.zoomed
        await on.press("ctrl+s")
        assert isinstance(on.app.focused, Input)


async def test_bad_keys_are_named_and_the_rest_works(root: Path) -> None:
    keys = {"zooom": ("Z",), "zoom": ("no such key",)}
    async with stage(root, settings=Settings(keys=keys), toasts=True) as on:
        await on.sees("zooom")
        await on.press("z")
        assert on.browse.zoomed


async def test_what_another_program_writes_comes_up_marked(root: Path) -> None:
    async with stage(root) as on:
        await on.press("j", "j", "j")
        stands_on = on.browse.memories.memory
        items = root / "entities" / "people-bob" / "items.json"
        records = [*FACTS["people/bob"], fact(77, "Bob moved to Oslo", "2026-11-21", "person")]
        items.write_text(json.dumps(records, indent=2), encoding="utf-8")
        await on.press("f5")
        await on.sees("Bob moved to Oslo")
        assert on.browse.memories.memory == stands_on, "the cursor stays on its memory"
        assert on.browse.memories.fresh
        await on.press("ctrl+n")
        memory = on.browse.memories.memory
        assert memory is not None
        assert memory.content == "Bob moved to Oslo"
        await on.settle()
        assert not on.browse.memories.fresh


async def test_what_goes_away_leaves_the_list(root: Path) -> None:
    async with stage(root) as on:
        count = len(on.headlines())
        items = root / "entities" / "people-bob" / "items.json"
        items.write_text("[]\n", encoding="utf-8")
        await on.press("f5")
        await on.sees(f"of {count - 2}")


@pytest.mark.slow
async def test_the_mouse(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        list_ = on.browse.memories
        assert await on.pilot.click(list_, offset=(10, 4))
        await on.settle()
        assert list_.cursor == 3
        assert await on.pilot.click(on.browse.entities, offset=(6, 2))
        await on.settle()
        assert on.browse.view.is_filtered
        chips = on.browse.chips
        on.text()  # the places of the chips are known once they are drawn
        x = chips._spans[0][1] - 2
        assert await on.pilot.click(chips, offset=(x, 0))
        await on.settle()
        assert not on.browse.view.is_filtered
        assert await on.pilot.click(on.browse.keys, offset=(2, 0))
        await on.settle()
        assert isinstance(on.app.focused, Input)


@pytest.mark.slow
async def test_the_wheel_and_the_scrollbar(tmp_path: Path) -> None:
    facts = [fact(n, f"Number {n}", "2026-11-01") for n in range(200)]
    async with stage(write_store(tmp_path, {"many": facts}), (80, 24)) as on:
        list_ = on.browse.memories
        await on.pilot._post_mouse_events([MouseScrollDown], list_, (5, 3))
        await on.settle()
        assert list_.top == 3
        height = list_.size.height
        edge = list_.size.width
        await on.pilot.mouse_down(list_, offset=(edge, height))
        await on.pilot.mouse_up(list_, offset=(edge, height))
        await on.settle()
        assert list_.top == 200 - list_.page


async def test_the_source_is_opened_with_the_guards_of_drafts(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`o` on a store's own file: a modeline in it must not run in the person's vim."""
    vim = tmp_path / "vim"
    vim.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n')
    vim.chmod(0o755)
    monkeypatch.setattr(MemtuiApp, "suspend", lambda _: contextlib.nullcontext())
    async with stage(root, settings=Settings(editor=str(vim))) as on:
        place = on.browse.memories.memory.origin
        await on.press("o")
        told = (tmp_path / "arguments").read_text().split("\n")
        assert told == ["--cmd", "set nomodeline", f"+{place.line}", place.file, ""]


@pytest.mark.slow
async def test_a_database_is_not_opened_as_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`o` on a memory of Engram: an editor that saves the file would break it."""
    root = tmp_path / "engram"
    shutil.copytree(SAMPLES / "engram", root)
    monkeypatch.setattr(MemtuiApp, "suspend", lambda _: contextlib.nullcontext())
    settings = Settings(editor=f"touch {tmp_path / 'opened'}")
    async with stage(root, settings=settings, toasts=True) as on:
        await on.press("o")
        said = [toast.message for toast in on.app._notifications]  # on the screen a path may wrap
        assert any("engram.db is a database" in message for message in said)
    assert not (tmp_path / "opened").exists()


async def test_the_pager_gets_the_text_without_escape_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", f"tee {tmp_path / 'read'}")
    monkeypatch.setattr(MemtuiApp, "suspend", lambda _: contextlib.nullcontext())
    root = write_store(tmp_path, {"alice": [fact(1, "a \x1b[2Jnote\nof two", "2026-11-20")]})
    async with stage(root, toasts=True) as on:
        await on.press("$")
        assert (tmp_path / "read").read_text() == "a ␛[2Jnote\nof two\n"
        monkeypatch.setenv("PAGER", "no-such-pager")
        await on.press("$")
        (told,) = [toast.message for toast in on.app._notifications]
        assert told == "Cannot start no-such-pager: No such file or directory. Set $PAGER."


@pytest.mark.slow
async def test_copying_says_what_it_leaves_out_and_offers_the_exact_text(tmp_path: Path) -> None:
    hidden = "pay\u200b the\u202e bill\x1b[2J\r\nnow"
    root = write_store(tmp_path, {"alice": [fact(1, hidden, "2026-11-20")]})
    async with stage(root, toasts=True) as on:
        await on.press("y")
        assert on.app.clipboard == "pay the bill[2J\nnow"
        (told,) = [toast.message for toast in on.app._notifications]
        assert told.endswith("without 3 hidden characters. Y copies the exact text.")
        await on.press("Y")
        assert on.app.clipboard == hidden


async def test_half_a_character_is_copied_as_a_whole_one_and_ends_nothing(tmp_path: Path) -> None:
    root = write_store(tmp_path, {"alice": [fact(1, "half HALF of a face", "2026-11-20")]})
    (file,) = root.rglob("items.json")
    file.write_bytes(file.read_bytes().replace(b"HALF", rb"\ud83d"))
    async with stage(root, toasts=True) as on:
        await on.press("Y")
        assert on.app.clipboard == "half \ufffd of a face"


@pytest.mark.slow
@pytest.mark.parametrize("width", [10, 39, 40, 79, 80, 100, 119, 120, 200])
@pytest.mark.parametrize("height", [5, 11, 12, 17, 18, 24, 26, 28, 60])
def test_the_focused_pane_is_always_there(width: int, height: int) -> None:
    for pane in Pane:
        for zoomed in (False, True):
            panes = arrange(width, height, pane, zoomed=zoomed).panes
            assert (pane in panes) == (width >= 40 and height >= 12)
            assert not zoomed or len(panes) <= 1


def test_the_registry_is_sound() -> None:
    """Ids are unique, every action has words, and no two share a key in one place."""
    ids = [action.id for action in actions.ACTIONS]
    assert len(ids) == len(set(ids))
    for pane in (*Pane, actions.ANYWHERE, actions.MOVING):
        keys = [k for a in actions.ACTIONS if pane in a.scopes for k in a.keys]
        assert len(keys) == len(set(keys)), f"two actions share a key in {pane}"
    for action in actions.ACTIONS:
        assert action.label
        assert action.tooltip[0].isupper()


@pytest.mark.slow
async def test_a_filter_that_cannot_be_saved_is_not_listed_as_saved(
    root: Path, tmp_path: Path
) -> None:
    """As on a full disk."""
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    async with stage(root, config_file=in_the_way / "config.toml", toasts=True) as on:
        on.browse.set_text("type:decision")
        await on.press("f", "enter", *"tea", "enter")
        await on.settle()
        assert any("not saved" in toast.message for toast in on.app._notifications)
        await on.press("f")
        await on.sees("Save current filter")
        assert not on.app.saved


@pytest.mark.slow
async def test_what_another_memtui_sets_meanwhile_is_not_lost(root: Path, tmp_path: Path) -> None:
    """Searches and saved filters of both are kept, whoever ends last or is killed."""
    state, config_file = tmp_path / "state", tmp_path / "config.toml"
    key = session.key_for([root])
    async with stage(root, (80, 24), state=state, config_file=config_file) as on:
        session.update(state, key, lambda saved: saved._replace(searches=("sea",)))
        config.save_value(config_file, ("saved", "mine"), "type:decision")
        await on.press("/")
        await on.type("tea")
        await on.press("enter")
        assert session.load(state, key).searches == ("sea", "tea")
        await on.press("f", "end", "enter")
        await on.type("mine")
        await on.press("enter")
        await on.sees("Replace saved filter “mine”?")
        await on.press("escape")
        session.update(state, key, lambda saved: saved._replace(searches=(*saved.searches, "salt")))
        on.app.leave()
    assert session.load(state, key).searches == ("sea", "tea", "salt")


async def test_searches_are_saved_beside_the_screen(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the disk. The later of two wins, though the job of the earlier ends last."""
    state, key, update = tmp_path / "state", session.key_for([root]), session.update
    threads: list[threading.Thread] = []
    is_second_saved = threading.Event()

    def noted(*saved: Any) -> bool:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            is_second_saved.wait(10)
        is_saved = update(*saved)
        is_second_saved.set()
        return is_saved

    async with stage(root, state=state, toasts=True) as on:
        monkeypatch.setattr(session, "update", noted)
        for search in ("salt", "sea"):
            on.app.sessions.add_search(search, on.browse.worker)
        await on.settle()
        assert session.load(state, key).searches == ("salt", "sea")
        await on.press("/", *"tea", "enter")
        await on.settle()
        assert session.load(state, key).searches == ("salt", "sea", "tea")
        assert threading.main_thread() not in threads


async def test_a_filter_saved_in_this_session_is_listed_after_a_change_of_settings(
    root: Path, tmp_path: Path
) -> None:
    async with stage(root, config_file=tmp_path / "config.toml") as on:
        on.app.save_filter("teas", "tea")
        on.app.save_review(on.app.settings.review)
        assert on.app.saved == {"teas": "tea"}
