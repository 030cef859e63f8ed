"""`compare`: what two stores have in common, and what each knows alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memtui.cli.options import json_option, limit_options
from memtui.cli.output import ID_CELLS, columns, print_json, print_memories
from memtui.cli.store_selection import load_library
from memtui.errors import StoreError
from memtui.text import cut, number, one_line, pad

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.upkeep.store_comparison import SharedMemory


@click.command("compare")
@click.argument("left")
@click.argument("right")
@click.option("--entity", default="", metavar="ENTITY", help="Only what is about this entity.")
@limit_options
@json_option
def compare(
    left: str, right: str, entity: str, limit: int, everything: bool, as_json: bool
) -> None:
    """Compare two stores: what both say, and what only one of them knows.

    LEFT, RIGHT: labels of stores that are found by default, or paths. Two current memories are the
    same statement if at least half of their different words are common. --entity finds an entity
    whatever path a store gives it: people/alice is also alice.
    """
    from memtui.upkeep.store_comparison import comparison_record

    library = load_library(list(dict.fromkeys([left, right])))
    labels = _labels(library, left, right)
    found = library.compare(*labels, entity)
    if as_json:
        print_json(comparison_record(found))
        return
    most = None if everything else limit
    _print_shared(found.shared, most)
    for label, alone in ((found.left, found.only_left), (found.right, found.only_right)):
        _print_heading(f"only in {one_line(label)}", len(alone), most)
        print_memories(alone[:most])


def _labels(library: Library, left: str, right: str) -> tuple[str, str]:
    """The labels of both stores. Raises StoreError if they are not two stores."""
    found = [_label(library, name) for name in (left, right)]
    if found[0] == found[1]:
        raise StoreError("both are the same store", where=right, do="name two stores")
    return found[0], found[1]


def _label(library: Library, name: str) -> str:
    path = Path(name)
    if not path.exists():
        return name
    real = path.resolve()
    inside = [s.label for s in library.stores if s.root.resolve().is_relative_to(real)]
    above = [s.label for s in library.stores if real.is_relative_to(s.root.resolve())]
    if len(inside) > 1:
        raise StoreError("several stores lie here", where=name, do=f"name one: {', '.join(inside)}")
    return (inside or above or [name])[0]


def _print_heading(words: str, count: int, most: int | None) -> None:
    cut_off = f", the first {most}; --all for the rest" if most and count > most else ""
    print(f"{words} ({number(count)}{cut_off})")


def _print_shared(shared: Sequence[SharedMemory], most: int | None) -> None:
    _print_heading("in both", len(shared), most)
    for shared_memory in shared[:most]:
        sides = (
            (shared_memory.left, shared_memory.left_passage),
            (shared_memory.right, shared_memory.right_passage),
        )
        for share, (memory, passage) in zip((f"{shared_memory.score:.0%}", ""), sides, strict=True):
            id = pad(one_line(memory.id)[:ID_CELLS], ID_CELLS)
            print(
                cut(f"{share:>4}  {one_line(memory.store)}  {id}  {one_line(passage)}", columns())
            )
