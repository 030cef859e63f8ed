"""Hermes: the notes of the agent and the profile of its user, as lists of entries."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.hermes.layout import detect, profile_folders

FORMAT = Format(
    name="hermes",
    title="Hermes agent: MEMORY.md and USER.md",
    places=("$HERMES_HOME", "~/.hermes"),
    detect=detect,
    open=lazy_function("memtui.stores.hermes.store", "HermesStore"),
    configured=profile_folders,
    transfer=TransferSupport(
        belongings=("config.yaml", "memories/*.lock"),
        convert=lazy_function("memtui.stores.hermes.editing", "convert"),
    ),
)
