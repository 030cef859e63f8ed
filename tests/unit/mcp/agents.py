"""An agent connected in this process, over a small real store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, Implementation

from memtui.config import Settings
from memtui.library import Library
from memtui.mcp.framing import MAX_CHARACTERS
from memtui.mcp.server import AgentServer

NAME = "claude-code"


def _read(memory: dict[str, Any]) -> dict[str, str]:
    return {name: memory[name] for name in ("ref", "version")}


class Agent:
    """What an agent can do, and what it gets; every result is looked at on the way."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def result(self, tool: str, **arguments: Any) -> CallToolResult:
        done = await self.client.call_tool(tool, arguments)
        assert isinstance(done, CallToolResult)
        (content,) = done.content
        assert len(content.text) <= MAX_CHARACTERS, tool
        assert "\x1b" not in content.text
        return done

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a call that succeeds."""
        done = await self.result(tool, **arguments)
        assert not done.is_error, done.content[0].text
        assert json.loads(done.content[0].text) == done.structured_content
        return done.structured_content

    async def fault(self, tool: str, **arguments: Any) -> str:
        """What is said of a call that fails."""
        done = await self.result(tool, **arguments)
        assert done.is_error, done.content[0].text
        return str(done.content[0].text)

    async def change(self, memory: dict[str, Any], act: str, **values: Any) -> Any:
        """Change a memory as it was read; returns what was done."""
        done = await self.call(
            "change_memory", act=act, reason="as told", **_read(memory), **values
        )
        assert done["status"] == "done", done
        return done

    async def refused(
        self, memory: dict[str, Any], content: str, *, tool: str = "change_memory"
    ) -> str:
        """What is said of another text for a memory as it was read, which is refused."""
        values = {"act": "edit", "content": content, "reason": "as told"}
        return await self.fault(tool, **_read(memory), **values)

    async def find(self, words: str) -> dict[str, Any]:
        """The first memory that is found."""
        found = await self.call("search_memories", query=words)
        memory: dict[str, Any] = found["memories"][0]
        return memory


def open_library(folder: Path, *roots: Path) -> Library:
    return Library.open(roots, state=folder / "state", cache=folder / "cache")


@asynccontextmanager
async def connected(
    folder: Path,
    *roots: Path,
    write: bool = False,
    name: str = NAME,
    server: Any = None,
) -> AsyncIterator[Agent]:
    """An agent that may use the stores at these roots."""
    library = open_library(folder, *roots)
    made = server or AgentServer(library, Settings(), may_write=write).make()
    async with Client(made, client_info=Implementation(name=name, version="2.1")) as client:
        yield Agent(client)
