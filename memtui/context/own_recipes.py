"""A person's own recipes: sections of config.toml, each a query with an order, a limit, a budget.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memtui import query as queries
from memtui.context.entries import MAX_DROPPED, cited_line, over_limit
from memtui.context.pack import PackEntry, Section
from memtui.context.source import Task, task_words
from memtui.query import Sort, Term, TermKind

TASK = "{task}"
DEFAULT_LIMIT = 10


@dataclass(frozen=True, slots=True)
class OwnSection:
    """One section as config.toml has it."""

    title: str
    query: str
    sort: str = ""
    limit: int = DEFAULT_LIMIT
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class OwnRecipe:
    """One recipe of config.toml."""

    name: str
    sections: tuple[OwnSection, ...]
    budget: int | None = None


def read_own_recipes(values: Mapping[str, Mapping[str, Any]]) -> dict[str, OwnRecipe]:
    """The recipes of the settings, which were checked when they were loaded."""
    return {
        name: OwnRecipe(
            name,
            tuple(OwnSection(**section) for section in value["sections"]),
            value.get("budget"),
        )
        for name, value in values.items()
    }


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
            terms = tuple(Term(word, TermKind.WORD) for word in words)
            query = replace(query, terms=(*terms, *query.terms))
        if section.sort:
            query = replace(query, sort=Sort(section.sort))
        query = replace(query, conditions=(*query.conditions, *task.only.conditions))
        found = task.source.find(query)
        limit = section.limit if task.limit is None else min(section.limit, task.limit)
        entries = [
            PackEntry(found.rows[slot].ref, cited_line(found.rows[slot], task), why=section.query)
            for slot in found.slots[: limit + MAX_DROPPED]
        ]
        built.append(
            Section(
                section.title,
                tuple(entries[:limit]),
                f"## {' '.join(section.title.split())}\n\n",
                "\n",
                f"{section.query} · {query.order} · at most {limit}",
                budget=section.budget,
                dropped=over_limit(section.title, entries[limit:], limit),
            )
        )
    return built, notes
