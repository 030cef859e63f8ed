"""Owner, group and mode of a file that replaces another one.

The owner of a file cannot be given away without privileges, so a file of somebody else that is
replaced becomes the person's own. That happens only after the person has agreed.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from memtui.errors import ForeignOwner
from memtui.files.failpoints import failpoint


def take_ownership(descriptor: int, path: Path, like: os.stat_result, *, agreed: bool) -> int:
    """Give an open file the owner and the group of the file at `path`, as far as it is possible.

    Args:
        descriptor: the new file.
        path: the file it is to replace.
        like: the status of that one.
        agreed: the person accepts another owner or group.

    Returns:
        The mode the new file may have: who had no access before has none after.

    Raises:
        ForeignOwner: the owner or the group cannot be kept, and nobody has agreed.
        OSError: the system refuses for another reason.
    """
    mode = stat.S_IMODE(like.st_mode)
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid):
        return mode
    failpoint("owner")
    if _given(descriptor, like.st_uid, like.st_gid):
        return mode
    mode &= ~stat.S_ISUID
    keeps_group = _given(descriptor, -1, like.st_gid)
    if not agreed:
        now = os.fstat(descriptor)
        raise ForeignOwner(
            f"it belongs to {_names(like)}, and saving would make it belong to {_names(now)}",
            where=str(path),
            do="agree to that when you are asked, or let the owner save it",
            path=path,
        )
    if keeps_group:
        return mode
    everybody = mode & stat.S_IRWXO
    return (mode & ~(stat.S_ISGID | stat.S_IRWXG)) | (mode & (everybody << 3))


def keeps_access_lists(mode: int, like: os.stat_result) -> bool:
    """Whether lists of further users may be kept: they also say what the group may do."""
    return (mode & stat.S_IRWXG) == (like.st_mode & stat.S_IRWXG)


def _given(descriptor: int, owner: int, group: int) -> bool:
    try:
        os.fchown(descriptor, owner, group)
    except PermissionError:
        return False
    return True


def _names(status: os.stat_result) -> str:
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
