"""agent-memory (Martian-Engineering): facts per entity in JSON, daily notes, MEMORY.md."""

from __future__ import annotations

from memtui.stores.agent_memory.adopting import adopt
from memtui.stores.agent_memory.layout import detect
from memtui.stores.agent_memory.store import AgentMemory
from memtui.stores.base import Format
from memtui.stores.rule_settings import configure

FORMAT = Format(
    name="agent-memory",
    title="agent-memory: facts, summaries and daily notes",
    places=("$MEMORY_HOME",),
    detect=detect,
    open=AgentMemory,
    belongings=(
        "entities/*",
        "metrics/*",
        "logs/*",
        "checkpoints/*",
        "pipelines/*",
        "status.json",
    ),
    configure=configure,
    adopt=adopt,
)
