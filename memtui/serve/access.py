"""Who may use a served screen: a secret token first, then a cookie, from this host and origin only.

A page of another site may send requests to a server on loopback, and by a name that it lets point
there (DNS rebinding) even read the answers. So `Host` must be a name of this server or a plain
address, which no other site can take over, and `Origin` must be the same.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from typing import NamedTuple

LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOKEN_BYTES = 24


def new_token() -> str:
    """A secret that cannot be guessed, for an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Access(NamedTuple):
    """What a request must have."""

    token: str
    host: str
    """The address or name that is listened on."""
    port: int

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers share cookies between the ports of a host."""
        return f"memtui-{self.port}"

    def refusal(self, host: str, origin: str | None, *, needs_origin: bool) -> str:
        """Why a request is refused, whatever its token; empty if it is not.

        Args:
            host: the header `Host`.
            origin: the header `Origin`; None: there is none.
            needs_origin: it opens the screen, which only a page does, and pages name their origin.
        """
        if not self._is_own(host):
            return "this server is not known by that name"
        if origin is None:
            return "no origin" if needs_origin else ""
        return "" if origin == f"http://{host}" else "another site's page may not use it"

    def _is_own(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or port != str(self.port):
            return False
        name = name.removeprefix("[").removesuffix("]")
        if self.host in LOOPBACK:
            return name in LOOPBACK
        return name == self.host or _is_address(name)

    def knows(self, token: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
