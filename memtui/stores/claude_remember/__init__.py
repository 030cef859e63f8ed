"""Claude Remember, a plugin of Claude Code: a project's sessions, summed up by hour, day and week.

Its hook gives a new session `identity.md`, `remember.md`, `now.md`, the days, `recent.md` and
`archive.md`; an archive that was rotated out is only named to it. The folder is `.remember` of a
project, or `~/.remember/<slug>`. (Source: Digital-Process-Tools/claude-remember@b5973e9d, README,
pipeline/entry_header.py.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import place_of

FOLDER = ".remember"
MARKS = ("now.md", "remember.md", "recent.md", "archive.md")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder that this path is, or directly holds."""
    yield from place_of(path, FOLDER, MARKS, "claude-remember")
    if path.parent.name == FOLDER:
        yield from place_of(path, path.name, MARKS, "claude-remember")


FORMAT = Format(
    name="claude-remember",
    title="Claude Remember: sessions of a project, summed up",
    product=Product("Claude Remember", "CR", 2),
    places=(),
    detect=detect,
    nearby=(".", f"{FOLDER}/*"),
)
