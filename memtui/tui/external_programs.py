"""What leaves the screen: text to the clipboard, a file to the person's editor."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memtui import text
from memtui.errors import SaveError
from memtui.files import external_editor
from memtui.model import Place
from memtui.tui.output_filter import DANGEROUS

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface


def clean(words: str) -> tuple[str, int]:
    """Text fit for another program's input, and how many characters were left out of it.

    No control character but newline and tab, nothing that hides; CR LF becomes a newline.
    """
    words = words.replace("\r\n", "\n")
    kept = "".join(c if c in "\n\t" else DANGEROUS.sub("", c) for c in words)
    return kept.strip("\n"), len(words) - len(kept)


def open_source(app: AppInterface, place: Place) -> None:
    """Give the terminal to the editor until it ends."""
    from textual.app import SuspendNotSupported

    if not Path(place.file).is_absolute() or not Path(place.file).exists():
        app.notify(f"{text.file_name(place.file)} is no longer there.", severity="warning")
        return
    try:
        lend(app, external_editor.editor_command(app.settings.editor, place.file, place.line))
    except SuspendNotSupported:
        app.notify("This terminal cannot be lent to an editor.", severity="warning")
    except OSError as error:
        reason = text.one_line(error.strerror or str(error))
        app.notify(f"The editor cannot be started: {reason}. Set $EDITOR.", severity="error")
    except SaveError as error:
        app.notify(str(error), severity="error")


def lend(app: AppInterface, arguments: Sequence[str]) -> int:
    """Give the terminal to another program until it ends; returns its exit status.

    Raises OSError when it cannot be started, SuspendNotSupported.
    """
    failed: OSError | None = None
    status = 0
    with app.suspend(), _interrupts_are_theirs():
        # Textual takes the terminal back only if nothing is raised in here.
        try:
            status = subprocess.run(arguments, check=False).returncode
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed
    return status


@contextmanager
def _interrupts_are_theirs() -> Iterator[None]:
    """^C reaches every program on the terminal; while one is lent to, it is not meant for us."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def suspend() -> str:
    """Stop until the shell continues us; returns why not when nothing could."""
    if os.getsid(os.getppid()) != os.getsid(0):
        return "No shell would bring memtui back."
    # To the whole group, so that a program that started us (uv run) stops with us.
    os.kill(0, signal.SIGTSTP)
    return ""
