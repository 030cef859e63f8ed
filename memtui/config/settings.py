"""The settings as frozen values with their defaults; `schema` checks and documents them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memtui.dataclass import dataclass, field
from memtui.model import STATUSES

DENSITIES = ("compact", "comfortable", "roomy")
DATES = ("ago", "date")
STATUS_CHOICES = ("current", "all", *STATUSES)


class StorePath(NamedTuple):
    """A store to open at start."""

    path: Path
    label: str = ""
    """Its name in memtui; empty: the folder's name."""
    format: str = ""
    """Name of the format, or `name:profile`; empty: as it is recognised."""


EMBEDDING_KINDS = ("static", "ollama", "openai", "off")
FUSIONS = ("sum", "rank", "words")


class Embedding(NamedTuple):
    """The model for embeddings; a server is used only where it is configured here."""

    kind: str = "static"
    """One of `EMBEDDING_KINDS`; `static` is the extra `semantic`, nothing where that is missing."""
    url: str = ""
    """Of the server; empty: where an Ollama on this machine listens."""
    model: str = ""
    key_variable: str = ""
    """Environment variable with the key; memtui never writes the key to a file."""
    fusion: str = "sum"
    """One of `FUSIONS`: how text and vector scores are combined."""


class LanguageModel(NamedTuple):
    """A server for summaries and extraction; used only where a model is named here."""

    url: str = "http://127.0.0.1:11434/v1"
    """Of any server with the chat API of OpenAI; an Ollama on this machine unless named."""
    model: str = ""
    """Empty: none is used."""
    key_variable: str = ""
    """Environment variable with the key; memtui never writes the key to a file."""
    seconds: float = 60.0
    """Time limit of one answer."""


class ReviewSettings(NamedTuple):
    """The constants of the review queue's findings."""

    duplicate: float = 0.7
    """Jaccard of words from which two memories of an entity are near-duplicates."""
    cluster: float = 0.85
    """Cosine from which memories of one project and scope form a cluster (Engram proposal:
    "0.85+ to avoid false merges")."""
    fewest_words: int = 4
    """Different words that a text needs to be compared."""
    project_events: int = 40
    branch_events: int = 80
    """Events past which a project and a branch are compacted (Ambient, memory guide)."""
    idle_days: int = 90
    archived_days: int = 7
    """Days after which idle projects and archived branches expire (Ambient, memory guide)."""
    pattern_repeats: int = 4
    """Facts that say the same before a schema item is proposed."""
    history_months: int = 6
    history_chars: int = 400
    """Length of a historical fact past `history_months` that is called long."""
    off: tuple[str, ...] = ()
    """Kinds of finding that are not looked for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. The default of each field is the default of its setting."""

    theme: str = "dusk"
    mouse: bool = True
    editor: str = ""
    """Command line of the editor; empty: $VISUAL, $EDITOR, then vi."""
    restore: bool = True
    """Restore the last session at start."""
    stores: tuple[StorePath, ...] = ()
    sort: str = ""
    """One of `query.Sort`; empty: newest first, by relevance while searching."""
    status: tuple[str, ...] = ("current",)
    """Of `STATUS_CHOICES`: what is listed when the query does not say."""
    density: str = "compact"
    """Of `DENSITIES`: rows of the list that a memory takes."""
    dates: str = "ago"
    """Of `DATES`: how the list shows times."""
    half_life_days: float = 30.0
    """Days after which being recent counts half as much for the rank."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Part of the ranking -> its weight; the parts are those `search --explain` names."""
    embedding: Embedding = field(default_factory=Embedding)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Action id -> keys that replace its own."""
    saved: Mapping[str, str] = field(default_factory=dict)
    """Name -> query text of a saved search."""
    recipe_constants: Mapping[str, float] = field(default_factory=dict)
    """Name of `memtui.context.task.CONSTANT_NAMES` -> value."""
    salience_types: Mapping[str, float] = field(default_factory=dict)
    """Type -> the salience that its memories start with."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name -> a recipe of the person: `sections`, each with title, query, sort, limit, budget; and
    `budget` of the whole."""
    review: ReviewSettings = field(default_factory=ReviewSettings)
    language_model: LanguageModel = field(default_factory=LanguageModel)
