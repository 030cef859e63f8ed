"""Options that several commands share, and the query that the filter options make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from memtui import query as queries
from memtui.errors import QueryError
from memtui.query import SORT_NAMES, Query
from memtui.text import reveal_secrets

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_LIMIT = 20
"""Memories or changes printed without `--limit`."""

_TIMES = "7d, 24h, 30m, 2w, 3mo, 1y or an ISO date"
_VALUES = ("type", "importance", "status", "entity", "kind", "tag")


def filter_options(command: Command) -> Command:
    """`--type --importance --status --entity --kind --tag --since --until --pinned --sort`."""
    decorators = [
        click.option(
            f"--{name}",
            f"filter_{name}",
            multiple=True,
            metavar=name.upper(),
            help=f"Filter by {name}; repeatable, or comma-separated.",
        )
        for name in _VALUES
    ]
    decorators += [
        click.option("--since", metavar="TIME", help=f"Only from this time on: {_TIMES}."),
        click.option("--until", metavar="TIME", help=f"Only up to this time: {_TIMES}."),
        click.option("--pinned", is_flag=True, help="Only pinned memories."),
        click.option(
            "--sort",
            metavar="KEYS",
            help=f"Order of the results: {', '.join(SORT_NAMES)}; several with commas, - reverses."
            " Default: new, or relevance for a search.",
        ),
    ]
    for decorate in reversed(decorators):  # the last decorator applied is shown first
        command = decorate(command)
    return command


def query_from(
    text: str,
    *,
    since: str | None,
    until: str | None,
    pinned: bool,
    sort: str | None,
    prefer: Sequence[str] = (),
    **filters: Sequence[str],
) -> Query:
    """Make the query of a command's text and filter options.

    Raises QueryError if a filter of the text or an option cannot be parsed.
    """
    now = datetime.now(UTC)
    query = queries.parse_query(text, now)
    if query.error is not None:
        raise QueryError(query.error.text)
    if any(
        condition.field == "is" and "marked" in condition.values
        for condition in query.all_conditions
    ):
        raise QueryError("is:marked is for the screen, where space marks memories")
    for name, values in filters.items():
        if values:
            field = name.removeprefix("filter_")
            condition = queries.parse_condition(field, ",".join(values))
            query = queries.with_filter_values(query, field, condition.values)
    if pinned:
        query = queries.with_filter_values(query, "pinned", ["yes"])
    keys = queries.parse_sort(sort) if sort else ()
    preferred = queries.parse_condition("prefer", ",".join(prefer)).values if prefer else ()
    return replace(
        query,
        since=queries.parse_time(since, now) if since else query.since,
        until=queries.parse_time_end(until, now) if until else query.until,
        sort=keys[0] if keys else query.sort,
        then=keys[1:] if keys else query.then,
        prefer=tuple(dict.fromkeys((*query.prefer, *preferred))),
    )


def store_option(command: Command) -> Command:
    """`--store PATH`, repeatable."""
    return click.option(
        "--store",
        "stores",
        multiple=True,
        metavar="PATH",
        help="Path of a store to open, or label of one that is found by default; repeatable. "
        "Default: those of MEMTUI_STORES, of config.toml, or found in the default locations.",
    )(command)


def as_of_option(command: Command) -> Command:
    """`--as-of TIME`."""
    return click.option(
        "--as-of",
        "as_of",
        metavar="TIME",
        help="What was believed at this time (of a day: its end), in the texts of then.",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Output JSON.")(command)


def show_secrets_option(command: Command) -> Command:
    """`--show-secrets`, of every command that prints texts of memories (`memtui.cli.group`)."""

    def reveal(_context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
        reveal_secrets(is_wanted)

    return click.option(
        "--show-secrets",
        "secrets",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=reveal,
        help="Show passwords and keys, which are masked otherwise.",
    )(command)


def dry_run_option(command: Command) -> Command:
    """`--dry-run`."""
    return click.option(
        "--dry-run", is_flag=True, help="Show what would change, without writing anything."
    )(command)


def change_options(command: Command) -> Command:
    """`--store PATH`, `--dry-run` and `--json`, of every command that changes memories."""
    return store_option(dry_run_option(json_option(command)))


def force_option(command: Command) -> Command:
    """`--force`, for what a rule of the store would refuse."""
    return click.option(
        "--force", is_flag=True, help="Write even if a rule of the store would reject it."
    )(command)


def limit_option(default: int, of: str = "memories") -> Callable[[Command], Command]:
    """`--limit N`, with the number that is printed without it."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        metavar="N",
        help=f"Maximum number of {of} to print.",
    )


def limit_options(command: Command) -> Command:
    """`--limit N` and `--all`."""
    command = click.option("--all", "everything", is_flag=True, help="No limit.")(command)
    return limit_option(DEFAULT_LIMIT)(command)
