"""A file that could not be read: listed with its reason, and never written."""

from __future__ import annotations

from pathlib import Path

from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import NotThere
from memtui.stores.base import Unreadable


def as_unreadable(error: UnreadableFile, path: Path) -> Unreadable:
    """The error as an entry of the list of what could not be read."""
    return Unreadable(error.where or str(path), error.what, gone=isinstance(error, NotThere))


def as_refused(error: UnreadableFile, path: Path) -> Refused:
    """The error as the reason why nothing is written there."""
    return Refused(
        f"the file cannot be read, so it is not written: {error.what}",
        where=str(path),
        do="mend the file first",
    )
