"""The knowledge graph of MCP's reference memory server: one file of entities and relations."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.mcp_memory.layout import configured_files, detect

FORMAT = Format(
    name="mcp-memory",
    title="MCP memory server: a graph of entities in one file",
    places=("$MEMORY_FILE_PATH", "~/memory.jsonl", "~/.mcp/memory.jsonl"),
    detect=detect,
    open=lazy_function("memtui.stores.mcp_memory.store", "McpMemoryStore"),
    configured=configured_files,
    transfer=TransferSupport(convert=lazy_function("memtui.stores.mcp_memory.editing", "convert")),
)
