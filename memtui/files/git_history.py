"""Read former versions of a file from the git repository it lies in, through the `git` program.

Nothing is run if no folder above the file holds `.git`. The repository is not trusted: its config
could name programs to run (gitconfig: core.fsmonitor, core.hooksPath, diff.external, textconv,
gpg.program through log.showSignature, core.sshCommand and remote helpers when objects of a partial
clone are fetched), so each of them is disabled, and only commands that read objects are used. git's
own `safe.directory` rule stays in force. Every call is bounded in time and can be cancelled.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memtui.progress import IsCancelled, never

log = logging.getLogger(__name__)

MOST_COMMITS = 500
"""Newest commits of a file that are looked at."""
PATIENCE = 5.0
"""Seconds for all commands of one question."""
MOST_BYTES = 64 * 1024 * 1024
"""A larger version of a file is left out."""
_CHUNK = 16
"""Versions that one command reads."""
_TICK = 0.05
"""Seconds between two looks at whether it was cancelled."""

_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.sshCommand=false",
    "-c", "core.alternateRefsCommand=false",
    "-c", "diff.external=",
    "-c", "log.showSignature=false",
    "-c", "log.mailmap=false",
    "-c", "protocol.allow=never",
    "-c", "safe.bareRepository=explicit",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file as a commit has it."""

    commit: str
    """Hash of the commit."""
    time: datetime
    """When it was authored."""
    author: str
    """Untrusted text."""
    text: bytes


@dataclass(slots=True)
class GitHistory:
    """The git history of files of one repository, within a time limit."""

    top: Path
    """The folder that holds `.git`."""
    cancelled: IsCancelled = never
    deadline: float = 0.0
    is_complete: bool = True
    """False after something was left out: too many commits, too little time, an error of git."""

    @classmethod
    def of(cls, path: Path, cancelled: IsCancelled = never) -> GitHistory | None:
        """The history of the repository that a path lies in; None without git or repository."""
        top = find_repository(path)
        if top is None or shutil.which("git") is None:
            return None
        return cls(top, cancelled, time.monotonic() + PATIENCE)

    def versions(self, path: Path, most: int = MOST_COMMITS) -> Iterator[FileVersion]:
        """Each different version of a file, newest first."""
        name = self._name(path)
        if name is None:
            return
        form = "--format=%H%x00%at%x00%an"
        output = self._run(
            "log", "-z", form, "--no-ext-diff", "--no-textconv", "--no-show-signature",
            f"--max-count={most + 1}", "HEAD", "--", name,
        )  # fmt: skip
        if output is None:
            return
        parts = output.split(b"\0")
        commits = [tuple(parts[at : at + 3]) for at in range(0, len(parts) - 2, 3)]
        if len(commits) > most:
            self.is_complete = False
        commits = commits[:most]
        last = b""
        for first in range(0, len(commits), _CHUNK):
            chunk = commits[first : first + _CHUNK]
            objects = self._objects([f"{commit[0].decode()}:{name}" for commit in chunk])
            for (commit, seconds, author), found in zip(chunk, objects, strict=False):
                if found is None or found[0] == last:
                    continue
                last = found[0]
                yield FileVersion(
                    commit.decode(), _time(seconds), author.decode("utf-8", "replace"), found[1]
                )

    def files_at(self, folder: Path, at: datetime) -> dict[Path, FileVersion] | None:
        """The files below a folder that differ now from the last commit before a time.

        Returns:
            Path -> the version of that commit; None if there is no commit before that time.
        """
        name = self._name(folder)
        if name is None:
            return None
        output = self._run(
            "log", "-1", "-z", "--format=%H%x00%at%x00%an", "--no-show-signature",
            f"--until={int(at.timestamp())}", "HEAD",
        )  # fmt: skip
        parts = output.split(b"\0") if output else []
        if len(parts) < 3:
            return None
        commit, seconds, author = parts[0].decode(), _time(parts[1]), parts[2]
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", commit, "--", name)
        if listed is None:
            return None
        changed: list[tuple[Path, str]] = []
        for line in listed.split(b"\0"):
            head, _, path = line.partition(b"\t")
            fields = head.split()
            if len(fields) != 3 or fields[1] != b"blob" or not fields[0].startswith(b"100"):
                continue
            file = self.top / os.fsdecode(path)
            if _blob_hash(file, len(fields[2])) != fields[2].decode():
                changed.append((file, fields[2].decode()))
        found: dict[Path, FileVersion] = {}
        for first in range(0, len(changed), _CHUNK):
            chunk = changed[first : first + _CHUNK]
            objects = self._objects([blob for _, blob in chunk])
            for (file, _), each in zip(chunk, objects, strict=False):
                if each is not None:
                    found[file] = FileVersion(
                        commit, seconds, author.decode("utf-8", "replace").rstrip("\n"), each[1]
                    )
        return found

    def remote(self) -> str:
        """The address of the remote `origin`, as the config has it; "" if there is none."""
        output = self._run("config", "--local", "--get", "remote.origin.url")
        return "" if output is None else os.fsdecode(output).strip()

    def merged_branches(self) -> frozenset[str]:
        """Branches that are merged into the current one, without that one (`git branch
        --merged`, and what Ambient leaves out: src/memory/lifecycle.ts:15-54)."""
        current = self._run("symbolic-ref", "--short", "HEAD")
        output = self._run(
            "for-each-ref", "--merged=HEAD", "--format=%(refname:short)", "refs/heads"
        )
        if output is None or current is None:
            return frozenset()
        return frozenset(os.fsdecode(output).split("\n")) - {os.fsdecode(current).strip(), ""}

    def _name(self, path: Path) -> str | None:
        try:
            name = os.path.relpath(os.path.realpath(path), os.path.realpath(self.top))
        except ValueError:
            return None
        if name.startswith("..") or "\n" in name:
            return None
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            return None
        return name

    def _objects(self, names: Sequence[str]) -> list[tuple[bytes, bytes] | None]:
        """Hash and content of each object, in order; None for one that is missing or too large."""
        output = self._run("cat-file", "--batch-check", stdin="\n".join(names) + "\n")
        if output is None:
            return []
        sizes = [line.split() for line in output.split(b"\n") if line]
        fits = [
            len(size) == 3 and size[1] == b"blob" and int(size[2]) <= MOST_BYTES for size in sizes
        ]
        present = [name for name, fit in zip(names, fits, strict=False) if fit]
        if not all(fits):
            self.is_complete = False
        content = (
            self._run("cat-file", "--batch", stdin="\n".join(present) + "\n") if present else b""
        )
        if content is None:
            return []
        found: list[tuple[bytes, bytes] | None] = []
        at = 0
        for fit in fits:
            if not fit:
                found.append(None)
                continue
            end = content.index(b"\n", at)
            hash_, _, size = content[at:end].split()
            found.append((hash_, content[end + 1 : end + 1 + int(size)]))
            at = end + 2 + int(size)
        return found

    def _run(self, *arguments: str, stdin: str = "") -> bytes | None:
        """Run git; None if it fails, takes too long or is cancelled."""
        if self.cancelled() or time.monotonic() > self.deadline:
            self.is_complete = False
            return None
        command = ["git", "-C", str(self.top), *_SAFE, *arguments]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            log.warning("git cannot be run: %s", error)
            self.is_complete = False
            return None
        pending: bytes | None = stdin.encode()
        while True:
            try:
                output, _ = process.communicate(pending, timeout=_TICK)
                break
            except subprocess.TimeoutExpired:
                pending = None
                if self.cancelled() or time.monotonic() > self.deadline:
                    with suppress(OSError):
                        process.kill()
                    process.communicate()
                    self.is_complete = False
                    return None
        if process.returncode:
            self.is_complete = False
            return None
        return output


def find_repository(path: Path) -> Path | None:
    """The nearest folder above a path that holds `.git`; None if there is none."""
    real = Path(os.path.realpath(path))
    for folder in (real, *real.parents):
        try:
            if (folder / ".git").exists():
                return folder
        except OSError:
            return None
    return None


def _environment() -> dict[str, str]:
    """The environment without git's own variables, as of a hook that memtui was started from."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **variables,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
    }


def _time(seconds: bytes) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _blob_hash(file: Path, length: int) -> str:
    """The name git gives to the content of a file; "" if it cannot be read."""
    import hashlib

    try:
        content = file.read_bytes()
    except OSError:
        return ""
    digest = hashlib.sha1 if length == 40 else hashlib.sha256
    blob = digest(b"blob %d\0" % len(content), usedforsecurity=False)
    blob.update(content)
    return blob.hexdigest()
