"""agent-memory (Martian-Engineering): facts per entity in JSON, daily notes, MEMORY.md."""

from __future__ import annotations

from memtui.stores.agent_memory.layout import detect
from memtui.stores.format import Format, TransferSupport, lazy_function

FORMAT = Format(
    name="agent-memory",
    title="agent-memory: facts, summaries and daily notes",
    places=("$MEMORY_HOME",),
    detect=detect,
    open=lazy_function("memtui.stores.agent_memory.store", "AgentMemory"),
    configure=lazy_function("memtui.stores.format", "configure"),
    upkeep=lazy_function("memtui.stores.agent_memory.rules", "upkeep_rules"),
    transfer=TransferSupport(
        belongings=(
            "entities/*",
            "metrics/*",
            "logs/*",
            "checkpoints/*",
            "pipelines/*",
            "status.json",
        ),
        convert=lazy_function("memtui.stores.agent_memory.adding", "convert"),
    ),
)
