"""Asks for a file to write a text to, whose suffix says in which form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memtui import text
from memtui.tui.dialogs.dialog import ConfirmDialog, PromptDialog, Reply
from memtui.tui.widgets.outcome import OutcomeLine

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface


def ask_file(
    app: AppInterface,
    title: str,
    name: str,
    writers: Mapping[str, Callable[[], str]],
    hint: str = "",
) -> None:
    """Ask for a path and write the text there; says what was written, or why not.

    Args:
        app: Shows the dialogs.
        title: Of the first dialog.
        name: Proposed name of the file, in the folder the program was started in.
        writers: Suffix -> makes the text.
        hint: What the suffixes mean.
    """

    def write(path: Path) -> None:
        from memtui.bundle.exporting import write_file

        try:
            write_file(path, [writers[path.suffix]().encode()])
        except OSError as error:
            where = text.file_name(str(path))
            app.notify(f"{where}: nothing was written: {error.strerror}", severity="error")
        else:
            app.notify(f"Saved {text.file_name(str(path))}.", timeout=6)

    def named(words: str | None) -> None:
        if words is None:
            return
        path = Path(words).expanduser()
        if path.suffix not in writers or path.is_dir():
            app.notify(f"The name must end in {' or '.join(writers)}.", severity="warning")
        elif path.exists():
            said = (OutcomeLine(f"{text.file_name(str(path))} already exists."),)
            app.push_screen(
                ConfirmDialog("Overwrite file?", said, (Reply("y", "overwrite", "yes"),)),
                lambda reply: write(path) if reply else None,
            )
        else:
            write(path)

    app.push_screen(PromptDialog(title, hint=hint, value=str(Path.cwd() / name)), named)
