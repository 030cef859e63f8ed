"""The HTTP server: one page with its scripts, and a websocket for each tab.

The websocket speaks as textual-serve's script does (textual_serve/server.py, 1.1.3): the browser
sends JSON lists (`stdin`, `resize`, `ping`), and gets the terminal's bytes.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import termios
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from aiohttp import WSMsgType, web

from memtui import paths
from memtui.serve.access import Access

READ_SIZE = 65_536
LARGEST = 1_000
"""Columns and rows at most."""
ENDS_WITHIN = 5.0
"""Seconds in which a program that was hung up has kept what it keeps."""
RETRY = 0.01
"""Seconds until input is written again that the terminal had no room for."""
READS_WITHIN = 5.0
"""Seconds in which a program reads some of its input; for one that is stopped it is dropped."""


class Terminal:
    """One running program."""

    def __init__(self, handle: int, process: asyncio.subprocess.Process) -> None:
        self._handle = handle
        self._process = process
        self._room = asyncio.Event()

    @classmethod
    async def start(
        cls, command: Sequence[str], environ: Mapping[str, str], columns: int, rows: int
    ) -> Terminal:
        """Start a program without a shell. It leads a session: no signal of its keys leaves it."""
        handle, line = pty.openpty()
        try:
            _set_size(handle, columns, rows)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=line,
                stdout=line,
                stderr=line,
                env=dict(environ),
                preexec_fn=lambda: os.login_tty(0),
            )
        except BaseException:
            os.close(handle)
            raise
        finally:
            os.close(line)
        os.set_blocking(handle, False)
        return cls(handle, process)

    async def read(self) -> bytes:
        """What the program writes next; empty once it has ended."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._handle, READ_SIZE)
            except BlockingIOError:
                pass
            except OSError:  # Linux tells the end of the other side so
                return b""
            self._room.clear()
            loop.add_reader(self._handle, self._room.set)
            try:
                await self._room.wait()
            finally:
                loop.remove_reader(self._handle)

    async def write(self, data: bytes) -> None:
        """Type this."""
        end = time.monotonic() + READS_WITHIN
        while data and time.monotonic() < end:
            try:
                data = data[os.write(self._handle, data) :]
                end = time.monotonic() + READS_WITHIN
            except BlockingIOError:
                await asyncio.sleep(RETRY)
            except OSError:
                return

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal another size; the program is told."""
        _set_size(self._handle, columns, rows)

    async def end(self) -> None:
        """Hang up, and wait until the program has kept what it keeps."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGHUP)
            drain = asyncio.create_task(self._drain())
            try:
                await asyncio.wait_for(self._process.wait(), ENDS_WITHIN)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
            drain.cancel()
            await asyncio.wait([drain])
        os.close(self._handle)

    async def _drain(self) -> None:
        while await self.read():
            pass


def _set_size(handle: int, columns: int, rows: int) -> None:
    size = (max(1, min(each, LARGEST)) for each in (rows, columns))
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


# ---- the terminal of a tab -----------------------------------------------------------------------


MAX_TABS = 4
IDLE = 30 * 60.0
"""Seconds without a key after which a tab is ended."""
HEARTBEAT = 15.0
"""Seconds between two signs of life of a tab."""
MAX_MESSAGE = 4 << 20
"""Bytes of one message: the largest paste."""
DEFAULT_SIZE = (80, 24)
FULL = f"{MAX_TABS} tabs are open already. Close one, and load this page again."
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Of every answer. xterm.js makes style elements of its own."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScreenServer:
    """Serves the screen to the tabs of one person."""

    def __init__(self, access: Access, command: Sequence[str], mode: str) -> None:
        """`command`: what is run for a tab. `mode`: `read-only` or `write`."""
        self._access = access
        self._command = tuple(command)
        self._environ = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            paths.SERVED_VARIABLE: mode,
        }
        self._tabs: dict[Terminal, asyncio.Task[None]] = {}
        """Terminal -> the task that sends its output."""
        self._endings: set[asyncio.Task[None]] = set()

    def application(self) -> web.Application:
        """The routes, each behind the guard."""
        application = web.Application(middlewares=[self._guard])
        static = resources.files("textual_serve") / "static"
        application.add_routes(
            [
                web.get("/", self._page),
                web.get("/focus.js", self._script),
                web.get("/ws", self._tab),
                web.static("/static", str(static)),
            ]
        )
        application.on_shutdown.append(self._end_all)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        access = self._access
        reason = access.refusal(
            request.headers.get("Host", ""),
            request.headers.get("Origin"),
            needs_origin=request.path == "/ws",
        )
        token = request.query.get("token")
        if not reason and token is not None and request.path == "/" and access.knows(token):
            # Elsewhere, so that the token does not stay in the address.
            entered = web.Response(status=303, headers={"Location": "/", **HEADERS})
            entered.set_cookie(access.cookie, token, httponly=True, samesite="Strict", path="/")
            return entered
        if not reason and not access.knows(request.cookies.get(access.cookie, "")):
            reason = "open the address that memtui serve has printed"
        if reason:
            return web.Response(status=403, text=f"memtui: {reason}\n", headers=HEADERS)
        try:
            answer = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not answer.prepared:
            answer.headers.update(HEADERS)
        return answer

    async def _page(self, request: web.Request) -> web.Response:
        page = _own("page.html").replace("{address}", escape(f"ws://{request.host}/ws"))
        return web.Response(text=page, content_type="text/html")

    async def _script(self, _: web.Request) -> web.Response:
        return web.Response(text=_own("focus.js"), content_type="text/javascript")

    async def _tab(self, request: web.Request) -> web.WebSocketResponse:
        """Run a screen until its tab is closed, idle for long, or the screen is left."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=MAX_MESSAGE)
        await socket.prepare(request)
        if self._endings:  # a page that is loaded again finds what its screen has kept
            await asyncio.wait(set(self._endings))
        if len(self._tabs) >= MAX_TABS:
            await socket.send_bytes(FULL.encode())
            await socket.close()
            return socket
        size = (_number(request.query.get(name), 0) for name in ("width", "height"))
        columns, rows = (asked or usual for asked, usual in zip(size, DEFAULT_SIZE, strict=True))
        terminal = await Terminal.start(self._command, self._environ, columns, rows)
        self._tabs[terminal] = asyncio.create_task(_send_output(terminal, socket))
        try:
            await _follow(terminal, socket)
        finally:
            ending = asyncio.create_task(self._end(terminal))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            await asyncio.shield(ending)
        return socket

    async def _end(self, terminal: Terminal) -> None:
        output = self._tabs.pop(terminal, None)
        if output is not None:
            output.cancel()
            await asyncio.wait([output])
            await terminal.end()

    async def _end_all(self, _: web.Application) -> None:
        await asyncio.gather(*(self._end(terminal) for terminal in tuple(self._tabs)))


async def _send_output(terminal: Terminal, socket: web.WebSocketResponse) -> None:
    try:
        while data := await terminal.read():
            await socket.send_bytes(data)
        await socket.close()
    except ConnectionError:  # the tab was closed; `_follow` ends with it
        return


async def _follow(terminal: Terminal, socket: web.WebSocketResponse) -> None:
    """Hand on what the tab sends."""
    last_key = time.monotonic()
    while (left := last_key + IDLE - time.monotonic()) > 0:
        try:
            message = await socket.receive(timeout=left)
        except TimeoutError:
            break
        if message.type != WSMsgType.TEXT:
            if message.type in (WSMsgType.BINARY, WSMsgType.PING, WSMsgType.PONG):
                continue
            return
        kind, value = _parse(message.data)
        if kind == "stdin" and isinstance(value, str):
            last_key = time.monotonic()
            await terminal.write(value.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(value, Mapping):
            columns, rows = (_number(value.get(name), 0) for name in ("width", "height"))
            if columns and rows:
                terminal.resize(columns, rows)
        elif kind == "ping":
            await socket.send_json(["pong", value])
    await socket.close()


def _own(name: str) -> str:
    return (resources.files("memtui.serve") / name).read_text("utf-8")


def _parse(text: str) -> tuple[str, Any]:
    """The kind and the value of a message; of a malformed one an empty kind."""
    try:
        kind, *values = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return "", None
    return (kind, values[0]) if isinstance(kind, str) and values else ("", None)


def _number(value: object, default: int) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return default
