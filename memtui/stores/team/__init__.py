"""A team's memory in its own Postgres, opened as `postgres:SERVICE`; the code is `memtui.team`."""

from __future__ import annotations

from pathlib import Path

from memtui.stores.format import Format, Product


def detect(path: Path) -> Path | None:  # noqa: ARG001
    """None: nothing on disk is a store of a team."""
    return None


FORMAT = Format(
    "team",
    "Team: Postgres, shared by several people",
    (),
    detect,
    "memtui.team.store",
    product=Product("Team", "TM", 5),
)
