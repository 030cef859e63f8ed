"""How commands print: one JSON document, or plain lines that fit the terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any

from memtui.files.save_transaction import FileDiff
from memtui.model import UNTYPED, Memory
from memtui.text import cut, file_name, one_line, pad, short_ago, visible, without_lone_surrogates

ID_CELLS = 10
"""Of an id: enough to name it, and a whole date."""
WIDE = 10_000
"""Columns to assume when nobody looks: nothing is cut."""


def print_json(document: Any) -> None:
    """One document, ASCII only, so that no byte of a store can act on a terminal.

    Half characters become U+FFFD: jq and others refuse a document with one. `export` keeps them.
    """
    json.dump(_whole(document), sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")


def _whole(value: Any) -> Any:
    """The same with every lone surrogate replaced."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, Mapping):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value


def columns() -> int:
    """Columns of the terminal; very many when the output goes elsewhere."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else WIDE


def print_memories(memories: Iterable[Memory]) -> None:
    """One line each: id, age, importance, type, entity, what it says."""
    now, width = datetime.now(UTC), columns()
    for memory in memories:
        head = "  ".join(
            (
                pad(one_line(memory.id)[:ID_CELLS], ID_CELLS),
                pad(short_ago(memory.when, now), 4),
                pad(memory.importance, 6),
                pad(cut(one_line(memory.type or UNTYPED), 14), 14),
                pad(cut(one_line(memory.entity), 22), 22),
            )
        )
        mark = "" if memory.status == "active" else f"[{memory.status}] "
        print(cut(f"{head}  {mark}{one_line(memory.headline)}", width).rstrip())


def print_fields(fields: Sequence[tuple[str, str]], indent: str = "") -> None:
    """Aligned names and values; a value of several lines keeps its column."""
    width = max((len(name) for name, value in fields if value), default=0)
    for name, value in fields:
        if value:
            first, *rest = visible(value).split("\n")
            print(f"{indent}{name.ljust(width)}  {first}")
            for line in rest:
                print(f"{indent}{' ' * width}  {line}")


def print_counts(title: str, counts: Mapping[str, int], most: int = 12) -> None:
    """A heading and the counts under it, the smallest ones added up."""
    print(f"{title}")
    shown = list(counts.items())[:most]
    rest = sum(counts.values()) - sum(count for _, count in shown)
    if rest:
        shown.append(("others", rest))
    for name, count in shown:
        print(f"  {count:>7,}  {one_line(name or UNTYPED)}")


def print_diffs(diffs: Iterable[FileDiff]) -> None:
    """Each file's change with three lines around it."""
    for diff in diffs:
        name = file_name(diff.path)
        before = (diff.before or "").split("\n")
        after = (diff.after or "").split("\n")
        old = name if diff.before is not None else "/dev/null"
        new = name if diff.after is not None else "/dev/null"
        for line in unified_diff(before, after, old, new, lineterm=""):
            print(visible(line))
