"""Export and import: lossless bundles, exchange documents, JSON lines, CSV and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from memtui.model import Memory
from memtui.stores.base import StoreView, Unreadable, WritableStore


class OpenStores(StoreView, Protocol):
    """The open stores. `memtui.library.Library` implements it; this package lies below it."""

    now: Callable[[], datetime]
    """The clock; aware, in UTC."""

    @property
    def stores(self) -> Sequence[WritableStore]:
        """Every open store, each under its own label."""
        ...

    def store(self, label: str) -> WritableStore:
        """The open store with this label. Raises Refused."""
        ...

    def unreadable(self, store: str) -> Sequence[Unreadable]:
        """Return the files of the `store` with this label that could not be read."""
        ...

    def refresh(self) -> bool:
        """Read what changed on disk. Returns whether something did."""
        ...


def memories_of(library: OpenStores) -> list[Memory]:
    """All memories of all open stores, whatever their status."""
    return [memory for store in library.stores for memory in library.memories(store.label)]
