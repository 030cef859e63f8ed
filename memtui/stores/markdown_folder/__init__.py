"""Folders of Markdown notes: Serena, memory banks, basic-memory, Letta memfs, vaults, plain."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.markdown_folder.layout import (
    configured_folders,
    detect,
    plain_folder,
    profile_of,
)
from memtui.stores.markdown_folder.rules import PROFILES

FORMAT = Format(
    name="markdown-folder",
    title="Markdown notes: Serena, memory bank, basic-memory, memfs, vault",
    places=("~/.serena/memories", "$BASIC_MEMORY_HOME", "~/basic-memory"),
    detect=detect,
    open=lazy_function("memtui.stores.markdown_folder.store", "MarkdownFolder"),
    nearby=(".", ".serena/memories", "memory-bank"),
    configured=configured_folders,
    fallback=plain_folder,
    program=lambda root: profile_of(root).title,
    profiles=tuple(PROFILES),
    upkeep=lazy_function("memtui.stores.markdown_folder.rules", "upkeep_rules"),
    transfer=TransferSupport(
        belongings=("*.md", ".obsidian/app.json"),
        convert=lazy_function("memtui.stores.markdown_folder.editing", "convert"),
        place_facts=lazy_function("memtui.stores.markdown_folder.store", "place_facts"),
    ),
)
