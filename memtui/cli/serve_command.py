"""The command that shows the screen in a browser: `serve`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

import click

from memtui.cli.options import argument, command, option
from memtui.cli.store_selection import refuse_missing
from memtui.errors import Refused


@command
def serve(
    paths: Sequence[str] = argument(metavar="[PATH]..."),
    host: str = option(
        default="127.0.0.1", show_default=True, metavar="HOST", help="Address to listen on."
    ),
    port: int = option(
        type=click.IntRange(0, 65_535), default=0, metavar="PORT", help="Default: a free one."
    ),
    write: bool = option(help="Memories can be changed; without it they are only shown."),
) -> None:
    """Show the screen in a browser, on your own other device.

    Prints an address with a secret token; whoever has it sees your memories. The connection is not
    encrypted: from elsewhere, reach it through ssh -L. A tab ends after 30 minutes without a key.
    """
    try:
        from aiohttp import web

        from memtui.serve.access import LOOPBACK, Access, new_token
        from memtui.serve.server import ScreenServer
    except ImportError:
        raise Refused(
            "serve needs more packages", do='pip install ".[serve]" in a checkout of memtui'
        ) from None
    refuse_missing(paths)
    listening = _listen(host, port)
    access = Access(new_token(), host, listening.getsockname()[1])
    server = ScreenServer(
        access, [sys.executable, "-m", "memtui", *paths], "write" if write else "read-only"
    )
    name = f"[{host}]" if ":" in host else host
    print(f"http://{name}:{access.port}/?token={access.token}", flush=True)
    if host not in LOOPBACK:
        click.echo("Everyone on this network who has the address can open it.", err=True)
    web.run_app(server.application(), sock=listening, print=None, access_log=None)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise Refused(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
