"""Delivers keys one at a time: the next key when the last one, and what it opened, is ready.

Textual forwards a key to the focused widget at once, so that of several keys in one read the later
ones reach the screen that was on top before the first was handled: a question gets two answers, a
key meant for a dialog runs a command of the list behind it. Here each key waits until the widgets
that may handle the last one have done so and the screen on top is mounted and has its focus.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual import events
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from textual.app import App

STEP = 0.02
"""Seconds between two looks at whether a widget that was asked is still there to answer."""
LONGEST_WAIT = 0.5
"""Seconds for which one key may keep the next waiting; a screen that hangs still gets its keys."""
ROUNDS = 8
"""How often the widgets are asked again while handling a key goes on to post messages."""
FRAME = 0.05
"""Seconds between two frames while keys are waiting: a held key is seen to move."""
LONGEST_HOLD = 1.0
"""Seconds for which a worker that will open a dialog keeps the next key back, at most."""


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

    @property
    def is_idle(self) -> bool:
        """Whether every key so far has been handled."""
        return self._task is None or self._task.done()

    def put(self, event: events.Event) -> None:
        """Deliver this key after all earlier ones."""
        self._waiting.append(event)
        if self.is_idle:
            self._task = asyncio.create_task(self._run(), name="keys")

    def stop(self) -> None:
        """Drop the keys that have not been delivered."""
        self._waiting.clear()

    def hold(self) -> Callable[[], None]:
        """Keep further keys back until the returned function is called, LONGEST_HOLD at most."""
        token = object()
        self._holds[token] = asyncio.get_running_loop().time() + LONGEST_HOLD
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
        self.is_handling = True
        try:
            await self._deliver(event)
            await _wait_at_most(self._wait_until_handled(target), LONGEST_WAIT)
        finally:
            self.is_handling = False
        self._draw_if_due()
        if self._holds:
            rest = max(self._holds.values()) - asyncio.get_running_loop().time()
            await _wait_at_most(self._released.wait(), rest)
            self._holds.clear()
            await _wait_at_most(self._wait_until_handled(target), LONGEST_WAIT)

    def _draw_if_due(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._waiting or now - self._drawn > FRAME:
            self._drawn = now
            self._draw()

    async def _wait_until_handled(self, target: MessagePump) -> None:
        """Wait until the target, those it bubbles to and the screen on top have nothing to do."""
        for _ in range(ROUNDS):
            pumps = self._list_pumps(target)
            for pump in pumps:
                await _wait_for_messages(pump)
            if pumps == self._list_pumps(target) and not any(p.message_queue_size for p in pumps):
                break

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


async def _wait_for_messages(pump: MessagePump) -> None:
    """Wait until the pump has handled all messages it has, or has ended."""
    await pump._mounted_event.wait()
    done = asyncio.Event()
    if not pump.is_running or not pump.call_later(done.set):
        return
    while not done.is_set() and pump.is_running:
        await _wait_at_most(done.wait(), STEP)


async def _wait_at_most(something: Awaitable[object], seconds: float) -> None:
    task = asyncio.ensure_future(something)
    await asyncio.wait([task], timeout=seconds)
    task.cancel()
