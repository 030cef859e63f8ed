"""A lock that many readers hold together and one writer alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class ReadWriteLock:
    """Readers never wait for each other; a writer waits until nobody reads. Readers may nest."""

    def __init__(self) -> None:
        self._free = Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold it with any number of others."""
        with self._free:
            self._readers += 1
        try:
            yield
        finally:
            with self._free:
                self._readers -= 1
                self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold it alone. Must not be asked for while reading."""
        with self._free:
            self._free.wait_for(lambda: not self._readers)
            yield
