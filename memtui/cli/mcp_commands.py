"""The command for agents: `mcp`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from memtui.cli.options import command, option
from memtui.cli.store_selection import load_settings, open_library
from memtui.errors import Refused
from memtui.mcp.client_configs import CLIENTS, TOKEN_VARIABLE, address_of

_OF_EXTRA = ("mcp", "mcp_types", "pydantic", "typing_extensions", "uvicorn")


@command
def mcp(
    write: bool = option(help="Agents may write; everything is journalled and can be undone."),
    http: bool = option(
        help="Listen on this machine by HTTP, for many agents; prints address and token."
    ),
    port: int = option(
        type=click.IntRange(0, 65535), default=8765, show_default=True, help="With --http; 0: any."
    ),
    print_config: str | None = option(
        type=click.Choice(list(CLIENTS)),
        help="Print the lines that connect this program, with --http those for its address.",
    ),
    *,
    stores: Sequence[str],
) -> None:
    """Serve stores to agents over the Model Context Protocol, on standard input and output.

    With --http they connect to this process instead, with the token that it prints; it is a new one
    at each start unless MEMTUI_MCP_TOKEN has one.

    Agents search and read, and propose changes that wait in the review queue for you. The stores
    are those of --store and PATH, else those in the current folder; no tool reaches another one.
    Needs the extra mcp: pip install ".[mcp]".
    """
    if print_config is not None:
        named = [
            part
            for name in stores
            for part in (
                "--store",
                os.path.abspath(name) if os.path.exists(name) else name,
            )
        ]
        command = [*_own_command(), "mcp", *named, *(["--write"] if write else [])]
        client = CLIENTS[print_config]
        if http:
            if not port:
                raise Refused("the address has to be known", do="name a --port")
            started = shlex.join([*command, "--http", "--port", str(port)])
            print(f"{TOKEN_VARIABLE}=TOKEN {started}\n\n{client.http(address_of(port))}")
        else:
            print(client.stdio(command))
        return
    if not all(map(find_spec, _OF_EXTRA)):
        raise Refused("mcp needs more packages", do='pip install ".[mcp]" in a checkout of memtui')
    library = open_library(stores or [str(Path.cwd())])  # before the SDK, which takes a second
    from memtui.mcp.http_server import serve_http
    from memtui.mcp.server import AgentServer, serve_stdio

    agents = AgentServer(library, load_settings(), may_write=write)
    if http:
        serve_http(agents, port, _announce)
    else:
        serve_stdio(agents)


def _own_command() -> list[str]:
    """What starts this memtui from anywhere: an agent's program may have another PATH."""
    script = Path(sys.executable).with_name("memtui")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "memtui"]


def _announce(address: str, token: str) -> None:
    print(f"memtui serves agents at {address}\nAuthorization: Bearer {token}", flush=True)
