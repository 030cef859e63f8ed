"""Times as stores write them, read for sorting only: the raw text stays with the memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
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
