"""A Simple Memory on disk as a store: all three files are one shard."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memtui.stores.base import Reading, Shard, StoreView
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar
from memtui.stores.simple_memory import records
from memtui.stores.simple_memory.adding import convert
from memtui.stores.simple_memory.editing import ACTS
from memtui.stores.simple_memory.records import RECORD_KINDS, RecordContext, RecordFile
from memtui.stores.simple_memory.rules import upkeep_rules
from memtui.stores.values import utc_now


class SimpleMemoryStore(FileStore[RecordContext]):
    """Facts, episodes and schema items in three JSON arrays of one folder."""

    format = "simple-memory"
    acts = ACTS

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._last: LastRead[RecordFile] = LastRead()

    def find_shards(self) -> list[FoundShard]:
        """All files together: the records refer to each other across them."""
        paths = (str(self.root / record_kind.file) for record_kind in RECORD_KINDS)
        return [FoundShard(records.SHARD, tuple(path for path in paths if os.path.lexists(path)))]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All memories of the store: there is only the one shard."""
        return records.read(self.root, self.label, sidecar)

    def plan_context(self, view: StoreView) -> RecordContext:
        return RecordContext(**self.context_fields(view), last=self._last)


SUPPORT = FormatSupport(
    SimpleMemoryStore,
    transfer=TransferSupport(convert=convert),
    upkeep=upkeep_rules(),
)
