"""The server over HTTP on this machine only, for many agents over one library.

A request needs the token, and the host and origin of this server, as a served screen does. Without
sessions, as in the revision of 2026, what follows the token after a colon tells agents of one
program apart.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

from memtui.mcp.client_configs import HOST, TOKEN_VARIABLE, address_of
from memtui.mcp.server import AgentServer
from memtui.serve.access import Access, new_token

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guard(app: App, access: Access) -> App:
    """The app behind the token; a request of another site's page, or without the token, ends."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]
        }
        scheme, _, token = headers.get("authorization", "").partition(" ")
        refusal = access.refusal(headers.get("host", ""), headers.get("origin"), needs_origin=False)
        if refusal:
            await _refuse(send, 403, refusal)
        elif scheme.lower() != "bearer" or not _is_known(token.strip(), access):
            await _refuse(send, 401, "the token is missing or of another start")
        else:
            await app(scope, receive, send)

    return guarded


def _is_known(token: str, access: Access) -> bool:
    return access.knows(token) or access.knows(token.rpartition(":")[0])


async def _refuse(send: Send, status: int, why: str) -> None:
    body = f"memtui: {why}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def make_app(agents: AgentServer, access: Access) -> App:
    """The server behind the token. It answers a call with one JSON body, which costs half of what a
    stream of events does."""
    return guard(agents.make().streamable_http_app(host=HOST, json_response=True), access)


def serve_http(agents: AgentServer, port: int, announce: Callable[[str, str], object]) -> None:
    """Serve agents over HTTP until interrupted.

    Args:
        agents: Its stores are read before the first answer.
        port: To listen on; 0 for any that is free.
        announce: Called with the address and the token once it listens.

    Raises:
        OSError: The port is taken.
    """
    with socket.create_server((HOST, port)) as listening:
        port = listening.getsockname()[1]
        # inherited by its connections; else an answer waits 40 ms for an acknowledgement
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        access = Access(os.environ.get(TOKEN_VARIABLE) or new_token(), HOST, port)
        agents.load()
        app = make_app(agents, access)
        announce(address_of(port), access.token)
        config = uvicorn.Config(app, log_level="error", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])
