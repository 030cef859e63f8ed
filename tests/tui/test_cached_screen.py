"""The first frame shows what the last session showed, until the stores have been read."""

from __future__ import annotations

import importlib
import json
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pyte
import pytest

from memtui.config import Settings
from memtui.library import Library
from memtui.sealed_lines import seal, unseal
from memtui.testing import hostile_values
from memtui.tui import first_frame, library_worker, screen_cache
from memtui.tui.controllers.session import CHECKING

from .stage import FACTS, NOW, Stage, fact, stage, write_store

MANY = {"people/alice": [fact(n, f"Fact {n}", f"2026-01-{n % 27 + 1:02}") for n in range(1, 400)]}
ESCAPES = "plain \x1b]0;owned\x07\x1b[2J\u202e[b]bold[/b] end"


@dataclass
class Disk:
    """A store that is read when the test says so, and the folders of state and cache."""

    folder: Path
    gate: threading.Event = field(default_factory=threading.Event)

    @property
    def root(self) -> Path:
        return self.folder / "store" / "memory"

    @property
    def kept(self) -> Path:
        """The file with the cached screen."""
        return next((self.folder / "cache" / screen_cache.FOLDER).glob("*.json"))

    def open(self) -> Library:
        self.gate.wait(600)  # for ever, but a failed test must end
        return Library.open([self.root], cache=None, now=lambda: NOW)

    async def session(self, *keys: str, settings: Settings | None = None, **more: Any) -> str:
        """One session with these keys; returns the screen before it is left."""
        folders = {"state": self.folder / "state", "cache": self.folder / "cache"}
        async with stage(self.root, settings=settings, **folders, **more) as on:
            await on.press(*keys)
            shown = on.text()
            on.app.leave()
        return shown

    @asynccontextmanager
    async def next_start(self, **more: Any) -> AsyncIterator[Stage]:
        """The next session, before anything has been read."""
        folders = {"state": self.folder / "state", "cache": self.folder / "cache"}
        async with stage(self.root, open_library=self.open, **folders, **more) as on:
            try:
                yield on
            finally:
                self.gate.set()


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return store(tmp_path)


def store(folder: Path, facts: Mapping[str, Sequence[Mapping[str, Any]]] = FACTS) -> Disk:
    write_store(folder / "store", facts)
    return Disk(folder)


def change(disk: Disk, entity: str, what: Callable[[list[dict[str, Any]]], object]) -> None:
    items = disk.root / "entities" / entity / "items.json"
    facts = json.loads(items.read_text(encoding="utf-8"))
    what(facts)
    items.write_text(json.dumps(facts, indent=2), encoding="utf-8")


def bare(text: str) -> str:
    """The screen without the footer and without the mark of what is not checked."""
    return "\n".join(line for line in text.replace(CHECKING, " " * len(CHECKING)).split("\n")[:-1])


@pytest.mark.slow
async def test_the_first_frame_is_the_last_screen_and_marked(disk: Disk) -> None:
    left = await disk.session("j", "j")
    async with disk.next_start() as on:
        await on.handle()
        assert CHECKING in on.text()
        assert bare(on.text()).split("\n")[2:] == bare(left).split("\n")[2:]
        disk.gate.set()
        await on.ready()
        assert CHECKING not in on.text()
        assert bare(on.text()) == bare(left)


@pytest.mark.slow
async def test_what_changed_meanwhile_replaces_it_and_the_cursor_stays(disk: Disk) -> None:
    await disk.session("j", "j")
    change(disk, "people-alice", lambda facts: facts[0].update(content="Alice moved on"))
    change(disk, "people-bob", lambda facts: facts.append(fact(50, "Bob is new", "2026-11-21")))
    async with disk.next_start() as on:
        await on.handle()
        assert "Bob is new" not in on.text()
        under = on.browse.memories.memory
        disk.gate.set()
        await on.ready()
        assert "Bob is new" in on.text()
        assert "Alice moved on" in on.text()
        assert under is not None
        assert on.browse.memories.memory is not None
        assert on.browse.memories.memory.ref == under.ref


@pytest.mark.slow
async def test_an_act_waits_for_the_truth_and_is_done_to_the_same_memory(disk: Disk) -> None:
    await disk.session("j")
    change(disk, "people-bob", lambda facts: facts.append(fact(50, "Bob is new", "2026-11-21")))
    async with disk.next_start() as on:
        await on.handle()
        under = on.browse.memories.memory
        await on.handle("space")
        assert not on.browse.memories.marked
        disk.gate.set()
        await on.ready()
        marked = [memory.ref for memory in on.browse.marked_memories()]
        assert under is not None
        assert marked == [under.ref]


@pytest.mark.slow
async def test_an_edit_begun_before_writing_is_ready_opens_its_form(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()

    def load_late(name: str) -> ModuleType:
        loaded.wait(60)
        return importlib.import_module(name)

    monkeypatch.setattr(library_worker, "import_module", load_late)
    async with disk.next_start(toasts=True) as on:
        disk.gate.set()
        while on.browse.detail.memory is None:
            await on.handle()
        await on.handle("e")
        loaded.set()
        await on.ready()
        await on.type("q x")
        assert "q x" in on.text()
        assert "being opened" not in on.text()


@pytest.mark.slow
async def test_an_act_on_a_memory_that_is_gone_is_not_done(disk: Disk) -> None:
    await disk.session()
    async with disk.next_start(toasts=True) as on:
        await on.handle()
        first = on.browse.memories.memory
        assert first is not None
        await on.handle("space")
        change(
            disk,
            "shop-api",
            lambda facts: facts.remove(next(f for f in facts if f["id"] in first.ref)),
        )
        disk.gate.set()
        await on.ready()
        assert not on.browse.memories.marked
        assert "no longer in the list" in on.text()


@pytest.mark.slow
async def test_moves_go_on_and_those_beyond_what_was_kept_wait(tmp_path: Path) -> None:
    disk = store(tmp_path, MANY)
    await disk.session()
    async with disk.next_start() as on:
        await on.handle("j", "j", "pagedown")
        cursor = on.browse.memories.cursor
        assert cursor > 2
        await on.handle("G")
        assert on.browse.memories.cursor == cursor
        disk.gate.set()
        await on.ready()
        assert on.browse.memories.cursor == len(MANY["people/alice"]) - 1
        assert on.browse.detail.memory is on.browse.memories.memory


@pytest.mark.slow
@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_store_that_is_gone_or_another_one_is_not_shown(
    disk: Disk, is_replaced: bool
) -> None:
    await disk.session()
    shutil.move(disk.root, disk.folder / "elsewhere")
    if is_replaced:
        write_store(disk.root.parent, MANY)
    async with disk.next_start() as on:
        assert "Tokens expire" not in on.text()
        assert CHECKING not in on.text()
        write_store(disk.root.parent, MANY)


@pytest.mark.slow
async def test_another_view_is_not_shown(disk: Disk) -> None:
    await disk.session()
    async with disk.next_start(settings=Settings(sort="old")) as on:
        assert CHECKING not in on.text()
        assert "Tokens expire" not in on.text()


@pytest.mark.slow
async def test_quitting_before_the_truth_keeps_the_screen(disk: Disk) -> None:
    await disk.session("j")
    kept = disk.kept.read_text(encoding="utf-8")
    async with disk.next_start() as on:
        await on.handle("j")
        on.app.leave()
    assert disk.kept.read_text(encoding="utf-8") == kept


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["", "[]", "{}", "\x00\xff", '{"version": 1}', "9" * 5000])
async def test_a_damaged_file_is_ignored(disk: Disk, damage: str) -> None:
    await disk.session()
    disk.kept.write_text(damage, encoding="latin-1")
    async with disk.next_start() as on:
        assert CHECKING not in on.text()


def mutations(value: Any) -> list[Any]:
    """The value with one of its parts, at any depth, replaced by something else."""
    others: list[Any] = [None, -1, 1 << 70, "x", [None], hostile_values.ESC]
    found = list(others)
    if isinstance(value, dict):
        for key, inner in value.items():
            found += [{**value, key: other} for other in mutations(inner)]
            found.append({k: v for k, v in value.items() if k != key})
    elif isinstance(value, list) and value:
        found += [[other, *value[1:]] for other in mutations(value[0])]
    return found


@pytest.mark.slow
async def test_any_damaged_value_is_ignored_or_harmless(disk: Disk) -> None:
    await disk.session()
    whole = unseal(disk.kept.read_bytes())
    cache, key, view = disk.folder / "cache", disk.kept.stem, whole["view"]
    assert screen_cache.load(cache, key, view) is not None
    for damaged in mutations(whole):
        disk.kept.write_bytes(seal(damaged))
        kept = screen_cache.load(cache, key, view)
        assert kept is None or kept.rows[kept.cursor].ref


@pytest.mark.slow
async def test_nothing_hostile_reaches_the_file_or_comes_out_of_it(tmp_path: Path) -> None:
    facts = {"people/eve": [fact(1, ESCAPES, "2026-01-01", ESCAPES)]}
    disk = store(tmp_path, facts)
    await disk.session()
    assert "\\u001b" not in disk.kept.read_text(encoding="utf-8")
    written = json.dumps(unseal(disk.kept.read_bytes()))
    planted = json.loads(written.replace("plain", "plain\\u001b[2J\\u202e"))
    disk.kept.write_bytes(seal(planted))
    async with disk.next_start() as on:
        assert CHECKING in on.text()
        assert "\x1b" not in on.text()
        assert "\u202e" not in on.text()
        assert on.app.backstop.hits == 0


# The frame that is drawn before Textual is imported


def draw_kept_frame(disk: Disk, size: tuple[int, int]) -> str:
    """What a terminal shows of the kept frame; empty if none is kept for this size."""
    frame = first_frame.load(disk.folder / "cache", [disk.root], size)
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(frame)
    return "\n".join(line.rstrip() for line in screen.display) if frame else ""


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 35), (80, 24)])
async def test_the_kept_frame_is_what_the_app_draws_first(
    disk: Disk, size: tuple[int, int]
) -> None:
    await disk.session("j", "j", "space", size=size)
    kept = draw_kept_frame(disk, size)
    async with disk.next_start(size=size) as on:
        await on.handle()
        drawn = [line.rstrip() for line in on.text().split("\n")]
    assert CHECKING in kept
    assert [line.rstrip() for line in kept.split("\n")] == drawn


@pytest.mark.slow
async def test_a_frame_is_kept_for_one_size_and_for_a_list_without_a_search(disk: Disk) -> None:
    await disk.session("j", size=(80, 24))
    assert draw_kept_frame(disk, (80, 24))
    assert not draw_kept_frame(disk, (81, 24))
    await disk.session("/", "t", "e", "a", "enter", size=(80, 24))
    assert not draw_kept_frame(disk, (80, 24))


async def test_a_frame_of_another_terminal_is_not_shown(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await disk.session(size=(80, 24))
    for name in ("NO_COLOR", "TERM", "COLORTERM", "MEMTUI_STORES", "LANG"):
        assert draw_kept_frame(disk, (80, 24))
        with monkeypatch.context() as changed:
            changed.setenv(name, "other")
            assert not draw_kept_frame(disk, (80, 24)), name


async def test_a_frame_is_not_shown_once_its_store_has_gone(disk: Disk) -> None:
    await disk.session(size=(80, 24))
    shutil.rmtree(disk.root)
    assert not draw_kept_frame(disk, (80, 24))


async def test_no_frame_can_act_on_the_terminal(disk: Disk) -> None:
    await disk.session(size=(80, 24))
    (file,) = (disk.folder / "cache" / first_frame.FOLDER).glob("*.json")
    good = file.read_bytes()
    values = unseal(good)
    for bad in ("\x1b]0;owned\x07", "\x1b[2J", "\x1b[?1049l", "\x9b2J", "\n", "\u202e"):
        file.write_bytes(good)
        assert draw_kept_frame(disk, (80, 24))
        file.write_bytes(seal({**values, "frame": values["frame"] + bad}))
        assert not draw_kept_frame(disk, (80, 24)), bad


@pytest.mark.slow
async def test_what_a_store_holds_is_only_text_in_a_frame(tmp_path: Path) -> None:
    disk = store(tmp_path, {"people/alice": [fact(1, ESCAPES, "2026-01-01")]})
    await disk.session(size=(80, 24))
    kept = draw_kept_frame(disk, (80, 24))
    assert "plain ␛]0;owned" in kept
