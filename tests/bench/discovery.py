"""How long finding all stores takes on a home folder with many files.

    python -m tests.bench.discovery [--files 200000] [--runs 5]

A home folder with a store of every format in its program's place and so many other files is made
in a temporary folder. The time of `StoreCatalog.known` is measured from a project and from the home
folder, the first time (the system's cache is warm from the making) and after it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from memtui.library.store_catalog import StoreCatalog
from tests.synthetic_home import add_files, build_home


def measure(folder: Path, home: Path, runs: int) -> tuple[int, list[float]]:
    """Stores found, and milliseconds of each run."""
    catalog = StoreCatalog(lambda _: NotImplemented, folder=folder, home=home)
    times, found = [], 0
    for _ in range(runs):
        began = time.perf_counter()
        found = len(catalog.known())
        times.append(1000 * (time.perf_counter() - began))
    return found, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memtui-home-") as temporary:
        made = build_home(Path(temporary) / "home")
        count = sum(1 for _ in add_files(made.home, asked.files))
        print(f"{count:,} files beside {made.stores} stores")
        os.environ.update(made.variables)
        for name, folder in (("from a project", made.project), ("from the home folder", made.home)):
            found, times = measure(folder, made.home, asked.runs)
            rest = sorted(times[1:]) or times
            print(
                f"{name:<22}{found:>4} stores  first {times[0]:6.1f} ms  "
                f"then {rest[len(rest) // 2]:6.1f} ms"
            )


if __name__ == "__main__":
    main()
