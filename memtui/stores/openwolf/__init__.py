"""OpenWolf: what it learned of a project and the log of its sessions, in `.wolf/`.

`cerebrum.md` has preferences, learnings, what is not to be repeated and decisions; hooks compare it
before each write, and append to `memory.md` after it. What `buglog.json` knows of bugs is not read.
(Source: cytostack/openwolf@bd698351, README, docs/how-it-works.md, src/templates, src/hooks.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import place_of

FOLDER = ".wolf"
MARKS = ("cerebrum.md", "OPENWOLF.md")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder that this path is, or directly holds."""
    return place_of(path, FOLDER, MARKS, "openwolf")


FORMAT = Format(
    name="openwolf",
    title="OpenWolf: cerebrum and session log of a project",
    product=Product("OpenWolf", "OW", 1),
    places=(),
    detect=detect,
)
