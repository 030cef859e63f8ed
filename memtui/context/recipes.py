"""The recipes: what each looks for, in which order, within which budget; and the builder of packs.

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

from msgspec import Struct
from msgspec.structs import replace

from memtui import query as queries
from memtui.context import tiers
from memtui.context.choosing import (
    Choose,
    Search,
    by_priority,
    choose_by_mmr,
    contrast,
    group_by_type,
    largest_change,
    newest,
)
from memtui.context.entries import (
    BLOCKING,
    DECIDED,
    MAX_DROPPED,
    OUTCOMES,
    build_paged_in,
    cited_line,
    limited_section,
)
from memtui.context.pack import COUNT_PLACEHOLDER, PackDraft, PackEntry, Section, draft
from memtui.context.sessions import build_loaded, build_session
from memtui.context.task import NO_FILTERS, PackSource, Task, task_query, task_words
from memtui.errors import Refused, did_you_mean
from memtui.query import Query, Sort


class SectionRule(Struct, frozen=True):
    """What one section of a pack looks for, in which order, and how much of it."""

    title: str
    choose: Choose
    limit: int
    rule: str
    """For people: what it takes; `{limit}` stands for the limit."""
    is_main: bool = False
    """The limit of the request replaces its own."""
    heading: str = ""
    """Text before the entries; the title unless given."""
    below: int | None = None
    """Left out where the sections before have so many entries."""

    def build(self, search: Search) -> list[Section]:
        """Return the section; none if the ones before have enough."""
        before = sum(len(section.entries) for section in search.sections)
        if self.below is not None and before >= self.below:
            return []
        limit = _main_limit(search.task, self.limit) if self.is_main else self.limit
        rule = self.rule.replace("{limit}", str(limit))
        return [limited_section(self.title, self.choose(search, limit), limit, rule, self.heading)]


class Block(Struct, frozen=True):
    """Several sections that are chosen together."""

    make: Callable[[Search, int], list[Section]]
    limit: int = 0
    """Most entries in all, if they are chosen by a limit."""

    def build(self, search: Search) -> list[Section]:
        """Return the sections."""
        return self.make(search, _main_limit(search.task, self.limit))


def _main_limit(task: Task, limit: int) -> int:
    return limit if task.limit is None else task.limit


class Recipe(Struct, frozen=True):
    """A way to assemble what an agent would be given."""

    name: str
    description: str
    """One line for people."""
    source: str
    """Program or document it comes from."""
    sections: tuple[SectionRule | Block | QuerySection, ...]
    """Built one after the other."""
    takes: str = "task"
    """What its text is, shown as the prompt for it: a `task` or an `entity`. It may be empty."""
    frame: Callable[[Task, Sequence[Section]], tuple[str, str]] = lambda *_: ("", "")
    """Gives the text above and below the sections."""
    budget: int | None = None
    """Most tokens, unless the request says."""


GOALS, SUPPORTING, EPISODES = 5, 8, 3
"""Limits where the white paper leaves them open; memtui's own."""
CHANGES = "facts that give a number for the same subject at two times, largest change first"
ENOUGH = 3
"""MIN_TOTAL_RESULTS of agent-memory, below which the next stage is asked."""


_PROGRAMS = (
    Recipe(
        "tiers",
        "Summaries, facts and daily notes, in turn",
        "agent-memory",
        # The limits are MAX_SUMMARIES, MAX_FACTS and MAX_DAILY_SNIPPETS of retrieve-memory.sh.
        (
            SectionRule(
                "Entities",
                tiers.summaries,
                5,
                "summaries of up to {limit} entities that the query names, most recent first",
                heading=f"## Entities ({COUNT_PLACEHOLDER} matched)\n\n",
            ),
            SectionRule(
                "Facts",
                tiers.facts,
                10,
                "up to {limit} active facts with a word of the query, most recent first",
                is_main=True,
                heading=f"## Facts ({COUNT_PLACEHOLDER} matched)\n\n",
                below=ENOUGH,
            ),
            SectionRule(
                "Daily Notes",
                tiers.note_lines,
                5,
                "up to {limit} lines with a word of the query from the notes of the last "
                f"{tiers.NOTE_DAYS} days",
                heading=f"## Daily Notes ({COUNT_PLACEHOLDER} snippets)\n\n",
                below=ENOUGH,
            ),
        ),
        frame=tiers.frame,
    ),
    Recipe(
        "typed",
        "Best by text, grouped by type, wanted types first",
        "typed workspace",
        (Block(group_by_type, 10),),
    ),
    # The sections of the white paper (Retrieval: Intent-Based Context Packs).
    Recipe(
        "plan",
        "Goals and policies, recent episodes, blocking facts",
        "Simple Memory",
        (
            SectionRule(
                "Goals and policies",
                by_priority(lambda its: its.role("goal", "policy")),
                GOALS,
                "goals and policies by priority, those that the task names first",
                is_main=True,
            ),
            SectionRule(
                "Recent episodes",
                newest(lambda its: its.role("episode")),
                EPISODES,
                "the newest episodes and session summaries",
            ),
            SectionRule(
                "Blocking facts",
                by_priority(
                    lambda its: (
                        its.about & its.role("fact") & (its.words(BLOCKING) | its.role("error"))
                    )
                ),
                SUPPORTING,
                "facts with a word of blocking, and errors",
            ),
        ),
    ),
    Recipe(
        "reflect",
        "Schema, contrasting episodes, metric changes",
        "Simple Memory",
        (
            SectionRule(
                "Schema",
                by_priority(lambda its: its.role("schema")),
                GOALS,
                "schema items, policies and patterns by relevance and priority",
                is_main=True,
            ),
            SectionRule(
                "Contrasting episodes",
                contrast,
                2,
                "two episodes on the subject, furthest apart in affect, else in time",
            ),
            SectionRule("Metric changes", largest_change, 5, CHANGES),
        ),
    ),
    Recipe(
        "recall",
        "Best episodes and their facts",
        "Simple Memory",
        (
            SectionRule(
                "Episodes",
                by_priority(lambda its: its.about & its.role("episode")),
                5,  # "the 3-5 best-fit episodes"
                "the episodes that fit the task best",
                is_main=True,
            ),
            SectionRule(
                "Supporting facts",
                by_priority(lambda its: its.linked | (its.about & its.role("fact"))),
                SUPPORTING,
                "facts that fit the task, and those that the episodes name",
            ),
        ),
    ),
    Recipe(
        "decide",
        "Policies and goals, past decisions, outcomes",
        "Simple Memory",
        (
            SectionRule(
                "Policies and goals",
                by_priority(lambda its: its.role("policy", "goal")),
                GOALS,
                "policies and goals by relevance and priority",
            ),
            SectionRule(
                "Past decisions",
                by_priority(
                    lambda its: (
                        its.about
                        & (its.role("decision") | (its.role("episode") & its.words(DECIDED)))
                    )
                ),
                EPISODES,
                "decisions, and episodes that tell of one, by relevance and priority",
                is_main=True,
            ),
            SectionRule(
                "Outcome facts",
                by_priority(
                    lambda its: (
                        its.linked
                        | (its.about & its.role("fact") & (its.words(OUTCOMES) | its.role("error")))
                    )
                ),
                SUPPORTING,
                "facts that the decisions name, and those with a word of outcome",
            ),
        ),
    ),
    Recipe(
        "nudge",
        "Policies, one metric trend, one suggestion",
        "Simple Memory",
        (
            SectionRule(
                "Policies",
                by_priority(lambda its: its.role("policy")),
                2,  # "1-2 policies"
                "the policies that fit best",
                is_main=True,
            ),
            SectionRule("Metric trend", largest_change, 1, CHANGES),
            SectionRule(
                "Suggestion",
                by_priority(lambda its: its.proposed if its.proposed.any() else its.role("goal")),
                1,
                "the proposal that fits best, else the goal",
            ),
        ),
    ),
    Recipe(
        "prime",
        "Relevant, salient and diverse, before a task",
        "Engram, issue #168",
        (Block(choose_by_mmr, 12),),
    ),
    Recipe(
        "session",
        "A project's and a branch's last events",
        "Ambient",
        (Block(build_session),),
        takes="entity",
    ),
    Recipe(
        "loaded",
        "What each program loads into a session by itself",
        "the stores",
        (Block(build_loaded),),
        takes="entity",
    ),
)
RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in _PROGRAMS}


# ---- a person's own -----------------------------------------------------------------------------

TASK = "{task}"
DEFAULT_LIMIT = 10


class QuerySection(Struct, frozen=True):
    """One section as config.toml has it."""

    title: str
    query: str
    sort: str = ""
    limit: int = DEFAULT_LIMIT
    budget: int | None = None

    def build(self, search: Search) -> list[Section]:
        """Return the section; what of its query could not be understood is noted."""
        task, words = search.task, task_words(search.task.text)
        if TASK in self.query and not words:
            search.notes.append(f"{self.title}: needs a task")
            return []
        query = queries.parse_query(self.query.replace(TASK, " "), task.now)
        if query.hint:
            search.notes.append(f"{self.title}: {query.hint}")
        if TASK in self.query:
            query = replace(query, terms=(*task_query(task.text).terms, *query.terms))
        if self.sort:
            query = replace(query, sort=Sort(self.sort))
        query = replace(query, conditions=(*query.conditions, *task.only.conditions))
        found = task.source.find_loaded(query)
        limit = self.limit if task.limit is None else min(self.limit, task.limit)
        entries = [
            PackEntry(found.rows[slot].ref, cited_line(found.rows[slot], task), why=self.query)
            for slot in found.slots[: limit + MAX_DROPPED]
        ]
        rule = f"{self.query} · {query.order} · at most {limit}"
        return [replace(limited_section(self.title, entries, limit, rule), budget=self.budget)]


def read_recipes(own: Mapping[str, Mapping[str, Any]]) -> dict[str, Recipe]:
    """Return all recipes by name: the programs', then a person's own, which may replace one.

    Args:
        own: The table `context.recipes` of the settings, checked when they were loaded.
    """
    recipes = {name: recipe for name, recipe in RECIPES.items() if name not in own}
    for name, value in own.items():
        sections = tuple(QuerySection(**section) for section in value["sections"])
        titles = ", ".join(section.title for section in sections)
        recipes[name] = Recipe(name, titles, "yours", sections, budget=value.get("budget"))
    return recipes


def find_recipe(name: str, recipes: Mapping[str, Recipe] = RECIPES) -> Recipe:
    """The recipe of this name. Raises Refused, with the nearest name."""
    if name not in recipes:
        advice = did_you_mean(name, recipes, f"one of: {', '.join(recipes)}")
        raise Refused("there is no such recipe", where=name, do=advice)
    return recipes[name]


# ---- the builder --------------------------------------------------------------------------------


def draft_pack(
    recipe: Recipe,
    text: str,
    source: PackSource,
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
        recipe: One of `read_recipes`.
        text: The task, taken as plain words; for `session` and `loaded` an entity.
        source: A loaded library; searches are ranked as far as its index is ready.
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
    task = Task(text, source, now, tuple(types), only, limit, frozenset(page_in))
    search = Search(task)
    for section in recipe.sections:
        search.sections += section.build(search)
    head, tail = recipe.frame(task, search.sections)
    paged_in, unknown = build_paged_in(task, search.sections)
    return draft(
        recipe.name,
        text,
        [*search.sections, *paged_in],
        head=head,
        tail=tail,
        notes=[*remarks, *search.notes, *unknown],
        budget=recipe.budget,
    )
