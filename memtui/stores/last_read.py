"""What was made of some files last, made again only when one of them may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from memtui.files.reading import stamp

Value = TypeVar("Value")


class LastRead(Generic[Value]):
    """Remembers one thing: for what is asked over and over, as by the plans of one action.

    A save compares the content itself, so a file that hides its change costs no more than that.
    """

    def __init__(self) -> None:
        self._held: tuple[str, str, Value] | None = None

    def get(self, files: Iterable[str | Path], make: Callable[[], Value], key: str = "") -> Value:
        """What `make` gives; `key` tells what has the same files, or none, from other such."""
        mark = stamp(files)
        held = self._held
        if held is None or held[:2] != (key, mark):
            held = (key, mark, make())
            self._held = held
        return held[2]
