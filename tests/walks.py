"""A trace of the two walks of docs/architecture.md: every function of memtui that is entered.

python -m tests.walks read   one fact from disk to a row of the list
python -m tests.walks edit   `e`, one letter, `ctrl+s`: to the bytes on disk
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import memtui
from tests.tui.stage import fact, stage, write_store

PACKAGE = str(Path(memtui.__file__).parent) + "/"
FACTS = {"people/alice": [fact(1, "Alice prefers tea in the morning", "2026-03-02", "person")]}


class Trace:
    """Functions in the order in which they are first entered, on any thread."""

    def __init__(self) -> None:
        self.entered: dict[tuple[str, str], int] = {}
        self.is_on = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not self.is_on or event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if "<" not in code.co_qualname and code.co_flags & CO_OPTIMIZED:  # no body of a class
            key = code.co_filename.removeprefix(PACKAGE), code.co_qualname
            self.entered[key] = self.entered.get(key, 0) + 1


async def walk(name: str, trace: Trace) -> None:
    with tempfile.TemporaryDirectory(prefix="memtui-walk-") as folder:
        store = write_store(Path(folder), FACTS)
        trace.is_on = name == "read"
        async with stage(store, state=Path(folder) / "state") as on:
            await on.still()
            trace.is_on = name == "edit"
            if name == "edit":
                await on.press("e")
                await on.type("x")
                await on.sees("items.json")
                await on.press("ctrl+s")
                await on.still()
            trace.is_on = False


def main() -> None:
    trace = Trace()
    sys.setprofile(trace)
    threading.setprofile(trace)
    asyncio.run(walk(sys.argv[1], trace))
    sys.setprofile(None)
    for (module, function), times in trace.entered.items():
        print(f"{times:>7}  {module}  {function}")
    modules = {module for module, _ in trace.entered}
    screen = [module for module, _ in trace.entered if module.startswith("tui/")]
    print(f"{len(modules)} modules, {len(trace.entered)} functions; the screen has", end=" ")
    print(f"{len(set(screen))} and {len(screen)} of them")


if __name__ == "__main__":
    main()
