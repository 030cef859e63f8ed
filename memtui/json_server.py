"""Ask an HTTP server that a person named in config.toml, with JSON in both directions.

Texts of memories leave the machine here, so nothing is sent unless the person named a server.
Redirects are not followed: they would send texts and key to a server that nobody named.
"""

from __future__ import annotations

import base64
import json
import os
import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from memtui.errors import ConfigError, MemtuiError
from memtui.text import visible

MAX_RESPONSE_BYTES = 64 << 20
PIECE_BYTES = 1 << 16
_SHOWN_OF_ERROR = 300
"""Bytes of an error's answer that are shown."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _login(url: str) -> str:
    """The user and password of a URL as Basic credentials; empty if it has none."""
    login, at, _ = urlsplit(url).netloc.rpartition("@")
    return base64.b64encode(unquote_to_bytes(login)).decode("ascii") if at else ""


class JsonServer:
    """A server by its address, with a key or a login."""

    def __init__(
        self,
        url: str,
        *,
        setting: str,
        error: type[MemtuiError],
        time_limit: float,
        key_variable: str = "",
    ) -> None:
        """Check the address, which may hold a user and a password; nothing is sent yet.

        `setting` is the table in config.toml that names the server; `error` is raised when the
        server does not answer as it should; `time_limit` is in seconds for one answer;
        `key_variable` is the environment variable with the key. Raises ConfigError.
        """
        url = url.rstrip("/")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
            raise ConfigError(
                "needs the http:// or https:// address of the server", where=f"{setting}.url"
            )
        self._login = _login(url)
        self.url = urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]).geturl()
        """The address without the login."""
        self._setting = setting
        self._error = error
        self._time_limit = time_limit
        self._key_variable = key_variable
        self._opener = urllib.request.build_opener(_NoRedirect)

    def post(self, path: str, value: Any) -> Any:
        """Send a JSON value and return the JSON value of the answer.

        Raises the `error` of this server: no answer, an error status, no JSON, no key.
        """
        where = self.url + path
        body = json.dumps(value).encode("ascii")
        request = urllib.request.Request(where, body, self._headers(where), method="POST")
        try:
            with self._opener.open(request, timeout=self._time_limit) as answer:
                read = self._read(answer, time.monotonic() + self._time_limit)
        except urllib.error.HTTPError as error:
            with error:
                why = visible(error.read(_SHOWN_OF_ERROR).decode("utf-8", "replace")).strip()
            raise self._error(f"status {error.code}: {why}", where=where) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise self._error(
                f"no answer: {visible(str(reason)) or type(reason).__name__}",
                where=where,
                do=f"see [{self._setting}] in config.toml",
            ) from None
        if len(read) > MAX_RESPONSE_BYTES:
            raise self.bad_answer("too long an answer", path)
        try:
            return json.loads(read)
        except (ValueError, RecursionError):
            raise self.bad_answer("an answer that is not JSON", path) from None

    def _read(self, answer: HTTPResponse, deadline: float) -> bytes:
        """The body of an answer, or its beginning where it is too long. The time limit of the
        connection is for each piece only, and a server may send byte by byte. Raises OSError."""
        found = bytearray()
        while len(found) <= MAX_RESPONSE_BYTES and (piece := answer.read1(PIECE_BYTES)):
            found += piece
            if time.monotonic() > deadline:
                raise TimeoutError("it took too long")
        return bytes(found)

    def bad_answer(self, what: str, path: str) -> MemtuiError:
        """The error for an answer that is not as the protocol says."""
        return self._error(f"the server sent {what}", where=self.url + path)

    def _headers(self, where: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_variable:
            key = os.environ.get(self._key_variable, "").strip()
            if not key:
                raise self._error(
                    f"the variable {self._key_variable} with the key is not set", where=where
                )
            headers["Authorization"] = f"Bearer {key}"
        elif self._login:
            headers["Authorization"] = f"Basic {self._login}"
        return headers
