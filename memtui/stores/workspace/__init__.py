"""Typed Markdown workspace (gptme, "Bob"): every document is a memory, typed by a map of paths."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.workspace.layout import LOG_PATH, MAP_PATH, detect

FORMAT = Format(
    name="workspace",
    title="gptme workspace: typed Markdown documents",
    places=(),
    detect=detect,
    open=lazy_function("memtui.stores.workspace.store", "WorkspaceStore"),
    nearby=(".", "workspace"),
    transfer=TransferSupport(
        belongings=(MAP_PATH, LOG_PATH, "gptme.toml"),
        convert=lazy_function("memtui.stores.workspace.importing", "convert"),
    ),
)
