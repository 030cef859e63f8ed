"""Apply what a command planned: confirmations, the write, and the printed outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memtui.changes import Outcome
from memtui.cli.output import print_diffs, print_json
from memtui.errors import ForeignOwner, Refused
from memtui.text import cut, one_line

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.model import Memory

Result = TypeVar("Result")


def apply_planned(library: Library, planned: Planned, dry_run: bool, as_json: bool) -> int:
    """Apply the plan unless `dry_run`, and print its outcome.

    Returns:
        The exit code: 1 if a rule of the store rejected the change, else 0.
    """
    if not dry_run and planned.has_edits:
        action = confirm_owner(library, lambda: library.apply(planned))
        planned = planned.with_written_refs(action.refs)
    if as_json:
        print_json(_to_records(planned, dry_run))
    else:
        _print_outcome(planned)
        if dry_run:
            print_diffs(planned.diffs())
    return 1 if planned.outcome is Outcome.REJECTED else 0


def _print_outcome(planned: Planned) -> None:
    for plan in planned.plans:
        refs = " ".join(one_line(ref) for ref in plan.refs)
        reason = f": {one_line(plan.reason)}" if plan.reason else ""
        print(f"{plan.outcome} {refs}{reason}".rstrip())
    for ref in planned.supersedes:
        print(f"  supersedes {one_line(ref)}")
    for warning in planned.warnings:
        print(f"memtui: {one_line(warning)}", file=sys.stderr)


def _to_records(planned: Planned, dry_run: bool) -> list[dict[str, Any]]:
    return [
        {
            "outcome": str(plan.outcome),
            "reason": plan.reason,
            "refs": list(plan.refs),
            "supersedes": list(plan.supersedes),
            "warnings": list(plan.warnings),
            "done": bool(plan.edits) and not dry_run,
        }
        for plan in planned.plans
    ]


def confirm_owner(library: Library, write: Callable[[], Result]) -> Result:
    """Run `write`; ask before a save that changes the owner of a file, then run it again.

    Raises ForeignOwner if the person declines or there is no terminal to ask on.
    """
    while True:
        try:
            return write()
        except ForeignOwner as error:
            question = f"{error.where}: {error.what}. Change the owner and save?"
            if not sys.stdin.isatty() or not click.confirm(question, err=True):
                raise
            library.accept_ownership(error.path)


def confirm_deletion(memory: Memory) -> bool:
    """Ask whether to delete the memory. Raises Refused without a terminal."""
    if not sys.stdin.isatty():
        raise Refused("confirmation required", do="use --force when not running interactively")
    name = f"{one_line(memory.ref)} ({cut(one_line(memory.headline), 50)})"
    return click.confirm(f"Delete {name}? `memtui undo` restores it", err=True)
