"""One line of a list to choose from, as a value."""

from __future__ import annotations

from typing import NamedTuple


class Choice(NamedTuple):
    """One line of a list to choose from."""

    value: str
    words: str
    number: int | None = None
    """Shown at the right, such as how many memories have the value."""
    chosen: bool = False
    note: str = ""
    sign: str = ""
    tail: str = ""
    """Shown there instead: a key."""
    field: str = ""
    """The filter field whose colours its glyph takes."""
