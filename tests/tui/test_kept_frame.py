"""What a start shows until there are rows: the last frame of the session before."""

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
from memtui.tui import first_frame, library_worker
from memtui.tui.screens.browse import CHECKING

from .stage import FACTS, NOW, Stage, fact, stage, write_store

TOKENS = "Tokens expire after 24 hours"
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
        """The file with the kept frame."""
        return next((self.folder / "cache" / first_frame.FOLDER).glob("*.json"))

    def open(self) -> Library:
        self.gate.wait()
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


@pytest.mark.slow
async def test_keys_typed_before_there_are_rows_are_for_the_memory_of_the_last_session(
    disk: Disk,
) -> None:
    await disk.session("j")
    change(disk, "people-bob", lambda facts: facts.append(fact(50, "Bob is new", "2026-11-21")))
    async with disk.next_start() as on:
        on._strike("space")
        disk.gate.set()
        await on.ready()
        assert "Bob is new" in on.text()
        assert [memory.headline for memory in on.browse.marked_memories()] == [TOKENS]


@pytest.mark.slow
async def test_keys_typed_for_a_memory_that_is_gone_are_dropped(disk: Disk) -> None:
    await disk.session("j")
    change(
        disk,
        "shop-api",
        lambda facts: facts.remove(
            next(each for each in facts if each["content"].startswith(TOKENS))
        ),
    )
    async with disk.next_start(toasts=True) as on:
        on._strike("space")
        disk.gate.set()
        await on.ready()
        assert not on.browse.memories.marked
        assert "no longer in the list" in " ".join(on.text().split())


async def test_keys_wait_no_longer_than_a_second_for_rows(disk: Disk) -> None:
    async with disk.next_start() as on:
        await on.handle("?")
        assert on.app.screen is not on.browse


@pytest.mark.slow
async def test_an_edit_begun_before_writing_is_ready_opens_its_form(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()

    def load_late(name: str) -> ModuleType:
        loaded.wait()
        return importlib.import_module(name)

    monkeypatch.setattr(library_worker, "import_module", load_late)
    async with disk.next_start(toasts=True) as on:
        disk.gate.set()
        is_read = lambda: on.browse.status_text.complete  # noqa: E731
        try:
            await on.until(is_read, "all rows are here", is_working=True)
            await on.handle("e")
        finally:
            loaded.set()
        await on.ready()
        await on.type("q x")
        assert "q x" in on.text()
        assert "being opened" not in on.text()


def draw_kept_frame(disk: Disk, size: tuple[int, int]) -> str:
    """What a terminal shows of the kept frame; empty if none is kept for this size."""
    frame = first_frame.load(disk.folder / "cache", [disk.root], size)
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(frame)
    return "\n".join(line.rstrip() for line in screen.display) if frame else ""


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 35), (80, 24)])
async def test_the_kept_frame_is_what_the_screen_showed_last(
    disk: Disk, size: tuple[int, int]
) -> None:
    left = await disk.session("j", "j", size=size)
    kept = draw_kept_frame(disk, size)
    first, *rest = kept.split("\n")
    assert first.endswith(CHECKING)
    assert rest == left.split("\n")[1:]
    async with disk.next_start(size=size) as on:
        disk.gate.set()
        await on.ready()
        assert rest == on.text().split("\n")[1:]


async def test_what_earlier_versions_kept_is_removed(disk: Disk) -> None:
    former = disk.folder / "cache" / "screens"
    former.mkdir(parents=True)
    (former / "a.json").write_text("{}")
    disk.gate.set()
    await disk.session()
    assert disk.kept.exists()
    assert not former.exists()


async def test_marks_and_toasts_are_not_kept(disk: Disk) -> None:
    left = await disk.session("j", "space", "y", size=(80, 24), toasts=True)
    assert "Sent" in left or "Copied" in left
    kept = draw_kept_frame(disk, (80, 24))
    assert kept
    assert not any(words in kept for words in ("Sent", "Copied", "1 marked"))


@pytest.mark.parametrize("damage", ["", "[]", "{}", "\x00\xff", '{"for": 1}', "9" * 5000])
async def test_a_damaged_file_is_ignored(disk: Disk, damage: str) -> None:
    await disk.session(size=(80, 24))
    disk.kept.write_text(damage, encoding="latin-1")
    assert not draw_kept_frame(disk, (80, 24))


@pytest.mark.slow
async def test_a_frame_is_kept_for_one_size_and_for_a_list_without_a_search(disk: Disk) -> None:
    await disk.session("j", size=(80, 24))
    assert draw_kept_frame(disk, (80, 24))
    assert not draw_kept_frame(disk, (81, 24))
    await disk.session("/", "t", "e", "a", "enter", size=(80, 24))
    assert not draw_kept_frame(disk, (80, 24))


@pytest.mark.slow
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


@pytest.mark.slow
async def test_no_frame_can_act_on_the_terminal(disk: Disk) -> None:
    await disk.session(size=(80, 24))
    file = disk.kept
    good = file.read_bytes()
    values = json.loads(good)
    for bad in ("\x1b]0;owned\x07", "\x1b[2J", "\x1b[?1049l", "\x9b2J", "\n", "\u202e"):
        file.write_bytes(good)
        assert draw_kept_frame(disk, (80, 24))
        file.write_text(json.dumps({**values, "frame": values["frame"] + bad}))
        assert not draw_kept_frame(disk, (80, 24)), bad


async def test_what_a_store_holds_is_only_text_in_a_frame(tmp_path: Path) -> None:
    disk = store(tmp_path, {"people/alice": [fact(1, ESCAPES, "2026-01-01")]})
    await disk.session(size=(80, 24))
    kept = draw_kept_frame(disk, (80, 24))
    assert "plain ␛]0;owned" in kept
