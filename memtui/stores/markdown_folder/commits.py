"""Commit changed files of a folder that is a git repository, through `git` if it is installed.

Hooks, filters and file monitors of the repository are programs that whoever wrote the folder chose,
so none is run: blobs are written as they are, the tree is made in an index of its own, and what
others have staged is neither committed nor lost.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SECONDS = 20.0
"""For one call of git."""

_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "memtui"), ("EMAIL", "memtui@localhost"))
}


class _GitFailed(Exception):
    """What git said."""


def commit_files(root: Path, files: Sequence[str]) -> str:
    """Commit these files of the repository at `root` as they are now.

    Args:
        root: the top folder of the repository.
        files: absolute paths; one that does not exist is committed as removed.

    Returns:
        Why nothing was committed, for people; "" if it was, or if there is no repository or no git.
    """
    git = shutil.which("git")
    if git is None or not os.path.isdir(root / ".git"):
        return ""
    names = [os.path.relpath(file, root).replace(os.sep, "/") for file in files]
    if any(name.startswith("../") for name in names):
        return "a file lies outside the repository"
    try:
        _commit(git, root, names)
    except (_GitFailed, OSError, subprocess.TimeoutExpired) as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def _commit(git: str, root: Path, names: Sequence[str]) -> None:
    head = _git(git, root, "rev-parse", "--verify", "--quiet", "HEAD", check=False)
    with tempfile.TemporaryDirectory(prefix="memtui-git-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        if head:
            _git(git, root, "read-tree", head, env=index)
        entries = [_entry(git, root, name) for name in names]
        _update(git, root, entries, index)
        tree = _git(git, root, "write-tree", env=index)
    if head and tree == _git(git, root, "rev-parse", f"{head}^{{tree}}"):
        return
    shown = names[0] if len(names) == 1 else f"{len(names)} files"
    parent = ("-p", head) if head else ()
    made = _git(git, root, "commit-tree", tree, *parent, "-m", f"memtui: {shown}", env=_WHO)
    _git(git, root, "update-ref", "-m", "commit: memtui", "HEAD", made, *([head] if head else []))
    _update(git, root, entries, {})


def _entry(git: str, root: Path, name: str) -> str:
    """The line of `update-index --index-info` for a file as it is now."""
    path = root / name
    if not os.path.isfile(path):
        return f"0 {'0' * 40}\t{name}\0"
    blob = _git(git, root, "hash-object", "-w", "--no-filters", "--", name)
    mode = "100755" if os.access(path, os.X_OK) else "100644"
    return f"{mode} {blob}\t{name}\0"


def _update(git: str, root: Path, entries: Sequence[str], env: dict[str, str]) -> None:
    _git(git, root, "update-index", "-z", "--index-info", env=env, given="".join(entries))


def _git(
    git: str,
    root: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    given: str = "",
    check: bool = True,
) -> str:
    place = {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)}
    done = subprocess.run(
        [git, *_SAFE, *arguments],
        cwd=root,
        env={**os.environ, **place, **(env or {})},
        input=os.fsencode(given),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode and check:
        raise _GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"git {arguments[0]}")
    return "" if done.returncode else os.fsdecode(done.stdout).strip()
