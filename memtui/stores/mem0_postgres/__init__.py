"""mem0's memories in Postgres, opened as `mem0:SERVICE`; see `memtui.team.mem0`."""

from __future__ import annotations

from memtui.stores.format import Format, Product
from memtui.stores.team import detect

FORMAT = Format(
    "mem0-postgres",
    "mem0: a collection in Postgres (pgvector), read only",
    (),
    detect,
    "memtui.team.mem0",
    product=Product("mem0", "M0", 6),
)
