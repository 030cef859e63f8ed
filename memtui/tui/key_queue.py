"""Delivers keys one at a time: the next key when the last one, and what it opened, is ready.

Textual forwards a key to the focused widget at once, so that of several keys in one read the later
ones reach the screen that was on top before the first was handled: a question gets two answers, a
key meant for a dialog runs a command of the list behind it. Here each key waits until the widgets
that may handle the last one have done so and the screen on top is mounted and has its focus.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.message_pump import MessagePump
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.app import App

SPINS = 200
"""Turns of the event loop after which a widget waits for a thread or a time, and the looks at it
become rarer."""
STEP = 0.002
"""Seconds between two looks then."""
QUIET = 2
"""Turns in which nothing is left to do."""
LONGEST_WAIT = 0.5
"""Seconds for which one key may keep the next waiting; a screen that hangs still gets its keys."""
FRAME = 0.05
"""Seconds between two frames while keys are waiting: a held key is seen to move."""
LONGEST_HOLD = 1.0
"""Seconds for which a worker that will open a dialog keeps the next key back, at most."""
TYPING_PAUSE = 0.7
"""Seconds without a key after which letters are commands again; over SSH they come in spurts."""
_TYPED = frozenset({"enter", "tab", "shift+tab", "backspace", "delete"})
"""Keys beside letters that a form would get; those that only move are harmless anywhere."""


class KeyQueue:
    """Queues keys and pasted text, and delivers them to the app in order."""

    def __init__(
        self,
        app: App[None],
        deliver: Callable[[events.Event], Awaitable[None]],
        draw: Callable[[], None],
    ) -> None:
        """`draw` draws a frame; it is called when the last key has been handled."""
        self._app = app
        self._deliver = deliver
        self._draw = draw
        self._drawn = 0.0
        self.is_handling = False
        """A key is being handled; what it changes is drawn in one frame once it has been."""
        self._waiting: deque[events.Event] = deque()
        self._task: asyncio.Task[None] | None = None
        self._holds: dict[object, float] = {}
        """When each ends by itself, by the loop's clock."""
        self._released = asyncio.Event()
        self._is_stopped = False
        self._is_dropping = False
        """Letters are dropped until there is a pause."""
        self.last_input = -inf
        """When a key was pressed or the mouse was used, by the monotonic clock (which may start
        with the machine)."""

    @property
    def is_idle(self) -> bool:
        """Whether every key so far has been handled."""
        return self._task is None or self._task.done()

    def put(self, event: events.Event) -> None:
        """Deliver this key after all earlier ones."""
        if self._is_stopped:
            return
        pause, self.last_input = monotonic() - self.last_input, monotonic()
        if self._is_dropping and pause < TYPING_PAUSE and _is_typed(event):
            return
        self._is_dropping &= pause < TYPING_PAUSE and not _is_escape(event)
        self._waiting.append(event)
        if self.is_idle:
            self._task = asyncio.create_task(self._run(), name="keys")

    def stop(self) -> None:
        """Drop the keys that have not been delivered, and all that come: the app ends."""
        self._is_stopped = True
        self._waiting.clear()

    def drop_typed(self) -> None:
        """Drop the letters that follow without a pause, or until escape.

        They were meant for a form that has not opened, and would be run as commands.
        """
        self._is_dropping = True
        waiting, self._waiting = self._waiting, deque()
        for event in waiting:
            self._is_dropping &= not _is_escape(event)
            if not (self._is_dropping and _is_typed(event)):
                self._waiting.append(event)

    def hold(self, longest: float = LONGEST_HOLD) -> Callable[[], None]:
        """Keep further keys back until the returned function is called, or for `longest`."""
        token = object()
        self._holds[token] = asyncio.get_running_loop().time() + longest
        self._released.clear()

        def release() -> None:
            self._holds.pop(token, None)
            if not self._holds:
                self._released.set()

        return release

    async def _run(self) -> None:
        with self._app._context():
            try:
                while self._waiting:
                    await self._deliver_one(self._waiting.popleft())
            except Exception as error:
                self._app._handle_exception(error)

    async def _deliver_one(self, event: events.Event) -> None:
        target = self._app.focused or self._app.screen
        self.is_handling = not isinstance(target, Input)  # which shows a letter before its effects
        try:
            await self._deliver(event)
            await self._wait_until_handled(target)
        finally:
            self.is_handling = False
        if self._is_stopped:  # there may be no screen any more
            return
        self._draw_if_due()
        if self._holds:
            rest = max(self._holds.values()) - asyncio.get_running_loop().time()
            released = asyncio.ensure_future(self._released.wait())
            await asyncio.wait([released], timeout=rest)
            released.cancel()
            self._holds.clear()
            await self._wait_until_handled(target)

    def _draw_if_due(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._waiting or now - self._drawn > FRAME:
            self._drawn = now
            self._draw()

    async def _wait_until_handled(self, target: MessagePump) -> None:
        """Wait until the target, those it bubbles to and the screen on top have nothing to do."""
        time = asyncio.get_running_loop().time
        until = time() + LONGEST_WAIT
        quiet = turns = 0
        while quiet < QUIET and time() < until:
            await asyncio.sleep(0 if turns < SPINS else STEP)
            turns += 1
            quiet = quiet + 1 if all(map(is_waiting, self._list_pumps(target))) else 0

    def _list_pumps(self, target: MessagePump) -> list[MessagePump]:
        """Return the message pumps that may handle a key or its effects, each once."""
        stack = self._app.screen_stack
        pumps: list[MessagePump] = []
        at: MessagePump | None = target
        while at is not None:
            pumps.append(at)
            at = at._parent
        pumps += [*stack[-2:], stack[0], self._app] if stack else [self._app]
        return list(dict.fromkeys(pumps))


def _is_escape(event: events.Event) -> bool:
    return isinstance(event, events.Key) and event.key in ("escape", "ctrl+c")


def _is_typed(event: events.Event) -> bool:
    """Whether an event is text, or a key that a form would get."""
    if isinstance(event, events.Key):
        return event.is_printable or event.key in _TYPED
    return isinstance(event, events.Paste)


def is_waiting(pump: MessagePump) -> bool:
    """Whether the pump waits for its next message, or gets none any more."""
    if not pump._running:
        return pump._mounted_event.is_set()
    has_none: bool = pump._message_queue.empty()
    waiters: Collection[asyncio.Future[bool]] = pump._message_queue.ready_event._waiters
    return has_none and any(not waiter.done() for waiter in waiters)
