"""Commands on the journal of changes: `log`, `undo`, `redo`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec.structs import asdict

from memtui.changes import Kind
from memtui.cli.options import DEFAULT_LIMIT, argument, command, limit_option, option
from memtui.cli.output import print_effects, print_journal_fault, print_json, write_action
from memtui.cli.store_selection import open_library
from memtui.errors import Refused, StoreError
from memtui.journal import ActionState
from memtui.model import format_time
from memtui.text import date, one_line
from memtui.tui.actions import BY_ID

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library


def _open_journal(stores: Sequence[str]) -> Library:
    """Open the library whose journal is meant: of the named stores, or of every store."""
    from memtui import paths
    from memtui.library import Library

    every = Library((), state=paths.state_folder())
    if not stores:
        return every
    try:
        return open_library(stores)
    except StoreError as error:  # perhaps a change of memtui took its last file away
        roots = {str(Path(name).absolute()) for name in stores}
        for action in every.log(DEFAULT_LIMIT, anywhere=True, void=False):
            if not roots.isdisjoint(action.stores):
                do = f"its last change: memtui undo --number {action.id}"
                raise StoreError(error.what, where=error.where, do=do) from error
        raise


@command
def log(
    limit: int = limit_option(DEFAULT_LIMIT, "changes"),
    void: bool = option("--all", help="Include failed changes."),
    by: str = option(
        default="", metavar="CLIENT", help="Only changes that this agent's program made."
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> None:
    """Show the changes made with memtui, newest first.

    Without --store it covers every store, as undo and redo do. The numbers are those that
    `memtui undo --number` takes.
    """
    from memtui.library.reverted_edits import LOOKBACK_SECONDS

    library = _open_journal(stores)
    actions = library.log(_EVERY if by else limit, anywhere=not stores, void=void)
    if by:
        actions = [one for one in actions if one.author is not None and one.author.client == by]
        actions = actions[:limit]
    overwritten: dict[int, dict[str, None]] = {}
    for reverted in library.find_reverted(time.time() - LOOKBACK_SECONDS):
        overwritten.setdefault(reverted.action.id, {})[reverted.description] = None
    print_journal_fault(library)
    if as_json:
        records = [{**_record(one), "put_back": one.id in overwritten} for one in actions]
        print_json({"changes": records})
        return
    if not actions:
        click.echo("no changes", err=True)
    for action in actions:
        day = date(datetime.fromtimestamp(action.time, UTC))
        author = action.author
        notes = [] if author is None else [one_line(f"by {author}, session {author.session}")]
        notes += [one_line(action.note)] if action.note else []
        notes += overwritten.get(action.id, ())
        note = f"  ({'; '.join(notes)})" if notes else ""
        print(f"{action.id:>5}  {day}  {action.state:<6}  {one_line(action.title)}{note}")


def _record(action: JournalAction) -> dict[str, Any]:
    return {
        "number": action.id,
        "time": format_time(datetime.fromtimestamp(action.time, UTC)),
        "title": action.title,
        "state": str(action.state),
        "note": action.note,
        "by": None if action.author is None else asdict(action.author),
        "files": sorted({e.path for e in action.edits if e.kind is not Kind.SIDECAR}),
    }


_EVERY = 1 << 31
"""More changes than a journal has."""


_NUMBER = option("--number", type=int, metavar="N", help="Number of one change in `memtui log`.")
_STEPS = argument(type=click.IntRange(min=1), default=1, metavar="[N]")


@command
def undo(
    steps: int = _STEPS,
    number: int | None = _NUMBER,
    session: str = option(default="", metavar="ID", help="All that an agent did in this session."),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> None:
    """With N, undo the last N changes, newest first.

    `memtui log` shows the sessions of agents.
    """
    library = _open_journal(stores)
    numbers = [number] * (1 if number else steps)
    if session:
        numbers = [
            action.id
            for action in library.log(_EVERY, anywhere=not stores, void=False)
            if action.author is not None
            and action.author.session == session
            and action.state in (ActionState.DONE, ActionState.UNSURE)
        ]
        if not numbers:
            raise Refused(f"there is nothing to undo of a session {one_line(session)!r}")
    take_steps("undo", library, numbers, anywhere=not stores, as_json=as_json)


@command
def redo(
    steps: int = _STEPS, number: int | None = _NUMBER, *, stores: Sequence[str], as_json: bool
) -> None:
    """With N, redo the last N of them."""
    numbers = [number] * (1 if number else steps)
    take_steps("redo", _open_journal(stores), numbers, anywhere=not stores, as_json=as_json)


def take_steps(
    name: Literal["undo", "redo"],
    library: Library,
    numbers: Sequence[int | None],
    *,
    anywhere: bool,
    as_json: bool,
) -> None:
    """Undo or redo actions, and print each; see `Library.undo`."""
    take_step = library.undo if name == "undo" else library.redo
    taken: list[JournalAction] = []
    try:
        for number in numbers:
            action = write_action(library, partial(take_step, number, anywhere=anywhere))
            taken.append(action)
            if not as_json:
                print(f"{BY_ID[name].done}: {one_line(action.title)}")
                print_effects(action.effects)
    finally:  # those before one that failed are done too
        if as_json:
            effects = [{**_record(one), "effects": list(one.effects)} for one in taken]
            print_json({"changes": effects})
