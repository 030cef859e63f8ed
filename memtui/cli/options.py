"""Make commands of functions; the options that several share, and the query of the filter options.

The signature of a function is its command line. A parameter with a default is what that says; one
of a name in `SHARED` or `FILTERS` is that option; `**filters` and `**options` are a group of them;
any other is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from inspect import Parameter, signature
from typing import Any

import click
from msgspec.structs import replace

from memtui import query as queries
from memtui.cli.completion import COMPLETIONS
from memtui.errors import QueryError
from memtui.files.permissions import replacing_protected
from memtui.query import SORT_NAMES, Query
from memtui.text import one_line, reveal_secrets

DEFAULT_LIMIT = 20
"""Memories or changes printed without `--limit`."""

_Make = Callable[[Parameter], click.Parameter]


def option(*names: str, **attributes: Any) -> Any:
    """The default of a parameter that is an option; `attributes` are those of `click.Option`.

    Without names it is called like the parameter. A `bool` is a flag, a `Sequence` is repeatable.
    """

    def make(parameter: Parameter) -> click.Option:
        kind = str(parameter.annotation)
        # With `is_flag=False` click takes a value that begins with a dash for another option.
        flag = {"is_flag": True} if kind == "bool" else {}
        completed = {"shell_complete": COMPLETIONS.get(parameter.name)}
        given = {**flag, "multiple": kind.startswith("Sequence"), **completed, **attributes}
        declared = names or (f"--{parameter.name.replace('_', '-')}",)
        return click.Option([*declared, parameter.name], **given)

    return make


def argument(**attributes: Any) -> Any:
    """The default of a parameter that is an argument; a `Sequence` takes all that are left."""

    def make(parameter: Parameter) -> click.Argument:
        many = -1 if str(parameter.annotation).startswith("Sequence") else 1
        complete = COMPLETIONS.get(parameter.name)
        return click.Argument([parameter.name], nargs=many, shell_complete=complete, **attributes)

    return make


def limit_option(default: int, of: str = "memories") -> Any:
    """`--limit N`, with the number that is printed without it."""
    about = f"Maximum number of {of} to print."
    kind = click.IntRange(min=1)
    return option("--limit", type=kind, default=default, show_default=True, metavar="N", help=about)


def _replace_protected(context: click.Context, _option: click.Parameter, is_wanted: bool) -> bool:
    """Let the command replace files without write permission, if that is wanted, and say so."""

    def tell() -> None:
        for each in replaced:
            stays = f" ({each.consequence})" if each.consequence else ""
            click.echo(f"memtui: {one_line(each.where)}: it was {each.verb}d{stays}", err=True)

    context.call_on_close(tell)
    replaced = context.with_resource(replacing_protected(is_wanted))
    return is_wanted


def force_option(also: str = "") -> Any:
    """The default of a parameter `force`. `also`: what it does besides replacing files without
    write permission."""
    files = "Replace a file without write permission; its owner and mode stay."
    return option(is_flag=True, callback=_replace_protected, help=f"{also} {files}".strip())


def add_force(command: click.Command) -> None:
    """Add `--force` to a command that has none; its function is not told of it."""
    if not any(each.name == "force" for each in command.params):
        made = force_option()(Parameter("force", Parameter.KEYWORD_ONLY))
        made.expose_value = False
        command.params.append(made)


def show_secrets_option() -> click.Option:
    """`--show-secrets`, of every command that prints texts of memories (`memtui.cli.group`)."""
    return click.Option(
        ["--show-secrets", "secrets"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=lambda _context, _option, is_wanted: reveal_secrets(is_wanted),
        help="Show passwords and keys, which are masked otherwise.",
    )


SHARED: Mapping[str, _Make] = {
    "stores": option(
        "--store",
        multiple=True,
        metavar="PATH",
        help="Path of a store to open, or label of one that is found by default; repeatable. "
        "Default: those of MEMTUI_STORES, of config.toml, or found in the default locations.",
    ),
    "as_of": option(
        metavar="TIME",
        help="Show what was believed at this time, as it was written then. A date means its end.",
    ),
    "force": force_option("Write even if a rule of the store would reject it."),
    "dry_run": option(is_flag=True, help="Show what would change, without writing anything."),
    "as_json": option("--json", is_flag=True, help="Output JSON."),
    "limit": limit_option(DEFAULT_LIMIT),
    "everything": option("--all", help="No limit."),
}
"""Name of a parameter -> the option."""

_TIMES = "7d, 24h, 30m, 2w, 3mo, 1y or an ISO date"
_VALUES = ("type", "importance", "status", "entity", "kind", "tag")
FILTERS: Mapping[str, _Make] = {
    **{
        f"filter_{name}": option(
            f"--{name}",
            multiple=True,
            metavar=name.upper(),
            help=f"Filter by {name}; repeatable, or comma-separated.",
        )
        for name in _VALUES
    },
    "since": option(metavar="TIME", help=f"Only from this time on: {_TIMES}."),
    "until": option(metavar="TIME", help=f"Only up to this time: {_TIMES}."),
    "pinned": option(is_flag=True, help="Only pinned memories."),
    "sort": option(
        metavar="KEYS",
        help=f"Order of the results: {', '.join(SORT_NAMES)}; several with commas, - reverses."
        " Default: new, or relevance for a search.",
    ),
}
"""The options that `query_from` takes."""
_GROUPS = {
    "filters": FILTERS,
    "options": {name: SHARED[name] for name in ("stores", "dry_run", "as_json")},
}
"""Name of the parameter that takes them -> the options of a group."""


def command(function: Callable[..., object], help_text: str | None = None) -> click.Command:
    """Make the command of a function; the help is this text, else its docstring."""
    parameters = signature(function).parameters
    made: list[click.Parameter] = []
    for name, parameter in parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            for each, make in _GROUPS[name].items():
                if each not in parameters:
                    made.append(make(Parameter(each, Parameter.KEYWORD_ONLY)))
        elif parameter.default is not Parameter.empty:
            made.append(parameter.default(parameter))
        else:
            made.append({**FILTERS, **SHARED}.get(name, argument())(parameter))
    callback = function
    if any(each.name == "stores" for each in made) and not any(
        isinstance(each, click.Argument) for each in made
    ):
        paths = argument(metavar="[PATH]...")
        many = Parameter("paths", Parameter.KEYWORD_ONLY, annotation="Sequence[str]")
        made.append(paths(many))
        callback = _with_paths(function)
    return click.Command(None, callback=callback, params=made, help=help_text or function.__doc__)


def _with_paths(function: Callable[..., object]) -> Callable[..., object]:
    """The function of a command without other arguments: paths are stores, as of `memtui` alone."""

    def call(*, stores: Sequence[str], paths: Sequence[str], **options: Any) -> object:
        return function(stores=(*stores, *paths), **options)

    return call


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
    query = queries.parse_search(text, now)
    if query.error is not None:
        raise QueryError(query.error.text)
    if any(c.field == "is" and "marked" in c.values for c in query.all_conditions):
        raise QueryError("is:marked is for the screen, where space marks memories")
    for name, values in filters.items():
        if values:
            query = filtered(query, name.removeprefix("filter_"), values)
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


def filtered(query: Query, field: str, values: Sequence[str]) -> Query:
    """The query with one more filter; each value may be several with commas. Raises QueryError."""
    condition = queries.parse_condition(field, ",".join(values))
    return queries.with_filter_values(query, field, condition.values)
