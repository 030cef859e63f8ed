"""Run the `git` program on repositories that are not trusted, and commit files to them.

The config of a repository names programs in any number of places: hooks, filters, file monitors,
text converters, signing, remotes from which the missing objects of a partial clone are fetched. So
git never reads that config. It runs in a private folder whose config memtui writes, and which links
to the objects, refs and logs of the repository; only the settings that say how these are stored are
copied. There are no hooks and no remotes then, attributes name filters and drivers that are not
defined, a missing object is an error, and no other repository is looked for. Every call is bounded
in time and in what it may print, and can be cancelled.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from msgspec import Struct

from memtui.errors import MemtuiError
from memtui.files.reading import MissingFile, open_regular, read_bytes, real_path
from memtui.progress import IsCancelled, never
from memtui.text import one_line

LARGEST = 4 * 1024 * 1024
"""Bytes of a config or another file of a repository that memtui reads itself."""
LARGEST_INDEX = 256 << 20
"""Bytes of an index: two million files."""
LARGEST_OUTPUT = 72 << 20
"""Bytes that a command may print: the largest version of a file that is read, and more."""
LARGEST_PIECE = 1 << 20
"""Bytes of it that are read at once."""
LONGEST_PROBLEM = 200
"""Characters of a message of git."""
_PATIENCE = 1.0
"""Seconds that git has to remove its locks."""
_TICK = 0.05
"""Seconds between two checks of whether it was cancelled."""
_PAUSE = 0.002
"""Seconds between two looks at whether it has ended, once it has closed its output."""

_CONFIG = """\
[core]
	bare = true
	hooksPath = /dev/null
[log]
	mailmap = false
[splitIndex]
	maxPercentChange = 100
"""
"""A shared index that git made anew would be lost with the private folder."""
_COPIED = (
    *("core.repositoryformatversion", "extensions.objectformat", "extensions.refstorage"),
    *("core.sharedrepository", "core.logallrefupdates"),
    *("core.filemode", "core.trustctime", "core.checkstat"),
)
"""Settings of the repository that git is given: formats, modes of new files, what the index
compares."""
_IRRELEVANT = frozenset(
    f"extensions.{name}"
    for name in ("noop", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees")
)
_WANTED = f"^({'|'.join(map(re.escape, _COPIED))}|extensions\\..*|remote\\.origin\\.url)$"
_VALUE = re.compile(r"[A-Za-z0-9]{1,20}")


class GitError(Exception):
    """Why git failed, or was not asked, in one line; "" if it said nothing."""


class GitStopped(GitError):
    """git took too long, or was cancelled; the message says which."""


def find_git() -> str | None:
    """The git program, never one in the current folder; None if there is none."""
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which("git", path=os.pathsep.join(folders))


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


class GitRepository:
    """The repository that a folder holds as `.git`."""

    def __init__(self, top: Path) -> None:
        """Raises GitError if it cannot be read."""
        self.top = top
        self.folder = self.common = real_path(top / ".git")
        """With HEAD and the index; and with objects, refs and config. Of a linked work tree the
        first lies in `worktrees` of the second."""
        if self.folder.is_file():
            word, _, target = _first_line(self.folder).partition(" ")
            if word != "gitdir:":
                raise GitError("the file .git names no repository")
            self.folder = self.common = real_path(top / target)
        if (self.folder / "commondir").exists():
            self.common = real_path(self.folder / _first_line(self.folder / "commondir"))
            if self.folder.parent != self.common / "worktrees":
                raise GitError("its commondir names another repository")
        self._settings: Mapping[str, str] | None = None

    @contextmanager
    def open(self, deadline: float, cancelled: IsCancelled = never) -> Iterator[GitCommands]:
        """Yield what runs git until this time (`time.monotonic`). Raises GitError, OSError."""
        program = find_git()
        if program is None:
            raise GitError("git is not installed")
        with tempfile.TemporaryDirectory(prefix="memtui-git-") as folder:
            git = GitCommands(self, program, folder, deadline, cancelled)
            self._link(Path(folder))
            config = Path(folder, "config")
            config.write_text(_CONFIG, encoding="ascii")
            settings = self.settings(git)
            config.write_text(_CONFIG + _copied(settings), encoding="ascii")
            is_linked = self.folder != self.common
            if is_linked and settings.get("extensions.refstorage") == "reftable":
                raise GitError("a linked work tree with reftable is not supported")
            yield git

    def settings(self, git: GitCommands) -> Mapping[str, str]:
        """The settings that say how the repository is stored, and `remote.origin.url`.

        git parses the text of the config here, from its standard input and without what it
        includes, and acts on none of it. Raises GitError.
        """
        if self._settings is None:
            text = (
                read_git_file(self.common / "config") if (self.common / "config").exists() else b""
            )
            words = ("config", "--file", "-", "--no-includes", "--null", "--get-regexp", _WANTED)
            entries = git.ask(*words, stdin=text).split("\0")[:-1]
            self._settings = dict(entry.partition("\n")[::2] for entry in entries)
        return self._settings

    def _link(self, private: Path) -> None:
        """Make the private folder a repository with the content of this one."""
        head = self.folder / "HEAD"
        if head.is_symlink() and os.readlink(head).startswith("refs/"):
            content = f"ref: {os.readlink(head)}\n".encode()  # as git wrote it until 2005
        else:
            content = read_git_file(head)
        (private / "HEAD").write_bytes(content)
        branch = os.fsdecode(content.partition(b"ref: ")[2].strip(b" \r\n"))
        for name in ("packed-refs", "shallow", *filter(_is_ref, [branch])):
            _refuse_special(self.common / name)  # git would wait for a pipe
        for name in ("refs", "packed-refs", "shallow"):
            (private / name).symlink_to(self.common / name)
        if (self.common / "reftable").exists():
            (private / "reftable").symlink_to(self.common / "reftable")
        (private / "logs").mkdir()
        (private / "logs" / "HEAD").symlink_to(self.folder / "logs" / "HEAD")
        (private / "logs" / "refs").symlink_to(self.common / "logs" / "refs")
        for name in os.listdir(self.folder):
            if name.startswith("sharedindex."):
                (private / name).symlink_to(self.folder / name)


class GitCommands(Struct, frozen=True):
    """Runs git in a private folder."""

    repository: GitRepository
    program: str
    folder: str
    """The private folder."""
    deadline: float
    cancelled: IsCancelled

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = "",
    ) -> bytes:
        """The output of a command. Raises GitError; then git and what it started have ended."""
        self._refuse_late()
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen(
                [self.program, "--no-pager", *arguments],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd or self.folder,
                env={**self._environment(), **(env or {})},
                start_new_session=True,
            )
        assert process.stdout is not None
        assert process.stderr is not None
        with process.stdout as stdout, process.stderr as stderr:
            try:
                output, problem = self._read_all(stdout, stderr)
                while process.poll() is None:
                    self._refuse_late()
                    time.sleep(_PAUSE)
            finally:
                if process.returncode is None:
                    _kill(process)
        if process.returncode:
            said = " ".join(problem.decode("utf-8", "replace").split()[:40])
            said = said.replace(f"{self.folder}/", "").replace(f"{self.repository.top}/", "")
            raise GitError(one_line(said, LONGEST_PROBLEM))
        return output

    def _read_all(self, *streams: IO[bytes]) -> list[bytes]:
        """What comes out of these pipes until they are closed. Raises GitError."""
        found = {stream: bytearray() for stream in streams}
        with selectors.DefaultSelector() as selector:
            for stream in streams:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                self._refuse_late()
                for key, _ in selector.select(_TICK):
                    piece = os.read(key.fd, LARGEST_PIECE)
                    if not piece:
                        selector.unregister(key.fileobj)
                    found[cast(IO[bytes], key.fileobj)] += piece
                if sum(map(len, found.values())) > LARGEST_OUTPUT:
                    raise GitError(f"git printed more than {LARGEST_OUTPUT >> 20} MiB")
        return [bytes(text) for text in found.values()]

    def _refuse_late(self) -> None:
        if self.cancelled() or time.monotonic() > self.deadline:
            raise GitStopped("cancelled" if self.cancelled() else "it took too long")

    def copy_index(self) -> str:
        """A copy of the repository's index with its time, which git may refresh. Raises GitError,
        OSError."""
        index, copy = self.repository.folder / "index", os.path.join(self.folder, "index-copy")
        with open(copy, "wb") as file:
            file.write(read_git_file(index, LARGEST_INDEX))
        shutil.copystat(index, copy)
        return copy

    def ask(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """What a command prints; "" if it fails and says nothing. Raises GitError."""
        try:
            return os.fsdecode(self.run(*arguments, stdin=stdin, env=env))
        except GitError as error:
            if str(error):
                raise
            return ""

    def _environment(self) -> dict[str, str]:
        """The environment without git's own variables, as of a hook that memtui runs in."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {
            **kept,
            "LC_ALL": "C",
            "HOME": self.folder,
            "XDG_CONFIG_HOME": self.folder,
            "GIT_DIR": self.folder,
            "GIT_OBJECT_DIRECTORY": str(self.repository.common / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            # Without a remote there is nothing to fetch from; these two say it once more.
            "GIT_NO_LAZY_FETCH": "1",
            # It refuses to hold a larger object, such as a commit with an endless author.
            "GIT_ALLOC_LIMIT": str(2 * LARGEST_OUTPUT),
            "GIT_ALLOW_PROTOCOL": "",
        }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git, which removes its locks then, and kill what is left of what it has started."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _copied(settings: Mapping[str, str]) -> str:
    """Lines of a config. Raises GitError if git would have to know more of the repository."""
    lines = ["" if "core.logallrefupdates" in settings else "[core]\n\tlogAllRefUpdates = true\n"]
    for name, value in settings.items():
        section, _, key = name.partition(".")
        if name in _COPIED:
            if not _VALUE.fullmatch(value):
                raise GitError(f"its setting {name} is not understood")
            lines.append(f"[{section}]\n\t{key} = {value}\n")
        elif section == "extensions" and name not in _IRRELEVANT:
            raise GitError(f"its {one_line(name, 60)} is not known")
    return "".join(lines)


def read_git_file(path: Path, most: int | None = None) -> bytes:
    """The content of a file of a repository, of at most so many bytes (`LARGEST`), also through
    links. Raises GitError."""
    try:
        return read_bytes(real_path(path), most=most or LARGEST)
    except MemtuiError as error:
        raise GitError(f"{path.name}: {error.what}") from error


def _is_ref(name: str) -> bool:
    """Whether a ref lies in `refs/`."""
    return name.startswith("refs/") and ".." not in name and "\0" not in name


def _refuse_special(path: Path) -> None:
    """Raise GitError for what is there and is no file."""
    try:
        os.close(open_regular(real_path(path))[0])
    except MissingFile:
        pass
    except MemtuiError as error:
        raise GitError(f"{path.name}: {error.what}") from error


def _first_line(path: Path) -> str:
    line = os.fsdecode(read_git_file(path).split(b"\n")[0].rstrip(b"\r"))
    if not line or "\0" in line:
        raise GitError(f"{path.name} names no folder")
    return line


# ---- commits ------------------------------------------------------------------------------------


SECONDS = 20.0
"""Time limit of a commit."""
_WAITS = (0.1, 0.2, 0.4, 0.8)
"""Seconds before each further attempt, while another git holds a lock or has just committed."""
_BUSY = ("File exists", "but expected", "another git")

_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "memtui"), ("EMAIL", "memtui@localhost"))
}


def commit_files(top: Path, files: Sequence[str], seconds: float | None = None) -> str:
    """Commit these files as they are now, to the branch that is checked out.

    A file that does not exist is committed as removed. Blobs are written as they are, without
    filters. What others have staged is neither committed nor lost. Returns why nothing was
    committed, for people; "" if it was, or if there is no repository or no git.
    """
    if not os.path.lexists(top / ".git") or find_git() is None:
        return ""
    limit = SECONDS if seconds is None else seconds
    deadline = time.monotonic() + limit
    real = real_path(top)
    names = sorted({os.path.relpath(os.path.realpath(file), real) for file in files})
    if any(name.startswith("../") for name in names):
        return "a file lies outside the repository"
    try:
        repository = GitRepository(real)
        _refuse_foreign(repository)
        for wait in (*_WAITS, None):
            try:
                with repository.open(deadline) as git:
                    _commit(git, names)
                break
            except GitError as error:
                if wait is None or not any(words in str(error) for words in _BUSY):
                    raise
                time.sleep(wait)
    except GitStopped:
        return f"git took longer than {limit:g} seconds"
    except GitError as error:
        return str(error) or "git failed"
    except OSError as error:
        return one_line(str(error), LONGEST_PROBLEM)
    return ""


def _commit(git: GitCommands, names: Sequence[str]) -> None:
    """Commit the files of these names. Raises GitError.

    The index is changed before the branch: if the branch cannot be changed, the files are staged,
    and the next commit of the folder's program holds them.
    """
    repository = git.repository
    if os.path.lexists(repository.folder / "HEAD.lock"):
        raise GitError("another git has locked HEAD: HEAD.lock exists")
    branch = git.ask("symbolic-ref", "--quiet", "HEAD").strip()
    if not branch.startswith("refs/heads/"):
        raise GitError("HEAD is detached: there is no branch to commit to")
    _refuse_links(repository, branch)
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD").strip()
    own = {"GIT_INDEX_FILE": os.path.join(git.folder, "own-index")}
    if head:
        git.run("read-tree", head, env=own)
    entries = _entries(git, names)
    git.run("update-index", "-z", "--index-info", env=own, stdin=entries)
    # Blobs of other files may be missing, as in a partial clone: they are what HEAD has.
    tree = git.ask("write-tree", "--missing-ok", env=own).strip()
    if head and tree == git.ask("rev-parse", f"{head}^{{tree}}").strip():
        return
    shown = names[0] if len(names) == 1 else f"{len(names)} files"
    parent = ("-p", head) if head else ()
    message = f"memtui: {shown}"
    commit = git.ask("commit-tree", tree, *parent, "-m", message, env=_WHO).strip()
    # git looks at files that may have changed in the instant in which the index was written.
    top = str(repository.top)
    index = {"GIT_INDEX_FILE": str(repository.folder / "index"), "GIT_WORK_TREE": top}
    git.run("update-index", "-z", "--index-info", env=index, stdin=entries, cwd=top)
    if not (repository.common / "reftable").exists():  # else the logs are there too
        for folder in (repository.folder / "logs", repository.common / "logs" / "refs"):
            folder.mkdir(parents=True, exist_ok=True)
    old = head or "0" * len(commit)
    git.run("update-ref", "-m", "commit: memtui", "HEAD", commit, old, env=_WHO)


def _entries(git: GitCommands, names: Sequence[str]) -> bytes:
    """The lines of `update-index --index-info` for these files as they are now."""
    top = git.repository.top
    present = [name for name in names if os.path.isfile(top / name)]
    quoted = (re.sub(r'(["\\])', r"\\\1", str(top / name)).replace("\n", "\\n") for name in present)
    stdin = "".join(f'"{path}"\n' for path in quoted)
    output = git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=os.fsencode(stdin))
    blobs = dict(zip(present, os.fsdecode(output).split(), strict=True))
    lines = []
    for name in names:
        mode = "100755" if os.access(top / name, os.X_OK) else "100644"
        entry = f"{mode} {blobs[name]}" if name in blobs else "0 " + "0" * _hash_length(git)
        lines.append(f"{entry}\t{name}\0")
    return os.fsencode("".join(lines))


def _hash_length(git: GitCommands) -> int:
    """Digits of a hash of the repository."""
    return 64 if git.repository.settings(git).get("extensions.objectformat") == "sha256" else 40


def _refuse_foreign(repository: GitRepository) -> None:
    """Refuse a repository that is another user's, or another folder's. Raises GitError."""
    if repository.common.stat().st_uid != os.geteuid():
        raise GitError("the repository belongs to another user")
    dot_git = repository.top / ".git"
    if repository.folder == dot_git:
        return
    back = repository.folder / "gitdir"
    if repository.folder == repository.common or (
        real_path(repository.folder / _first_line(back)) != dot_git
    ):
        raise GitError("its .git leads to the repository of another folder")


def _refuse_links(repository: GitRepository, branch: str) -> None:
    """Refuse links by which git would write outside the repository. Raises GitError."""
    written = [
        *(repository.common / name for name in ("objects", branch, f"logs/{branch}")),
        *(repository.folder / name for name in ("index", "logs/HEAD")),
    ]
    with os.scandir(repository.common / "objects") as entries:
        written += [Path(entry.path) for entry in entries if entry.is_symlink()]
    for path in written:
        if real_path(path) != path:
            raise GitError(f"{path.relative_to(repository.common)} is or lies behind a link")
