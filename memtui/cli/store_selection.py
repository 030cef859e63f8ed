"""Open the stores that a command names, or those found by default."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from memtui.cli.commands import COMMANDS
from memtui.errors import StoreError
from memtui.text import one_line

if TYPE_CHECKING:
    from memtui.config import Settings, StorePath
    from memtui.library import Library


@dataclass(frozen=True, slots=True)
class Root:
    """A store to open, and the label it should have ("" = by its format)."""

    path: Path
    label: str = ""
    format: str = ""
    """Name of the format, or `name:profile`; empty: as it is recognised."""


def show_stores(names: Sequence[str]) -> int:
    """Open the screen on the stores that these paths or labels name, or on the default ones.

    Without a terminal a summary is printed instead. This runs without click, which starts faster.

    Returns:
        The exit code.

    Raises:
        StoreError: A name is neither a path nor a label.
    """
    refuse_missing(names)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from memtui.cli.output import print_summary

        print_summary(load_library(names))
        return 0
    from memtui.tui import start

    return start(lambda: open_library(names), roots=[Path(name).absolute() for name in names])


def load_library(names: Sequence[str]) -> Library:
    """Open these stores and read all their memories. Raises StoreError."""
    library = open_library(names)
    library.load()
    return library


def load_library_as_of(names: Sequence[str], as_of: str | None) -> Library:
    """Open and read these stores, as they were at a time if one is given.

    Raises:
        StoreError: A store cannot be opened.
        QueryError: The time cannot be parsed.
    """
    if as_of is None:
        return load_library(names)
    from datetime import UTC, datetime

    from memtui.query import parse_time_end

    at = parse_time_end(as_of, datetime.now(UTC)).time
    from memtui.library.past_library import PastViews

    return PastViews(load_library(names)).at(at)


def open_library(names: Sequence[str]) -> Library:
    """Open the stores named by `--store`, or the default ones, without reading them.

    Args:
        names: Paths, or labels of stores that are opened by default.

    Raises:
        StoreError: A name is neither a path nor a label, or there is no store at all.
    """
    from memtui import config, paths
    from memtui.cli.error_log import start_log
    from memtui.library import Library
    from memtui.search.ranking import read_weights

    refuse_missing(names)
    start_log()
    loaded = config.load(paths.config_file())
    for problem in loaded.problems:
        print(f"memtui: {one_line(str(problem))}", file=sys.stderr)
    settings = loaded.settings
    named = [root for name in names if Path(name).exists() for root in _roots_within(Path(name))]
    labels = [name for name in names if not Path(name).exists()]
    roots = named if names and not labels else [*named, *_default_roots(settings)]
    if not roots:
        if labels:
            raise _unknown(labels[0], ())
        raise StoreError("no memory stores found", do="try `memtui PATH` or `memtui demo`")
    library = Library.open(
        [root.path for root in roots],
        cache=paths.cache_folder(),
        state=paths.state_folder(),
        labels=[root.label for root in roots],
        formats=[root.format for root in roots],
        weights=read_weights({"half_life_days": settings.half_life_days, **settings.weights}),
        rules=settings.rules,
        embedding=settings.embedding,
    )
    if not labels:
        return library
    known = [store.label for store in library.stores]
    for label in labels:
        if label not in known:
            raise _unknown(label, known)
    return library.only([*labels, *(store.label for store in library.stores[: len(named)])])


def refuse_missing(names: Sequence[str]) -> None:
    """Raise StoreError for a name that can only be a path and does not exist."""
    for name in names:
        if os.sep in name and not Path(name).exists():
            raise StoreError("no such file or directory", where=name)


def _roots_within(path: Path, label: str = "") -> list[Root]:
    from memtui.library import opening

    return [Root(root, label) for root in opening.roots_within(path)]


def _roots_of(store: StorePath) -> list[Root]:
    """The store of a block in config.toml; all that lie at its path unless it names a format."""
    if store.format:
        return [Root(store.path, store.label, store.format)]
    return _roots_within(store.path, store.label)


def _default_roots(settings: Settings) -> list[Root]:
    """List the stores of MEMTUI_STORES, else of config.toml, else of the default locations."""
    from memtui.library import opening

    if listed := os.environ.get("MEMTUI_STORES", ""):
        paths = [Path(path) for path in listed.split(os.pathsep) if path]
        return [root for path in paths for root in _roots_within(path)]
    if settings.stores:
        return [root for store in settings.stores for root in _roots_of(store)]
    return [
        Root(found.root, format=found.format.name)
        for found in opening.discover(Path.cwd(), Path.home())
    ]


def _unknown(name: str, labels: Sequence[str]) -> StoreError:
    advice = f"labels: {', '.join(labels) or 'none'}"
    if commands := get_close_matches(name, COMMANDS, 1):
        advice = f"did you mean the command {commands[0]}? {advice}"
    return StoreError("no such path or store label", where=name, do=advice)
