"""Commands on the journal of changes: `log`, `undo`, `redo`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from memtui.changes import Kind
from memtui.cli.options import DEFAULT_LIMIT, argument, command, limit_option, option
from memtui.cli.output import print_effects, print_journal_fault, print_json, write_action
from memtui.cli.store_selection import open_library
from memtui.errors import StoreError
from memtui.model import format_time
from memtui.text import date, one_line
from memtui.tui.actions import BY_ID

if TYPE_CHECKING:
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
    actions = library.log(limit, anywhere=not stores, void=void)
    overwritten: dict[int, dict[str, None]] = {}
    for reverted in library.find_reverted(time.time() - LOOKBACK_SECONDS):
        overwritten.setdefault(reverted.action.id, {})[reverted.description] = None
    print_journal_fault(library)
    if as_json:
        print_json(
            [
                {
                    "number": action.id,
                    "time": format_time(datetime.fromtimestamp(action.time, UTC)),
                    "title": action.title,
                    "state": str(action.state),
                    "note": action.note,
                    "put_back": action.id in overwritten,
                    "files": sorted({e.path for e in action.edits if e.kind is not Kind.SIDECAR}),
                }
                for action in actions
            ]
        )
        return
    for action in actions:
        day = date(datetime.fromtimestamp(action.time, UTC))
        notes = [one_line(action.note)] if action.note else []
        notes += overwritten.get(action.id, ())
        note = f"  ({'; '.join(notes)})" if notes else ""
        print(f"{action.id:>5}  {day}  {action.state:<6}  {one_line(action.title)}{note}")


def _step_command(name: Literal["undo", "redo"], help_text: str) -> click.Command:
    def step(
        steps: int = argument(type=click.IntRange(min=1), default=1, metavar="[N]"),
        number: int | None = option(
            type=int, metavar="N", help="Number of one change in `memtui log`."
        ),
        *,
        stores: Sequence[str],
    ) -> None:
        library = _open_journal(stores)
        take_step = library.undo if name == "undo" else library.redo
        for _ in range(1 if number else steps):
            action = write_action(library, lambda: take_step(number, anywhere=not stores))
            print(f"{BY_ID[name].done}: {one_line(action.title)}")
            print_effects(action.effects)

    return command(step, help_text)


undo = _step_command("undo", "With N, undo the last N changes, newest first.")
redo = _step_command("redo", "With N, redo the last N of them.")
