"""The filters, the same words on every command, as click options that make one query."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from memtui import query as queries
from memtui.query import Query, Sort
from memtui.text import one_line

Command = TypeVar("Command", bound=Callable[..., Any])

_VALUED = ("type", "importance", "status", "entity", "kind", "tag")


def filter_options(command: Command) -> Command:
    """`--type --importance --status --entity --kind --tag --since --until --pinned --sort`."""
    for name in reversed(_VALUED):
        command = click.option(
            f"--{name}",
            f"filter_{name}",
            multiple=True,
            metavar=name.upper(),
            help=f"Only this {name}; repeat or separate by commas for several.",
        )(command)
    command = click.option("--since", metavar="TIME", help="7d, 24h, 30m, 2w or an ISO date.")(
        command
    )
    command = click.option("--until", metavar="TIME", help="The same.")(command)
    command = click.option("--pinned", is_flag=True, help="Only pinned memories.")(command)
    return click.option(
        "--sort",
        type=click.Choice([str(sort) for sort in Sort]),
        help="Default: new, or relevance.",
    )(command)


def query_from(
    text: str,
    *,
    since: str | None,
    until: str | None,
    pinned: bool,
    sort: str | None,
    **filters: Sequence[str],
) -> Query:
    """The query of a command's text and options. Raises QueryError on an option that means
    nothing.

    What means nothing in the text is taken as plain words and said on standard error.
    """
    now = datetime.now(UTC)
    query = queries.parse_query(text, now)
    if query.hint:
        print(f"memtui: taken as plain words: {one_line(query.hint)}", file=sys.stderr)
    for name, values in filters.items():
        if values:
            field = name.removeprefix("filter_")
            part = queries.parse_condition(field, ",".join(values))
            query = queries.with_filter_values(query, field, part.values)
    if pinned:
        query = queries.with_filter_values(query, "pinned", ["yes"])
    return Query(
        terms=query.terms,
        conditions=query.conditions,
        since=queries.parse_time(since, now) if since else query.since,
        until=queries.parse_time(until, now) if until else query.until,
        sort=Sort(sort) if sort else query.sort,
    )


def store_option(command: Command) -> Command:
    """`--store PATH`, repeatable."""
    return click.option(
        "--store",
        "stores",
        multiple=True,
        metavar="PATH",
        help="A store to open, or the label of one that is found anyway; repeatable. "
        "Default: MEMTUI_STORES, config.toml, then discovery.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
