"""Commands on how memories changed: `history`, `diff`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memtui.cli.options import argument, command, option, query_from
from memtui.cli.output import NOT_OPEN, apply_planned, print_json
from memtui.cli.store_selection import load_library, load_settings, open_library, read_library
from memtui.errors import QueryError, Refused
from memtui.insight.comparison import diff_words, mark_words
from memtui.model import format_time, to_record
from memtui.query import parse_time, parse_time_end
from memtui.text import date, one_line, visible

if TYPE_CHECKING:
    from memtui.insight.comparison import Difference
    from memtui.insight.versions import VersionHistory
    from memtui.library import Library
    from memtui.sessions import Session


@command
def history(
    refs: Sequence[str] = argument(metavar="[REF]"),
    number: int | None = option(
        "--restore",
        type=click.IntRange(min=1),
        metavar="N",
        help="Give the memory the text of version N again, as a new change.",
    ),
    forget: bool = option(help="Delete the texts that memtui kept of these stores, and end."),
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Show all versions of a memory, newest first, each as a word diff against the one before.

    Covers what it superseded and what superseded it, edits made with memtui, what memtui saw when
    it looked, versions the store keeps, and the git history of its file.
    """
    from memtui.library.change_authors import with_authors

    if forget:
        return _forget(open_library(stores))
    if len(refs) != 1:
        raise click.UsageError("Give one REF.")
    library = read_library(stores) if number is None else load_library(stores)
    memory = library.resolve(refs[0])
    found = with_authors(library, library.history(memory), _sessions())
    if number is not None:
        if number > len(found.versions):
            raise Refused(
                f"there is no version {number}", do=f"the last one is {len(found.versions)}"
            )
        former = found.versions[number - 1].memory
        return apply_planned(library, library.plan_restore_text(memory, former), dry_run, as_json)
    if as_json:
        print_json(_history_record(found))
    else:
        _print_history(found)
    return 0


def _sessions() -> Sequence[Session]:
    """The sessions of the programs that are on."""
    if not load_settings().session_programs:
        return ()
    from memtui.sessions.programs import chosen_sessions

    return chosen_sessions().sessions


def _forget(library: Library) -> int:
    from memtui.library.text_looks import forget_texts

    if not forget_texts(library, library.stores):
        click.echo("nothing was kept of these stores", err=True)
        return 1
    print("Forgotten: what was kept of", ", ".join(each.label for each in library.stores))
    return 0


def restore_as_of(
    stores: Sequence[str],
    times: Mapping[str, Sequence[str]],
    only_deleted: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Give back memories as they were; returns the exit code, 1 if some cannot be.

    Args:
        stores: Names of the stores.
        times: Time -> the refs that are given back as of then; none: all that has changed since.
        only_deleted: Only those that are gone.
        dry_run, as_json: As of the command.
    """
    from memtui.library.change_authors import authors_of, describe_authors
    from memtui.library.past_library import library_at
    from memtui.library.restoring import plan_restore

    library = load_library(stores)
    code = 0
    for time, names in times.items():
        at = parse_time(time, datetime.now(UTC)).time
        past = library_at(library, at, with_asked=False)
        refs = [past.resolve(name).ref for name in names] or None
        found = plan_restore(library, past, refs, only_deleted=only_deleted)
        for each in found.refused:
            click.echo(f"not restored: {one_line(each.memory.ref)}: {each.reason}", err=True)
        if not found.planned.has_edits and not found.refused:
            click.echo(f"nothing to restore: all is as it was at {date(at)}", err=True)
            continue
        for words in describe_authors(authors_of(library, found.changes, _sessions())):
            click.echo(f"was changed: {words}", err=True)
        code = max(code, apply_planned(library, found.planned, dry_run, as_json))
        code = max(code, 1 if found.refused else 0)
    return code


def _history_record(found: VersionHistory) -> dict[str, Any]:
    return {
        "ref": found.lineage.memory.ref,
        "complete": not found.left_out,
        "left_out": found.left_out,
        "missing": list(found.missing),
        "versions": [
            {
                "number": at + 1,
                "ref": version.memory.ref,
                "time": format_time(version.time),
                "origin": str(version.origin),
                "author": version.author,
                "note": version.note,
                "present": version.is_present,
                "follows": found.before[at] + 1 if found.before[at] >= 0 else None,
                "title": version.memory.title,
                "content": version.memory.content,
                "diff": [list(piece) for piece in _diff(found, at)],
                "memory": to_record(version.memory) if version.is_present else None,
            }
            for at, version in reversed([*enumerate(found.versions)])
        ],
    }


def _diff(found: VersionHistory, at: int) -> list[tuple[str, str]]:
    former = found.previous(at)
    return diff_words(former.text, found.versions[at].text) if former is not None else []


def _print_history(found: VersionHistory) -> None:
    for at, version in reversed([*enumerate(found.versions)]):
        if at < len(found.versions) - 1:
            print()
        memory = version.memory
        status = memory.status if version.is_present else "former text"
        by = f"by {one_line(version.author)}" if version.author else ""
        named = "" if version.origin in ("store", "kept version") else f"{version.origin} "
        origin = f"{named}{one_line(version.note)}"
        mark = "*" if memory.ref == found.lineage.memory.ref else " "
        parts = (f"{at + 1:>3}{mark}", date(version.time), one_line(memory.ref), status, origin, by)
        print(
            "  ".join(
                column.rstrip() if column.strip() else "" for column in parts if column.strip()
            )
        )
        former = found.previous(at)
        text = version.text
        shown = text if former is None else mark_words(diff_words(former.text, text))
        for line in visible(shown).split("\n"):
            print(f"    {line}")
    for id in found.missing:
        print(f"\n{one_line(id)}  {NOT_OPEN}")
    if found.left_out:
        click.echo(f"not all versions, git: {one_line(found.left_out)}", err=True)


@command
def diff(
    since: str | None,
    until: str | None,
    as_markdown: bool = option("--markdown", help="Output Markdown, for a report."),
    *,
    stores: Sequence[str],
    as_json: bool,
    **filters: Any,
) -> None:
    """Show what was added, changed, superseded, removed and restored between two times.

    --since takes a time, or `last`: since these stores were last open on the screen; default: 7d.
    --until takes a time; default: now. Other options filter the memories.
    """
    from memtui.insight.comparison import to_markdown
    from memtui.library.time_views import compare_times

    now = datetime.now(UTC)
    start = _last_seen(stores) if since == "last" else parse_time(since or "7d", now).time
    end = parse_time_end(until, now).time if until else None
    if end is not None and end < start:
        raise QueryError("--until is before --since", do="swap the two times")
    query = query_from("", since=None, until=None, **filters)
    library = read_library(stores)
    asked = None if query.is_empty else query
    found = compare_times(library, start, end, asked, sessions=_sessions())
    if as_json:
        record = {
            "since": format_time(start),
            "until": format_time(end or now),
            "differences": [each.as_record() for each in found],
        }
        print_json(record)
    elif as_markdown:
        print(to_markdown(found, start, end or now))
    else:
        _print_differences(found)
        if not found:
            click.echo("no changes", err=True)


def _last_seen(stores: Sequence[str]) -> datetime:
    from memtui import paths
    from memtui.config import session

    key = session.key_for(Path(name).absolute() for name in stores)
    previous = session.load(paths.state_folder(), key).seen
    try:
        return datetime.fromisoformat(previous)
    except ValueError:
        raise Refused(
            "these stores have not been open on the screen yet", do="give a time, such as 7d"
        ) from None


_SIGNS = {"added": "+", "changed": "~", "superseded": ">", "removed": "-", "restored": "^"}


def _print_differences(found: Sequence[Difference]) -> None:
    for each in found:
        memory = each.memory
        by = f"by {one_line(each.by)}" if each.by else ""
        parts = (str(each.kind), one_line(memory.ref), one_line(memory.entity), date(each.time), by)
        print(f"{_SIGNS[each.kind]} {'  '.join(column for column in parts if column)}")
        if each.kind == "changed":
            shown = mark_words(each.text_diff())
            if each.fields:
                print(f"    changed: {', '.join(each.fields)}")
        else:
            shown = memory.headline
        for line in visible(shown).split("\n"):
            print(f"    {line}")
