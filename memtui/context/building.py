"""The recipes by name, a person's own among them, and the function that builds a pack with any.

A recipe of a person's own is sections of config.toml, each a query with an order, a limit, a
budget:

    [context.recipes.standup]
    budget = 2000
    sections = [
        { title = "Open goals", query = "type:goal status:active", sort = "priority", limit = 5 },
        { title = "About the task", query = "{task} since:90d", limit = 10, budget = 800 },
    ]

`{task}` in a query stands for the words of the task; a section with it is left out where the task
has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui import query as queries
from memtui.context import intents
from memtui.context.entries import MAX_DROPPED, build_paged_in, cited_line, limited_section
from memtui.context.pack import PackDraft, PackEntry, Section, draft
from memtui.context.relevance import build_prime, build_typed
from memtui.context.sessions import build_loaded, build_session
from memtui.context.task import (
    DEFAULTS,
    NO_FILTERS,
    PackSource,
    RecipeConstants,
    Task,
    read_constants,
    task_query,
    task_words,
)
from memtui.context.tiers import build_tiers
from memtui.errors import Refused, did_you_mean
from memtui.query import Query, Sort


class Recipe(Struct, frozen=True):
    """A way to assemble what an agent would be given."""

    name: str
    description: str
    """One line for people."""
    source: str
    """Program or document it comes from."""
    takes: str = "task"
    """What its text is: `task`, `entity`, or both may be empty; shown as the prompt for it."""


RECIPES: tuple[Recipe, ...] = (
    Recipe("tiers", "Summaries, facts and daily notes, in turn", "agent-memory"),
    Recipe("typed", "Best by text, grouped by type, wanted types first", "typed workspace"),
    Recipe("plan", "Goals and policies, recent episodes, blocking facts", "Simple Memory"),
    Recipe("reflect", "Schema, contrasting episodes, metric changes", "Simple Memory"),
    Recipe("recall", "Best episodes and their facts", "Simple Memory"),
    Recipe("decide", "Policies and goals, past decisions, outcomes", "Simple Memory"),
    Recipe("nudge", "Policies, one metric trend, one suggestion", "Simple Memory"),
    Recipe("prime", "Relevant, salient and diverse, before a task", "Engram, issue #168"),
    Recipe("session", "A project's and a branch's last events", "Ambient", "entity"),
    Recipe("loaded", "What each program loads into a session by itself", "the stores", "entity"),
)

_SECTIONS: Mapping[str, Callable[[Task], list[Section]]] = {
    "typed": build_typed,
    "plan": intents.build_plan,
    "reflect": intents.build_reflect,
    "recall": intents.build_recall,
    "decide": intents.build_decide,
    "nudge": intents.build_nudge,
    "prime": build_prime,
}
_WITH_NOTES: Mapping[str, Callable[[Task], tuple[list[Section], list[str]]]] = {
    "session": build_session,
    "loaded": build_loaded,
}


class ContextSettings(Struct, frozen=True):
    """The settings of recipes in config.toml."""

    constants: RecipeConstants = DEFAULTS
    own: Mapping[str, OwnRecipe] = field(default_factory=dict)


NO_SETTINGS = ContextSettings()


def read_settings(
    constants: Mapping[str, Any],
    recipes: Mapping[str, Mapping[str, Any]],
    types: Mapping[str, float] | None = None,
) -> ContextSettings:
    """The tables `constants`, `recipes` and `salience_types` of `context` in the settings, which
    were checked when they were loaded."""
    own = {
        name: OwnRecipe(
            tuple(OwnSection(**section) for section in value["sections"]), value.get("budget")
        )
        for name, value in recipes.items()
    }
    return ContextSettings(read_constants(constants, types), own)


def list_recipes(settings: ContextSettings = NO_SETTINGS) -> tuple[Recipe, ...]:
    """All recipes: the program's, then the person's own, which may replace one by its name."""
    own = [
        Recipe(n, ", ".join(s.title for s in r.sections), "yours") for n, r in settings.own.items()
    ]
    return (*(recipe for recipe in RECIPES if recipe.name not in settings.own), *own)


def find_recipe(name: str, settings: ContextSettings = NO_SETTINGS) -> Recipe:
    """The recipe of this name. Raises Refused, with the nearest name."""
    known = {recipe.name: recipe for recipe in list_recipes(settings)}
    if name not in known:
        advice = did_you_mean(name, known, f"one of: {', '.join(known)}")
        raise Refused("there is no such recipe", where=name, do=advice)
    return known[name]


def draft_pack(
    recipe: Recipe,
    text: str,
    source: PackSource,
    settings: ContextSettings,
    now: datetime,
    *,
    types: Sequence[str] = (),
    only: Query = NO_FILTERS,
    limit: int | None = None,
    page_in: Collection[str] = (),
    remarks: Sequence[str] = (),
) -> PackDraft:
    """Choose what an agent would be given, before any budget.

    Args:
        recipe: One of `list_recipes`.
        text: The task, taken as plain words; for `session` and `loaded` an entity.
        source: A loaded library; searches are ranked as far as its index is ready.
        settings: Constants and own recipes.
        now: The time from which ages are counted, in the zone in which times are shown.
        types: Types that `typed` prefers.
        only: Filters that every memory must pass; its terms are not used.
        limit: Most entries of the main section; None: the recipe's own limit.
        page_in: Refs or ids of memories whose whole text is given: in their own entry if they have
            one that was cut, else in a section at the end.
        remarks: What the source lacks, for the notes of the pack.

    Returns:
        The draft; `PackDraft.pack` makes the pack of it.
    """
    task = Task(
        text, source, now, settings.constants, tuple(types), only, limit, frozenset(page_in)
    )
    head = tail = ""
    budget: int | None = None
    notes: list[str] = []  # of the recipe
    own = settings.own.get(recipe.name)
    if own is not None:
        sections, notes = build_own(task, own.sections)
        budget = own.budget
    elif recipe.name == "tiers":
        sections, head, tail = build_tiers(task)
    elif recipe.name in _WITH_NOTES:
        sections, notes = _WITH_NOTES[recipe.name](task)
    else:
        sections = _SECTIONS[recipe.name](task)
    paged_in, unknown = build_paged_in(task, sections)
    sections, notes = [*sections, *paged_in], [*remarks, *notes, *unknown]
    return draft(recipe.name, text, sections, head=head, tail=tail, notes=notes, budget=budget)


TASK = "{task}"
DEFAULT_LIMIT = 10


class OwnSection(Struct, frozen=True):
    """One section as config.toml has it."""

    title: str
    query: str
    sort: str = ""
    limit: int = DEFAULT_LIMIT
    budget: int | None = None


class OwnRecipe(Struct, frozen=True):
    """One recipe of config.toml."""

    sections: tuple[OwnSection, ...]
    budget: int | None = None


def build_own(task: Task, sections: Sequence[OwnSection]) -> tuple[list[Section], list[str]]:
    """The sections of a recipe, and what in their queries could not be understood."""
    built: list[Section] = []
    notes: list[str] = []
    for section in sections:
        words = task_words(task.text)
        if TASK in section.query and not words:
            notes.append(f"{section.title}: needs a task")
            continue
        query = queries.parse_query(section.query.replace(TASK, " "), task.now)
        if query.hint:
            notes.append(f"{section.title}: {query.hint}")
        if TASK in section.query:
            query = replace(query, terms=(*task_query(task.text).terms, *query.terms))
        if section.sort:
            query = replace(query, sort=Sort(section.sort))
        query = replace(query, conditions=(*query.conditions, *task.only.conditions))
        found = task.source.find_loaded(query)
        limit = section.limit if task.limit is None else min(section.limit, task.limit)
        entries = [
            PackEntry(found.rows[slot].ref, cited_line(found.rows[slot], task), why=section.query)
            for slot in found.slots[: limit + MAX_DROPPED]
        ]
        rule = f"{section.query} · {query.order} · at most {limit}"
        made = limited_section(section.title, entries, limit, rule)
        built.append(replace(made, budget=section.budget))
    return built, notes
