"""Copy owner, group, mode and extended attributes to a file that replaces another one.

The owner of a file cannot be given away without privileges, so replacing a file of somebody else
would make it the person's own. Such a file is not saved.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.save_hooks import failpoint

_ACCESS_LISTS = "system.posix_acl_"
"""Prefix of the attributes that say what further users may do."""


def copy_metadata(descriptor: int, path: Path, like: os.stat_result) -> None:
    """Give a new file the owner, mode and attributes of the file at `path`.

    Arguments and errors are those of `copy_owner`.
    """
    copy_owner(descriptor, path, like)
    failpoint("mode")
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
    if sys.platform == "linux":
        for name in _attributes(path):
            failpoint("xattrs")
            os.setxattr(descriptor, name, os.getxattr(path, name))


def _attributes(path: Path) -> list[str]:
    """Extended attributes a person may have set; the system's own come with the folder."""
    try:
        names = os.listxattr(path)
    except OSError:  # a file system without them
        return []
    return [name for name in names if name.startswith(("user.", _ACCESS_LISTS))]


def copy_owner(descriptor: int, path: Path, like: os.stat_result) -> None:
    """Give an open file the owner and the group of the file at `path`, whose status is `like`.

    Raises:
        SaveError: the owner or the group cannot be kept.
        OSError: the system refuses for another reason.
    """
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid):
        return
    failpoint("owner")
    try:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    except PermissionError:
        raise SaveError(
            f"it belongs to {_names(like)}, and saving would make it belong to {_names(own)}",
            where=str(path),
            do="let its owner save it, or make it your own first",
        ) from None


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
