"""`export`, `import`, `verify`: carry memories away and back."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memtui.cli.consent import with_consent
from memtui.cli.filters import filter_options, json_option, query_from, store_option
from memtui.cli.output import print_json
from memtui.cli.stores import loaded
from memtui.errors import MemtuiError, SaveError
from memtui.progress import Progress
from memtui.query import filter_values
from memtui.text import number, one_line, size, visible

if TYPE_CHECKING:
    from memtui.bundle.bundle_reader import ImportDocument
    from memtui.bundle.import_plan import ImportPlan
    from memtui.bundle.restoring import Restoration
    from memtui.library import Library
    from memtui.model import Memory

FORMATS = ("bundle", "ambient", "jsonl", "csv", "markdown", "engram")
LISTED = 20
"""Conflicts and refusals printed one by one; the rest are counted."""


def _progress(progress: Progress) -> None:
    """One line on a terminal, written over itself."""
    if sys.stderr.isatty():
        of = f" {number(progress.done)} of {number(progress.total)}" if progress.total else ""
        print(f"\r\x1b[K{one_line(progress.what)}{of}", end="", file=sys.stderr, flush=True)


def _clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """What is planned is done whole: ctrl+c stops the planning, never the writing."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


# ---- export -------------------------------------------------------------------------------------


@click.command("export")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--format", "form", type=click.Choice(FORMATS), default="bundle", show_default=True)
@click.option("--pretty", is_flag=True, help="Indented, for --format ambient.")
@store_option
@filter_options
def export(
    output: Path | None, form: str, pretty: bool, stores: Sequence[str], **filters: Any
) -> int:
    """Write memories to a file, or to standard output.

    Without filters a bundle holds the stores whole, memories of every status and memtui's own notes
    included: imported into an empty place it gives the same files. The other formats, and filters,
    take what `list` shows; ambient leaves out what Ambient's own export does, expired files too
    unless --status all.
    """
    from memtui.bundle import exporting

    query = query_from("", **filters)
    unfiltered = not (query.conditions or query.since or query.until)
    whole = form in ("bundle", "ambient") and unfiltered
    if output is None and form == "bundle" and sys.stdout.isatty():
        raise click.UsageError("a bundle is no text; name a file with -o FILE")
    library = loaded(stores)
    chosen = None if whole else _chosen(library, query)
    every = "all" in filter_values(query, "status")
    made = exporting.export(library, form, chosen, _progress, pretty=pretty, every=every)
    _write(output, made.pieces)
    _clear_progress()
    for line in made.said:
        click.echo(f"memtui: {one_line(line)}", err=True)
    return 0


def _chosen(library: Library, query: Any) -> list[Memory]:
    found = library.find(query)
    return [found.rows[slot] for slot in found.slots]


def _write(output: Path | None, pieces: Iterable[bytes]) -> None:
    from memtui.bundle import exporting as out

    try:
        if output is not None:
            out.write_file(output, pieces)
        else:
            sys.stdout.flush()
            out.write_stream(sys.stdout.fileno(), pieces)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "standard output" if output is None else str(output)
        raise SaveError(f"nothing was exported: {error.strerror}", where=visible(where)) from error


# ---- import -------------------------------------------------------------------------------------


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--into",
    metavar="STORE",
    help="A store's path or label; or a place that is empty, which then gets the same files.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan; write nothing.")
@store_option
@json_option
def import_(
    file: Path, into: str | None, dry_run: bool, stores: Sequence[str], as_json: bool
) -> int:
    """Read memories from a bundle, an Ambient backup, an Engram export or JSON lines.

    What is there stays as it is: the same is passed over, and a memory that differs from the one
    with its id is listed and skipped. `memtui undo` takes the whole import back.
    """
    from memtui.bundle.bundle_reader import read_document
    from memtui.bundle.store_install import is_empty

    document = read_document(file)
    if into and ("/" in into or not _is_label(into, stores)) and is_empty(Path(into)):
        return _restore(document, Path(into), dry_run, as_json)
    return _merge(document, into, stores, dry_run, as_json)


def _is_label(name: str, stores: Sequence[str]) -> bool:
    """Whether an open store is called so."""
    from memtui.cli.stores import library_of

    try:
        return any(store.label == name for store in library_of(stores).stores)
    except MemtuiError:
        return False


def _restore(document: ImportDocument, place: Path, dry_run: bool, as_json: bool) -> int:
    from memtui import paths as places
    from memtui.bundle.restoring import plan_restore
    from memtui.library import Library

    plan = plan_restore(document, place)
    action = None
    if not dry_run:
        with _uninterrupted():
            library = Library((), state=places.state_folder())
            action = library.restore(plan, _progress).id
        _clear_progress()
    if as_json:
        print_json(_restored_record(plan, action, dry_run))
        return 0
    doing = "would make" if dry_run else "made"
    for placed in plan.stores:
        count = number(len(placed.store.memories))
        print(
            f"{doing} {placed.store.format} with {count} memories in {one_line(str(placed.root))}"
        )
    return 0


def _restored_record(plan: Restoration, action: int | None, dry_run: bool) -> dict[str, Any]:
    return {
        "restored": [
            {
                "label": placed.store.label,
                "format": placed.store.format,
                "path": str(placed.root),
                "memories": len(placed.store.memories),
            }
            for placed in plan.stores
        ],
        "action": action,
        "done": not dry_run,
    }


def _merge(
    document: ImportDocument, into: str | None, stores: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    from memtui.bundle.import_plan import plan_import
    from memtui.library.planning import planned_import

    label = ""
    if into and Path(into).exists():
        library = loaded([into])
        label = library.stores[0].label if len(library.stores) == 1 else ""
    else:
        library = loaded([*stores, into] if into and not stores else stores)
        label = into or ""
    plan = plan_import(document, library, label, _progress)
    _clear_progress()
    action = None
    if not dry_run and plan.has_edits:
        with _uninterrupted():
            action = with_consent(library, lambda: library.apply(planned_import(plan))).id
    if as_json:
        print_json(_record(plan, action))
    else:
        _say(plan, dry_run)
    return 0


def _record(plan: ImportPlan, action: int | None) -> dict[str, Any]:
    return {
        **plan.counts,
        "lost": plan.lost,
        "stores": [
            {
                "source": part.source,
                "target": part.target,
                "new": [item.memory.ref for item in part.new],
                "same": [memory.ref for memory in part.same],
                "conflicts": [
                    {"ref": c.memory.ref, "existing": c.existing, "differs": list(c.differs)}
                    for c in part.conflicts
                ],
                "refused": [{"ref": r.memory.ref, "why": r.why} for r in part.refused],
            }
            for part in plan.imports
        ],
        "warnings": list(plan.warnings),
        "action": action,
        "done": action is not None,
    }


def _say(plan: ImportPlan, dry_run: bool) -> None:
    doing = "would add" if dry_run else "added"
    for part in plan.imports:
        print(
            f"{one_line(part.source)} -> {part.target}: {doing} {number(len(part.new))}, "
            f"same {number(len(part.same))}, conflicts {number(len(part.conflicts))}, "
            f"no place for {number(len(part.refused))}"
        )
        _listed(f"  conflict  {c.memory.ref}: {', '.join(c.differs)}" for c in part.conflicts)
        _listed(f"  no place  {r.memory.ref}: {r.why}" for r in part.refused)
    _lost(plan.lost)
    for warning in plan.warnings[:LISTED]:
        click.echo(f"memtui: {one_line(warning)}", err=True)


def _listed(lines: Iterable[str]) -> None:
    every = list(lines)
    for line in every[:LISTED]:
        print(f"  {one_line(line.strip())}")
    if len(every) > LISTED:
        print(f"  and {len(every) - LISTED} more")


def _lost(lost: Mapping[str, int]) -> None:
    if lost:
        print("cannot be carried over:")
    for name, count in lost.items():
        print(f"  {number(count):>7}  {one_line(name)}")


# ---- verify -------------------------------------------------------------------------------------


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def verify(file: Path, as_json: bool) -> int:
    """Check that a file is whole and can be imported. Exit code 0 when it can, else 1."""
    from memtui.bundle.bundle_reader import read_document, verified

    document = read_document(file)
    checked = verified(document)
    if as_json:
        print_json({"file": str(file), "kind": document.kind, "checked": checked, "sound": True})
        return 0
    print(f"{one_line(str(file))}: sound, {document.kind}, {size(file.stat().st_size)}")
    for line in checked:
        print(f"  {one_line(line)}")
    return 0
