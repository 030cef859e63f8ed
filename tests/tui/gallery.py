"""Every dialog of the program over one small library: how it is opened, and the word of its way
out. Tests of what holds for all of them read this table; `python -m tests.tui.gallery FOLDER`
writes a picture (SVG) of each at several sizes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, chdir
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace
from textual.screen import Screen

from memtui.config import Settings
from memtui.errors import Conflict
from memtui.library import Library
from memtui.library.store_catalog import KnownStore, StoreCatalog, TypedPath
from memtui.tui import review
from memtui.tui.app import MemtuiApp
from memtui.tui.dialogs import diff, prompts, stores
from memtui.tui.view_state import ViewState
from memtui.tui.widgets.text_window import OutcomeLine
from memtui.upkeep.model_requests import ModelRequest

from .session_stage import person, write_sessions
from .stage import FACTS, NOW, Stage, fact, stage, write_store

SIZES = [(160, 45), (120, 35), (80, 24), (60, 20), (40, 12)]
BUSY = ("is_previewing", "searching", "working", "judging")
MARKDOWN = """# Ledger

Use **Postgres** for the `ledger`, see [the notes](https://example.org/ledger).

| store | rows |
| --- | ---: |
| ledger | 33000 |
| shop | 120 |

> Money is counted in cents.

1. open the account
2. `UPDATE` the balance

```python
def add(cents: int) -> int:
    return cents + 1  # never a float
```
"""
ONE = {
    **FACTS,
    "ledger": [
        fact(20, MARKDOWN, "2026-11-20", "decision"),
        fact(21, "Alice prefers tea in the early morning", "2026-11-18", "preference"),
    ],
}
OTHER = {
    "people/alice": [fact(31, "Alice prefers tea in the morning", "2026-03-02", "preference")],
    "people/carol": [fact(32, "Carol writes the release notes", "2026-10-02", "person")],
}
BROKEN = '[{"id": "00000099", "content": "half written'


async def no_preview(edited: str) -> None:
    """A text of the gallery is not previewed."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A dialog in one state."""

    name: str
    dialog: str
    """Name of its class."""
    way_out: str
    """What escape is called: `cancel` where something would be lost or done, else `back`."""
    open: Callable[[Stage], Awaitable[Any]]


def keys(*pressed: str, search: str = "") -> Callable[[Stage], Awaitable[None]]:
    """Opens a dialog by keys, after a search."""

    async def open_it(on: Stage) -> None:
        if search:
            on.browse.set_text(search)
            await rest(on)
        for key in pressed:
            await on.press(key)
            await rest(on)

    return open_it


def built(make: Callable[[], Screen[Any]]) -> Callable[[Stage], Awaitable[None]]:
    """Opens a dialog that no key opens by itself."""

    async def open_it(on: Stage) -> None:
        on.app.push_screen(make())
        await rest(on)

    return open_it


def _conflict() -> Screen[Any]:
    return diff.ConflictScreen(
        Conflict(
            "another program changed this memory while you were editing",
            where="/home/ada/memory/entities/shop-api/items.json",
            base="Deploys happen on Tuesdays",
            theirs="Deploys happen on Wednesdays",
            yours="Deploys happen on Tuesdays and Fridays",
        )
    )


def _send() -> Screen[Any]:
    return review.SendScreen(
        "http://localhost:11434", ModelRequest("Which of these say the same?", "1. tea\n2. Tea", 1)
    )


async def _overwrite(on: Stage) -> None:
    said = (OutcomeLine("memtui-2026-11-21.bundle already exists."),)
    replies = {"y": "overwrite"}
    await built(lambda: prompts.ConfirmDialog("Overwrite file?", said, replies))(on)


async def _stores(on: Stage) -> None:
    launch, roots = on.app.launch, on.app.launch.roots
    home = roots[0]

    def opened(_: list[KnownStore]) -> Library:
        raise AssertionError("no other stores are opened here")

    def catalog() -> StoreCatalog:
        return StoreCatalog(opened, folder=home, home=home, state=home / "state")

    on.app.launch = launch._replace(catalog=catalog)
    await keys("0")(on)


def beside_sessions(*pressed: str, sees: str) -> Callable[[Stage], Awaitable[None]]:
    """Opens a dialog by keys, for a person with sessions of Claude Code."""

    async def open_it(on: Stage) -> None:
        folder = on.app.launch.roots[0]
        on.app.settings = replace(on.app.settings, session_programs=("claude",))
        with person(folder / "person", "claude"):
            write_sessions(folder / "person", folder / "one" / "memory")
            await keys(*pressed)(on)
            await on.sees(sees)
            await rest(on)

    return open_it


LEDGER = "ledger cents"
SCENES = (
    Scene("broken", "UnreadablePage", "back", keys("U", "enter")),
    Scene("changed", "ComparisonScreen", "back", keys("R")),
    Scene("commands", "Picker", "cancel", keys("ctrl+p")),
    Scene("compare", "CompareScreen", "back", keys("space", "j", "space", "|", search="tea")),
    Scene("conflict", "ConflictScreen", "cancel", built(_conflict)),
    Scene("confirm", "ConfirmDialog", "cancel", _overwrite),
    Scene("context", "PackScreen", "back", keys("P")),
    Scene("copy-as", "Picker", "cancel", keys("ctrl+y")),
    Scene("copy-to", "CopyScreen", "cancel", keys("c")),
    Scene("delete", "DiffScreen", "cancel", keys("*", "d", search="tea")),
    Scene("edit", "FormScreen", "cancel", keys("e", search=LEDGER)),
    Scene("edit-several", "FormScreen", "cancel", keys("space", "j", "space", "e", search="tea")),
    Scene(
        "everywhere",
        "EverywhereScreen",
        "back",
        beside_sessions("\\", *"deploy", "enter", sees="Said in sessions"),
    ),
    Scene("export", "ExportScreen", "cancel", keys("x")),
    Scene("filter-type", "Picker", "cancel", keys("t")),
    Scene("link-tree", "LinkTreeScreen", "back", keys("O", search="Lisbon")),
    Scene("help", "HelpScreen", "back", keys("?")),
    Scene("history", "HistoryScreen", "back", keys("H", search="Lisbon")),
    Scene("history-markdown", "HistoryScreen", "back", keys("H", search=LEDGER)),
    Scene("import", "ImportScreen", "cancel", keys("I")),
    Scene("link", "LinkScreen", "cancel", keys("L")),
    Scene("log", "LogPage", "back", keys("p", "C", search="Lisbon")),
    Scene("merge", "MergeScreen", "cancel", keys("*", "&", search=LEDGER)),
    Scene("new", "FormScreen", "cancel", keys("m", "enter")),
    Scene(
        "proposal-text",
        "ProposalTextScreen",
        "cancel",
        built(lambda: review.ProposalTextScreen("Alice drinks tea", no_preview)),
    ),
    Scene("path", "PathDialog", "cancel", built(lambda: stores.PathDialog(lambda _: TypedPath()))),
    Scene("review", "ReviewScreen", "back", keys("V")),
    Scene("review-keys", "KeyList", "back", keys("V", "?")),
    Scene("saved", "SavedFilterPicker", "cancel", keys("f", search="type:decision")),
    Scene("save-filter", "PromptDialog", "cancel", keys("f", "enter", search="type:bug")),
    Scene("send", "SendScreen", "cancel", built(_send)),
    Scene(
        "session",
        "SessionReader",
        "back",
        beside_sessions("\\", "ctrl+u", "enter", "enter", sees="subagent"),
    ),
    Scene(
        "session-programs",
        "ProgramsScreen",
        "back",
        beside_sessions("\\", "ctrl+u", "enter", "p", sees="Sessions are read"),
    ),
    Scene("stores", "StoreChooser", "cancel", _stores),
    Scene("tags", "FormScreen", "cancel", keys("#")),
    Scene("theme", "ThemePicker", "cancel", keys("T")),
    Scene("time", "TimePrompt", "cancel", keys("@")),
    Scene("unreadable", "UnreadablePage", "back", keys("U")),
    Scene("why", "WhyScreen", "back", keys("w", search="tea")),
)


async def rest(on: Stage) -> None:
    """Wait until the screens have finished their work, those below a dialog too."""
    await on.until(
        lambda: (
            not any(getattr(screen, name, False) for screen in on.app.screen_stack for name in BUSY)
        ),
        "the screen comes to rest",
    )


async def leave(on: Stage) -> None:
    """Close what is open and forget what was searched for."""
    while on.app.screen is not on.browse:
        on.app.screen.dismiss(None)
        await on.settle()
    on.app.clear_notifications()
    on.browse.memories.unmark()
    on.app.settings = replace(on.app.settings, session_programs=())
    if on.browse.view != ViewState(""):
        on.browse.set_view(ViewState(""))
    await rest(on)


async def resize(on: Stage, size: tuple[int, int]) -> None:
    """Give the terminal another size."""
    if on.app.size != size:
        await on.resize(*size)
        await rest(on)


@asynccontextmanager
async def gallery(
    size: tuple[int, int] = (120, 35),
    *,
    theme: str = "dusk",
    settings: Settings | None = None,
    app_class: type[MemtuiApp] = MemtuiApp,
) -> AsyncIterator[Stage]:
    """Run the app over two stores, one with a broken file, in a folder whose path is always as
    long; `plain` gives it the same name."""
    with tempfile.TemporaryDirectory(prefix="memtui-", dir="/tmp") as folder:
        home = Path(folder)
        roots = [write_store(home / "one", ONE), write_store(home / "other", OTHER)]
        broken = roots[0] / "entities" / "garden" / "items.json"
        broken.parent.mkdir()
        broken.write_text(BROKEN, encoding="utf-8")
        for path in home.rglob("*"):
            os.utime(path, (NOW.timestamp(), NOW.timestamp()))
        state = home / "state"
        opened = Library.open(
            roots, cache=None, state=state, now=lambda: NOW, labels=["claude", "codex"]
        )
        clock = SimpleNamespace(time=NOW.timestamp)
        with chdir(home), patch("memtui.journal.journal.time", clock):
            async with stage(
                home,
                size,
                open_library=lambda: opened,
                theme=theme,
                settings=settings,
                state=state,
                config_file=home / "config.toml",
                app_class=app_class,
            ) as on:
                await on.ready()
                await rest(on)
                yield on


def plain(words: str) -> str:
    """The screen with one name for the folder of the run."""
    return re.sub(r"/tmp/memtui-\w{8}", "/tmp/memtui-00000000", words)


async def _take(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    async with gallery() as on:
        for scene in SCENES:
            if names and scene.name not in names:
                continue
            await scene.open(on)
            for size in SIZES:
                await resize(on, size)
                name = f"{scene.name}-{size[0]}x{size[1]}"
                picture = on.app.export_screenshot(title=name)
                (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
            await resize(on, SIZES[1])
            await leave(on)


if __name__ == "__main__":
    asyncio.run(_take(Path(sys.argv[1]), sys.argv[2:]))
