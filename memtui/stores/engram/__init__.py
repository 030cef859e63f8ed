"""Engram's SQLite database: observations, prompts and sessions; July 2026 and v3 schemas."""

from memtui.stores.engram.store import FORMAT, EngramStore

__all__ = ["FORMAT", "EngramStore"]
