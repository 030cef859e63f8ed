"""Simple Memory: facts, episodes and schema items as three JSON arrays."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.simple_memory.layout import detect

FORMAT = Format(
    name="simple-memory",
    title="Simple Memory: facts, episodes and schema (acta.so white paper)",
    places=(),
    detect=detect,
    open=lazy_function("memtui.stores.simple_memory.store", "SimpleMemoryStore"),
    nearby=(".", "simple-memory"),
    upkeep=lazy_function("memtui.stores.simple_memory.rules", "upkeep_rules"),
    transfer=TransferSupport(
        convert=lazy_function("memtui.stores.simple_memory.adding", "convert")
    ),
)
