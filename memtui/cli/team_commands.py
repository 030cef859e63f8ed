"""The command for a team's memory in Postgres: `team init`, `team log`, `team undo`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memtui.changes import diff_lines, edit_diffs
from memtui.cli.options import argument, command, limit_option, option
from memtui.cli.output import print_json
from memtui.errors import Refused
from memtui.model import format_time
from memtui.text import date, mask_secrets, one_line

if TYPE_CHECKING:
    from memtui.stores.queryable import FormerVersion
    from memtui.team.store import TeamStore

NEXT = """\
-- Then, for each person:
--   create role anna login password '...';  grant memtui_writer to anna;
--   insert into memtui.members values ('our-team', 'anna');
"""


@command
def team(
    act: str = argument(type=click.Choice(["init", "log", "undo"])),
    service: str = argument(metavar="[SERVICE]", default=""),
    number: int = argument(metavar="[NUMBER]", type=click.IntRange(min=1), default=None),
    run: bool = option(help="init: run the SQL instead of printing it."),
    one_team: bool = option(help="init: leave out row-level security; the database has one team."),
    limit: int = limit_option(20, "changes"),
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Set up a team's memory in Postgres, or undo what anybody changed there.

    SERVICE is a section of pg_service.conf; the password belongs into .pgpass. `init` prints the
    SQL of the tables, indexes and roles. `log` lists the changes of everybody, newest first, and
    `undo` takes back the one with a NUMBER. `memtui postgres:SERVICE` opens the memory.
    """
    if act == "init":
        text = _schema(one_team)
        if not run:
            print(text + NEXT, end="")
            return
        from memtui.team.setup import run_schema

        run_schema(_named(service), text)
        print(f"The tables are in the database of {service}.\n{NEXT}", end="")
        return
    from memtui.team.store import TeamStore

    store = TeamStore(Path(f"postgres:{_named(service)}"), service)
    try:
        if act == "log":
            _log(store, limit, as_json)
        elif number is None:
            raise Refused("undo needs the number of a change", do=f"memtui team log {service}")
        else:
            _undo(store, number, dry_run)
    finally:
        store.close()


def _named(service: str) -> str:
    if not service:
        raise Refused("a service must be named", do="one of ~/.pg_service.conf")
    return service


def _schema(one_team: bool) -> str:
    """The SQL of a new database."""
    names = ["schema.sql"] if one_team else ["schema.sql", "row_security.sql"]
    return "".join((files("memtui.team") / name).read_text("utf-8") for name in names)


def _log(store: TeamStore, limit: int, as_json: bool) -> None:
    found = store.changes(limit)
    if as_json:
        print_json({"changes": [_record(each) for each in found]})
        return
    for each in found:
        headline = mask_secrets(one_line(each.memory.headline))[:60]
        print(f"{each.number:>6}  {date(each.until)}  {one_line(each.who):12}  {each.act:6}  "
              f"{each.memory.ref}  {headline}")  # fmt: skip


def _record(each: FormerVersion) -> dict[str, object]:
    return {
        "number": each.number,
        "time": format_time(each.until),
        "who": each.who,
        "act": each.act,
        "ref": each.memory.ref,
        "former": mask_secrets(each.memory.headline),
    }


def _undo(store: TeamStore, number: int, dry_run: bool) -> None:
    former = next(iter(store.changes(1, number)), None)
    if former is None:
        raise Refused(f"there is no change {number}")
    plan = store.plan_revert(former)
    for line in diff_lines(diff for edit in plan.edits for diff in edit_diffs(edit)):
        print(line)
    if not plan.edits:
        raise Refused("the memory is as it was before that change", where=former.memory.ref)
    if not dry_run:
        store.write(plan.edits)
        print(f"undone: change {number} of {former.memory.ref} by {one_line(former.who)}")
