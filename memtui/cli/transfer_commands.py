"""Commands that move memories between stores and files: `export`, `import`, `verify`."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memtui.bundle.exporting import describe_secret_holders, export_forms
from memtui.changes import effects_of
from memtui.cli import store_selection
from memtui.cli.options import argument, command, option, query_from
from memtui.cli.output import print_effects, print_json, shown_progress, write_action
from memtui.errors import MemtuiError, Refused, StoreError
from memtui.paths import is_address, is_place
from memtui.query import filter_values
from memtui.text import counted, number, one_line, size

if TYPE_CHECKING:
    from memtui.bundle.bundle_reader import ImportDocument
    from memtui.bundle.import_plan import ImportPlan, StoreImport
    from memtui.bundle.restoring import PlacedStore, Restoration

_PATH = click.Path(path_type=Path)
MAX_LISTED = 20
"""Conflicts and rejected memories printed one by one; the rest are counted."""


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignore ctrl+c while writing, so that a planned import is written completely."""
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


# ---- export -------------------------------------------------------------------------------------


@command
def export(
    output: Path | None = option(
        "-o",
        "--output",
        type=_PATH,
        metavar="FILE",
        help="File to write; default, and -: standard output.",
    ),
    form: str = option(
        "--format",
        type=click.Choice(list(export_forms())),
        default="bundle",
        show_default=True,
        help="Format of the file.",
    ),
    pretty: bool = option(help="Indent the JSON, if the format allows it."),
    with_secrets: bool | None = option(
        "--with-secrets/--without-secrets",
        is_flag=True,
        default=None,
        help="Whether memories with secrets are exported; default: unless FILE is in a git work "
        "tree. A page masks them.",
    ),
    *,
    as_of: str | None,
    stores: Sequence[str],
    **filters: Any,
) -> int:
    """Export memories to a file or to standard output.

    Without filters a bundle holds the complete stores, including memories of every status and
    memtui's sidecars; imported into an empty place it creates the same files. The other formats,
    and a bundle with filters, hold what `memtui list` shows with the same filters. The export
    format of a store's own program also leaves out what that program no longer reads, such as
    expired files, unless --status all is given.

    What cannot be read is left out and named on standard error; the exit code is then 3. So is the
    number of memories with secrets.
    """
    from memtui.bundle import exporting
    from memtui.files.staging import write_file, write_standard_output

    query = query_from("", **filters)
    unfiltered = not (query.conditions or query.since or query.until)
    takes_whole = export_forms()[form].takes_whole_stores and unfiltered
    output = None if output == Path("-") else output
    if output is None and form == "bundle" and sys.stdout.isatty():
        raise click.UsageError("a bundle is a binary file; write it with -o FILE")
    if as_of and export_forms()[form].takes_whole_stores:
        plain = [name for name, each in export_forms().items() if not each.takes_whole_stores]
        raise Refused(
            f"{form} holds the stores as they are now",
            do=f"with --as-of use --format {', '.join(plain)}",
        )
    library = store_selection.load_library_as_of(stores, as_of)
    found = None if takes_whole else library.find(query)
    chosen = None if found is None else library.memories_of(found)
    every = "all" in filter_values(query, "status")
    without, note = frozenset[str](), ""
    if not export_forms()[form].masks_secrets:
        holders = exporting.find_secret_holders(library, chosen)
        if holders:
            takes_secrets, note = _choose_secrets(len(holders), output, with_secrets)
            if not takes_secrets:
                without = holders
    with shown_progress() as report:
        exported = exporting.export_memories(
            library, form, chosen, report, pretty=pretty, every=every, without=without
        )
        if output is None:
            write_standard_output(exported.pieces)
        else:
            write_file(output, exported.pieces)
    for line in filter(None, [note, *map(one_line, exported.notes)]):
        click.echo(f"memtui: {line}", err=True)
    return store_selection.INCOMPLETE if exported.is_incomplete else 0


def _choose_secrets(count: int, output: Path | None, wanted: bool | None) -> tuple[bool, str]:
    """Whether memories with secrets are exported, and a line that says how many of them went where
    or were left out; empty where the command line says to leave them out.

    `wanted`: what the command line says.
    """
    from memtui.files.git_repository import find_repository

    place = output or _redirected_to()
    tree = find_repository(place.absolute().parent) if place is not None else None
    takes = tree is None if wanted is None else wanted
    name = "standard output" if place is None else one_line(str(place))
    where = f"{name}, in the git work tree {one_line(str(tree))}" if tree else name
    them = "it" if count == 1 else "them"
    if takes:
        advice = f"; --without-secrets leaves {them} out" if wanted is None else ""
        what = describe_secret_holders(count, f"written in clear to {where}")
        return takes, f"{what}{advice}"
    what = describe_secret_holders(count, f"not written to {where}")
    return takes, f"{what}; --with-secrets includes {them}" if wanted is None else ""


def _redirected_to() -> Path | None:
    """The file that standard output goes to; None where it is none, or cannot be found out."""
    try:
        if stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
            return Path(os.readlink("/proc/self/fd/1"))
    except (OSError, ValueError):
        pass
    return None


# ---- import -------------------------------------------------------------------------------------


@command
def import_(
    file: Path = argument(type=_PATH),
    into: str | None = option(
        metavar="STORE",
        help="Path or label of a store; or an empty or new folder, which gets the same files; or a "
        "home folder without these stores.",
    ),
    entity: str = option(
        "--entity",
        "-e",
        default="",
        help="Project (and branch, as in shop-api/main) of the store that gets the memories; "
        "default: as each memory says.",
    ),
    publish: bool = option(help="Import into a team's store without asking."),
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Import memories from a bundle, the export of a store's own program, or JSON lines.

    Existing memories are never changed: identical ones are skipped, and one that differs from the
    memory with the same id is listed as a conflict and skipped. `memtui undo` undoes the whole
    import; --dry-run shows its plan. What is imported into an empty or new folder is taken back by
    deleting that folder.

    What would be published in a team's store is listed first, with the secrets and instructions in
    it, and asked about.
    """
    from memtui.bundle.bundle_reader import read_document
    from memtui.bundle.restoring import is_empty, plan_restore, plan_restore_over

    document = read_document(file)
    is_path = into and not is_address(into) and ("/" in into or not _is_label(into, stores))
    if into and is_path and is_empty(Path(into)):
        return _restore([plan_restore(document, Path(into))], dry_run, as_json)
    if into and is_path and (plans := plan_restore_over(document, Path(into).absolute())):
        return _restore(plans, dry_run, as_json)
    return _merge(document, into, stores, dry_run, as_json, publish, entity)


def _is_label(name: str, stores: Sequence[str]) -> bool:
    """Whether an open store has this label."""
    try:
        return any(store.label == name for store in store_selection.open_library(stores).stores)
    except MemtuiError:
        return False


def _restore(plans: Sequence[Restoration], dry_run: bool, as_json: bool) -> int:
    from memtui.bundle.restoring import restore

    if not dry_run:
        with _ignore_interrupts(), shown_progress() as report:
            for plan in plans:
                restore(plan, report)
                click.echo(f"memtui: {one_line(plan.taken_back_by)}", err=True)
    stores = [placed for plan in plans for placed in plan.stores]
    if as_json:
        print_json(_restoration_record(stores, dry_run))
        return 0
    verb = "would import" if dry_run else "imported"
    for placed in stores:
        count = counted(len(placed.store.memories), "memory")
        target = one_line(str(placed.root))
        print(f"{verb} {count} to {target} ({placed.store.format})")
    return 0


def _restoration_record(stores: Sequence[PlacedStore], dry_run: bool) -> dict[str, Any]:
    return {
        "restored": [
            {
                "label": placed.store.label,
                "format": placed.store.format,
                "path": str(placed.root),
                "memories": len(placed.store.memories),
            }
            for placed in stores
        ],
        "action": None,
        "done": not dry_run,
    }


def _merge(
    document: ImportDocument,
    into: str | None,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
    publish: bool,
    entity: str,
) -> int:
    from memtui.bundle.import_plan import plan_import
    from memtui.library.planning import planned_import

    if not (into or stores) and not store_selection.find_catalog(()).chosen():
        do = "name a store, or an empty or new folder: --into PATH"
        raise StoreError("no store is open that it could go into", do=do)
    label = ""
    if into and is_place(into):
        library = store_selection.load_library([into])
        label = library.stores[0].label if len(library.stores) == 1 else ""
    else:
        library = store_selection.load_library([*stores, into] if into and not stores else stores)
        label = into or ""
    with shown_progress() as report:
        plan = plan_import(document, library, label, report, entity=entity)
    action = None
    if not dry_run and plan.has_edits:
        _ask_to_publish(plan, publish)
        with _ignore_interrupts():
            action = write_action(library, lambda: library.apply(planned_import(plan))).id
    if as_json:
        print_json(_import_record(plan, action))
    else:
        _print_plan(plan, dry_run)
    return 0


def _ask_to_publish(plan: ImportPlan, publish: bool) -> None:
    """List what a team would read, and ask. Raises Refused without a terminal, Abort."""
    published = [part for part in plan.imports if part.is_published and part.new]
    if publish or not published:
        for part in published:
            _print_dangers(part)
        return
    if not sys.stdin.isatty():
        do = "--dry-run shows it, --publish imports it"
        raise Refused("nothing is published before somebody has seen it", do=do)
    _print_plan(plan, dry_run=True)
    click.confirm("Publish this?", abort=True, err=True)


def _print_dangers(part: StoreImport) -> None:
    for headline, dangers in part.dangers.items():
        click.echo(f"memtui: {one_line(headline)}: {one_line('; '.join(dangers))}", err=True)


def _import_record(plan: ImportPlan, action: int | None) -> dict[str, Any]:
    return {
        **plan.counts,
        "lost": plan.lost,
        "stores": [
            {
                "source": store_import.source,
                "target": store_import.target,
                "new": [item.memory.ref for item in store_import.new],
                "dangers": {name: list(found) for name, found in store_import.dangers.items()},
                "same": [memory.ref for memory in store_import.same],
                "conflicts": [
                    {"ref": c.memory.ref, "existing": c.existing, "differs": list(c.differs)}
                    for c in store_import.conflicts
                ],
                "refused": [{"ref": r.memory.ref, "why": r.why} for r in store_import.refused],
            }
            for store_import in plan.imports
        ],
        "warnings": list(plan.warnings),
        "effect": "; ".join(effects_of(plan.plans)),
        "action": action,
        "done": action is not None,
    }


def _print_plan(plan: ImportPlan, dry_run: bool) -> None:
    verb = "would add" if dry_run else "added"
    print_effects(effects_of(plan.plans))
    for store_import in plan.imports:
        names = f"{one_line(store_import.source)} -> {store_import.target}"
        print(
            f"{names}: {verb} {number(len(store_import.new))}, "
            f"identical {number(len(store_import.same))}, "
            f"skipped (conflict) {number(len(store_import.conflicts))}, "
            f"rejected {number(len(store_import.refused))}"
        )
        _print_some(
            f"conflict  {c.memory.ref}: {', '.join(c.differs)}" for c in store_import.conflicts
        )
        if store_import.is_published and dry_run:
            _print_some(f"publishes {item.memory.headline}" for item in store_import.new)
            _print_dangers(store_import)
        _print_some(f"rejected  {r.memory.ref}: {r.why}" for r in store_import.refused)
    if plan.lost:
        print("fields lost:")
    for name, count in plan.lost.items():
        print(f"  {number(count):>7}  {one_line(name)}")
    for warning in plan.warnings[:MAX_LISTED]:
        click.echo(f"memtui: {one_line(warning)}", err=True)


def _print_some(lines: Iterable[str]) -> None:
    every = list(lines)
    for line in every[:MAX_LISTED]:
        print(f"  {one_line(line)}")
    if len(every) > MAX_LISTED:
        print(f"  and {len(every) - MAX_LISTED} more")


# ---- verify -------------------------------------------------------------------------------------


@command
def verify(file: Path = argument(type=_PATH), *, as_json: bool) -> int:
    """Check that a file is intact and can be imported. Exit code 1 if it cannot."""
    from memtui.bundle.bundle_reader import read_document, verify_document

    document = read_document(file)
    checked = verify_document(document)
    if as_json:
        print_json({"file": str(file), "kind": document.kind, "checked": checked, "sound": True})
        return 0
    print(f"{one_line(str(file))}: ok, {document.kind}, {size(file.stat().st_size)}")
    for line in checked:
        print(f"  {one_line(line)}")
    return 0
