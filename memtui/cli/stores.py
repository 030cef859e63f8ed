"""From options, environment and settings to an open library; shared by all commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from memtui.cli.group import COMMANDS
from memtui.errors import StoreError
from memtui.text import one_line

if TYPE_CHECKING:
    from memtui.config import Settings
    from memtui.library import Library


@dataclass(frozen=True, slots=True)
class Root:
    """A store to open, and the label it should have ("" = by its format)."""

    path: Path
    label: str = ""


def _within(path: Path, label: str = "") -> list[Root]:
    from memtui.library import opening

    return [Root(root, label) for root in opening.roots_within(path)]


def _default_roots(settings: Settings) -> list[Root]:
    """MEMTUI_STORES, else config.toml, else what is found here and in the known places."""
    from memtui.library import opening

    if listed := os.environ.get("MEMTUI_STORES", ""):
        paths = [Path(path) for path in listed.split(os.pathsep) if path]
        return [root for path in paths for root in _within(path)]
    if settings.stores:
        return [root for store in settings.stores for root in _within(store.path, store.label)]
    return [Root(found.root) for found in opening.discover(Path.cwd(), Path.home())]


def refuse_missing(named: Sequence[str]) -> None:
    """Raises StoreError on a name that can only be a path, and nothing is there."""
    for name in named:
        if os.sep in name and not Path(name).exists():
            raise StoreError("there is nothing here", where=name, do="check the path")


def _unknown(name: str, known: Sequence[str]) -> StoreError:
    """What is said of a name that is neither a path nor a label."""
    advice = f"labels: {', '.join(known) or 'none'}"
    if commands := get_close_matches(name, COMMANDS, 1):
        advice = f"did you mean the command {commands[0]}? {advice}"
    return StoreError("there is no such path and no store of this label", where=name, do=advice)


def library_of(named: Sequence[str]) -> Library:
    """The library of the stores named by `--store`, nothing read yet.

    A name is a path, or the label of a store that is opened by default. Raises StoreError.
    """
    from memtui import config
    from memtui import paths as places
    from memtui.cli.error_log import start_log
    from memtui.library import Library
    from memtui.search.ranking import read_weights

    refuse_missing(named)
    start_log()
    loaded = config.load(places.config_file())
    for problem in loaded.problems:
        print(f"memtui: {one_line(str(problem))}", file=sys.stderr)
    settings = loaded.settings
    paths = [root for name in named if Path(name).exists() for root in _within(Path(name))]
    labels = [name for name in named if not Path(name).exists()]
    roots = paths if named and not labels else [*paths, *_default_roots(settings)]
    if not roots:
        if labels:
            raise _unknown(labels[0], ())
        raise StoreError(
            "no memory store found here or in the known places",
            do="name one with --store PATH, or try memtui demo",
        )
    library = Library.open(
        [root.path for root in roots],
        cache=places.cache_folder(),
        state=places.state_folder(),
        labels=[root.label for root in roots],
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
    return library.only([*labels, *(store.label for store in library.stores[: len(paths)])])


def loaded(named: Sequence[str]) -> Library:
    """The library of these stores with all memories read."""
    library = library_of(named)
    library.load()
    return library
