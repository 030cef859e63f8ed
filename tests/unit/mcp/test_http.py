"""`memtui mcp --http`: who may connect, and several agents over one library."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from memtui.config import Settings
from memtui.mcp import server as agent_server
from memtui.mcp.http_server import HOST, make_app
from memtui.mcp.server import AgentServer
from memtui.serve.access import Access
from tests.unit.library.stores_for_tests import agent_memory

from .agents import Agent, open_library

TOKEN = "a-token-of-this-start"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
pytestmark = pytest.mark.slow


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The server in a thread of this process, as `serve_http` makes it."""
    root = agent_memory(tmp_path / "memory", {"al": ["Al likes tea in the morning"]})
    agents = AgentServer(open_library(tmp_path, root), Settings(), may_write=True)
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        app = make_app(agents, Access(TOKEN, HOST, port))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://{HOST}:{port}/mcp"
        server.should_exit = True
        thread.join(10)


@asynccontextmanager
async def connected(
    address: str, name: str, mode: Any = "auto", token: str = TOKEN
) -> AsyncIterator[Agent]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(address, http_client=http)
        info = Implementation(name=name, version="1")
        async with Client(transport, client_info=info, mode=mode) as client:
            yield Agent(client)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer a-token-of-an-earlier-start"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer :planner"}, 401),
        ({"Authorization": f"Bearer planner:{TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
    ],
    ids=str,
)
def test_without_the_token_or_from_elsewhere_nothing_is_answered(
    address: str, headers: dict[str, str], status: int
) -> None:
    answer = httpx2.post(address, json=PING, headers=headers)
    assert answer.status_code == status
    assert "tea" not in answer.text
    assert TOKEN not in answer.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_both_revisions_are_answered(address: str, mode: str) -> None:
    async with connected(address, "codex", mode) as agent:
        assert (await agent.find("tea"))["text"] == "Al likes tea in the morning"


async def test_who_listens_is_told_of_a_change(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_server, "LOOK_SECONDS", 0.1)
    async with connected(address, "codex") as agent, connected(address, "gemini") as other:
        tea = await agent.find("tea")
        uri = f"memtui://memory/{tea['ref']}"
        async with agent.client.listen(resource_subscriptions=[uri]) as events:
            values = {"version": tea["version"], "act": "edit", "content": "Al likes rum"}
            await other.call("change_memory", ref=tea["ref"], reason="x", **values)
            assert (await asyncio.wait_for(anext(events), 30)).uri == uri


@pytest.mark.parametrize(
    ("mode", "tokens"),
    [("legacy", (TOKEN, TOKEN)), ("2026-07-28", (f"{TOKEN}:planner", f"{TOKEN}:tester"))],
    ids=["sessions", "named tokens"],
)
async def test_agents_share_the_library_and_undo_only_their_own(
    address: str, mode: str, tokens: tuple[str, str]
) -> None:
    async with (
        connected(address, "one", mode, tokens[0]) as one,
        connected(address, "one", mode, tokens[1]) as two,
    ):
        made = await one.call("add_memory", content="Bo rows on Sundays", entity="al", reason="x")
        assert (await two.find("rows"))["text"] == "Bo rows on Sundays"
        assert "no change of yours" in await two.fault("undo_change", number=made["number"])
        found = await asyncio.gather(
            *(agent.call("search_memories", query="rows") for agent in (one, two) * 10)
        )
        assert all(each["total"] == 1 for each in found)
        await one.call("undo_change", number=made["number"])
