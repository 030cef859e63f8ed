"""Plans as unified diffs, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff

from memtui.files.save_transaction import FileDiff
from memtui.text import file_name, visible


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
