"""A served screen: who may open it, and what becomes of its tabs."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, WSServerHandshakeError, web

from memtui.serve import server
from memtui.serve import server as served
from memtui.serve.access import Access
from memtui.serve.server import MAX_TABS, ScreenServer

TOKEN = "a-token-that-nobody-guesses"
ECHO = "import sys\nfor line in sys.stdin: print('got', line.strip(), flush=True)"
SIZE = (
    "import os, signal, time\n"
    "def show(*_): print('size', *os.get_terminal_size(), flush=True)\n"
    "signal.signal(signal.SIGWINCH, show)\nshow()\nwhile True: time.sleep(1)"
)
KEPT = (
    "import signal, sys, time\n"
    "def end(*_): open(sys.argv[1], 'w').write('kept'); sys.exit()\n"
    "signal.signal(signal.SIGHUP, end)\nprint('ready', flush=True)\nwhile True: time.sleep(1)"
)

STOPPED = "import os, signal\nprint('ready', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"


class Site:
    """The server, and a browser that has the cookie."""

    def __init__(self, access: Access, session: ClientSession) -> None:
        self.host = f"127.0.0.1:{access.port}"
        self.session = session
        self.cookies = {"Cookie": f"{access.cookie}={access.token}"}

    async def status(self, path: str, **headers: str) -> int:
        async with self.session.get(
            f"http://{self.host}{path}", headers=headers, allow_redirects=False
        ) as answer:
            await answer.read()
            return answer.status

    async def tab(self, query: str = "", **headers: str) -> ClientWebSocketResponse:
        own = {"Origin": f"http://{self.host}", **self.cookies, **headers}
        return await self.session.ws_connect(f"http://{self.host}/ws{query}", headers=own)


@asynccontextmanager
async def serving(program: str, *arguments: str) -> AsyncIterator[Site]:
    listening = socket.create_server(("127.0.0.1", 0))
    access = Access(TOKEN, "127.0.0.1", listening.getsockname()[1])
    command = [sys.executable, "-c", program, *arguments]
    runner = web.AppRunner(ScreenServer(access, command, "read-only").application())
    await runner.setup()
    await web.SockSite(runner, listening).start()
    async with ClientSession() as session:
        yield Site(access, session)
    await runner.cleanup()


async def says(tab: ClientWebSocketResponse, words: str) -> str:
    """Read until the terminal has shown these words."""
    shown = ""
    async with asyncio.timeout(60):
        while words not in shown:
            message = await tab.receive()
            if message.type is WSMsgType.BINARY:
                shown += message.data.decode("utf-8", "replace")
            elif message.type is not WSMsgType.TEXT:
                raise AssertionError(f"closed after {shown!r}")
    return shown


async def closes(tab: ClientWebSocketResponse) -> None:
    async with asyncio.timeout(60):
        while (await tab.receive()).type in (WSMsgType.BINARY, WSMsgType.TEXT):
            pass


@pytest.mark.parametrize("path", ["/", "/ws", "/focus.js", "/static/js/textual.js", "/nothing"])
async def test_only_who_has_the_token_gets_anything(path: str) -> None:
    async with serving(ECHO) as site:
        own = {"Origin": f"http://{site.host}"}
        for headers in (
            {},
            {"Cookie": f"memtui-{site.host.rpartition(':')[2]}=another-token"},
            {"Cookie": f"memtui={TOKEN}"},
            {"Authorization": f"Bearer {TOKEN}"},
        ):
            assert await site.status(path, **own, **headers) == 403
        assert await site.status(f"{path}?token=another-token") == 403
        for host in ("evil.example", f"evil.example:{site.host.rpartition(':')[2]}", "127.0.0.1:1"):
            assert await site.status(f"{path}?token={TOKEN}", Host=host) == 403
            assert await site.status(path, Host=host, **site.cookies) == 403
        for origin in ("http://evil.example", "null", f"https://{site.host}"):
            assert await site.status(f"{path}?token={TOKEN}", Origin=origin) == 403
            assert await site.status(path, Origin=origin, **site.cookies) == 403


async def test_the_printed_address_gives_a_cookie_and_leaves_the_token_out() -> None:
    async with (
        serving(ECHO) as site,
        site.session.get(f"http://{site.host}/?token={TOKEN}", allow_redirects=False) as first,
    ):
        assert first.status == 303
        assert first.headers["Location"] == "/"
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        async with site.session.get(f"http://{site.host}/", headers=site.cookies) as page:
            assert page.status == 200
            assert f"ws://{site.host}/ws" in await page.text()
            policy = page.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
async def test_no_page_of_another_site_opens_the_screen(origin: str) -> None:
    async with serving(ECHO) as site:
        with pytest.raises(WSServerHandshakeError) as refused:
            await site.tab(Origin=origin)
        assert refused.value.status == 403


@pytest.mark.slow
async def test_a_tab_types_into_its_own_program() -> None:
    async with serving(ECHO) as site:
        one, other = await site.tab(), await site.tab()
        await one.send_json(["stdin", "first ünïcode\r"])
        await other.send_json(["stdin", "second\r"])
        assert "second" not in await says(one, "got first ünïcode")
        await says(other, "got second")


async def test_what_no_browser_sends_does_not_end_the_tab() -> None:
    async with serving(ECHO) as site:
        tab = await site.tab("?width=x&height=-5")
        for message in (
            "", "{}", "[]", "[1]", '["stdin"]', '["stdin", 5]', '["resize", 7]', "[" * 5000,
            '["resize", {"width": "a", "height": null}]', '["none", 1]', "\x00",
            json.dumps(["resize", {"width": 10**30, "height": 10**30}]),
        ):  # fmt: skip
            await tab.send_str(message)
        await tab.send_bytes(b"\xff\x00")
        await tab.send_json(["stdin", "still\r"])
        await says(tab, "got still")


async def test_the_terminal_has_the_size_of_the_tab() -> None:
    async with serving(SIZE) as site:
        tab = await site.tab("?width=100&height=30")
        await says(tab, "size 100 30")
        await tab.send_json(["resize", {"width": 300, "height": 5}])
        await says(tab, "size 300 5")


@pytest.mark.slow
async def test_a_tab_more_is_told_to_close_one() -> None:
    async with serving(ECHO) as site:
        tabs = [await site.tab() for _ in range(MAX_TABS)]
        await tabs[-1].send_json(["stdin", "x\r"])
        await says(tabs[-1], "got x")
        more = await site.tab()
        await says(more, "tabs are open already")
        await closes(more)
        await tabs[0].close()
        again = await site.tab()
        await again.send_json(["stdin", "y\r"])
        await says(again, "got y")


@pytest.mark.slow
async def test_a_program_that_ends_or_is_killed_closes_its_tab() -> None:
    async with serving(
        "import os, sys\nos.kill(os.getpid(), 9) if input() else sys.exit()"
    ) as site:
        for word in ("", "killed"):
            tab = await site.tab()
            await tab.send_json(["stdin", f"{word}\r"])
            await closes(tab)


async def test_a_program_that_reads_nothing_does_not_keep_its_tab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "READS_WITHIN", 0.1)
    monkeypatch.setattr(server, "ENDS_WITHIN", 0.1)
    async with serving(STOPPED) as site:
        tab = await site.tab()
        await says(tab, "ready")
        await tab.send_json(["stdin", "x\r" * 500_000])
        async with asyncio.timeout(9):  # after ten seconds the browser gives up
            await tab.close()


@pytest.mark.slow
async def test_a_page_that_is_loaded_again_finds_what_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    async with serving(KEPT, str(file)) as site:
        tab = await site.tab()
        await says(tab, "ready")
        await tab.close()
        tab = await site.tab()
        await says(tab, "ready")
        assert file.read_text() == "kept"


async def test_a_tab_without_keys_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "IDLE", 0.5)
    async with serving(ECHO) as site:
        tab = await site.tab()
        await tab.send_json(["resize", {"width": 90, "height": 20}])
        await closes(tab)


@pytest.mark.slow
async def test_fifty_reloads_leave_no_program(tmp_path: Path) -> None:
    async with serving(ECHO) as site:
        for _ in range(50):
            tab = await site.tab()
            await tab.close()
        tab = await site.tab()
        await tab.send_json(["stdin", "z\r"])
        await says(tab, "got z")
