"""What `memtui status` found last, kept so that a prompt can ask for it at every line.

The file holds the answer and the paths that it depends on: files and folders of the stores, places
where stores may appear, memtui's own files. As long as all of them are as they were, within
`MINUTES`, the answer is printed without opening a store or importing anything that could; 33,000
memories in 4,950 files are 7,500 calls of stat. Nothing here imports more than the standard
library and `memtui.paths`.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32  # hashlib takes longer to import than all else here

from memtui import __version__, paths

FOLDER = "status"
MINUTES = 10
"""Minutes after which the answer is found anew: what is due and what is loaded depend on time."""
RETRY_SECONDS = 30
"""Seconds for which the answer of a process that was asked to find it is waited for."""
SHOWN = ("--short", "--json")
"""Options that say only how the answer is printed."""
_BYTES = "surrogateescape"


class Kept(NamedTuple):
    """The last answer, and whether it still holds."""

    answer: Mapping[str, Any]
    is_current: bool


def file_for(stores: Sequence[str]) -> Path:
    """Where the answer for these stores, asked for in this folder and environment, is kept."""
    text = _question(stores).encode("utf-8", _BYTES)
    return paths.cache_folder() / FOLDER / f"{crc32(text):08x}"


def _question(stores: Sequence[str]) -> str:
    names = ("MEMTUI_", "XDG_", "HOME")
    variables = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith(names))
    return "\0".join((__version__, os.getcwd(), *stores, "", *variables))


def read(stores: Sequence[str]) -> Kept | None:
    """The last answer; None if there is none."""
    try:
        file = file_for(stores)
        head, _, rest = file.read_bytes().partition(b"\n")
        kept = json.loads(head)
        answer, stamp, until = kept["answer"], kept["stamp"], kept["until"]
        if kept["question"] != _question(stores):
            return None
        variables: Mapping[str, str] = kept["variables"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_same = all(os.environ.get(name, "") == value for name, value in variables.items())
    is_due = not 0 <= until - time.time() <= MINUTES * 60
    return Kept(answer, is_same and not is_due and stamp == stamp_of(rest.split(b"\0")))


def write(
    stores: Sequence[str],
    answer: Mapping[str, Any],
    found: Iterable[str | Path],
    variables: Iterable[str],
) -> None:
    """Keep an answer with the paths and the variables of the environment that it depends on."""
    names = list(dict.fromkeys(os.fsencode(path) for path in found))
    head = {
        "question": _question(stores),
        "answer": answer,
        "stamp": stamp_of(names),
        "until": time.time() + MINUTES * 60,
        "variables": {name: os.environ.get(name, "") for name in variables},
    }
    rest = b"\0".join(names).decode("utf-8", _BYTES)
    text = f"{json.dumps(head)}\n{rest}"
    paths.write_private(file_for(stores), text, durable=False)


def stamp_of(names: Iterable[bytes]) -> str:
    """A digest of size and time of change of these files and folders; they need not exist."""
    marks = array("q")
    for name in names:
        try:
            found = os.stat(name)
        except (OSError, ValueError):
            marks.extend((-1, -1))
        else:
            marks.extend((found.st_mtime_ns, found.st_size))
    return f"{len(marks)}-{crc32(marks.tobytes()):08x}"


def answer(arguments: Sequence[str]) -> int | None:
    """Answer a command line of `memtui status` from what is kept; None if that cannot be done.

    With `--short` it always can: what is not current is found by another process, for the next
    time.
    """
    stores: list[str] = []
    shown, waiting = set[str](), list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word in SHOWN:
            shown.add(word)
        elif word == "--store" and waiting:
            stores.append(waiting.pop(0))
        else:
            return None
    kept = read(stores)
    if "--short" in shown and (kept is None or not kept.is_current):
        find_aside(stores)
    elif kept is None or not kept.is_current:
        return None
    print_answer(kept.answer if kept is not None else {}, shown)
    return 0


def print_answer(answer: Mapping[str, Any], shown: Iterable[str]) -> None:
    """Print the line, the short line, or JSON; the short line is left out where it is empty."""
    if "--json" in shown:
        print(json.dumps({key: answer[key] for key in answer if key not in ("line", "short")}))
    elif "--short" not in shown:
        print(answer["line"])
    elif line := answer.get("short"):
        print(line)


def find_aside(stores: Sequence[str]) -> None:
    """Let another process find the answer, and scan for the review, unless one just began to."""
    asked = file_for(stores).with_suffix(".asked")
    try:
        if time.time() - asked.stat().st_mtime < RETRY_SECONDS:
            return
    except OSError:
        pass
    try:
        paths.write_private(asked, "", durable=False)
    except OSError:
        return  # the answer could not be kept either
    from memtui.child_processes import start_detached

    start_detached(["status", "--refresh", *(w for store in stores for w in ("--store", store))])
