"""Copy owner, group, mode and extended attributes to a file that replaces another one.

The owner of a file cannot be given away without privileges, so a file of somebody else that is
replaced becomes the person's own. That happens only after the person has agreed.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
from pathlib import Path

from memtui.errors import ForeignOwner
from memtui.files.save_hooks import failpoint

_ACCESS_LISTS = "system.posix_acl_"
"""Prefix of the attributes that say what further users may do."""


def copy_metadata(descriptor: int, path: Path, like: os.stat_result, *, agreed: bool) -> None:
    """Give a new file the owner, mode and attributes of the file at `path`.

    Arguments and errors are those of `copy_owner`.
    """
    mode = copy_owner(descriptor, path, like, agreed=agreed)
    failpoint("mode")
    os.fchmod(descriptor, mode)
    if sys.platform == "linux":
        # Access lists also say what the group may do, so they go where its rights have changed.
        keeps_lists = (mode & stat.S_IRWXG) == (like.st_mode & stat.S_IRWXG)
        for name in _attributes(path):
            if keeps_lists or not name.startswith(_ACCESS_LISTS):
                failpoint("xattrs")
                os.setxattr(descriptor, name, os.getxattr(path, name))


def _attributes(path: Path) -> list[str]:
    """Extended attributes a person may have set; the system's own come with the folder."""
    try:
        names = os.listxattr(path)
    except OSError:  # a file system without them
        return []
    return [name for name in names if name.startswith(("user.", _ACCESS_LISTS))]


def copy_owner(descriptor: int, path: Path, like: os.stat_result, *, agreed: bool) -> int:
    """Give an open file the owner and the group of the file at `path`, as far as possible.

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
    if _try_chown(descriptor, like.st_uid, like.st_gid):
        return mode
    mode &= ~stat.S_ISUID
    keeps_group = _try_chown(descriptor, -1, like.st_gid)
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


def _try_chown(descriptor: int, owner: int, group: int) -> bool:
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
