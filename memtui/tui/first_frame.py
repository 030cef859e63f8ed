"""The last frame of the main screen, written at the next start before Textual is imported.

Textual takes a fifth of a second to import. Until then, and until the stores' rows are there, the
terminal shows what the screen showed when memtui was left: drawn lines, for one size and one
terminal. A kept frame is ignored if anything differs that it depends on: memtui's version, what is
opened, the size, the variables of the environment, the settings and the theme's file, the folders
of the stores. It is data: nothing but text, colours and positions is written from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from memtui import __version__, text
from memtui.paths import write_private

FOLDER = "frames"
FORMER_FOLDER = "screens"
"""What earlier versions kept, with texts of memories; it is removed."""
MAX_FILES = 20
"""Files kept; the oldest are deleted first."""
MAX_BYTES = 1_000_000
"""memtui writes no larger file."""
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""The alternate screen."""
VARIABLES = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
PREFIXES = ("MEMTUI_", "TEXTUAL_")
"""Prefixes of the other variables that a frame depends on."""
_ESCAPES = re.compile("\x1b\\[[0-9;]*[Hm]")
"""The sequences of a frame: positions and colours (ECMA-48, 8.3.21, 8.3.117)."""
_BLANK = " memtui /"
"""Shown where no frame is kept: where the search line will be."""

Attributes = list[Any]
"""Attributes of a terminal, as `termios.tcgetattr` returns them."""


class TakenTerminal(NamedTuple):
    """The terminal as `shown` leaves it to the app: its alternate screen, no echo."""

    attributes: Attributes | None
    """Those before, to be restored; None if no terminal is read from."""
    has_frame: bool
    """It shows a kept frame."""


def save(
    cache: Path,
    roots: Sequence[Path],
    frame: str,
    size: Sequence[int],
    stores: Sequence[Path],
    files: Sequence[Path],
) -> None:
    """Keep a frame for the next start; an empty one removes what is kept. Never raises.

    `size`: columns and rows. `files`: settings and theme, which need not exist.
    """
    path = _path(cache, roots)
    with contextlib.suppress(OSError, ValueError):
        if (cache / FORMER_FOLDER).exists():
            from memtui.search.cache_files import remove_tree  # here: an upgrade needs it once

            remove_tree(cache / FORMER_FOLDER)
        if not (frame and _is_plain(frame)):
            path.unlink(missing_ok=True)
            return
        values = {
            "for": _conditions(size),
            "stores": {str(root): _stamp_store(root) for root in stores},
            "files": {str(file): _stamp_file(file) for file in files},
            "frame": frame,
        }
        write_private(path, json.dumps(values), durable=False)
        kept = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in kept[:-MAX_FILES]:
            old.unlink()


def load(cache: Path, roots: Sequence[Path], size: Sequence[int]) -> str:
    """Return the frame that is kept for this start; empty if there is none. Never raises."""
    with contextlib.suppress(
        OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
    ):
        path = _path(cache, roots)
        if path.stat().st_size > MAX_BYTES:
            return ""
        values = json.loads(path.read_bytes())
        if (
            values["for"] == _conditions(size)
            and all(_stamp_store(Path(name)) == was for name, was in values["stores"].items())
            and all(_stamp_file(Path(name)) == was for name, was in values["files"].items())
            and _is_plain(values["frame"])
        ):
            return str(values["frame"])
    return ""


@contextmanager
def shown(cache: Path, roots: Sequence[Path]) -> Iterator[TakenTerminal | None]:
    """Show the kept frame, in the alternate screen, while Textual is imported.

    What is typed from now on is not echoed and waits for the app, which takes the terminal over
    and gives it back in the end. When something ends the start before that, a signal too, it is
    given back here.

    Yields:
        What the app takes over; None if the standard output is no terminal.
    """
    if not sys.stdout.isatty():
        yield None
        return
    attributes: Attributes | None = None

    def give_back() -> None:
        with contextlib.suppress(OSError, RuntimeError):  # a signal may have come inside a flush
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            os.write(sys.stdout.fileno(), f"\x1b[?7h{LEAVE}\x1b[?25h".encode())
        if attributes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, attributes)

    def end(number: int, _: object) -> None:
        # Not by an exception: Python drops those that are raised in the callback of a weak
        # reference, and each import runs one. Nothing has been written by now.
        give_back()
        os._exit(128 + number)

    before = {
        number: signal.signal(number, end)
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        attributes = _read_silently()
        frame = load(cache, roots, os.get_terminal_size(sys.stdout.fileno()))
        hidden = "\x1b[?25l\x1b[?7l" if frame else ""
        sys.stdout.write(f"{ENTER}{hidden}\x1b[2J\x1b[H{frame or _BLANK}")
        sys.stdout.flush()
        yield TakenTerminal(attributes, bool(frame))
    except BaseException:
        give_back()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read_silently() -> Attributes | None:
    """Turn off echo and line mode as Textual does, but for ^C; returns the attributes before."""
    if not sys.stdin.isatty():
        return None
    handle = sys.stdin.fileno()
    attributes, before = termios.tcgetattr(handle), termios.tcgetattr(handle)
    attributes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    attributes[6][termios.VMIN] = 1
    attributes[6][termios.VSUSP] = b"\0"  # ^Z is a key of the app
    attributes[6][termios.VQUIT] = b"\0"  # ^\\ would end it with the terminal as it is
    termios.tcsetattr(handle, termios.TCSANOW, attributes)
    return before


def _path(cache: Path, roots: Sequence[Path]) -> Path:
    """The file for what is opened: the paths that were named, else the stores listed in the
    environment and those of the current folder."""
    names = sorted(str(root.absolute()) for root in roots)
    names = names or [os.environ.get("MEMTUI_STORES", ""), str(Path.cwd())]
    key = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:20]
    return cache / FOLDER / f"{key}.json"


def _stamp_store(root: Path) -> list[int]:
    """Return device and inode of a folder, [0, 0] for a file, which is replaced when written.

    Raises OSError.
    """
    found = root.stat()
    if not os.access(root, os.R_OK):
        raise PermissionError(root)
    return [found.st_dev, found.st_ino] if root.is_dir() else [0, 0]


def _conditions(size: Sequence[int]) -> Mapping[str, Any]:
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith(PREFIXES)
    }
    return {"version": __version__, "size": list(size), "variables": variables}


def _stamp_file(file: Path) -> list[int]:
    """Return size, inode and time of a file; empty if it is missing. Raises OSError."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return []
    return [found.st_size, found.st_ino, found.st_mtime_ns]


def _is_plain(frame: str) -> bool:
    """Whether nothing in a frame can act on the terminal but for colours and positions."""
    signs = _ESCAPES.sub("", frame)
    return "\n" not in signs and text.escaped(signs) == signs
