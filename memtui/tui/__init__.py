"""The screen: a Textual app over one library. Nothing else in memtui imports Textual.

The rest of memtui calls `start` only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from memtui.errors import TerminalError

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.store_catalog import StoreCatalog

FRAMES = "250"
"""Frames a second that Textual may draw: halves the wait for the second frame after a key."""
SWITCH_INTERVAL = 0.0005
"""Seconds a worker may keep the interpreter from the screen: echo stays quick while it searches."""


GARBAGE = (10_000, 500, 100)
"""Thresholds of the collector: to look at 10,000 new objects takes 5 ms, at 100,000 up to 90, and
no key is answered meanwhile."""


def leave(code: int) -> NoReturn:
    """End the process at once, without waiting for threads that only read; stop child processes."""
    if "memtui.child_processes" in sys.modules:
        from memtui import child_processes

        child_processes.kill_all()
    for file in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            file.flush()
    os._exit(code)


def refuse_terminal(environ: Mapping[str, str], encoding: str) -> None:
    """Raise TerminalError where the terminal cannot move its cursor, or where memtui's characters
    cannot be written in the encoding of the standard output."""
    if environ.get("TERM", "") in ("dumb", "unknown"):
        raise TerminalError(
            f"the terminal cannot show the screen (TERM={environ['TERM']})",
            do="set TERM, or use `memtui list`, `memtui search`, `memtui show`",
        )
    if encoding.lower().replace("-", "").replace("_", "") != "utf8":
        raise TerminalError(
            f"the locale is not UTF-8 ({encoding})",
            do="try `LC_ALL=C.UTF-8 memtui`",
        )


def start(
    library: Library | Callable[[], Library],
    roots: Sequence[Path] = (),
    catalog: Callable[[], StoreCatalog] | None = None,
) -> int:
    """Show the screen until it is left; returns the exit code.

    Args:
        library: The open stores, or a function that opens them: it is then called after the first
            paint, so that nothing of the library delays it.
        roots: The stores that were named, to tell their session from others'.
        catalog: Gives the stores to choose from; called in a background job.
    """
    import asyncio
    import gc

    refuse_terminal(os.environ, sys.stdout.encoding)
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*GARBAGE)
    gc.disable()  # until the first paint: imports make no garbage worth looking for
    from memtui import paths
    from memtui.tui import first_frame

    roots = roots or ([] if callable(library) else [store.root for store in library.stores])
    with first_frame.shown(paths.cache_folder(), roots) as terminal:
        from memtui import config
        from memtui.tui.app import MemtuiApp
        from memtui.tui.app_base import Launch

        loaded = config.load(paths.config_file())
        launch = Launch(
            library if callable(library) else lambda: library,
            loaded=loaded,
            config_file=None if paths.served_mode() == paths.READ_ONLY else paths.config_file(),
            state=paths.state_folder(),
            cache=paths.cache_folder(),
            themes=(paths.bundled_folder("themes"), paths.user_themes()),
            catalog=catalog,
            roots=roots,
            terminal=terminal,
        )
        app = MemtuiApp(launch)
        # Not `app.run`: closing its loop would wait for every thread that still reads.
        asyncio.Runner().run(app.run_async(mouse=loaded.settings.mouse))
        app.wait_for_writes()
    if app.has_draft:
        with contextlib.suppress(OSError):
            print("memtui: the unsaved draft is kept; the next start offers it.", file=sys.stderr)
    if app.fault is not None:
        raise app.fault
    if app.next_arguments:
        from memtui import child_processes

        child_processes.kill_all()
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "memtui", *app.next_arguments])
    return app.return_code or 0
