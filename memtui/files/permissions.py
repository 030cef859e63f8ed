"""Whether a file may be replaced, by the permission that it has itself.

Renaming a new file over one asks only for permission in its folder, so that a file which nobody may
write would be replaced like any other. As in vim, it is not, unless the person says so for this
write.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from memtui.errors import Refused

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Protected(Refused):
    """Files would be replaced or deleted that have no write permission."""

    def __init__(self, files: Mapping[Path, os.stat_result], *, deletes: bool = False) -> None:
        """`files`: at least one, with its status. `deletes`: the first is to be deleted."""
        self.verb = "delete" if deletes else "replace"
        self.consequence = ""
        """What is kept when the first of them is replaced."""
        first = next(iter(files))
        if not deletes:
            status = files[first]
            mode = stat.S_IMODE(status.st_mode)
            self.consequence = f"owner {owner_of(status)} and mode {mode:04o} stay"
        which = f"it and {len(files) - 1} more have" if len(files) > 1 else "the file has"
        super().__init__(
            f"{which} no write permission",
            where=str(first),
            do="; ".join(filter(None, [f"it is {self.verb}d with --force", self.consequence])),
        )


_replaced: ContextVar[list[Protected] | None] = ContextVar("replaced", default=None)
"""What was replaced by the saves of a block that may do that; None outside of one."""


@contextmanager
def replacing_protected(is_allowed: bool = True) -> Iterator[list[Protected]]:
    """Let saves in this block replace and delete files without write permission, if it is allowed.

    Yields a list to which each save adds what it has replaced.
    """
    found = list[Protected]()
    token = _replaced.set(found if is_allowed else None)
    try:
        yield found
    finally:
        _replaced.reset(token)


def note_replaced(protected: Protected) -> None:
    """Add what was replaced to the list of the block."""
    if (found := _replaced.get()) is not None:
        found.append(protected)


def has_write_permission(path: str | Path) -> bool:
    """Whether this user may write a file or folder, and anybody by its mode.

    The mode counts for root too, whom the system lets write anything. False where there is none.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    needed = os.W_OK | os.X_OK if stat.S_ISDIR(mode) else os.W_OK
    return bool(mode & _ANY_WRITE) and os.access(path, needed)


def find_protected(paths: Iterable[Path], *, deletes: bool = False) -> Protected | None:
    """The error of the files among these that have no write permission; None if all have."""
    found = {path: status for path in paths if (status := _status_if_protected(path)) is not None}
    return Protected(found, deletes=deletes) if found else None


def _status_if_protected(path: Path) -> os.stat_result | None:
    """The status of a file without write permission; None with it, and where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not status.st_mode & _ANY_WRITE:
        return status
    if os.access(path, os.W_OK):
        return None
    try:  # `access` also denies a file that another program has just removed, to make it anew
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        return None
    except OSError:
        return status
    return None


def refuse_protected(paths: Iterable[Path], *, deletes: bool = False) -> Protected | None:
    """Raise Protected unless each of these files may be replaced or made, or the block allows it;
    and Refused if the folder of one has no write permission.

    Returns the files without permission that the block allows to be replaced; None without such.
    """
    paths = list(paths)
    for folder in dict.fromkeys(map(_existing_folder, paths)):
        if not has_write_permission(folder):
            what, do = "the folder has no write permission", "chmod u+w gives it"
            raise Refused(what, where=str(folder), do=do)
    error = find_protected(paths, deletes=deletes)
    if error is not None and _replaced.get() is None:
        raise error
    return error


def _existing_folder(path: Path) -> Path:
    """The folder in which the file is, or in which its missing folders would be made."""
    return next(folder for folder in path.parents if os.path.isdir(folder))


def owner_of(status: os.stat_result) -> str:
    """Owner and group as `ls -l` shows them."""
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return f"{owner}:{group}"
