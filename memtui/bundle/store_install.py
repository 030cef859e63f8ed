"""A whole store put in its place in one step, and taken away again in one step.

What `TreeEdit` says is done here. A store that somebody has written into since it was made is not
taken away: what came later would go with it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memtui.changes import TreeEdit
from memtui.errors import BundleError, Refused, SaveError, UnreadableFile
from memtui.files import atomic_replace
from memtui.files.failpoints import failpoint
from memtui.files.reading import decode, digest, encode, real_path
from memtui.files.sidecar_lines import FOLDER, read_entries
from memtui.files.staging_dir import (
    clear_leftovers,
    emptying_folder,
    is_hidden,
    move_into_place,
    new_stage,
    removing_folder,
    sync,
)
from memtui.files.write_recorder import WriteRecorder
from memtui.paths import private_folder
from memtui.progress import Progress, Report, silent
from memtui.stores.format import WHOLE, DatabaseSupport, rows_digest
from memtui.stores.registry import format_of

BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database while it is open."""


@dataclass(frozen=True, slots=True)
class Tree:
    """All that a folder holds, by names from that folder."""

    files: Mapping[str, tuple[str, int | None]] = field(repr=False)
    """The text (bytes decoded with surrogateescape) and the time in nanoseconds."""
    databases: Mapping[str, tuple[str, Sequence[str]]] = field(repr=False)
    """The name of the format, and the rows."""

    def record(self) -> dict[str, Any]:
        """As a `TreeEdit` holds it."""
        return {
            "files": {name: list(held) for name, held in self.files.items()},
            "databases": {name: list(held) for name, held in self.databases.items()},
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Tree:
        """The inverse of `record`."""
        return cls(
            {name: (text, time) for name, (text, time) in record["files"].items()},
            {name: (format, rows) for name, (format, rows) in record["databases"].items()},
        )

    def mark(self, place: Path) -> tuple[str, str]:
        """A name and a digest for the recorder. All is there or nothing is, so one file tells
        after a crash what became of all."""
        for name, (text, _) in self.files.items():
            return str(place / name), digest(encode(text))
        for name, (_, rows) in self.databases.items():
            return f"{place / name}{WHOLE}", rows_digest(rows)
        raise BundleError("there is nothing in it", where=str(place))


def is_empty(place: Path) -> bool:
    """Whether nothing is there that an import could touch."""
    if not os.path.lexists(place):
        return True
    try:
        names = os.listdir(place)
        return all(is_hidden(name, real_path(place)) for name in names)
    except OSError:
        return False


def apply_tree_edit(edit: TreeEdit, recorder: WriteRecorder, report: Report = silent) -> None:
    """Make the folder or take it away; one that was there before is filled or emptied.

    Raises Refused, SaveError or BundleError; then all is as it was.
    """
    place = Path(edit.path)
    if edit.after is not None:
        _make(Tree.of(edit.after), place, recorder, report)
    elif edit.before is not None:
        _take_away(Tree.of(edit.before), place, recorder, folder_stays=edit.existed)


# ---- making -------------------------------------------------------------------------------------


def _make(tree: Tree, place: Path, recorder: WriteRecorder, report: Report) -> None:
    if not is_empty(place):
        raise Refused("there is something here already", where=str(place))
    name, post = tree.mark(place)
    try:
        with new_stage(place) as stage:
            failpoint("fill")
            _fill(tree, stage, report)
            recorder.intend(name, "", post)
            move_into_place(stage, place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was imported: {reason}", where=str(place)) from error
    recorder.done(name)


def _fill(tree: Tree, stage: Path, report: Report) -> None:
    """Write every file below the stage, and see it on disk."""
    written: list[Path] = []
    for number, (name, (text, changed)) in enumerate(tree.files.items()):
        if number % 50 == 0:
            report(Progress("restoring", number, len(tree.files)))
        target = stage / name
        private_folder(target.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
            file.write(encode(text))
        _set_time(target, changed)
        written.append(target)
    for name, (format, rows) in tree.databases.items():
        report(Progress("restoring"))
        private_folder((stage / name).parent)
        _database(format).rebuild(rows, stage / name)
    for target in written:
        sync(target)
    for folder, _, _ in os.walk(stage):
        sync(Path(folder))


def _database(format: str) -> DatabaseSupport:
    known = format_of(format)
    if known is None or known.database is None:
        raise BundleError(f"memtui knows no database of the format {format!r}")
    return known.database


def _set_time(path: Path, changed: int | None) -> None:
    """Give the file the time it had: some formats read it."""
    if changed is not None:
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(path, ns=(changed, changed))


# ---- taking away --------------------------------------------------------------------------------


def _take_away(tree: Tree, place: Path, recorder: WriteRecorder, *, folder_stays: bool) -> None:
    clear_leftovers(place)
    if is_empty(place):
        return
    name, pre = tree.mark(place)
    try:
        with _kept_out(tree, place):
            _check(tree, place, place)
            recorder.intend(name, pre, "")
            with emptying_folder(place) if folder_stays else removing_folder(place) as hidden:
                _check(tree, hidden, place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was taken away: {reason}", where=str(place)) from error
    recorder.done(name)


@contextmanager
def _kept_out(tree: Tree, place: Path) -> Iterator[None]:
    """Nobody writes into the databases meanwhile. Raises Refused when somebody has."""
    with ExitStack() as stack:
        for name, (format, rows) in tree.databases.items():
            if (place / name).exists():
                stack.enter_context(_database(format).alone_with(place / name, rows))
        yield


def _check(tree: Tree, folder: Path, place: Path) -> None:
    """Raises Refused when the folder holds anything but what was made."""
    beside = {name + suffix for name in tree.databases for suffix in BESIDE}
    for path in _files_below(folder):
        name = str(path.relative_to(folder))
        if name in tree.databases or name in beside:
            continue
        if not _is_as_made(tree, name, path):
            what = "was changed" if name in tree.files else "was made there"
            raise Refused(
                f"{name} {what} since; nothing was taken away",
                where=str(place),
                do="undo what came later first, or delete the folder yourself",
            )


def _files_below(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        yield from (Path(base) / name for name in sorted([*names, *links]))


def _is_as_made(tree: Tree, name: str, path: Path) -> bool:
    made = tree.files[name][0] if name in tree.files else None
    try:
        now = decode(atomic_replace.read_if_exists(path) or b"")
    except UnreadableFile:
        return False
    if now == made:
        return True
    # memtui's own notes only grow: what counts is what they say in the end.
    return path.parent.name == FOLDER and _said(now) == _said(made or "")


def _said(text: str) -> dict[str, Any]:
    return {id: entry for id, entry in read_entries(text).items() if entry}
