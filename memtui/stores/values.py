"""Type-tolerant readers of JSON values and times; a wrong type yields the empty value.

Times are parsed for sorting only: their raw text stays with the memory.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard


def text_of(value: object) -> str:
    """A value as text: a text itself, nothing for null, the JSON of anything else."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def texts_of(value: object) -> tuple[str, ...]:
    """The texts in a list."""
    return tuple(item for item in list_of(value) if isinstance(item, str))


def lower_word(value: object) -> str:
    """A text without the blanks around it, in lower case."""
    return value.strip().lower() if isinstance(value, str) else ""


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_number(value: object) -> TypeGuard[int | float]:
    """JSON's numbers only; to Python true is a number too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole_number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """The time by the clock of this machine: a store may be given another clock."""
    return datetime.now(UTC)


def from_iso(value: object) -> datetime | None:
    """An ISO date or time as aware UTC; UTC where no zone is named. None if it is neither."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def from_milliseconds(value: object) -> datetime | None:
    """Milliseconds since 1970 as aware UTC; None if it is no number, or none a calendar has."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except (OverflowError, ValueError):
        return None


def to_milliseconds(time: datetime) -> int:
    """What JavaScript's `Date.now()` would have said at this time."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def to_iso_seconds(time: datetime) -> str:
    """`2026-01-28T23:00:00Z`, as `date -u +%Y-%m-%dT%H:%M:%SZ` prints it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
