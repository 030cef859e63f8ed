"""Commands about what an agent is given: `context` and `hot`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from memtui.cli.options import argument, command, filtered, limit_option, option
from memtui.cli.output import columns, count_accesses, handle_cells, print_json
from memtui.cli.store_selection import index_library, load_settings, load_whole_library
from memtui.errors import RefError, Refused, did_you_mean
from memtui.model import format_time, to_record
from memtui.query import Query, Sort
from memtui.text import counted, cut, date, number, one_line, visible

if TYPE_CHECKING:
    from memtui.context import Pack
    from memtui.library import Library

HOT_LIMIT = 10
"""As `report-hot-facts.sh` of agent-memory."""


@command
def context(
    recipe: str | None = argument(required=False),
    text: Sequence[str] = argument(),
    *,
    stores: Sequence[str],
    types: Sequence[str] = option("--type", metavar="TYPE", help="Only this type; repeatable."),
    preferred: Sequence[str] = option(
        "--memory-type", metavar="TYPE", help="Type that the recipe typed prefers; repeatable."
    ),
    limit: int | None = option(
        type=click.IntRange(min=1),
        metavar="N",
        help="Maximum number of entries in the main section.",
    ),
    budget: int | None = option(
        type=click.IntRange(min=1), metavar="TOKENS", help="Maximum number of tokens in total."
    ),
    page_in: Sequence[str] = option(
        metavar="ID", help="Include the whole text of this memory; repeatable."
    ),
    as_json: bool,
    markdown: bool = option(help="Output Markdown, with the reasons."),
    explain: bool = option(help="Show why each entry is included and the next one is not."),
    track: bool = option(help="Count an access for each memory in the result."),
) -> None:
    """Show what an agent would be given for a task, by a recipe.

    TEXT is the task, taken as plain words; for session and loaded a project or branch. Without
    RECIPE the recipes are listed.
    """
    from memtui.context import draft_pack, find_recipe, format_markdown, read_recipes, task_query

    recipes = read_recipes(load_settings().recipes)  # `open_library` reports faults
    if recipe is None:
        if as_json:
            shown = ("name", "description", "source", "takes")
            records = [{key: getattr(one, key) for key in shown} for one in recipes.values()]
            print_json({"recipes": records})
            return
        for known in recipes.values():
            print(f"{known.name:<8}  {one_line(known.description)} ({one_line(known.source)})")
        return
    chosen = find_recipe(recipe, recipes)
    library = load_whole_library(stores, task_query(" ".join(text)))
    if text and chosen.takes == "entity":
        _refuse_unknown_entity(library, " ".join(text))
    if chosen.takes != "entity":  # the others search for nothing
        index_library(library)
    pack = draft_pack(
        chosen,
        " ".join(text),
        library,
        datetime.now().astimezone(),
        types=preferred,
        only=filtered(Query(), "type", types) if types else Query(),
        limit=limit,
        page_in=page_in,
    ).pack(budget)
    if as_json:
        record = pack.as_record()
        if not explain:
            del record["dropped"]
        print_json(record)
    elif markdown:
        print(visible(format_markdown(pack)), end="")
    else:
        text = _with_headings(pack) if pack.recipe == "loaded" else pack.text
        print(visible(text), end="" if text.endswith("\n") or not text else "\n")
        if explain:
            for section in pack.sections:
                tokens = counted(section.tokens, "token")
                print(f"\n{one_line(section.title)}: {tokens}; {one_line(section.rule)}")
                for entry in section.entries:
                    if entry.ref:
                        tokens = counted(entry.tokens, "token")
                        print(f"  {one_line(entry.ref)}  {tokens}  {one_line(entry.why)}")
            if pack.dropped:
                print("\nleft out:")
                for dropped in pack.dropped:
                    print(f"  {one_line(dropped.entry.ref)}  {one_line(dropped.reason)}")
        _print_summary(pack)
    if track:
        count_accesses(library, pack.refs)


def _with_headings(pack: Pack) -> str:
    """The texts that programs load, each below a line with its program, file and rule; no agent is
    given all of them."""
    parts = [
        f"==> {one_line(section.title)} ({one_line(section.rule)}) <==\n{section.text.rstrip()}\n"
        for section in pack.sections
    ]
    return "\n".join(parts)


def _refuse_unknown_entity(library: Library, name: str) -> None:
    """Raise RefError if it is no project, and no memory is about an entity whose path ends so."""
    from memtui.context import list_projects

    wanted = name.strip().casefold()
    known = {*library.find(Query()).columns.entities, *list_projects(library, library.now())}
    if not any(f"/{path}".casefold().endswith(f"/{wanted}") for path in known):
        advice = did_you_mean(name, known, "memtui stats lists entities")
        raise RefError(f"no memory is about {one_line(name)!r}", do=advice)


def _print_summary(pack: Pack) -> None:
    budget = f" of {number(pack.budget)}" if pack.budget is not None else ""
    entries = len(pack.refs)
    parts = [f"{number(pack.tokens)}{budget} tokens (estimated)", counted(entries, "memory")]
    if pack.dropped:
        parts.append(f"{counted(len(pack.dropped), 'entry')} left out")
    click.echo(" · ".join(parts), err=True)
    for note in pack.notes:
        click.echo(one_line(note), err=True)


@command
def hot(*, stores: Sequence[str], limit: int = limit_option(HOT_LIMIT), as_json: bool) -> None:
    """List the memories that were given most often, with count and last time.

    Counts the accesses that the stores' own programs and --track recorded.
    """
    from memtui.search.salience import count_accesses, find_last_access

    library = load_whole_library(stores)
    found = library.find(replace(Query(), sort=Sort.USED))
    memories = [found.rows[slot] for slot in found.slots[:limit]]
    used = [memory for memory in memories if count_accesses(memory)]
    if as_json:
        records = [
            {
                **to_record(memory),
                "accesses": int(count_accesses(memory)),
                "accessed": format_time(find_last_access(memory)),
            }
            for memory in used
        ]
        print_json({"memories": records})
        return
    if not used:
        raise Refused("no accesses were counted", do="`memtui context --track` counts them")
    handles = library.handles(used)
    for memory in used:
        last_access = date(find_last_access(memory)) or "-"
        count = number(int(count_accesses(memory)))
        text = one_line(memory.headline)
        handle = one_line(handles[memory.ref]).ljust(handle_cells(handles))
        print(cut(f"{count:>6}  {last_access:<16}  {handle}  {text}", columns()))
