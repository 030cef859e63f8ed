"""Delivers keys one at a time: the next key when the last one, and what it opened, is ready.

Textual forwards a key to the focused widget at once, so that of several keys in one read the later
ones reach the screen that was on top before the first was handled: a question gets two answers, a
key meant for a dialog runs a command of the list behind it. Here each key waits until the widgets
that may handle the last one have done so, and until the act that it began is done or has opened a
dialog: every key is decided on what the last one made.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode

KEY_REST = 0.3
"""Seconds without a key after which background work resumes."""
ROUNDS = 3
"""Times that a key is followed through the widgets: what they do about it posts more messages."""
STEP = 0.01
"""Seconds between two checks whether a widget that does not answer has been closed."""
LONGEST_WAIT = 0.5
"""Seconds for which one key may keep the next waiting; a screen that hangs still gets its keys."""
LONGEST_HOLD = 1.0
"""Seconds for which the next key waits for what a search finds, at most. An act keeps it back until
it is done."""
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
        failed: Callable[[Exception], None],
    ) -> None:
        self._app = app
        self._deliver = deliver
        self._failed = failed
        self._waiting: deque[events.Event] = deque()
        self._task: asyncio.Task[None] | None = None
        self._holds: dict[object, float] = {}
        """When each ends by itself, by the monotonic clock."""
        self._stops: dict[object, Callable[[], None]] = {}
        """What escape calls during each of the holds that can be stopped."""
        self._released, self._handled = asyncio.Event(), asyncio.Event()
        self._is_stopped = False
        self._is_dropping = False
        """Letters are dropped until there is a pause."""
        self.last_input = -inf
        """When a key was pressed or the mouse was used, by the monotonic clock."""

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
        if self._stops and _is_escape(event):
            self._waiting.clear()  # they were pressed for an outcome that does not come
            for stop in self._stops.values():
                stop()
            return
        self._waiting.append(event)
        if self.is_idle:
            self._task = asyncio.create_task(self._run(), name="keys")

    def stop(self) -> None:
        """Drop the keys that have not been delivered, and all that come: the app ends."""
        self._is_stopped = True
        self._waiting.clear()
        self._released.set()

    def drop_waiting(self) -> bool:
        """Drop the keys that have not been delivered; False if there are none."""
        had_any = bool(self._waiting)
        self._waiting.clear()
        return had_any

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

    def hold(
        self, longest: float = LONGEST_HOLD, stop: Callable[[], None] | None = None
    ) -> Callable[[], None]:
        """Keep further keys back until the returned function is called, or for `longest` seconds.

        `stop`: what escape calls meanwhile; the keys before it are dropped.
        """
        token = object()
        self._holds[token] = monotonic() + longest
        if stop is not None:
            self._stops[token] = stop
        self._released.clear()

        def release() -> None:
            self._holds.pop(token, None)
            self._stops.pop(token, None)
            if not self._holds:
                self._released.set()

        return release

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._wait_until_taken()
                if self._waiting:
                    target = self._app.focused or self._app.screen
                    await self._deliver(self._waiting.popleft())
                    await self._wait_until_handled(target)
                    # Here too: a key that comes between release and mounting would be lost.
                    await self._wait_until_taken()
        except Exception as error:
            self._failed(error)

    async def wait_for_release(self) -> None:
        """Wait until nothing holds the keys."""
        while self._holds and not self._is_stopped:
            left = max(self._holds.values()) - monotonic()
            try:
                await asyncio.wait_for(self._released.wait(), left)
            except TimeoutError:
                self._holds.clear()
                self._stops.clear()

    async def _wait_until_taken(self) -> None:
        """Wait until nothing holds the keys, and until the dialog that opened takes them."""
        was_held = bool(self._holds)
        await self.wait_for_release()
        if was_held and not self._is_stopped:
            await self._wait_until_handled(self._app.focused or self._app.screen)

    async def _wait_until_handled(self, target: DOMNode) -> None:
        """Wait until the target, those it bubbles to and the screen on top have nothing to do."""
        end = monotonic() + LONGEST_WAIT
        for _ in range(ROUNDS):
            for node in self._list_nodes(target):
                self._handled.clear()
                # Not `call_later`, which makes a new function, whose signature Textual then reads.
                is_open = node.post_message(events.Callback(callback=self._handled.set))
                while is_open and not self._handled.is_set() and monotonic() < end:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(STEP):
                            await self._handled.wait()
                    # A node that is being closed takes no callback any more, and calls none.
                    is_open = self._handled.is_set() or node.call_later(lambda: None)
                if self._is_stopped:
                    return

    def _list_nodes(self, target: DOMNode) -> list[DOMNode]:
        """Return the nodes that may handle a key or its effects, in its order, each once."""
        stack = self._app.screen_stack
        now = self._app.focused or self._app.screen
        return list(dict.fromkeys([*_bubbling(target), *_bubbling(now), *stack[:1], self._app]))


class KeyHold:
    """Keeps the keys back from `take` until `let_go`, or for as long as was asked for; taken again,
    it begins anew."""

    def __init__(self, queue: KeyQueue) -> None:
        self._queue = queue
        self.let_go: Callable[[], None] = lambda: None

    def take(self, longest: float = LONGEST_HOLD) -> None:
        self.let_go()
        self.let_go = self._queue.hold(longest)


def _bubbling(node: DOMNode | None) -> Iterator[DOMNode]:
    """A node and those that its messages bubble to."""
    while node is not None:
        yield node
        node = node.parent


def _is_escape(event: events.Event) -> bool:
    return isinstance(event, events.Key) and event.key in ("escape", "ctrl+c")


def _is_typed(event: events.Event) -> bool:
    """Whether an event is text, or a key that a form would get."""
    if isinstance(event, events.Key):
        return event.is_printable or event.key in _TYPED
    return isinstance(event, events.Paste)
