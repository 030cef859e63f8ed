"""`lazy_pattern`: a regular expression that is compiled when it is first used.

A plain command needs few of the 150 patterns of the modules that it imports; compiling all takes a
tenth of its time.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Compiles itself for the first attribute that is asked for, and holds each from then on."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._source: tuple[Any, int] = pattern, flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(*self._source), name)
        setattr(self, name, attribute)
        return attribute


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`; the functions of `re` do not take the result, its own methods are to be
    used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
