"""Options that most commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


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
