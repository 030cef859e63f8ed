"""A real browser opens a served screen and types; it is left out where none is installed."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse

from .test_server import TOKEN, serving

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no browser is installed"),
]
RECORDER = (
    "import os, sys, tty\ntty.setraw(0)\nfile = open(sys.argv[1], 'ab', buffering=0)\n"
    "file.write(b'<start>')\nos.write(1, b'ready')\n"
    "while data := os.read(0, 100): file.write(data)"
)
FOREIGN = """new Promise(answer => {{
  const socket = new WebSocket("ws://{host}/ws");
  socket.onopen = () => answer("open");
  socket.onerror = () => answer("refused");
}})"""


class Browser:
    """One page of a browser, by its debugging protocol."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        await self._socket.send_json(request)
        while (answer := await self._socket.receive_json()).get("id") != self._number:
            pass
        return answer["result"]

    async def open(self, address: str) -> None:
        await self.ask("Page.navigate", url=address)

    async def evaluate(self, script: str) -> Any:
        found = await self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        return found["result"].get("value")

    async def press(self, key: str, code: int = 0, *, ctrl: bool = False) -> None:
        name = {"key": key, "windowsVirtualKeyCode": code or ord(key.upper())}
        typed = {} if ctrl else {"text": key}
        for kind in ("keyDown", "keyUp"):
            extra = typed if kind == "keyDown" else {}
            await self.ask("Input.dispatchKeyEvent", type=kind, modifiers=2 * ctrl, **name, **extra)


@asynccontextmanager
async def browsing(home: Path) -> AsyncIterator[Browser]:
    assert BROWSER is not None
    process = await asyncio.create_subprocess_exec(
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        f"--user-data-dir={home}",
        "about:blank",
        stderr=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        told = home / "DevToolsActivePort"
        await until(lambda: told.exists() and told.read_text().count("\n") >= 1)
        port = told.read_text().split("\n")[0]
        async with ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = json.loads(await answer.text())
            address = next(page for page in pages if page["type"] == "page")["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Browser(socket)
    finally:
        process.kill()
        await process.wait()


async def until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.05)


async def connected(browser: Browser) -> None:
    async with asyncio.timeout(60):
        script = "document.activeElement?.matches('.-connected textarea') ?? false"
        while not await browser.evaluate(script):
            await asyncio.sleep(0.05)


async def test_a_browser_types_loads_again_and_reaches_no_other_way(tmp_path: Path) -> None:
    typed = tmp_path / "typed"
    async with serving(RECORDER, str(typed)) as site, browsing(tmp_path / "home") as browser:
        assert await browser.evaluate(FOREIGN.format(host=site.host)) == "refused"
        await browser.open(f"http://{site.host}/?token={TOKEN}")
        await connected(browser)
        assert await browser.evaluate("location.href") == f"http://{site.host}/"
        await until(lambda: typed.exists() and typed.read_bytes() == b"<start>")
        await browser.press("a")
        await browser.press("/")
        await browser.press("z", ctrl=True)
        await until(lambda: typed.read_bytes() == b"<start>a/\x1a")

        await browser.ask("Page.reload")
        await connected(browser)
        await until(lambda: typed.read_bytes().endswith(b"<start>"))
        await browser.press("b")
        await until(lambda: typed.read_bytes().endswith(b"<start>b"))

        loaded = await browser.evaluate(
            "performance.getEntriesByType('resource').map(each => new URL(each.name).host)"
        )
        assert set(loaded) <= {site.host}
        cookie = await browser.evaluate("document.cookie")
        assert TOKEN not in cookie
