"""The lines that connect an agent's program to `memtui mcp`, for the person to paste.

Sources: zed.dev/docs/ai/mcp and code.visualstudio.com/docs/copilot/reference/mcp-configuration,
read in November 2026. The lines of the others are written from knowledge of their documentation,
and no program was started with any of them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence


def _claude_code(command: Sequence[str]) -> str:
    return f"claude mcp add memtui -- {shlex.join(command)}"


def _codex(command: Sequence[str]) -> str:
    program, *arguments = command
    words = f"command = {json.dumps(program)}\nargs = {json.dumps(arguments)}"
    return f"# in ~/.codex/config.toml\n[mcp_servers.memtui]\n{words}"


def _json(file: str, key: str, **more: str) -> Callable[[Sequence[str]], str]:
    def make(command: Sequence[str]) -> str:
        program, *arguments = command
        server = {**more, "command": program, "args": arguments}
        return f"// in {file}\n{json.dumps({key: {'memtui': server}}, indent=2)}"

    return make


CLIENTS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _json("~/.gemini/settings.json", "mcpServers"),
    "cursor": _json(".cursor/mcp.json", "mcpServers"),
    "vscode": _json(".vscode/mcp.json", "servers", type="stdio"),
    "zed": _json("~/.config/zed/settings.json", "context_servers"),
}
"""Name of a program -> the lines for a command and its arguments."""
