"""The rows of a listing that a command printed as JSON."""

from __future__ import annotations

import json
from typing import Any


def printed_rows(text: str | bytes) -> Any:
    """The list of an object that has nothing else, such as `{"memories": [...]}`; else the whole
    document."""
    document = json.loads(text)
    if isinstance(document, dict) and len(document) == 1:
        (rows,) = document.values()
        return rows if isinstance(rows, list) else document
    return document
