"""`history`, `log`, `undo`, `redo`: what was changed, and taking it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memtui.cli.consent import with_consent
from memtui.cli.filters import json_option, store_option
from memtui.cli.output import print_json, print_memories
from memtui.cli.stores import library_of, loaded
from memtui.model import to_record
from memtui.text import date, one_line

if TYPE_CHECKING:
    from memtui.library import Library


@click.command("history")
@click.argument("ref")
@store_option
@json_option
def history(ref: str, stores: Sequence[str], as_json: bool) -> None:
    """Show what a memory replaced and what replaced it, oldest first."""
    library = loaded(stores)
    lineage = library.lineage(library.resolve(ref))
    if as_json:
        versions = [
            {"id": r.id, "memory": to_record(r.memory) if r.memory else None}
            for r in lineage.history
        ]
        print_json(versions)
        return
    for relative in lineage.history:
        if relative.memory is None:
            print(f"{one_line(relative.id)}  not in any open store")
        else:
            print_memories([relative.memory])


Command = TypeVar("Command", bound=Callable[..., Any])


def _journal(stores: Sequence[str]) -> Library:
    """The library to ask for its journal; without a store named, that of all stores."""
    from memtui import paths as places
    from memtui.library import Library

    return library_of(stores) if stores else Library((), state=places.state_folder())


@click.command("log")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--all", "void", is_flag=True, help="Also what failed and left nothing on disk.")
@store_option
@json_option
def log(limit: int, void: bool, stores: Sequence[str], as_json: bool) -> None:
    """Show what memtui changed, newest first, with the numbers that undo --number takes.

    In any store, unless --store names some; undo and redo do the same.
    """
    from memtui.library.reverted_edits import LOOKED_BACK

    library = _journal(stores)
    actions = library.log(limit, anywhere=not stores, void=void)
    put_back: dict[int, dict[str, None]] = {}
    for each in library.find_reverted(time.time() - LOOKED_BACK):
        put_back.setdefault(each.action.id, {})[each.description] = None
    if as_json:
        print_json(
            [
                {
                    "number": action.id,
                    "time": _iso(action.time),
                    "title": action.title,
                    "state": str(action.state),
                    "note": action.note,
                    "put_back": action.id in put_back,
                    "files": sorted({getattr(edit, "path", "") for edit in action.edits} - {""}),
                }
                for action in actions
            ]
        )
        return
    for action in actions:
        when = date(datetime.fromtimestamp(action.time, UTC))
        notes = [one_line(action.note)] if action.note else []
        notes += put_back.get(action.id, ())
        note = f"  ({'; '.join(notes)})" if notes else ""
        print(f"{action.id:>5}  {when}  {action.state:<6}  {one_line(action.title)}{note}")


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _steps(command: Command) -> Command:
    """`[N]` steps, or one action by `--number`."""
    command = click.argument("steps", type=click.IntRange(min=1), default=1, metavar="[N]")(command)
    return click.option("--number", type=int, help="The one with this number in the log.")(command)


@click.command("undo")
@_steps
@store_option
def undo(steps: int, number: int | None, stores: Sequence[str]) -> None:
    """Take back the last change, or the last N."""
    library = _journal(stores)
    for _ in range(1 if number else steps):
        action = with_consent(library, lambda: library.undo(number, anywhere=not stores))
        print(f"undone: {one_line(action.title)}")


@click.command("redo")
@_steps
@store_option
def redo(steps: int, number: int | None, stores: Sequence[str]) -> None:
    """Do the last undone change again, or the last N."""
    library = _journal(stores)
    for _ in range(1 if number else steps):
        action = with_consent(library, lambda: library.redo(number, anywhere=not stores))
        print(f"done again: {one_line(action.title)}")
