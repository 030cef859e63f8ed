"""The days of memories in the zone of this machine, for whole arrays of times.

A store that keeps only a day gives midnight in UTC: this is that day, in every zone.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]
DAY_SECONDS = 86_400.0
_FIRST_YEAR, _LAST_YEAR = 1971, 2099
_YEAR_SECONDS = 365.25 * DAY_SECONDS


def place_days(times: Seconds) -> Seconds:
    """Move what is only a day to its midnight in this zone; other times stay.

    Args:
        times: Seconds since 1970, nan where there is no time.
    """
    is_day = times % DAY_SECONDS == 0
    if not is_day.any():
        return times
    return np.where(is_day, times - offsets(times - offsets(times)), times)


def day_numbers(times: Seconds) -> NDArray[np.int64]:
    """The local days since 1970 of known times."""
    local = np.where(times % DAY_SECONDS == 0, times, times + offsets(times))
    return (local // DAY_SECONDS).astype(np.int64)


def offsets(times: Seconds) -> Seconds:
    """Seconds that this zone is ahead of UTC at each time."""
    known = times[np.isfinite(times)]
    if not len(known):
        return np.zeros(len(times))
    first, last = (int(1970 + bound // _YEAR_SECONDS) for bound in (known.min(), known.max()))
    starts, ahead = _steps(first - 1, last + 2, time.tzname, time.timezone)
    at = np.searchsorted(starts, np.nan_to_num(times, nan=0.0), side="right") - 1
    return ahead[np.maximum(at, 0)]


@lru_cache(maxsize=8)
def _steps(first: int, last: int, *_zone: object) -> tuple[Seconds, Seconds]:
    """The times at which the offset changes within these years, and the offset from each on."""
    at = int((max(first, _FIRST_YEAR) - 1970) * _YEAR_SECONDS)
    end = int((min(max(last, first + 1), _LAST_YEAR) - 1970) * _YEAR_SECONDS)
    starts, ahead = [float(at)], [float(_offset(at))]
    while at < end:
        before, at = at, at + int(DAY_SECONDS)
        if _offset(at) != ahead[-1]:
            while at - before > 1:
                middle = (before + at) // 2
                before, at = (middle, at) if _offset(middle) == ahead[-1] else (before, middle)
            starts.append(float(at))
            ahead.append(float(_offset(at)))
    return np.array(starts), np.array(ahead)


def _offset(at: int) -> int:
    return time.localtime(at).tm_gmtoff
