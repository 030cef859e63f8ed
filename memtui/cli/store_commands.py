"""Commands on whole stores: `open`, `demo`, `stores`, `check`, `embed`, `config`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memtui.cli.options import json_option, store_option
from memtui.cli.output import clear_progress, print_json, show_progress
from memtui.cli.store_selection import load_library, show_stores
from memtui.errors import Refused
from memtui.text import number, one_line

if TYPE_CHECKING:
    from memtui.library import Library


_UNDATED = datetime(2026, 9, 1, tzinfo=UTC)
"""The time that the demo gives files without a date."""


@click.command("open")
@click.argument("paths", nargs=-1)
def open_(paths: Sequence[str] = ()) -> int:
    """Open the screen on these stores."""
    return show_stores(paths)


@click.command("demo")
def demo() -> int:
    """Open a temporary copy of the sample data; your own stores are not touched."""
    from memtui import paths

    with tempfile.TemporaryDirectory(prefix="memtui-demo-") as folder:
        copy = Path(folder) / "sample-data"
        shutil.copytree(paths.bundled_folder("sample-data"), copy)
        os.environ[paths.CACHE_VARIABLE] = str(Path(folder) / "cache")
        os.environ[paths.STATE_VARIABLE] = str(Path(folder) / "state")
        from memtui.stores import registry

        roots = [str(root) for _, root in registry.detect_within(copy)]
        date_files(roots)
        return show_stores(roots)


def date_files(roots: Sequence[str]) -> None:
    """Set the time of each document's file to its own date; the copies all have today's.

    Files whose memories have no date get one within the story of the sample data.
    """
    from memtui.library import Library

    library = Library.open([Path(root) for root in roots])
    library.load()
    for memory in library.snapshot.rows:
        if memory.created is None or memory.kind == "document":
            time = (memory.created or _UNDATED).timestamp()
            os.utime(memory.origin.file, (time, time))


@click.command("stores")
@store_option
@json_option
def stores(stores: Sequence[str], as_json: bool) -> None:
    """List stores: label, format, path, number of memories, unreadable files.

    Also lists changes of yours that another program has overwritten in the last seven days; W on
    the screen reapplies them.
    """
    from memtui.stores.registry import format_faults

    for fault in format_faults():
        package = f" of {fault.package}" if fault.package else ""
        said = f"the format {one_line(fault.name)}{package} could not be loaded: {fault.reason}"
        click.echo(said, err=as_json)
    library = load_library(stores)
    states = library.snapshot.stores
    overwritten = _overwritten_by_label(library)
    if as_json:
        print_json(
            [
                {
                    "label": state.label,
                    "format": state.format,
                    "path": str(state.root),
                    "memories": state.count,
                    "writable": not state.read_only,
                    "read_only": state.read_only,
                    "unreadable": [asdict(item) for item in state.unreadable],
                    "overwritten": [
                        {"number": number, "title": title, "reason": reason}
                        for number, title, reason in overwritten[state.label]
                    ],
                }
                for state in states
            ]
        )
        return
    for state in states:
        closed = f"  read-only: {one_line(state.read_only)}" if state.read_only else ""
        print(
            f"{state.label:<16}  {state.format:<14}  {number(state.count):>8}  "
            f"{one_line(str(state.root))}{closed}"
        )
        for item in state.unreadable:
            print(f"  unreadable  {one_line(item.file)}: {one_line(item.reason)}")
        for action, title, reason in overwritten[state.label]:
            print(f"  overwritten  {one_line(title)} (number {action} in the log): {reason}")


def _overwritten_by_label(library: Library) -> dict[str, list[tuple[int, str, str]]]:
    """Map each label to number, title and reason of the changes that were overwritten."""
    labels = {os.path.realpath(store.root): store.label for store in library.stores}
    found: dict[str, dict[tuple[int, str, str], None]] = {label: {} for label in labels.values()}
    for reverted in library.peek_reverted():
        key = reverted.action.id, reverted.action.title, reverted.description
        found[labels[os.path.realpath(reverted.store)]][key] = None
    return {label: list(actions) for label, actions in found.items()}


@click.command("check")
@store_option
@json_option
def check(stores: Sequence[str], as_json: bool) -> int:
    """Check for unreadable files, duplicate ids, dangling references, secrets, hidden characters.

    Also for changes of yours that another program has overwritten in the last seven days, and for
    text that looks like instructions to an agent. A finding is a hint, not a verdict.

    Nothing is changed. Exit code 1 if anything was found.
    """
    findings = load_library(stores).check()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            line = f":{finding.line}" if finding.line else ""
            place = f"{one_line(finding.file)}{line}"
            ref = f"  {one_line(finding.ref)}" if finding.ref else ""
            print(f"{finding.kind:<18}  {place}{ref}  {one_line(finding.message)}")
        print(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}")
    return 1 if findings else 0


@click.command("embed")
@store_option
@json_option
def embed(stores: Sequence[str], as_json: bool) -> None:
    """Compute the embeddings that memories lack, for semantic search (~words, similar).

    Can be interrupted at any time: the next run continues, and an unchanged memory is never
    embedded twice. The model is set under [search.embedding] in config.toml; the default is the one
    of memtui[semantic], which runs fully offline.
    """
    library = load_library(stores)
    if not library.can_embed:
        raise Refused(
            "no embedding model",
            do="pip install memtui[semantic], or name a server under [search.embedding]",
        )
    try:
        done = library.embed(show_progress)
    finally:
        clear_progress()
    if as_json:
        print_json([asdict(store) for store in done])
        return
    made, texts = sum(store.made for store in done), sum(store.texts for store in done)
    print(f"{number(made)} texts embedded, {number(texts)} in total")


@click.command("config")
@click.option("--places", is_flag=True, help="Print the paths of settings, themes, state, cache.")
def config(places: bool) -> None:
    """Print config.toml with every setting explained and commented out."""
    from memtui import config as settings
    from memtui import paths

    if not places:
        print(settings.default_text())
        return
    for name, path in (
        ("settings", paths.config_file()),
        ("themes", paths.user_themes()),
        ("state", paths.state_folder()),
        ("cache", paths.cache_folder()),
    ):
        print(f"{name:<10}{path}")
