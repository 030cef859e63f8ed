"""Typed Markdown workspace (gptme, "Bob"): every document is a memory, typed by a map of paths."""

from __future__ import annotations

from memtui.stores.base import Format
from memtui.stores.later import later
from memtui.stores.workspace.injections import LOG_PATH
from memtui.stores.workspace.type_map import MAP_PATH
from memtui.stores.workspace.walking import detect

FORMAT = Format(
    name="workspace",
    title="gptme workspace: typed Markdown documents",
    places=(),
    detect=detect,
    open=later("memtui.stores.workspace.store", "WorkspaceStore"),
    nearby=(".", "workspace"),
    belongings=(MAP_PATH, LOG_PATH, "gptme.toml"),
    adopt=later("memtui.stores.workspace.adopting", "adopt"),
)
