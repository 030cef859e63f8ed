"""The schema of config.toml: the check and the documentation of each setting.

`SCHEMA` checks a file and makes the commented default file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memtui.config.settings import (
    DATES,
    DENSITIES,
    EMBEDDING_KINDS,
    FUSIONS,
    STATUS_CHOICES,
    Embedding,
    LanguageModel,
    ReviewSettings,
    StorePath,
)
from memtui.errors import find_nearest
from memtui.query import Sort


class Setting(NamedTuple):
    """One setting: its key in the file, its check and its documentation."""

    key: str
    """`name` or `table.name`."""
    check: Callable[[Any], Any]
    """The file's value -> the field's; raises ValueError with the reason."""
    about: str
    """Its comment in the default file."""
    example: str
    """Its value in the default file, as TOML."""
    each: bool = False
    """`check` takes one entry of a list or table; a wrong entry spoils only itself."""
    choices: tuple[str, ...] = ()
    """The values it can have, if they are few."""
    at_start: bool = False
    """It takes effect at the next start."""
    field_name: str = ""
    """Of the field, where it is not the key's name."""

    @property
    def field(self) -> str:
        """The field of `Settings`."""
        return self.field_name or self.key.rpartition(".")[2]


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text in quotes")
    return value


def _review(value: Any) -> ReviewSettings:
    if not isinstance(value, dict):
        raise ValueError("must be a table")
    known = ReviewSettings()._asdict()
    changed: dict[str, Any] = {}
    for name, setting in value.items():
        if name not in known:
            raise ValueError(f"{name!r} is unknown{_nearest(name, known)}")
        if name == "off":
            if not isinstance(setting, list) or not all(isinstance(item, str) for item in setting):
                raise ValueError("off must be a list of kinds")
            changed[name] = tuple(setting)
        elif not _is_number(setting) or setting < 0:
            raise ValueError(f"{name} must be a number of at least 0")
        else:
            changed[name] = type(known[name])(setting)
    return ReviewSettings(**changed)


def _language_model(value: Any) -> LanguageModel:
    names = LanguageModel._fields
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise ValueError(f"must be a table with {', '.join(names)}")
    seconds = value.get("seconds", LanguageModel().seconds)
    if not _is_number(seconds) or not 0 < seconds <= 3600:
        raise ValueError("seconds must be a number from 1 to 3600")
    words = {name: text for name, text in value.items() if name != "seconds"}
    if not all(isinstance(text, str) for text in words.values()):
        raise ValueError("has values in quotes only")
    found = LanguageModel(**words, seconds=float(seconds))
    _check_url(found.url)
    return found


def _check_url(url: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise ValueError("url must begin with http:// or https://")


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            known = ", ".join(filter(None, choices))
            raise ValueError(f"must be one of {known}{_nearest(str(value), choices)}")
        return str(value)

    return check


def _nearest(word: str, known: Iterable[str]) -> str:
    near = find_nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def _statuses(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values:
        raise ValueError(f"must be one or several of {', '.join(STATUS_CHOICES)}")
    return tuple(dict.fromkeys(map(_one_of(*STATUS_CHOICES), values)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(least: float, most: float, of: str = "") -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if not _is_number(value) or not least <= value <= most:
            raise ValueError(f"must be a number{of} from {least:g} to {most:g}")
        return float(value)

    return check


_SECTION_KEYS: Mapping[str, type] = {
    "title": str,
    "query": str,
    "sort": str,
    "limit": int,
    "budget": int,
}


def _recipe(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not set(value) <= {"sections", "budget"}:
        raise ValueError("must be a table with sections and budget")
    sections = value.get("sections")
    if not isinstance(sections, list) or not sections:
        raise ValueError("needs a list of sections")
    if not _is_whole(value.get("budget", 1)):
        raise ValueError("budget must be a whole number above 0")
    for section in sections:
        if not isinstance(section, dict) or not {"title", "query"} <= set(section):
            raise ValueError("a section needs a title and a query, both text in quotes")
        for name, entry in section.items():
            kind = _SECTION_KEYS.get(name)
            if kind is None:
                raise ValueError(f"a section has no {name}: {', '.join(_SECTION_KEYS)}")
            if kind is int and not _is_whole(entry):
                raise ValueError(f"{name} must be a whole number above 0")
            if kind is str:
                _text(entry)
        if section.get("sort"):
            _one_of(*(str(sort) for sort in Sort))(section["sort"])
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10_000_000


def _keys(value: Any) -> tuple[str, ...]:
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, list) or not all(isinstance(key, str) for key in several):
        raise ValueError("must be a key in quotes, or a list of them, or []")
    return tuple(several)


def _store(value: Any) -> StorePath:
    block = {"path": value} if isinstance(value, str) else value
    if not isinstance(block, dict) or not isinstance(block.get("path"), str) or not block["path"]:
        raise ValueError("must be a path in quotes, or a block with path, label and format")
    label, format = block.get("label", ""), block.get("format", "")
    is_text = isinstance(label, str) and isinstance(format, str)
    if set(block) - {"path", "label", "format"} or not is_text:
        raise ValueError("has a path, a label and a format, text in quotes, and nothing else")
    try:
        return StorePath(Path(block["path"]).expanduser(), label, format)
    except RuntimeError:
        raise ValueError("names the home of somebody who is not known here") from None


def _embedding(value: Any) -> Embedding:
    names = Embedding._fields
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise ValueError(f"must be a table with {', '.join(names)}")
    if not all(isinstance(entry, str) for entry in value.values()):
        raise ValueError("has values in quotes only")
    found = Embedding(**value)
    if found.kind not in EMBEDDING_KINDS:
        raise ValueError(f"kind must be one of {', '.join(EMBEDDING_KINDS)}")
    if found.fusion not in FUSIONS:
        raise ValueError(f"fusion must be one of {', '.join(FUSIONS)}")
    if found.kind in ("ollama", "openai") and not found.model:
        raise ValueError("must name the model to ask for")
    if found.kind == "openai" and not found.url:
        raise ValueError("must name the url of the server, such as http://127.0.0.1:8080/v1")
    if found.url:
        _check_url(found.url)
    return found


_SORTS = ("", *(str(sort) for sort in Sort))

SCHEMA: tuple[Setting, ...] = (
    Setting(
        "theme",
        _text,
        "Colours: dusk, paper, contrast, terminal, copper, or the name of a file in themes/\n"
        "beside this one. With NO_COLOR set, memtui uses none.",
        '"dusk"',
    ),
    Setting("mouse", _bool, "Let the mouse click, scroll and drag.", "true", at_start=True),
    Setting(
        "editor",
        _text,
        'Editor for E and o, as a command line: "nvim", "code --wait". Empty: $VISUAL, then\n'
        "$EDITOR, then vi.",
        '""',
    ),
    Setting("restore", _bool, "Begin where the last session ended.", "true", at_start=True),
    Setting(
        "stores",
        _store,
        "Stores to open when none is named: paths, or [[stores]] blocks with path, label\n"
        "and format (a name, or name:profile, where another one is recognised).\n"
        "Without them memtui looks in this folder and in the known places.",
        '["~/notes/memory"]',
        each=True,
        at_start=True,
    ),
    Setting(
        "list.sort",
        _one_of(*_SORTS),
        "Order of the list: new, old, importance, priority, relevance. Empty: newest first,\n"
        "by relevance while searching.",
        '""',
        choices=_SORTS,
    ),
    Setting(
        "list.status",
        _statuses,
        "What is listed unless the query says: current (active and proposed), all, or a list\n"
        "of active, proposed, superseded, retired, deleted.",
        '"current"',
        choices=STATUS_CHOICES,
    ),
    Setting(
        "list.density",
        _one_of(*DENSITIES),
        "Rows per memory: compact (1), comfortable (1 and a blank), roomy (2 and a blank).",
        '"compact"',
        choices=DENSITIES,
    ),
    Setting(
        "list.dates",
        _one_of(*DATES),
        'Times in the list: ago ("3d") or date ("2026-11-18").',
        '"ago"',
        choices=DATES,
    ),
    Setting(
        "search.half_life_days",
        _number(0.01, 36_500, " of days"),
        "Days after which being recent counts half as much for the rank.",
        "30",
        at_start=True,
    ),
    Setting(
        "search.weights",
        _number(-100, 100),
        "Weights of the parts of the rank, as shares of the text's own score.",
        "{ recency = 0.25, importance_high = 0.5 }",
        each=True,
        at_start=True,
    ),
    Setting(
        "search.embedding",
        _embedding,
        "Search by meaning. static: what `pip install memtui[semantic]` brings, offline; nothing\n"
        "without it. off: never. ollama, openai (any that speaks its way): a server, which the\n"
        "texts of your memories are sent to, for example\n"
        'embedding = { kind = "ollama", url = "http://127.0.0.1:11434", model = "all-minilm" }\n'
        "and key_variable, the name of the environment variable that holds the key.\n"
        "fusion: how text and meaning become one order: sum, rank or words (near words only).",
        '{ kind = "static", fusion = "sum" }',
        at_start=True,
    ),
    Setting(
        "review.findings",
        _review,
        "Constants of the findings in the review queue, and the kinds that are off.",
        "{ duplicate = 0.7, cluster = 0.85, project_events = 40, branch_events = 80, off = [] }",
        field_name="review",
    ),
    Setting(
        "review.model",
        _language_model,
        "A server with the chat API of OpenAI, for summaries and extraction; without model it is\n"
        "never asked. What is sent is shown first, and secrets in it are masked.",
        '{ url = "http://127.0.0.1:11434/v1", model = "", key_variable = "", seconds = 60 }',
        at_start=True,
        field_name="language_model",
    ),
    Setting(
        "context.constants",
        _number(0, 100_000),
        "Constants of the recipes of `memtui context`, of salience and priority;\n"
        "for a wrong name `memtui context` lists all of them.",
        "{ half_life_days = 30, facts = 10, type_boost = 1.35 }",
        each=True,
        at_start=True,
        field_name="recipe_constants",
    ),
    Setting(
        "context.salience_types",
        _number(0, 100_000),
        "Salience that memories of a type start with; other types start with 1.",
        "{ architecture = 1.5, decision = 1.5, policy = 1.5 }",
        each=True,
        at_start=True,
    ),
    Setting(
        "context.recipes",
        _recipe,
        "Recipes of your own: sections, each a query with an order, a limit and a budget in\n"
        "tokens; {task} in a query stands for the words of the task.",
        '{ standup = { sections = [{ title = "Goals", query = "type:goal", limit = 5 }] } }',
        each=True,
        at_start=True,
    ),
    Setting(
        "keys",
        _keys,
        "Keys that replace an action's own; the help in memtui lists every action's name.\n"
        "A key in quotes, a list of keys, or [] for none.",
        '{ search = ["/", "ctrl+f"] }',
        each=True,
    ),
    Setting(
        "saved",
        _text,
        "Saved searches: a name and what would be typed in the search line.",
        '{ "this week" = "since:7d importance:high" }',
        each=True,
    ),
)
