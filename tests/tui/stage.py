"""A small store on disk and the app over it, for tests of the screen."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import textual.screen
import textual.strip
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.color import Color
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.message_pump import MessagePump
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.visual import RenderOptions, Visual
from textual.widgets import Input
from textual.worker import WorkerCancelled

from memtui import paths
from memtui.config import LoadedSettings, Settings
from memtui.library import Library
from memtui.tui import jobs, key_queue, themes
from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from memtui.tui.key_bindings import key_name
from memtui.tui.screens.browse import BrowseScreen

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = "MEMTUI_UPDATE_SNAPSHOTS"
"""Set it to write the snapshots anew; then look at the differences before keeping them."""


def fact(
    number: int,
    content: str,
    created: str,
    kind: str = "fact",
    *,
    status: str = "active",
    supersedes: int | None = None,
    source: str = "conversation",
) -> dict[str, Any]:
    """One fact as agent-memory writes it."""
    return {
        "id": _id(number),
        "content": content,
        "source": source,
        "sourceRef": "session-0001",
        "entityType": kind,
        "createdAt": f"{created}T09:00:00Z",
        "status": status,
        "supersedes": None if supersedes is None else _id(supersedes),
    }


def _id(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000"


FACTS: Mapping[str, Sequence[dict[str, Any]]] = {
    "people/alice": [
        fact(1, "Alice prefers tea in the morning", "2026-03-02", "preference"),
        fact(2, "Alice lives in Porto", "2026-05-10", "person", status="historical"),
        fact(3, "Alice lives in Lisbon since June", "2026-06-12", "person", supersedes=2),
    ],
    "people/bob": [
        fact(4, "Bob reviews every migration himself", "2026-10-01", "person"),
        fact(5, "Bob drinks tea only when the coffee is out", "2026-11-19", "preference"),
    ],
    "shop-api": [
        fact(6, "Use Postgres for the ledger, not SQLite", "2026-02-14", "decision"),
        fact(7, "The login redirect loops when the cookie is stale", "2026-11-20", "bug"),
        fact(
            8,
            "Tokens expire after 24 hours\nand are renewed by the gateway",
            "2026-11-20",
            "decision",
        ),
        fact(9, "Deploys happen on Tuesdays", "2026-08-04", "policy"),
        fact(10, "森の鐘は朝に鳴る: the bell of the wood rings at dawn", "2026-09-09", "fact"),
    ],
}


def write_store(root: Path, facts: Mapping[str, Sequence[Mapping[str, Any]]] = FACTS) -> Path:
    """An agent-memory store; returns the path to open."""
    for entity, items in facts.items():
        folder = root / "memory" / "entities" / entity.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(list(items), indent=2, ensure_ascii=False) + "\n"
        (folder / "items.json").write_text(text, encoding="utf-8")
    return root / "memory"


textual.screen.UPDATE_PERIOD = 60.0  # type: ignore[misc]
"""Seconds after which Textual paints what has changed; the stage paints whenever it looks."""

_parse_rules = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}
"""The rules of each style sheet in each theme, which every app of this process shares. Textual
shares them too, between the parses of one app."""


def _parse_once(
    sheet: Stylesheet,
    css: str,
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    where = (read_from, is_default_rules, tie_breaker, scope)
    key = (css, *where, tuple(sheet._variables.items()))
    if key not in _parsed:
        _parsed[key] = _parse_rules(sheet, css, *where)
    return _parsed[key]


Stylesheet._parse_rules = _parse_once  # type: ignore[method-assign]

_render_update = Compositor.render_update


def _render_for_a_reader(
    compositor: Compositor,
    full: bool = False,
    screen_stack: list[Screen[Any]] | None = None,
    simplify: bool = False,
) -> RenderableType | None:
    """Render what changed on the screen only for an app that does something with it, and only while
    its `reads_paints` is not False.

    Nothing is written to a terminal here, and `Stage.text` renders the whole screen. A picture asks
    for the full screen.
    """
    app = active_app.get()
    is_read = type(app)._display is not MemtuiApp._display and getattr(app, "reads_paints", True)
    if full or is_read:
        return _render_update(compositor, full, screen_stack, simplify)
    visible_screen_stack.set(screen_stack or [])
    compositor._dirty_regions.clear()
    return None


Compositor.render_update = _render_for_a_reader  # type: ignore[method-assign]


class _Unkept:
    """In place of the seven caches of each line: most lines of a test are drawn once."""

    def get(self, _key: object, default: object = None) -> object:
        return default

    def __setitem__(self, _key: object, _value: object) -> None:
        pass


_UNKEPT = _Unkept()
textual.strip.FIFOCache = lambda _size: _UNKEPT  # type: ignore[assignment, misc]

_tint = BackgroundScreen.process_segments


@cache
def _tinted(style: Style | None, colour: Color, page: Style) -> Style | None:
    (segment,) = _tint([Segment("x", style)], colour)
    return page + segment.style


class _Behind(Visual):
    """What stands behind a dialog: each style is tinted once, and not at each place that has it,
    and the lines do not go through rich, which cuts them anew."""

    def __init__(self, background: BackgroundScreen) -> None:
        self._screen, self._colour = background.screen, background.color

    def render_strips(
        self, width: int, height: int | None, style: VisualStyle, options: RenderOptions
    ) -> list[Strip]:
        page, colour = style.rich_style, self._colour
        return [
            Strip([Segment(words, _tinted(look, colour, page)) for words, look, _ in line])
            for line in self._screen._compositor.render_strips()[:height]
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._screen.size.height


BackgroundScreen.visualize = lambda background: _Behind(background)  # type: ignore[attr-defined]

_load_themes = themes.load_themes
_THEMES = (paths.bundled_folder("themes"),)
_shipped_themes = _load_themes(_THEMES)
themes.load_themes = lambda folders: (
    _shipped_themes if tuple(folders) == _THEMES else _load_themes(folders)
)
"""The themes that memtui ships are read once; nothing writes into a theme."""

Notification.time_left = 3600.0  # type: ignore[assignment, misc]
"""A toast stays until a test has looked for it, which may take longer than its two seconds."""

key_queue.LONGEST_WAIT = 30.0
"""Seconds that a key waits for what the one before sets off: a busy machine opens a form later than
after half a second, and what was typed for it would be run as commands."""

jobs.KEY_REST = 0.0
"""Work that nobody waits for goes on at once, since tests wait for it."""

PAUSE = 0.002
"""Seconds between two looks while somebody waits for a thread or a time."""
LONGEST_WAIT = 120.0
"""Seconds for what comes of a timer, a process or the watching of files."""
PAINTS = 20
"""Paints that one message leads to, at most."""


def _wants_layout(screen: Screen[Any]) -> bool:
    """Something of the screen is to be laid out, or waits until it has been."""
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._recompose_required
        or screen._callbacks
    )


def is_waiting(pump: MessagePump) -> bool:
    """Whether the pump waits for its next message, or gets none any more."""
    if not pump._running:
        return pump._mounted_event.is_set()
    waiters = pump._message_queue.ready_event._waiters
    return pump._message_queue.empty() and any(not waiter.done() for waiter in waiters)


def _is_pool_busy() -> bool:
    """A thread works: a replaced job counts as complete, and still has its last words to say."""
    pool = asyncio.get_running_loop()._default_executor  # type: ignore[attr-defined]
    return pool is not None and pool._idle_semaphore._value < len(pool._threads)


@dataclass
class Stage:
    """The running app, and what a test asks of it."""

    app: MemtuiApp
    pilot: Pilot[None]

    @property
    def browse(self) -> BrowseScreen:
        return self.app.browse

    async def press(self, *keys: str) -> None:
        """Press keys, each followed by everything it sets off, and the first when all that the test
        did by itself has been handled.

        The pilot's own `press` waits until the processor is idle, which on a busy machine is a
        second; here it is known when the work is done.
        """
        await self._handled()
        for key in keys:
            self._strike(key)
            await self.settle()

    async def act(self, *action_ids: str) -> None:
        """Run these actions, as the list of commands does."""
        for action_id in action_ids:
            self.browse.action_act(action_id)
            await self.settle()

    async def burst(self, *keys: str) -> None:
        """Press keys at once, as a paste or a quick hand does; what they set off is waited for."""
        for key in keys:
            self._strike(key)
        await self.settle()

    async def handle(self, *keys: str) -> None:
        """Press keys and wait for the widgets only: a worker may wait for the test itself."""
        for key in keys:
            self._strike(key)
            await self._handled()
        await self.begun()

    def strike(self, *keys: str) -> None:
        """Press keys at once and wait for nothing."""
        for key in keys:
            self._strike(key)

    async def type(self, words: str) -> None:
        """Type into what has the focus, as fast as a paste: what it sets off is waited for once."""
        for letter in words:
            self._strike("space" if letter == " " else letter)
        await self.settle()

    def _strike(self, key: str) -> None:
        name = key_name(key) or key
        letter = " " if key == "space" else key if len(key) == 1 else None
        self.app.post_message(events.Key(name, letter))

    async def settle(self) -> None:
        """Wait until no worker runs and every message has been handled."""
        await self._done(3)
        if self.browse.detail_controller.waits:
            self.browse.detail_controller.end_run()
            await self._done(2)
        self.app.screen._on_timer_update()

    async def _done(self, rounds: int) -> None:
        """Wait for the messages, the workers they start, the messages of those, and so on."""
        await self._handled()
        while rounds and self._is_working():
            await self._worked()
            await self._handled()
            rounds -= 1

    async def begun(self) -> None:
        """Wait until the first screen stands, or what was pressed has been handled.

        The detail is drawn too, which waits for the cursor to rest: a test may press a key within
        0.1 seconds of the one before, or a second later.
        """
        await self._handled()
        if self.browse.detail_controller.waits:
            self.browse.detail_controller.end_run()
            await self._handled()
        self.app.screen._on_timer_update()

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        driver, size = self.app._driver, Size(width, height)
        assert isinstance(driver, HeadlessDriver)
        driver._size = size
        self.app.post_message(events.Resize(size, size))
        await self._handled()
        self.app._check_resize()  # which a timer does, for many sizes in a moment
        await self.settle()  # the screen has its layout
        await self.settle()  # and what its widgets did about theirs is drawn

    async def ready(self) -> None:
        """Wait until all has been read and can be searched."""
        while not self.browse.is_ready and self.app.fault is None:
            await self.settle()
        await self.settle()

    async def sees(self, words: str) -> None:
        """The words come up on the screen."""
        await self.until(lambda: words in self.text(), f"{words!r} is on the screen")

    async def until(
        self, holds: Callable[[], object], what: str, *, is_working: bool = False
    ) -> None:
        """Wait until this holds while nothing else is left to do, however slow the machine is.

        `is_working`: jobs go on meanwhile, and may wait for the test itself.
        """
        end, pause = monotonic() + LONGEST_WAIT, 0.01
        settle = self.begun if is_working else self.settle
        await settle()
        while not holds():
            assert monotonic() < end, f"never: {what}\n{self.text()}"
            await asyncio.sleep(pause)
            pause = min(0.1, 1.5 * pause)  # a look draws the whole screen
            await settle()

    async def still(self) -> str:
        """The screen once two looks at it are the same."""
        before = ""
        for _ in range(100):
            await self.settle()
            now = self.text()
            if now == before:
                return now
            before = now
            await asyncio.sleep(0.03)
        return before

    async def _worked(self) -> None:
        with suppress(WorkerCancelled):  # a newer question took its place
            await self.app.workers.wait_for_complete()
        while _is_pool_busy():
            await asyncio.sleep(PAUSE)

    def _is_working(self) -> bool:
        return bool(self.app.workers) or _is_pool_busy()

    async def _handled(self) -> None:
        """Wait until no key waits and no widget has a message left or is handling one.

        The pilot's own way sends a message to every widget and waits for all answers, four times
        the work of most keys. Here it is seen in the queues: once the event loop has nothing left
        to run, a widget that is done waits for more, and any other for a thread or a time.
        """
        active_app.set(self.app)  # a test may have two
        due = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        for _ in range(PAINTS):
            await asyncio.sleep(0)
            while self.app.fault is None and (due or not self._is_still()):
                await asyncio.sleep(0 if due else PAUSE)
            top, behind = self.app.screen, self.app._background_screens
            waiting = [one for one in behind if _wants_layout(one) or one._dirty_widgets]
            if _wants_layout(top) or top._repaint_required or top._dirty_widgets:
                waiting.append(top)
            if not waiting:
                return
            for screen in waiting:
                screen._on_timer_update()

    def _is_still(self) -> bool:
        pumps = [self.app, *self.app._registry]
        return self.app.key_queue.is_idle and all(map(is_waiting, pumps))

    def text(self) -> str:
        """The screen as plain text, blanks at the ends of lines left out."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def headlines(self) -> list[str]:
        """What the list shows, in order."""
        memories = self.browse.memories
        rows = self.browse.worker.library.snapshot.rows if self.browse.worker.library else ()
        return [rows[slot].headline for slot in memories.slots]

    @property
    def query(self) -> str:
        return self.app.screen.query_one(Input).value


@asynccontextmanager
async def stage(
    root: Path,
    size: tuple[int, int] = (120, 35),
    *,
    settings: Settings | None = None,
    state: Path | None = None,
    cache: Path | None = None,
    config_file: Path | None = None,
    theme: str = "dusk",
    themes: tuple[Path, ...] = _THEMES,
    toasts: bool = False,
    open_library: Callable[[], Library] | None = None,
    app_class: type[MemtuiApp] = MemtuiApp,
    now: Callable[[], datetime] = lambda: NOW,
) -> AsyncIterator[Stage]:
    """Run the app over a store until the block ends.

    With `open_library` the block begins at once, before anything has been read.
    """
    chosen = settings or Settings(theme=theme)
    launch = Launch(
        open_library or (lambda: Library.open([root], cache=None, state=state, now=lambda: NOW)),
        loaded=LoadedSettings(chosen),
        config_file=config_file,
        state=state,
        cache=cache,
        themes=themes,
        roots=(root,),
        now=now,
    )
    app = app_class(launch)
    async with app.run_test(size=size, notifications=toasts) as pilot:
        running = Stage(app, pilot)
        await (running.ready if open_library is None else running.begun)()
        try:
            yield running
        finally:
            app.is_ending = True  # Textual's `run_test` ends it without `exit`
    if app.fault is not None:
        raise app.fault


def compare(name: str, text: str) -> None:
    """The screen is as it was when somebody last looked at it and found it good."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    expected = path.read_text(encoding="utf-8").rstrip("\n")
    assert text == expected, f"{name} looks different; {UPDATE}=1 writes it anew"
