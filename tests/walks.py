"""A trace of the walks of docs/architecture.md: every function of memtui that is entered.

python -m tests.walks read    one fact from disk to a row of the list
python -m tests.walks edit    `e`, one letter, `ctrl+s`: to the bytes on disk
python -m tests.walks write   the same edit without the screen: from `Library.plan` to the bytes
python -m tests.walks letter  a letter in all sample stores: from the line to hits and counts

It prints where the walk ends; the functions after it are what the program then does by itself:
other panes, links, the review, backups.
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
from memtui.changes import Act, Change
from memtui.library import Library
from memtui.tui.view_state import ViewState
from tests.bench.answers import open_all
from tests.samples import NOW
from tests.tui.stage import PAUSE, fact, stage, write_store

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


async def walk(name: str, trace: Trace) -> int:
    """Take a walk; return how many functions had been entered when it was at its end.

    What the program does afterwards by itself is traced too, until nothing is left to do.
    """
    with tempfile.TemporaryDirectory(prefix="memtui-walk-") as folder:
        root, state = write_store(Path(folder), FACTS), Path(folder) / "state"
        changed = next(root.rglob("items.json"))
        before, wanted = changed.read_bytes(), FACTS["people/alice"][0]["content"]
        trace.is_on = name == "read"
        async with stage(
            root, state=state, open_library=lambda: Library.open([root], cache=None, state=state)
        ) as on:
            if name == "edit":
                await on.ready()
                on.browse.worker.end_watching()  # a look at the stores is no part of it
                on.browse.worker.refresh()
                await on.still()
                trace.is_on = True
                await on.press("e")
                await on.type("x")
                await on.sees("items.json")
                await on.handle("ctrl+s")
            while changed.read_bytes() == before if name == "edit" else wanted not in on.text():
                await asyncio.sleep(PAUSE)
                on.app.screen._on_timer_update()
            count = len(trace.entered)
            await on.ready()
            await on.still()
            trace.is_on = False
    return count


def write(trace: Trace) -> int:
    """Edit a fact without the screen; an edit before it has opened the journal."""
    with tempfile.TemporaryDirectory(prefix="memtui-walk-") as folder:
        root, state = write_store(Path(folder), FACTS), Path(folder) / "state"
        library = Library.open([root], cache=None, state=state)
        library.load()
        fact = library.snapshot.rows[0]
        for text in ("Alice prefers coffee in the morning", "Alice prefers milk in the morning"):
            trace.entered.clear()
            trace.is_on = True
            change = Change(Act.EDIT, fact.store, fact.ref, {"content": text})
            planned = library.plan([change])
            between = len(trace.entered)
            library.apply(planned)
            trace.is_on = False
            library.refresh()
    print(f"planning: {between} functions")
    return 1 + [*trace.entered].index(("files/atomic_replace.py", "exchange"))


def letter(trace: Trace) -> int:
    """Type the second letter of a word, as the worker of the screen does; other words were typed
    before."""
    with open_all() as library:
        for line in ("x", "d", "dr"):
            trace.entered.clear()
            trace.is_on = True
            found = library.find(ViewState(line).query(NOW, typing=True))
            _ = found.hint, found.types, found.facets
            trace.is_on = False
    return len(trace.entered)


def main() -> None:
    trace = Trace()
    sys.setprofile(trace)
    threading.setprofile(trace)
    alone = {"write": write, "letter": letter}.get(sys.argv[1])
    count = asyncio.run(walk(sys.argv[1], trace)) if alone is None else alone(trace)
    sys.setprofile(None)
    for number, ((module, function), times) in enumerate(trace.entered.items()):
        if number == count:
            print("-- the walk ends here; what the program does afterwards by itself:")
        print(f"{times:>7}  {module}  {function}")
    for what, entered in (("walk", [*trace.entered][:count]), ("all", [*trace.entered])):
        modules = [module for module, _ in entered]
        screen = [module for module in modules if module.startswith("tui/")]
        print(
            f"{what}: {len(set(modules))} modules, {len(entered)} functions; "
            f"the screen has {len(set(screen))} and {len(screen)} of them"
        )


if __name__ == "__main__":
    main()
