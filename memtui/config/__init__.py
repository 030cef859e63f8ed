"""Settings and session: what a person chose, and where they left off.

`load` reads `config.toml`, `save_value` changes one setting in it; `session` remembers panes,
filters and the selection between runs.
"""

from memtui.config.loading import LoadedSettings, load
from memtui.config.saving import save_value
from memtui.config.settings import SCHEMA, Embedding, Settings, StorePath, default_text

__all__ = [
    "SCHEMA",
    "Embedding",
    "LoadedSettings",
    "Settings",
    "StorePath",
    "default_text",
    "load",
    "save_value",
]
