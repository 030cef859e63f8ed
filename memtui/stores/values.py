"""Type-tolerant readers of JSON values and times; a wrong type yields the empty value.

Times are parsed for sorting only: their raw text stays with the memory.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard


def text_of(value: object) -> str:
    """A text itself, "" for null, the JSON of any other value."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def texts_of(value: object) -> tuple[str, ...]:
    """The texts in a list; () for another value."""
    return tuple(item for item in list_of(value) if isinstance(item, str))


def lower_word(value: object) -> str:
    """A text stripped and in lower case; "" for another value."""
    return value.strip().lower() if isinstance(value, str) else ""


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a JSON number; bool, a number to Python, is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole_number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """The system time; tests and stores may use another clock."""
    return datetime.now(UTC)


def from_iso(value: object) -> datetime | None:
    """Parse an ISO date or time as aware UTC, the zone where none is named; None on failure."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def from_milliseconds(value: object) -> datetime | None:
    """Convert milliseconds since 1970 to aware UTC; None if that is no valid time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except (OverflowError, ValueError):
        return None


def to_milliseconds(time: datetime) -> int:
    """Milliseconds since 1970, as JavaScript's `Date.now()`."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def to_iso_seconds(time: datetime) -> str:
    """`2026-01-28T23:00:00Z`, as `date -u +%Y-%m-%dT%H:%M:%SZ` prints it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
