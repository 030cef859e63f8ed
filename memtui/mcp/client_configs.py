"""The lines that connect an agent's program to `memtui mcp`, for the person to paste.

The source of each is beside its entry, read on 28 November 2026. No program was started with any
of the lines.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

HOST = "127.0.0.1"
TOKEN_VARIABLE = "MEMTUI_MCP_TOKEN"
"""The token of `--http`, if the person chooses one; else each start has a new one."""


def address_of(port: int) -> str:
    """Where `--http` serves."""
    return f"http://{HOST}:{port}/mcp"


class ClientConfig(Struct, frozen=True):
    """How a program is told of a server."""

    stdio: Callable[[Sequence[str]], str]
    """The lines for a command and its arguments."""
    http: Callable[[str], str]
    """The lines for an address; the token comes from `TOKEN_VARIABLE` where the program allows."""


def _json(file: str, value: Mapping[str, Any]) -> str:
    return f"// in {file}\n{json.dumps(value, indent=2)}"


def _in_json(
    file: str,
    key: str,
    *,
    address: str = "url",
    token: str,
    stdio_type: Mapping[str, str] | None = None,
    http_type: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> ClientConfig:
    """A program that is configured by JSON.

    Args:
        file: Where it is.
        key: Of the servers in it.
        address: Key of the address of a server by HTTP.
        token: How the program refers to the token.
        stdio_type: What it has to be told of a server that it starts.
        http_type: What it has to be told of a server by HTTP.
        more: What stands beside the servers, for one by HTTP.
    """

    def stdio(command: Sequence[str]) -> str:
        program, *arguments = command
        server = {**(stdio_type or {}), "command": program, "args": arguments}
        return _json(file, {key: {"memtui": server}})

    def http(url: str) -> str:
        headers = {"Authorization": f"Bearer {token}"}
        server = {**(http_type or {}), address: url, "headers": headers}
        return _json(file, {key: {"memtui": server}, **(more or {})})

    return ClientConfig(stdio, http)


def _claude_code(command: Sequence[str]) -> str:
    return f"claude mcp add memtui -- {shlex.join(command)}"


def _codex(lines: str) -> str:
    return f"# in ~/.codex/config.toml\n[mcp_servers.memtui]\n{lines}"


def _codex_stdio(command: Sequence[str]) -> str:
    program, *arguments = command
    return _codex(f"command = {json.dumps(program)}\nargs = {json.dumps(arguments)}")


def _codex_http(url: str) -> str:
    return _codex(f'url = {json.dumps(url)}\nbearer_token_env_var = "{TOKEN_VARIABLE}"')


_HTTP = {"type": "http"}
_PROMPT = {
    "type": "promptString",
    "id": "memtui-token",
    "description": "Token of memtui mcp --http",
    "password": True,
}
CLIENTS: Mapping[str, ClientConfig] = {
    # code.claude.com/docs/en/mcp: options before the name, the command behind `--`; ${VAR} is
    # expanded in headers (on Windows not always: anthropics/claude-code#51581)
    "claude-code": ClientConfig(
        _claude_code,
        _in_json(".mcp.json", "mcpServers", token=f"${{{TOKEN_VARIABLE}}}", http_type=_HTTP).http,
    ),
    # learn.chatgpt.com/docs/extend/mcp, formerly developers.openai.com/codex/mcp: a token in the
    # file itself is refused
    "codex": ClientConfig(_codex_stdio, _codex_http),
    # docs/tools/mcp-server.md of google-gemini/gemini-cli; geminicli.com/docs/cli/configuration:
    # any string of the settings may have ${VAR}
    "gemini": _in_json(
        "~/.gemini/settings.json",
        "mcpServers",
        address="httpUrl",
        token=f"${{{TOKEN_VARIABLE}}}",
    ),
    # cursor.com/docs/mcp
    "cursor": _in_json(".cursor/mcp.json", "mcpServers", token=f"${{env:{TOKEN_VARIABLE}}}"),
    # code.visualstudio.com/docs/agents/reference/mcp-configuration
    "vscode": _in_json(
        ".vscode/mcp.json",
        "servers",
        token="${input:memtui-token}",
        stdio_type={"type": "stdio"},
        http_type=_HTTP,
        more={"inputs": [_PROMPT]},
    ),
    # zed.dev/docs/ai/mcp
    "zed": _in_json("~/.config/zed/settings.json", "context_servers", token="TOKEN"),
}
"""Name of a program -> the lines for it. Zed takes the token as it is, in place of TOKEN."""
