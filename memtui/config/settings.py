"""The settings: their types and defaults, and the schema of config.toml.

`SCHEMA` has an entry for each setting. It checks a file and makes the commented default file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from memtui.errors import did_you_mean
from memtui.model import STATUSES
from memtui.query import Sort
from memtui.text import one_line

DENSITIES = ("compact", "comfortable", "roomy")
DATES = ("ago", "date")
RETIRING = ("hide", "delete")
STATUS_CHOICES = ("current", "all", *STATUSES)
SORTS = ("", *(str(sort) for sort in Sort))

Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Whole = Annotated[int, Meta(gt=0, le=10_000_000)]


class StorePath(Struct, frozen=True, forbid_unknown_fields=True):
    """A store to open at start."""

    path: Path
    label: str = ""
    """Its name in memtui; empty: the folder's name."""
    format: str = ""
    """Name of the format, or `name:profile`; empty: as it is recognised."""


class Embedding(Struct, frozen=True, forbid_unknown_fields=True):
    """The model for embeddings; a server is used only where it is configured here."""

    kind: Literal["static", "ollama", "openai", "off"] = "static"
    """`static` is the extra `semantic`, nothing where that is missing; `ollama`, of older settings,
    is an OpenAI server at the address of an Ollama."""
    url: str = ""
    """Address of the server; empty: where an Ollama on this machine listens."""
    model: str = ""
    key_variable: str = ""
    """Environment variable with the key; memtui never writes the key to a file."""
    fusion: Literal["sum", "rank", "words"] = "sum"
    """Read from older settings and ignored: `sum` is the only fusion."""


class LanguageModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A server for summaries and extraction; used only where a model is named here."""

    url: str = "http://127.0.0.1:11434/v1"
    """Address of a server with OpenAI's chat API; default: an Ollama on this machine."""
    model: str = ""
    """Empty: none is used."""
    key_variable: str = ""
    """Environment variable with the key; memtui never writes the key to a file."""
    seconds: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    """Time limit of one answer."""


class ReviewSettings(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The constants of the review queue's findings."""

    duplicate: Amount = 0.7
    """Jaccard of words from which two memories of an entity are near-duplicates."""
    cluster: Amount = 0.8
    """Cosine of their words from which memories of one project and scope form a cluster. Engram's
    proposal asks for 0.85 of vectors that weight rare words ("to avoid false merges"); 0.8 of words
    that all count alike finds the same pairs of the labelled ones."""
    fewest_words: Count = 4
    """Different words that a text needs to be compared."""
    project_events: Count = 40
    branch_events: Count = 80
    """Events past which a project and a branch are compacted (Ambient, memory guide)."""
    idle_days: Count = 90
    archived_days: Count = 7
    """Days after which idle projects and archived branches expire (Ambient, memory guide)."""
    pattern_repeats: Count = 4
    """Facts that say the same before a schema item is proposed."""
    history_months: Count = 6
    history_chars: Count = 400
    """Length of a historical fact past `history_months` that is called long."""
    off: tuple[str, ...] = ()
    """Kinds of finding that are not looked for; `kind@store` and `kind@store: what was found` leave
    out those of one store."""


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What memtui keeps of texts that other programs changed or deleted."""

    days: Count = 90
    """Days for which a former text is kept; 0: none is."""
    megabytes: Whole = 200
    """Size above which the oldest go first."""
    secrets: bool = False
    """Keep secrets as they are; else they are masked."""


class RecipeSection(Struct, forbid_unknown_fields=True, omit_defaults=True):
    title: str
    query: str
    sort: str = ""
    limit: Whole | None = None
    budget: Whole | None = None


class Recipe(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A recipe of the person, see `Settings.recipes`."""

    sections: Annotated[list[RecipeSection], Meta(min_length=1)]
    budget: Whole | None = None


class Settings(Struct, frozen=True):
    """All settings. The default of each field is the default of its setting."""

    theme: str = "dusk"
    mouse: bool = True
    editor: str = ""
    """Command line of the editor; empty: $VISUAL, $EDITOR, then vi."""
    restore: bool = True
    """Restore the last session at start."""
    retire: str = "hide"
    """One of `RETIRING`."""
    stores: tuple[StorePath, ...] = ()
    sort: str = ""
    """One of `SORTS`; empty: newest first, by relevance while searching."""
    status: tuple[str, ...] = ("current",)
    """Values from `STATUS_CHOICES`: what is listed when the query has no status filter."""
    density: str = "compact"
    """One of `DENSITIES`: list rows per memory."""
    dates: str = "ago"
    """One of `DATES`: how the list shows times."""
    half_life_days: float = 30.0
    """Days after which being recent counts half as much for the rank."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Part of the ranking -> its weight; the parts are those `search --explain` names."""
    embedding: Embedding = field(default_factory=Embedding)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Action id -> keys that replace its own."""
    saved: Mapping[str, str] = field(default_factory=dict)
    """Name -> query text of a saved search."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name -> a recipe of the person: `sections`, each with title, query, sort, limit, budget; and
    `budget` of the whole."""
    review: ReviewSettings = field(default_factory=ReviewSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    language_model: LanguageModel = field(default_factory=LanguageModel)
    session_programs: tuple[str, ...] = ()
    """Programs whose sessions are read, by their names in `memtui.sessions.PROGRAMS`."""
    session_exclude: tuple[str, ...] = ()
    """Projects whose sessions are not read: names, or patterns of their folders."""


TEXT, FLAG = "text in quotes", "true or false"


class Setting(NamedTuple):
    """One setting: its key in the file, its type and its documentation."""

    key: str
    """`name` or `table.name`."""
    type: Any
    """Type of the file's value, or of one entry."""
    must: str
    """What the value must be, in words."""
    about: str
    """Its comment in the default file."""
    example: str
    """Its value in the default file, as TOML."""
    each: bool = False
    """It is a list or table of such values; a wrong entry spoils only itself."""
    choices: tuple[str, ...] = ()
    """The values it can have, if they are few."""
    at_start: bool = False
    """It takes effect at the next start."""
    field_name: str = ""
    """Field name, if it differs from the key."""

    @property
    def field(self) -> str:
        """The field of `Settings`."""
        return self.field_name or self.key.rpartition(".")[2]

    def check(self, value: Any) -> Any:
        """Convert the file's value to the field's. Raises ValueError with the reason."""
        try:
            made = msgspec.convert(value, self.type, dec_hook=_make_path)
        except msgspec.ValidationError as error:
            raise ValueError(self._reason(str(error))) from None
        if self.choices:
            several = made if isinstance(made, list) else [made]
            for one in several or [""]:
                if one not in self.choices:
                    known = ", ".join(filter(None, self.choices))
                    hint = did_you_mean(one, self.choices, lead="; ")
                    raise ValueError(f"must be one of {known}{hint}")
        return _convert(self.key, made)

    def _reason(self, detail: str) -> str:
        if self.choices:
            return f"must be one of {', '.join(filter(None, self.choices))}"
        if not isinstance(self.type, type) or not issubclass(self.type, Struct):
            return f"must be {self.must}"
        detail = one_line(detail).replace("Object missing required field", "it lacks")
        detail = detail.replace(" - at `$.", ", in `")
        unknown = re.search("unknown field `(.*?)`", detail)
        hint = did_you_mean(unknown[1], self.type.__struct_fields__, lead="; ") if unknown else ""
        return f"must be {self.must}: {detail}{hint}"


def _make_path(kind: type, value: Any) -> Any:
    """Convert what msgspec does not know: a path. Raises ValueError."""
    if kind is not Path or not isinstance(value, str):
        raise ValueError("not a path")
    return Path(value)


def _convert(key: str, value: Any) -> Any:
    """Make a field's value of a checked one. Raises ValueError with the reason."""
    if key == "stores":
        store = StorePath(Path(value)) if isinstance(value, str) else value
        if store.path == Path():
            raise ValueError("must be a path in quotes, or a block with path, label and format")
        try:
            return msgspec.structs.replace(store, path=store.path.expanduser())
        except RuntimeError:
            raise ValueError("names the home of somebody who is not known here") from None
    if key == "search.embedding":
        if value.kind in ("ollama", "openai") and not value.model:
            raise ValueError("must name the model to ask for")
        if value.kind == "openai" and not value.url:
            raise ValueError("must name the url of the server, such as http://127.0.0.1:8080/v1")
    url = value.url if isinstance(value, Embedding | LanguageModel) else ""
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("url must begin with http:// or https://")
    if key == "context.recipes":
        for section in value.sections:
            if section.sort not in SORTS:
                hint = did_you_mean(section.sort, SORTS, lead="; ")
                raise ValueError(f"sort must be one of {', '.join(SORTS[1:])}{hint}")
        return msgspec.to_builtins(value)
    if key in ("keys", "list.status"):
        return tuple(dict.fromkeys([value] if isinstance(value, str) else value))
    return value


SCHEMA: tuple[Setting, ...] = (
    Setting(
        "theme",
        str,
        TEXT,
        "Colours: dusk, paper, contrast, terminal, copper, or the name of a file in themes/\n"
        "beside this one. With NO_COLOR set, memtui uses none.",
        '"dusk"',
    ),
    Setting("mouse", bool, FLAG, "Let the mouse click, scroll and drag.", "true", at_start=True),
    Setting(
        "editor",
        str,
        TEXT,
        'Editor for E and o, as a command line: "nvim", "code --wait". Empty: $VISUAL, then\n'
        "$EDITOR, then vi.",
        '""',
    ),
    Setting("restore", bool, FLAG, "Begin where the last session ended.", "true", at_start=True),
    Setting(
        "retire",
        str,
        "",
        "What d offers first for a memory that its format cannot retire: hide it in memtui, or\n"
        "delete it from its store. The last choice is remembered here.",
        '"hide"',
        choices=RETIRING,
    ),
    Setting(
        "stores",
        str | StorePath,
        "a path in quotes, or a block with path, label and format",
        "Stores to open when none is named: paths, or [[stores]] blocks with path, label\n"
        "and format (a name, or name:profile, where another one is recognised).\n"
        "Without them memtui looks in this folder and in the known places.",
        '["~/notes/memory"]',
        each=True,
        at_start=True,
    ),
    Setting(
        "history",
        HistorySettings,
        "a table with days, megabytes, numbers of at least 0 and 1, and secrets, true or false",
        "How long memtui keeps the texts that agents changed or deleted, in a private file;\n"
        "days = 0 keeps none. Secrets in them are masked unless secrets = true.",
        "{ days = 90, megabytes = 200, secrets = false }",
    ),
    Setting(
        "list.sort",
        str,
        "",
        "Order of the list: new, old, importance, priority, relevance. Empty: newest first,\n"
        "by relevance while searching.",
        '""',
        choices=SORTS,
    ),
    Setting(
        "list.status",
        str | list[str],
        "",
        "What is listed unless the query says: current (active and proposed), all, or a list\n"
        "of active, proposed, superseded, retired, deleted.",
        '"current"',
        choices=STATUS_CHOICES,
    ),
    Setting(
        "list.density",
        str,
        "",
        "Rows per memory: compact (1), comfortable (1 and a blank), roomy (2 and a blank).",
        '"compact"',
        choices=DENSITIES,
    ),
    Setting(
        "list.dates",
        str,
        "",
        'Times in the list: ago ("3d") or date ("2026-11-18").',
        '"ago"',
        choices=DATES,
    ),
    Setting(
        "search.half_life_days",
        Annotated[float, Meta(ge=0.01, le=36_500)],
        "a number of days from 0.01 to 36500",
        "Days after which being recent counts half as much for the rank.",
        "30",
        at_start=True,
    ),
    Setting(
        "search.weights",
        Annotated[float, Meta(ge=-100, le=100)],
        "a number from -100 to 100",
        "Weights of the parts of the rank, as shares of the text's own score.",
        "{ recency = 0.25, importance_high = 0.5 }",
        each=True,
        at_start=True,
    ),
    Setting(
        "search.embedding",
        Embedding,
        "a table with kind, url, model, key_variable and fusion, text in quotes",
        "Search by meaning. static: the extra `semantic` of memtui, offline; nothing\n"
        "without it. off: never. openai: a server that speaks OpenAI's API, as Ollama does too,\n"
        "which the texts of your memories are sent to, for example\n"
        'embedding = { kind = "openai", url = "http://127.0.0.1:11434/v1", model = "all-minilm" }\n'
        "and key_variable, the name of the environment variable that holds the key.",
        '{ kind = "static" }',
        at_start=True,
    ),
    Setting(
        "review.findings",
        ReviewSettings,
        "a table of numbers of at least 0, and off, a list of kinds",
        "Constants of the findings in the review queue, and the kinds that are off.",
        "{ duplicate = 0.7, cluster = 0.8, project_events = 40, branch_events = 80, off = [] }",
        field_name="review",
    ),
    Setting(
        "review.model",
        LanguageModel,
        "a table with url, model and key_variable, text in quotes, and seconds, 1 to 3600",
        "A server with the chat API of OpenAI, for summaries and extraction; without model it is\n"
        "never asked. What is sent is shown first, and secrets in it are masked.",
        '{ url = "http://127.0.0.1:11434/v1", model = "", key_variable = "", seconds = 60 }',
        at_start=True,
        field_name="language_model",
    ),
    Setting(
        "sessions.programs",
        str,
        TEXT,
        "Programs whose sessions memtui reads. None is read before it is named here;\n"
        "`memtui sessions` lists the programs, `memtui sessions on PROGRAM` shows what is read.",
        '["claude", "codex"]',
        each=True,
        field_name="session_programs",
    ),
    Setting(
        "sessions.exclude",
        str,
        TEXT,
        "Projects whose sessions are not read: a name, or a pattern of the folder.",
        '["~/private/*"]',
        each=True,
        field_name="session_exclude",
    ),
    Setting(
        "context.recipes",
        Recipe,
        "a table with budget, and sections with title, query, sort, limit and budget",
        "Recipes of your own: sections, each a query with an order, a limit and a budget in\n"
        "tokens; {task} in a query stands for the words of the task.",
        '{ standup = { sections = [{ title = "Goals", query = "type:goal", limit = 5 }] } }',
        each=True,
        at_start=True,
    ),
    Setting(
        "keys",
        str | list[str],
        "a key in quotes, or a list of them, or []",
        "Keys that replace an action's own; the help in memtui lists every action's name.\n"
        "A key in quotes, a list of keys, or [] for none.",
        '{ search = ["/", "ctrl+f"] }',
        each=True,
    ),
    Setting(
        "saved",
        str,
        TEXT,
        "Saved searches: a name and what would be typed in the search line.",
        '{ "this week" = "since:7d importance:high" }',
        each=True,
    ),
)
