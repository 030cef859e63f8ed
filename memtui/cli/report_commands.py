"""The command that writes what a query shows as a page: `report`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memtui.cli.options import argument, command, option, query_from
from memtui.cli.output import shown_progress
from memtui.cli.store_selection import load_settings, read_library
from memtui.progress import Report
from memtui.query import Query, parse_time
from memtui.text import counted, masked_always, one_line, size

if TYPE_CHECKING:
    from memtui.insight.comparison import Difference
    from memtui.library import Library
    from memtui.library.review_files import Queue

_FILE = click.Path(path_type=Path, dir_okay=False)


@command
def report(
    text: Sequence[str] = argument(required=False),
    output: Path = option(
        "-o",
        "--output",
        type=_FILE,
        metavar="FILE",
        required=True,
        help="HTML file to write.",
    ),
    title: str = option(default="What the agents remember", metavar="TEXT", help="Its title."),
    since: str | None = option(metavar="TIME", help="Tell what changed since this time, too."),
    with_review: bool = option("--review", help="Tell what waits in the review, too."),
    *,
    as_of: str | None,
    stores: Sequence[str],
    **filters: Any,
) -> None:
    """Write what a query shows as one HTML file, to send to people without memtui.

    TEXT takes the syntax of the search line; without it the page holds all current memories. The
    file has no script and loads nothing; secrets are masked. It says what it leaves out.
    """
    from memtui.files.staging import write_file
    from memtui.report.contents import collect
    from memtui.report.page import render

    query = query_from(" ".join(text), since=None, **filters)
    library = read_library(stores, as_of)
    start = parse_time(since, library.now()).time if since else None
    with masked_always(), shown_progress() as progress:
        if text:
            library.index(progress)
        page = collect(
            library,
            library.find(query),
            title,
            " ".join(text),
            since=start,
            changes=_changes(library, start, query) if start else (),
            queue=_review(library, progress) if with_review else None,
        )
        pieces = [piece.encode("utf-8", "replace") for piece in render(page)]
        write_file(output, pieces)
    click.echo(
        f"{one_line(str(output))}: {counted(page.shown, 'memory')}, {size(sum(map(len, pieces)))}",
        err=True,
    )


def _changes(library: Library, since: datetime, query: Query) -> Sequence[Difference]:
    from memtui.library.time_views import compare_times

    return compare_times(library, since, None, None if query.is_empty else query)


def _review(library: Library, progress: Report) -> Queue:
    from memtui.library.review import ReviewQueue

    return ReviewQueue(library, load_settings().review, ()).scan(None, progress)
