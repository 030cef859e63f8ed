"""Values of columns as text and as JSON. Bytes that are not UTF-8 are read as lone surrogates."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from typing import Any

Row = Mapping[str, Any]

DAMAGED = "invalid_utf8"
"""Key in `extra` that names the columns whose bytes are not UTF-8."""


def text(value: object) -> str:
    """A text column for display: invalid UTF-8 replaced, NULL empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return str(value)
    if is_valid_text(value):
        return value
    try:
        return encode(value).decode("utf-8", "replace")
    except UnicodeEncodeError:  # half a character that stands for no byte: it is not from a column
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def is_valid_text(value: str) -> bool:
    """Whether the column's bytes were UTF-8 (invalid ones are read as lone surrogates)."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def encode(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def to_json_value(value: object) -> object:
    """Convert a column value to JSON; bytes become {"base64": ...}."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, str):
        return text(value)
    return value


def from_json_value(value: object) -> object:
    """The inverse of `to_json_value`."""
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return value


def remaining_columns(row: Row, used: Collection[str]) -> dict[str, Any]:
    """Every column without a field of its own, except NULLs."""
    extra = {
        name: to_json_value(row[name]) for name in row if name not in used and row[name] is not None
    }
    damaged = [
        name for name, value in row.items() if isinstance(value, str) and not is_valid_text(value)
    ]
    if damaged:
        extra[DAMAGED] = damaged
    return extra
