"""LangGraph's memory in Postgres, opened as `langgraph:SERVICE`; see `memtui.team.langgraph`."""

from __future__ import annotations

from memtui.stores.format import Format, Product
from memtui.stores.team import detect

FORMAT = Format(
    "langgraph",
    "LangGraph: the store table of langgraph-checkpoint-postgres",
    (),
    detect,
    "memtui.team.langgraph",
    product=Product("LangGraph", "LG", 6),
)
