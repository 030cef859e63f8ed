"""Simple Memory: facts, episodes and schema items as three JSON arrays."""

from __future__ import annotations

from memtui.stores.base import Format
from memtui.stores.simple_memory.adopting import adopt
from memtui.stores.simple_memory.store import SimpleMemoryStore, detect

FORMAT = Format(
    name=SimpleMemoryStore.format,
    title="Simple Memory: facts, episodes and schema (acta.so white paper)",
    places=(),
    detect=detect,
    open=SimpleMemoryStore,
    nearby=(".", "simple-memory"),
    adopt=adopt,
)
"""No program of its own keeps it in a known place."""
