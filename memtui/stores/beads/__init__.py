"""Beads: issues that agents keep in `.beads/issues.jsonl`, one JSON object a line.

The rules are those of bd 1.0.5: `Issue` in internal/types/types.go, cmd/bd/export.go and
cmd/bd/import_shared.go. Since 0.56 bd keeps its issues in a Dolt database and exports this file
after every change (export_auto.go); `bd import` takes from it what is new or has a later
`updated_at`, and an empty database is filled from it. For beads_rust, and for bd until 0.49, the
file is what a team shares; the database is derived from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import first_record, is_link_into

NAMES = ("issues.jsonl", "beads.jsonl")
"""The usual name, and that of bd until 0.20."""
FOLDER = ".beads"

_MAX_LOOKED_AT = 65_536
"""Bytes of a file that are read to recognise it: the first issue may be long."""
_MARKS = ('"_type":"memory"', '"issue_type"', '"priority"', '"_schema":"beads-jsonl')


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of the issues: this one, its `.beads`, or that of the file itself.

    A copy of the file beside `.beads` is no second store.
    """
    folders = [path / FOLDER, path]
    if path.name in NAMES and not os.path.isdir(path):
        folders = [path.parent]
    for folder in folders:
        file = issues_file(folder)
        if _holds_issues(file):
            yield Candidate(folder, f"issues in {file.name}")
            return
        elif os.path.isfile(file):
            yield Candidate(folder, file.name, "an issue of Beads in its first line")
        elif folder.name == FOLDER and os.path.isdir(folder):
            yield Candidate(folder, FOLDER, f"{NAMES[0]}, which `bd export -o` writes")


def issues_file(root: Path) -> Path:
    """The file with the issues of a store; the usual name where there is none."""
    files = [root / name for name in NAMES]
    return next((file for file in files if os.path.lexists(file)), files[0])


def _holds_issues(file: Path) -> bool:
    try:
        if not os.path.isfile(file) or not is_link_into(file, file.parent):
            return False
        with open(file, "rb") as opened:
            text = opened.read(_MAX_LOOKED_AT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    first = "".join(first_record(text).split(" "))
    is_issue = '"id"' in first and '"title"' in first
    return (
        first.startswith("{")
        and any(mark in first for mark in _MARKS)
        and (is_issue or '"_type":"memory"' in first or '"_schema"' in first)
    )


FORMAT = Format(
    name="beads",
    title="Beads: issues of coding agents in one file",
    product=Product("Beads", "BD", 4),
    places=("$BEADS_DIR", "~/.beads"),
    detect=detect,
    nearby=(".", FOLDER),
)
