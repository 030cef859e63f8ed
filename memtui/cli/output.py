"""Print JSON or plain lines that fit the terminal; apply what a command planned, and print it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from memtui.changes import Change, Outcome, diff_lines
from memtui.errors import Refused
from memtui.model import Memory
from memtui.progress import Progress, Report, silent
from memtui.text import (
    column,
    cut,
    cut_line,
    mask_record,
    mask_value,
    number,
    one_line,
    pad,
    short_ago,
    visible,
    without_lone_surrogates,
)

if TYPE_CHECKING:
    from memtui.changes import FileDiff
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.model import Memory

AGE_CELLS, IMPORTANCE_CELLS = 5, 6
STORE_CELLS, TYPE_CELLS, ENTITY_CELLS = 14, 14, 22
"""Widths of the columns of a printed memory."""
NOT_OPEN = "not in any open store"
"""Printed in place of the text of a memory that others refer to."""
WIDE = 10_000
"""Columns to assume without a terminal, so that nothing is cut."""


def print_json(document: Any) -> None:
    """Print one ASCII-only document, so that no byte of a store can act on a terminal.

    Secrets are masked, but for `--show-secrets`. A lone surrogate becomes U+FFFD, because jq and
    others reject a document with one. `export` keeps both.
    """
    json.dump(mask_record(_replace_surrogates(document)), sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, Mapping):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_surrogates(item) for item in value]
    return value


def columns() -> int:
    """Return the width of the terminal, or `WIDE` if the output goes elsewhere."""
    if not sys.stdout.isatty():
        return WIDE
    from shutil import get_terminal_size

    return get_terminal_size((80, 24)).columns


def print_memories(
    memories: Iterable[Memory],
    handles: Mapping[str, str],
    names: Callable[[str], str] | None = None,
    about: Collection[str] = (),
) -> None:
    """Print one line each: handle, age, importance, type, entity, headline.

    Args:
        memories: What is printed.
        handles: Those of `Library.handles`, by ref; the longest one gives the width of the column.
        names: Gives what stands before them for the label of a store.
        about: Refs of memories with no time but that of their file, marked `~`.
    """
    now, width, cells = datetime.now(UTC), columns(), handle_cells(handles)
    for memory in memories:
        head = "  ".join(
            (
                *((column(names(memory.store), STORE_CELLS),) if names else ()),
                pad(one_line(handles[memory.ref]), cells),
                pad("~" * (memory.ref in about) + short_ago(memory.when, now), AGE_CELLS),
                pad(memory.importance, IMPORTANCE_CELLS),
                column(memory.shown_type, TYPE_CELLS),
                column(memory.entity, ENTITY_CELLS),
            )
        )
        mark = "" if memory.status == "active" else f"[{memory.shown_status}] "
        mark += f"[{memory.later_text}] " if memory.later_text else ""
        print(cut(f"{head}  {mark}{one_line(memory.headline)}", width).rstrip())


def handle_cells(handles: Mapping[str, str]) -> int:
    """The width of a column of handles, of which none is cut: they are there to be typed."""
    return max(map(len, handles.values()), default=0)


def print_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Print aligned names and values; the lines of a long value keep its column."""
    width = max((len(name) for name, value in fields if value), default=0)
    for name, value in fields:
        if value:
            first, *rest = visible(mask_value(name, value)).split("\n")
            print(f"{name.ljust(width)}  {first}")
            for line in rest:
                print(f"{' ' * width}  {line}")


MAX_COUNTS = 12
"""Counts that are printed one by one; the others are summed."""


def print_counts(title: str, counts: Mapping[str, int]) -> None:
    """Print a heading and its counts."""
    print(title)
    shown = list(counts.items())[:MAX_COUNTS]
    rest = sum(counts.values()) - sum(count for _, count in shown)
    if rest:
        shown.append(("others", rest))
    for name, count in shown:
        print(f"  {count:>7,}  {one_line(name)}")


def print_diffs(diffs: Iterable[FileDiff]) -> None:
    """Print each file's change as a unified diff, its secrets masked."""
    for line in diff_lines(diffs):
        print(line)


@contextmanager
def shown_progress() -> Iterator[Report]:
    """What shows progress on one line of standard error, if that is a terminal; the line goes at
    the end."""
    if not sys.stderr.isatty():
        yield silent
        return

    def show(progress: Progress) -> None:
        of = f" {number(progress.done)} of {number(progress.total)}" if progress.total else ""
        print(f"\r\x1b[K{one_line(progress.what)}{of}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def apply_change(library: Library, change: Change, dry_run: bool, as_json: bool) -> int:
    """Plan a change, then as `apply_planned`."""
    return apply_planned(library, library.plan([change]), dry_run, as_json)


def count_accesses(library: Library, refs: Iterable[str]) -> None:
    """Count one access of each memory; name the stores where that is not possible."""
    _, faults = library.count_accesses(refs)
    for label, error in faults.items():
        words = f"{library.names.of(label)}: the accesses are not counted: {error}"
        print(f"memtui: {one_line(words)}", file=sys.stderr)


def print_effects(effects: Iterable[str], file: TextIO | None = None) -> None:
    """Print what a change means for the programs, a line each."""
    for effect in effects:
        print(one_line(effect), file=file)


def apply_planned(library: Library, planned: Planned, dry_run: bool, as_json: bool) -> int:
    """Apply the plan unless `dry_run`, and print its outcome.

    Returns:
        The exit code: 1 if a rule of the store rejected the change, else 0.
    """
    if not dry_run and planned.has_edits:
        action = write_action(library, lambda: library.apply(planned))
        planned = planned.with_written_refs(action.refs)
    if as_json:
        print_json({"outcomes": _to_records(planned, dry_run)})
    else:
        if dry_run:
            print_effects(_effects(planned))
        for plan in planned.plans:
            words = " ".join([str(plan.outcome), *map(one_line, plan.refs)])
            print(f"{words}: {one_line(plan.reason)}" if plan.reason else words)
        for ref in planned.supersedes:
            print(f"  supersedes {one_line(ref)}")
        for warning in planned.warnings:
            print(f"memtui: {one_line(warning)}", file=sys.stderr)
        if dry_run:
            print_dry_run(planned, library)
        else:
            print_effects(_effects(planned))
    return 1 if planned.outcome is Outcome.REJECTED else 0


def print_dry_run(planned: Planned, library: Library) -> None:
    """Print what a plan would write, files of memories first; and on standard error what it needs
    `--force` for."""
    from memtui.files.permissions import find_protected
    from memtui.library.planning import in_words

    diffs = planned.diffs()
    if error := find_protected(Path(diff.path) for diff in diffs if diff.before != diff.after):
        print(f"memtui: {one_line(str(error))}", file=sys.stderr)
    print_diffs(sorted(in_words(diffs, library), key=lambda diff: ".memtui" in diff.path))


def _effects(planned: Planned) -> list[str]:
    advice = "; `memtui delete` deletes it there" if planned.only_hides else ""
    return [f"{effect}{advice}" for effect in planned.effects]


def _to_records(planned: Planned, dry_run: bool) -> list[dict[str, Any]]:
    return [
        {
            "outcome": str(plan.outcome),
            "reason": plan.reason,
            "refs": list(plan.refs),
            "supersedes": list(plan.supersedes),
            "effect": plan.effect.words() if plan.effect else "",
            "warnings": list(plan.warnings),
            "done": bool(plan.edits) and not dry_run,
        }
        for plan in planned.plans
    ]


def write_action(library: Library, write: Callable[[], JournalAction]) -> JournalAction:
    """Run `write`, and print its warnings and the fault of a damaged journal."""
    try:
        action = write()
    finally:
        print_journal_fault(library)
    for warning in action.warnings:
        print(f"memtui: {one_line(warning)}", file=sys.stderr)
    return action


def print_journal_fault(library: Library) -> None:
    """Say on standard error that a damaged journal was set aside, unless an error says it."""
    fault = library.journal_fault
    if fault and fault not in str(sys.exc_info()[1]):
        print(f"memtui: {one_line(fault)}", file=sys.stderr)


def confirm_deletion(planned: Planned, memory: Memory) -> bool:
    """Ask whether to delete the memory, after saying what it means for its program. Raises Refused
    without a terminal."""
    if not sys.stdin.isatty():
        raise Refused("confirmation required", do="use --force when not running interactively")
    print_effects(planned.effects, sys.stderr)
    name = f"{one_line(memory.ref)} ({cut_line(memory.headline, 50)})"
    return click.confirm(f"Delete {name}? `memtui undo` restores it", err=True)
