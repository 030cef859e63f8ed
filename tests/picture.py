"""Make docs/screenshot.svg from the running app on a copy of the sample data.

python -m tests.picture [OUT.svg] [--size 150x42] [--theme dusk] [--keys "/ t e a enter"]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from memtui import paths
from memtui.config import LoadedSettings, Settings
from memtui.library import Library
from memtui.stores import registry
from memtui.tui.app import MemtuiApp
from memtui.tui.app_interface import Launch

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def _copy(folder: Path) -> list[Path]:
    """The sample stores under a short path, each document with the file time of its date."""
    copy = folder / "sample-data"
    shutil.copytree(paths.bundled_folder("sample-data"), copy)
    roots = [path for path in sorted(copy.iterdir()) if registry.detect(path)]
    library = Library.open(roots)
    library.load()
    for memory in library.snapshot.rows:
        if memory.kind == "document" and memory.created:
            time = memory.created.timestamp()
            os.utime(memory.origin.file, (time, time))
    return roots


async def picture(out: Path, size: tuple[int, int], theme: str, keys: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="memtui-") as folder:
        roots = _copy(Path(folder))
        app = MemtuiApp(
            Launch(
                lambda: Library.open(
                    roots,
                    cache=Path(folder) / "cache",
                    state=Path(folder) / "state",
                    now=lambda: NOW,
                ),
                loaded=LoadedSettings(Settings(theme=theme)),
                themes=(paths.bundled_folder("themes"),),
                now=lambda: NOW,
            )
        )
        async with app.run_test(size=size) as pilot:
            await pilot.pause(2.0)
            for key in keys:
                await pilot.press(key)
            await pilot.pause(1.0)
            out.write_text(app.export_screenshot(title="memtui"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", nargs="?", default="docs/screenshot.svg", type=Path)
    parser.add_argument("--size", default="150x42")
    parser.add_argument("--theme", default="dusk")
    parser.add_argument("--keys", default="")
    options = parser.parse_args()
    columns, rows = map(int, options.size.split("x"))
    asyncio.run(picture(options.out, (columns, rows), options.theme, options.keys.split()))


if __name__ == "__main__":
    main()
