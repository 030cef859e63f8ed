"""The command `status`: what waits for review, what agents wrote, what is not loaded, in a line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memtui import paths
from memtui.cli import status_cache
from memtui.cli.options import command, option
from memtui.cli.store_selection import load_library, load_settings
from memtui.errors import MemtuiError, StoreError
from memtui.text import counted, one_line

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.looks import Written
    from memtui.library.review_files import Queue
    from memtui.stores.base import LimitUse

MAX_NAMED = 2
"""Texts over a limit that the line names."""
NOTHING = {"waiting": 0, "hints": 0, "from_agents": 0}


@command
def status(
    short: bool = option(help="Only what is not zero, and nothing where nothing waits."),
    seen: bool = option(help="Count as seen what agents have written until now."),
    refresh: bool = option(hidden=True),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> None:
    """Say in a line what waits for you.

    How many findings and proposals wait in the review queue, how many memories agents have added,
    changed or removed since you last looked (since the screen was open, or `--seen`), and how many
    are over the limit of what their program loads. It takes a few milliseconds while nothing
    changes. With --short it never takes longer: what is new is found in the background, for the
    next prompt.
    """
    if refresh:
        from memtui.child_processes import NICENESS

        os.nice(NICENESS)
    from memtui.library import looks
    from memtui.library.review import SCANNED_HERE
    from memtui.stores import registry

    try:
        library = load_library(stores)
    except StoreError as error:
        if not (short or refresh) or stores:
            raise
        answer: dict[str, Any] = {"line": str(error), "short": ""}
        status_cache.write(stores, answer, _common_paths(), registry.named_variables())
        return

    written = looks.since_last(library)
    if seen or written.since is None:
        looks.take(library)
        written = looks.since_last(library)
    answer = describe(library, _review(library, is_thorough=refresh), written)
    with suppress(OSError):  # it is found anew next time
        found = [*_common_paths(), *_paths_of(library)]
        status_cache.write(stores, answer, found, registry.named_variables())
    if not refresh:
        if library.snapshot.count > SCANNED_HERE:
            status_cache.find_aside(stores)
        shown = [name for name, on in (("--short", short), ("--json", as_json)) if on]
        status_cache.print_answer(answer, shown)


def _review(library: Library, *, is_thorough: bool) -> Queue | None:
    """What waits in the review queue: as of the last scan, which is made anew only of few memories
    or where a person does not wait."""
    from memtui.library.review import SCANNED_HERE, ReviewQueue

    queue = ReviewQueue(library, load_settings().review)
    try:
        if is_thorough:
            return queue.scan_aside()
        return queue.scan() if library.snapshot.count <= SCANNED_HERE else queue.last()
    except MemtuiError:
        return queue.last()


def describe(library: Library, queue: Queue | None, written: Written) -> dict[str, Any]:
    """The answer: the objects of `--json`, the line and the short line."""
    uses = [u for u in library.loaded.limit_uses(library, library.now()) if u.not_loaded]
    lost = sum(use.not_loaded for use in uses)
    waiting = queue.counted if queue is not None else 0
    agents = queue.from_agents if queue is not None else 0
    review = f"{waiting:,} to review" + (f" ({agents:,} from agents)" if agents else "")
    hints = f", {counted(queue.hints, 'hint')}" if queue is not None and queue.hints else ""
    since = f" since {written.since.astimezone():%Y-%m-%d %H:%M}" if written.since else ""
    cut = f"{lost:,} not loaded"
    every = (
        (waiting, review, review + hints if queue is not None else "review not scanned yet"),
        (written.count, f"{written.count:,} new", _describe_written(written) + since),
        (lost, cut, f"{cut} ({_name_texts(library, uses)})" if lost else "nothing over a limit"),
    )
    return {
        "memories": library.snapshot.count,
        "review": NOTHING | {"scanned": False}
        if queue is None
        else {"waiting": waiting, "hints": queue.hints, "from_agents": agents, "scanned": True},
        "written": {
            "since": written.since.isoformat() if written.since is not None else None,
            "added": written.added,
            "changed": written.changed,
            "removed": written.removed,
        },
        "not_loaded": {"count": lost, "texts": [use.as_record() for use in uses]},
        "line": ", ".join(line for _, _, line in every),
        "short": ", ".join(short for count, short, _ in every if count),
    }


def _describe_written(written: Written) -> str:
    counts = {"new": written.added, "changed": written.changed, "removed": written.removed}
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count) or "0 new"


def _name_texts(library: Library, uses: Sequence[LimitUse]) -> str:
    """The texts that are over a limit: `Claude Code shop: MEMORY.md`."""
    names = [f"{library.names.of(use.store)} {use.title}" for use in uses[:MAX_NAMED]]
    more = [f"{len(uses) - MAX_NAMED} more"] if len(uses) > MAX_NAMED else []
    return one_line(", ".join([*names, *more]))


def _paths_of(library: Library) -> Iterator[str | Path]:
    """The files of the stores, and their folders: a new file changes the time of its folder."""
    by_store = library.loaded.memories_by_file()
    for store in library.stores:
        folders = dict[str, None]()
        for file in by_store.get(store.label, {}):
            yield file
            yield from (f"{file}-wal",) if file.endswith((".db", ".sqlite", ".sqlite3")) else ()
            folder = os.path.dirname(file)
            while folder not in folders and len(folder) >= len(str(store.root)):
                folders[folder] = None
                folder = os.path.dirname(folder)
        yield from folders
        yield store.root


def _common_paths() -> Iterator[str | Path]:
    """memtui's own files, and where stores may appear."""
    from memtui.library.agent_proposals import FOLDER as PROPOSALS
    from memtui.library.looks import FOLDER as LOOKS
    from memtui.library.review_files import DECISIONS_FILE
    from memtui.library.store_catalog import FILE as CHOICE
    from memtui.stores import registry

    state = paths.state_folder()
    yield paths.config_file()
    yield from (state / name for name in (DECISIONS_FILE, CHOICE, PROPOSALS, LOOKS))
    yield from (Path.cwd(), Path.home())
    yield from registry.searched_places(Path.cwd(), Path.home())
