"""Lines of JSON with a checksum each, for caches: a line that was changed by anything else is none.

A cache can be made again, so what is not exactly as it was written is not used. The checksum
detects damage, not forgery.
"""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Callable
from typing import Any

_SUM_LENGTH = 8


def seal(value: object, default: Callable[[Any], object] | None = None) -> bytes:
    """Return a JSON value as one ASCII line behind its checksum; `default` as of `json.dumps`."""
    text = json.dumps(value, separators=(",", ":"), default=default).encode("ascii")
    return b"%08x %s\n" % (crc32(text), text)


def unseal(line: bytes) -> Any:
    """Return the value of a line that `seal` made. Raises ValueError if it is none."""
    text = line[_SUM_LENGTH + 1 : -1]
    if line[-1:] != b"\n" or line[: _SUM_LENGTH + 1] != b"%08x " % crc32(text):
        raise ValueError("it is damaged")
    return json.loads(text)
