"""Settings that a person chose, and the session that is restored at the next start.

`load` reads `config.toml`, `save_value` changes one setting in it; `session` stores panes, filters
and the selection between runs.
"""

from memtui.config.loading import LoadedSettings, default_text, load, make_file, save_value
from memtui.config.settings import (
    SCHEMA,
    Embedding,
    HistorySettings,
    LanguageModel,
    ReviewSettings,
    Settings,
    StorePath,
)
