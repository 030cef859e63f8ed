"""The names under which open stores are shown: the program, and its project where that is needed.

A label (`claude-code-2`) is part of refs and JSON and stays as it is; people read names. The filter
`store:` takes either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from memtui.paths import is_address
from memtui.query import Condition, Query, map_conditions
from memtui.stores import registry
from memtui.stores.format import Product

_OF_A_PROJECT = (".git", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""What lies in the folder of a project."""


class StoreName(NamedTuple):
    """How one open store is shown."""

    product: Product
    name: str
    """`Serena`; where several are open `Serena · shop-api`."""


class StoreNames:
    """The names of the stores that are open together."""

    def __init__(self, stores: Iterable[tuple[str, str, Path]]) -> None:
        """`stores`: label, format (or `format:profile`) and root of each."""
        known = list(stores)
        products = {label: registry.product_of(format, root) for label, format, root in known}
        roots = {label: root for label, _, root in known}
        self.by_label: Mapping[str, StoreName] = {
            label: StoreName(product, name)
            for product in dict.fromkeys(products.values())
            for label, name in _distinguish(
                product.name, {each: roots[each] for each in roots if products[each] == product}
            ).items()
        }
        self._folded = {label.casefold(): each.name for label, each in self.by_label.items()}

    def of(self, label: str) -> str:
        """The name of the store with this label, in any case; else the label itself."""
        return self._folded.get(label.casefold(), label)

    def program_of(self, label: str) -> str:
        """The program that writes the store with this label; the label itself if none is open."""
        named = self.by_label.get(label)
        return label if named is None else named.product.name

    def resolve(self, query: Query) -> Query:
        """The query with labels where its filters name stores or programs."""
        if not any(part.field == "store" for part in query.all_conditions):
            return query
        return map_conditions(query, self._resolved)

    def _resolved(self, part: Condition) -> Condition:
        if part.field != "store":
            return part
        labels = (label for value in part.values for label in self._labels(value))
        return replace(part, values=tuple(dict.fromkeys(labels)))

    def _labels(self, value: str) -> list[str]:
        """The labels, in lower case, that a value of the filter stands for; itself for none."""
        from memtui.search.filters import whole_label

        if (value := whole_label(value, self._folded)) in self._folded:
            return [value]
        pattern = value.replace("[", "[[]")
        return [
            label.casefold()
            for label, (product, name) in self.by_label.items()
            if any(fnmatchcase(each.casefold(), pattern) for each in (product.name, name, label))
        ] or [value]


def _distinguish(product: str, roots: Mapping[str, Path]) -> dict[str, str]:
    """Label -> name of stores of one program: with their projects, unless there is one only.

    Where projects have the same name, the first folder above them that tells them apart.
    """
    if len(roots) == 1:
        return dict.fromkeys(roots, product)
    home = Path.home()
    projects = {label: project_of(root, home=home) for label, root in roots.items()}
    for names in _candidates(roots, projects, home):
        if len({*names.values(), ""}) > len(roots):
            return {label: f"{product} · {name}" for label, name in names.items()}
    return {label: f"{product} · {root}" for label, root in roots.items()}


def _candidates(
    roots: Mapping[str, Path], projects: Mapping[str, Path], home: Path
) -> Iterator[dict[str, str]]:
    yield {label: "~" if path == home else path.name for label, path in projects.items()}
    yield {label: root.name for label, root in roots.items()}
    for level in range(max(len(path.parents) for path in projects.values())):
        yield {
            label: "".join(p.name for p in path.parents[level : level + 1])
            for label, path in projects.items()
        }


def project_of(root: Path, folder: Path | None = None, home: Path | None = None) -> Path:
    """The folder that a store belongs to: the one memtui was started in (`folder`), the one that
    holds the hidden folder of a program, itself if it is a checkout or has instructions for agents,
    else the one above it."""
    if is_address(str(root)):
        return root
    if folder is not None and folder != home and (root == folder or folder in root.parents):
        return folder
    base = home if home is not None and home in root.parents else Path(root.anchor)
    for at, name in enumerate(root.relative_to(base).parts):
        if name.startswith("."):
            return base.joinpath(*root.relative_to(base).parts[:at])
    is_project = any(os.path.lexists(root / name) for name in _OF_A_PROJECT)
    return root if is_project else root.parent
