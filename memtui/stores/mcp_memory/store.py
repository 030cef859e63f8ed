"""A graph file as a store: one shard, because relations connect all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.files.json.graph import parse_graph
from memtui.stores.base import Reading, StoreView, Unreadable
from memtui.stores.file_store import ListedTextStore, explain_read_only
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.mcp_memory import editing, graph_file
from memtui.stores.mcp_memory.editing import convert
from memtui.stores.mcp_memory.records import SHARD, graph_memories
from memtui.stores.scanning import FoundShard, listed_faults, planned_text
from memtui.stores.sidecar import Sidecar


class McpMemoryStore(ListedTextStore):
    """One graph file."""

    format = "mcp-memory"
    acts = editing.ACTS

    @property
    def file(self) -> Path:
        """The graph file."""
        return graph_file(self.root)

    @property
    def read_only(self) -> str:
        """Why nothing can be written; the server writes by renaming, so the folder counts too."""
        if os.path.exists(self.file) and not os.access(self.file, os.W_OK):
            return "the file is read-only for this user"
        return explain_read_only(self.file.parent)

    def open_list(self, key: str, view: StoreView) -> editing.GraphFile:  # noqa: ARG002
        text = planned_text(self.file, self.file.parent, view)
        return editing.GraphFile(self.file, text, self.sidecar.current())

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        yield FoundShard(SHARD, (str(self.file),))

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        graph = parse_graph(text)
        memories = tuple(graph_memories(graph, str(path), sidecar, self.label))
        reasons = [f"line {number}: {why}" for number, why in graph.faults]
        faults = listed_faults(path, reasons, "lines cannot be read")
        return Reading(memories, tuple(faults))


SUPPORT = FormatSupport(
    McpMemoryStore,
    transfer=TransferSupport(convert=convert),
)
