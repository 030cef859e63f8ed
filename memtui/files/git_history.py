"""Read former versions of a file from the git repository it lies in, through the `git` program.

Nothing is run if no folder above the file holds `.git`. The repository is not trusted: see
`files.git_repository`. Every question is bounded in time and can be cancelled.
"""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.git_repository import (
    LONGEST_PROBLEM,
    GitError,
    GitRepository,
    GitStopped,
    find_git,
    find_repository,
    read_git_file,
)
from memtui.files.reading import file_stamp, read_bytes
from memtui.progress import IsCancelled, never
from memtui.text import one_line

log = logging.getLogger(__name__)

MAX_COMMITS = 5_000
"""Newest commits of a file that are looked at."""
TIME_LIMIT = 5.0
"""Seconds for all commands of one question."""
MAX_BYTES = 64 * 1024 * 1024
"""A larger version of a file is left out."""
_CHUNK_BYTES = 8 * 1024 * 1024
"""Size of the versions that one command reads."""
NOT_UNDERSTOOD = "its answer is not understood"


class FileVersion(Struct, frozen=True):
    """A file as a commit has it."""

    commit: str
    """Hash of the commit."""
    time: datetime
    """When it was authored."""
    author: str
    """Untrusted text."""
    text: bytes


class GitHistory(Struct):
    """The git history of files of one repository, within a time limit."""

    top: Path
    """The folder that holds `.git`."""
    cancelled: IsCancelled = never
    deadline: float = 0.0
    left_out: str = ""
    """Why something was left out, in words that follow "git: "; empty while nothing was."""
    _repository: GitRepository | None = None

    @classmethod
    def of(
        cls, path: Path, cancelled: IsCancelled = never, seconds: float | None = None
    ) -> GitHistory | None:
        """The history of the repository that a path lies in; None without git or repository."""
        top = find_repository(path)
        if top is None or find_git() is None:
            return None
        return cls(top, cancelled, time.monotonic() + (TIME_LIMIT if seconds is None else seconds))

    def versions(self, path: Path, most: int = MAX_COMMITS) -> Iterator[FileVersion]:
        """Each different version of a file, newest first, under its former names too.

        Which blob a commit gave the file is read from `git log --raw`, so that no name of a file
        is written into a question to git.
        """
        name = self._name(path)
        if name is None or not self._has_commits():
            return
        found = self._run(
            "log", "-z", "--follow", "-m", "--raw", "--no-abbrev", "--format=%H%x00%at%x00%an%x00",
            "--no-ext-diff", "--no-textconv", "--no-show-signature", f"--max-count={most + 1}",
            "HEAD", "--", name,
        )  # fmt: skip
        try:
            commits = _parse_log(found) if found is not None else []
        except (ValueError, IndexError):
            self.left_out = NOT_UNDERSTOOD
            return
        if len(commits) > most:
            self.left_out = f"only the newest {most:,} commits were read"
        elif self._repository is not None and (self._repository.common / "shallow").exists():
            self.left_out = "the repository is a shallow clone, without its older commits"
        commits = commits[:most]
        contents = self._objects([blob for *_, blob in commits])
        for (commit, seconds, author, _), content in zip(commits, contents, strict=False):
            if content is not None:
                yield FileVersion(
                    commit, _time(seconds), author.decode("utf-8", "replace"), content
                )

    def files_at(self, folder: Path, at: datetime) -> dict[Path, FileVersion] | None:
        """The files below a folder that differ now from the last commit before a time.

        Returns:
            Path -> the version of that commit; None if there is no commit before that time.
        """
        name = self._name(folder)
        if name is None or not self._has_commits():
            return None
        output = self._run(
            "log", "-1", "-z", "--format=%H%x00%at%x00%an", "--no-show-signature",
            f"--until={int(at.timestamp())}", "HEAD",
        )  # fmt: skip
        parts = output.split(b"\0") if output else []
        if len(parts) < 3:
            return None
        commit, seconds, author = os.fsdecode(parts[0]), _time(parts[1]), parts[2]
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
            blob = os.fsdecode(fields[2])
            if _blob_hash(file, len(blob)) != blob:
                changed.append((file, blob))
        found: dict[Path, FileVersion] = {}
        by = author.decode("utf-8", "replace").rstrip("\n")
        contents = self._objects([blob for _, blob in changed])
        for (file, _), content in zip(changed, contents, strict=False):
            if content is not None:
                found[file] = FileVersion(commit, seconds, by, content)
        return found

    @property
    def mark(self) -> str:
        """Changes with every commit and checkout; "" if the repository cannot be read."""
        try:
            repository = self._opened()
        except (GitError, OSError):
            return ""
        names = ("HEAD", "logs/HEAD", "packed-refs")
        return file_stamp([repository.folder / name for name in names])

    def last_changes(self, folder: Path) -> dict[str, datetime]:
        """When each file below a folder was last committed, by its path in the repository.

        Files that differ from the last commit are left out, and so are those that the oldest commit
        of a shallow clone has: it has every file, whenever that was changed.
        """
        name = self._name(folder)
        if name is None or not self._has_commits():
            return {}
        changed = self._changed_files(name)
        output = self._run(
            "log", "-z", "-c", "--name-only", "--no-renames", "--format=%x01%H %at",
            "--no-show-signature", "HEAD", "--", name,
        )  # fmt: skip
        if changed is None or output is None or self._repository is None:
            return {}
        shallow = self._repository.common / "shallow"
        oldest = (
            frozenset(read_git_file(shallow).split()) if shallow.exists() else frozenset[bytes]()
        )
        found: dict[bytes, bytes | None] = {}
        seconds: bytes | None = None
        for token in output.split(b"\0"):
            field = token.lstrip(b"\n")
            if field.startswith(b"\1"):
                commit, _, time = field[1:].partition(b" ")
                seconds = None if commit in oldest else time
            elif field:
                found.setdefault(field, seconds)
        return {
            os.fsdecode(path): _time(time)
            for path, time in found.items()
            if time is not None and path not in changed
        }

    def _changed_files(self, name: str) -> frozenset[bytes] | None:
        """The files below a folder that differ from the last commit; None if git failed."""
        try:
            with self._opened().open(self.deadline, self.cancelled) as git:
                output = git.run(
                    "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
                    "--ignore-submodules=all", "HEAD", "--", name, cwd=str(self.top),
                    env={
                        "GIT_INDEX_FILE": git.copy_index(),
                        "GIT_WORK_TREE": str(self.top),
                    },
                )  # fmt: skip
        except (GitError, OSError) as error:
            self._failed(error)
            return None
        return frozenset(output.split(b"\0"))

    def files_with(self, folder: Path, pattern: str) -> frozenset[str]:
        """The files below a folder in which a commit added or removed a line that matches.

        Args:
            folder: In the repository.
            pattern: An extended regular expression of POSIX, without regard to case.
        """
        name = self._name(folder)
        if name is None or not self._has_commits():
            return frozenset()
        output = self._run(
            "log", "-z", "-i", f"-G{pattern}", "--name-only", "--no-renames", "--format=",
            "--no-ext-diff", "--no-textconv", "--no-show-signature",
            f"--max-count={MAX_COMMITS}", "HEAD", "--", name,
        )  # fmt: skip
        names = {os.fsdecode(token.lstrip(b"\n")) for token in (output or b"").split(b"\0")}
        return frozenset(str(self.top / name) for name in names - {""})

    def removed_files(self) -> dict[str, str] | None:
        """Files that commits removed or renamed: path -> where it was moved to, through several
        renames; "" if it was removed. None: there is no commit, or not the whole history."""
        if not self._has_commits():
            return None
        if self._repository is not None and (self._repository.common / "shallow").exists():
            return None
        found = self._run(
            "log", "-z", "-M", "--name-status", "--diff-filter=DR", "--format=",
            "--no-ext-diff", "--no-textconv", "--no-show-signature",
            f"--max-count={MAX_COMMITS}", "HEAD",
        )  # fmt: skip
        if found is None:
            return None
        moved: dict[str, str] = {}
        tokens = iter(found.split(b"\0"))
        for token in tokens:
            status = token.strip(b"\n")
            if status[:1] not in (b"D", b"R"):
                continue
            old = os.fsdecode(next(tokens, b""))
            new = os.fsdecode(next(tokens, b"")) if status[:1] == b"R" else ""
            moved.setdefault(old, moved.get(new, new))  # newest first
        return moved

    def remote(self) -> str:
        """The address of the remote `origin`, as the config has it; "" if there is none."""
        try:
            with self._opened().open(self.deadline, self.cancelled) as git:
                return self._opened().settings(git).get("remote.origin.url", "").strip()
        except (GitError, OSError) as error:
            self._failed(error)
            return ""

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
        return None if name == ".." or name.startswith(f"..{os.sep}") else name

    def _has_commits(self) -> bool:
        """Whether there is a commit at all; a new repository has none."""
        return self._run("rev-parse", "-q", "--verify", "HEAD", quiet=True) is not None

    def _objects(self, hashes: Sequence[str]) -> Iterator[bytes | None]:
        """The content of each blob, in order; None for one that is missing or too large."""
        checked = self._run("cat-file", "--batch-check", stdin="\n".join(hashes) + "\n")
        if not hashes or checked is None:
            return
        sizes = [_size(line) for line in checked.split(b"\n")[: len(hashes)]]
        if len(sizes) != len(hashes):
            self.left_out = NOT_UNDERSTOOD
            return
        if any(not 0 <= size <= MAX_BYTES for size in sizes):
            self.left_out = "versions that are missing or too large were left out"
        first = 0
        while first < len(hashes):
            # A batch has at least one blob, at most `_CHUNK_BYTES`.
            end, total = first, 0
            while end < len(sizes) and (end == first or total + sizes[end] <= _CHUNK_BYTES):
                total += max(0, sizes[end]) if sizes[end] <= MAX_BYTES else 0
                end += 1
            if not (yield from self._read_batch(hashes[first:end], sizes[first:end])):
                return
            first = end

    def _read_batch(
        self, hashes: Sequence[str], sizes: Sequence[int]
    ) -> Generator[bytes | None, None, bool]:
        """The content of these blobs, read by one command; returns whether all were read."""
        fits = [0 <= size <= MAX_BYTES for size in sizes]
        present = [name for name, fit in zip(hashes, fits, strict=True) if fit]
        content: bytes | None = b""
        if present:
            content = self._run("cat-file", "--batch", stdin="\n".join(present) + "\n")
        if content is None:
            return False
        stream = io.BytesIO(content)
        for fit, size in zip(fits, sizes, strict=True):
            if not fit:
                yield None
                continue
            stream.readline()  # its name and size
            blob = stream.read(size)
            if stream.readline() != b"\n":
                self.left_out = NOT_UNDERSTOOD
                return False
            yield blob
        return True

    def _run(self, *arguments: str, stdin: str = "", quiet: bool = False) -> bytes | None:
        """Run git; None if it fails, takes too long or is cancelled. `quiet`: a failure is an
        answer."""
        try:
            with self._opened().open(self.deadline, self.cancelled) as git:
                return git.run(*arguments, stdin=stdin.encode())
        except (GitError, OSError) as error:
            if str(error) or not quiet:
                self._failed(error)
            return None

    def _opened(self) -> GitRepository:
        """Raises GitError."""
        if self._repository is None:
            self._repository = GitRepository(self.top)
        return self._repository

    def _failed(self, error: GitError | OSError) -> None:
        if isinstance(error, GitStopped):
            is_late = time.monotonic() > self.deadline
            self.left_out = (
                f"it took longer than {TIME_LIMIT:g} seconds" if is_late else "cancelled"
            )
        else:
            self.left_out = one_line(str(error), LONGEST_PROBLEM) or "it failed"


def _size(line: bytes) -> int:
    """Bytes of a blob, from a line of `cat-file --batch-check`; -1 if it is none."""
    fields = line.split()
    is_blob = len(fields) == 3 and fields[1] == b"blob" and fields[2].isdigit()
    return int(fields[2]) if is_blob else -1


def _parse_log(output: bytes) -> list[tuple[str, bytes, bytes, str]]:
    """Hash, time, author and new blob of each commit that changed what the file holds, as `log -z
    --raw --format=%H%x00%at%x00%an%x00` lists them (gitformat: "raw output format")."""
    found: list[tuple[str, bytes, bytes, str]] = []
    tokens = iter(output.split(b"\0"))
    commit = seconds = author = b""
    for token in tokens:
        field = token.strip(b"\n")
        if not field:
            continue
        if not field.startswith(b":"):
            commit, seconds, author = field, next(tokens, b""), next(tokens, b"")
            continue
        changed = field.split()
        next(tokens, b"")  # the name of the file
        if changed[4][:1] in b"RC":
            next(tokens, b"")  # and its new one
        blob = changed[3].decode()
        is_same = bool(found) and found[-1][3] == blob
        if set(blob) != {"0"} and changed[1].startswith(b"100") and not is_same:
            found.append((commit.decode(), seconds, author, blob))
    return found


def _time(seconds: bytes) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _blob_hash(file: Path, length: int) -> str:
    """The name git gives to the content of a file; "" if it cannot be read."""
    import hashlib

    try:
        content = read_bytes(file)
    except UnreadableFile:
        return ""
    digest = hashlib.sha1 if length == 40 else hashlib.sha256
    blob = digest(b"blob %d\0" % len(content), usedforsecurity=False)
    blob.update(content)
    return blob.hexdigest()
