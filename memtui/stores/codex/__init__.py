"""Codex: the memories that it consolidates, and the notes by which it is asked to change them."""

from __future__ import annotations

from memtui.stores.codex.layout import detect
from memtui.stores.format import Format, TransferSupport, lazy_function

FORMAT = Format(
    name="codex",
    title="Codex: consolidated memories and ad-hoc notes",
    places=("$CODEX_HOME", "~/.codex"),
    detect=detect,
    open=lazy_function("memtui.stores.codex.store", "CodexStore"),
    transfer=TransferSupport(
        belongings=("raw_memories.md",),
        convert=lazy_function("memtui.stores.codex.editing", "convert"),
    ),
)
