"""memtui with a heart that beats on the screen's own loop: what it misses is a freeze.

    python -m tests.bench.heartbeat BEATS [memtui's arguments]

Every gap between two beats that is longer than `TOLD` is a line of the file BEATS: milliseconds.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from time import perf_counter

BEAT = 0.005
"""Seconds between two beats."""
TOLD = 20.0
"""Milliseconds from which a gap is told."""


async def beat(file: Path) -> None:
    with file.open("a", encoding="ascii") as told:
        last = perf_counter()
        while True:
            await asyncio.sleep(BEAT)
            now = perf_counter()
            gap = (now - last - BEAT) * 1e3
            if gap > TOLD:
                told.write(f"{gap:.1f}\n")
                told.flush()
            last = now


def main() -> None:
    from memtui.tui import app

    file = Path(sys.argv.pop(1))

    hearts = []

    def on_ready(_: app.MemtuiApp) -> None:
        hearts.append(asyncio.create_task(beat(file)))

    app.MemtuiApp.on_ready = on_ready  # type: ignore[attr-defined]
    from memtui.__main__ import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
