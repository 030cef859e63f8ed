"""A change in a memory that is a git repository is one commit, and runs nothing found there."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.files.git_history import GitHistory
from memtui.library import Library
from tests.long_run import count, share
from tests.samples import SAMPLES

LABEL = "markdown-folder"
NESVIK = f"{LABEL}:towns/nesvik.md"
pytestmark = pytest.mark.usefixtures("plain_git")


@pytest.fixture
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=agent", "-c", "user.email=agent@localhost")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(root: Path, *init: str) -> Path:
    """A copy of the sample with one commit."""
    shutil.copytree(SAMPLES / "memfs", root)
    git(root, "init", "-q", "-b", "main", *init)
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def opened(root: Path) -> Library:
    library = Library.open([root], state=root.parent / "state")
    library.load()
    return library


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("repository") / "memfs")


@pytest.fixture
def library(made_once: Path, tmp_path: Path) -> Library:
    return opened(Path(shutil.copytree(made_once, tmp_path / "memfs")))


def edit(library: Library, id: str, more: str) -> tuple[str, ...]:
    """Append to a note; the warnings."""
    memory = library.get(f"{LABEL}:{id}")
    fields = {"content": f"{memory.content.rstrip()} {more}"}
    return library.apply(library.plan([Change(Act.EDIT, LABEL, memory.ref, fields)])).warnings


# ---- kinds of repositories -----------------------------------------------------------------------


def configured(*words: str) -> Callable[[Path], Path]:
    def make(root: Path) -> Path:
        git(root, *words)
        return root

    return make


def work_tree(root: Path) -> Path:
    git(root, "worktree", "add", "-q", "-b", "side", str(root.parent / "work" / "memfs"))
    return root.parent / "work" / "memfs"


def clone(*options: str) -> Callable[[Path], Path]:
    def make(root: Path) -> Path:
        other = root.parent / "clone" / "memfs"
        url = str(root) if "-s" in options else root.as_uri()
        allowed = ("-c", "uploadpack.allowFilter=true")
        git(root, *allowed, "clone", "-q", *options, url, str(other))
        return other

    return make


def shallow(root: Path) -> Path:
    git(root, "commit", "-qm", "second", "--allow-empty")
    return clone("--depth", "1")(root)


def linked_head(root: Path) -> Path:
    """HEAD as a link, as git wrote it once."""
    (root / ".git" / "HEAD").unlink()
    (root / ".git" / "HEAD").symlink_to("refs/heads/main")
    return root


def relative_alternates(root: Path) -> Path:
    other = clone("-s")(root)
    alternates = other / ".git" / "objects" / "info" / "alternates"
    alternates.write_text("../../../../memfs/.git/objects\n")
    return other


KINDS: dict[str, Callable[[Path], Path]] = {
    "plain": lambda root: root,
    "packed": configured("gc", "-q", "--prune=now"),
    "index 4": configured("update-index", "--index-version", "4"),
    "split index": configured("update-index", "--split-index"),
    "untracked cache": configured("update-index", "--force-untracked-cache"),
    "commit graph": configured("commit-graph", "write", "--reachable"),
    "shared": configured("config", "core.sharedRepository", "group"),
    "linked work tree": work_tree,
    "alternates": clone("-s"),
    "relative alternates": relative_alternates,
    "shallow": shallow,
    "without blobs": clone("--filter=blob:none"),
    "linked HEAD": linked_head,
    "without logs": configured("config", "core.logAllRefUpdates", "false"),
}


HASHES = ("sha1", "sha256")
IN_EVERY_KIND = [
    (kind, hashes) for row, kind in enumerate(KINDS) for hashes in share(HASHES, row, 2)
]
"""In the usual run every other kind has the longer hashes."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "hashes"), IN_EVERY_KIND)
def test_a_commit_is_what_git_makes_in_every_kind_of_repository(
    tmp_path: Path, kind: str, hashes: str
) -> None:
    root = KINDS[kind](repository(tmp_path / "memfs", f"--object-format={hashes}"))
    note = root / "system" / "human.md"
    library = opened(root)
    assert edit(library, "system/human.md", "She likes tea.") == ()
    fields = {"content": "Fog.", "title": "Weather", "entity": "towns"}
    add, delete = Change(Act.ADD, LABEL, "", fields), Change(Act.DELETE, LABEL, NESVIK)
    assert library.apply(library.plan([add])).warnings == ()
    assert library.apply(library.plan([delete])).warnings == ()
    assert git(root, "status", "--porcelain") == ""
    git(root, "add", "-A")
    assert git(root, "write-tree") == git(root, "rev-parse", "HEAD^{tree}")
    assert git(root, "log", "--format=%an <%ae> %s", "-3").splitlines() == [
        "memtui <memtui@localhost> memtui: towns/nesvik.md",
        "memtui <memtui@localhost> memtui: towns/weather.md",
        "memtui <memtui@localhost> memtui: system/human.md",
    ]
    assert git(root, "symbolic-ref", "HEAD").startswith("refs/heads/")
    assert len(git(root, "rev-parse", "HEAD")) == (64 if hashes == "sha256" else 40)
    if kind != "without logs":
        assert git(root, "reflog", "-1", "--format=%gs %gn") == "commit: memtui memtui"
    git(root, "fsck", "--strict")
    for _ in range(3):
        library.undo()
        assert library.snapshot.stores[0].unreadable == ()
    assert git(root, "diff", "HEAD~6", "HEAD") == ""
    assert git(root, "status", "--porcelain") == ""
    log = GitHistory.of(root / "system")
    assert log is not None
    log.deadline += 60  # a loaded machine may take its time
    versions = [b"She likes tea." in version.text for version in log.versions(note)]
    assert versions == [False, True, False]
    assert ("shallow clone" in log.left_out) == (kind == "shallow")


def test_a_repository_with_reftable(tmp_path: Path) -> None:
    """Refs and logs in tables; a git that does not know them says so."""
    root = tmp_path / "memfs"
    try:
        repository(root, "--ref-format=reftable")
    except subprocess.CalledProcessError:
        shutil.rmtree(root)
        repository(root)
        git(root, "config", "core.repositoryFormatVersion", "1")
        git(root, "config", "extensions.refStorage", "reftable")
        (warning,) = edit(opened(root), "system/human.md", "She likes tea.")
        assert "unknown repository extension" in warning
        assert "refstorage" in warning
        return
    library = opened(root)
    assert edit(library, "system/human.md", "She likes tea.") == ()
    library.undo()
    assert git(root, "rev-list", "--count", "HEAD") == "3"
    assert git(root, "reflog", "-1", "--format=%gs %gn") == "commit: memtui memtui"
    assert git(root, "status", "--porcelain") == ""
    assert not (root / ".git" / "logs").exists()


def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    root = tmp_path / "memfs"
    shutil.copytree(SAMPLES / "memfs", root)
    git(root, "init", "-q", "-b", "main")
    assert edit(opened(root), "system/human.md", "She likes tea.") == ()
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD") == "system/human.md"
    assert git(root, "reflog", "--format=%gs") == "commit: memtui"


def test_a_change_that_only_the_content_shows_is_still_seen_after_a_commit(
    library: Library,
) -> None:
    root = library.stores[0].root
    file = root / "system" / "persona.md"
    git(root, "config", "core.trustctime", "false")
    git(root, "update-index", "--refresh")
    before, status = file.read_bytes(), file.stat()
    file.write_bytes(before[:-2] + b"?\n")
    for path in (file, root / ".git" / "index"):  # as within one tick of the clock
        os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    edit(library, "system/human.md", "She likes tea.")
    assert git(root, "diff", "--name-only") == "system/persona.md"


def test_a_detached_head_is_not_moved(library: Library) -> None:
    root = library.stores[0].root
    git(root, "checkout", "-q", "--detach")
    (warning,) = edit(library, "system/human.md", "She likes tea.")
    assert warning.endswith("not committed: HEAD is detached: there is no branch to commit to")
    assert git(root, "rev-list", "--count", "HEAD") == "1"


def test_an_extension_that_is_not_known_is_refused(library: Library) -> None:
    root = library.stores[0].root
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "extensions.futureThing", "true")
    (warning,) = edit(library, "system/human.md", "She likes tea.")
    assert warning.endswith("not committed: its extensions.futurething is not known")


@pytest.mark.slow
@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock", "HEAD.lock"])
def test_a_git_that_is_at_work_is_waited_for(library: Library, lock: str) -> None:
    root = library.stores[0].root
    file = root / ".git" / lock
    file.touch()
    (warning,) = edit(library, "system/human.md", "She likes tea.")
    assert f"{file.name}" in warning
    assert file.exists()
    assert git(root, "rev-list", "--count", "HEAD") == "1"
    released = threading.Timer(0.3, file.unlink)
    released.start()
    assert edit(library, "system/human.md", "With milk.") == ()
    released.join()
    assert git(root, "status", "--porcelain", "--", "system") == ""


@pytest.mark.slow
def test_beside_a_program_that_commits_nothing_is_lost(library: Library) -> None:
    root = library.stores[0].root
    ended = threading.Event()
    made: list[str] = []

    def agent() -> None:
        while not ended.is_set():
            name = f"agent{len(made)}.md"
            (root / name).write_text("x\n")
            with suppress(subprocess.CalledProcessError):
                git(root, "add", name)
                git(root, "commit", "-qm", name)
            made.append(name)

    thread = threading.Thread(target=agent)
    thread.start()
    try:
        refused = [
            each
            for n in range(count(5, 50))
            for each in edit(library, "system/human.md", f"Tea {n}.")
        ]
    finally:
        ended.set()
        thread.join()
    assert edit(library, "system/human.md", "Last.") == ()
    git(root, "add", "--", *made)
    git(root, "commit", "-qm", "rest", "--allow-empty")
    assert all("written but not committed: " in words for words in refused)
    assert git(root, "status", "--porcelain", "--", "system", *made) == ""
    assert set(made) <= set(git(root, "ls-tree", "--name-only", "HEAD").split("\n"))
    assert git(root, "show", "HEAD:system/human.md").endswith("Last.")
    git(root, "fsck", "--strict")


# ---- what a commit holds -------------------------------------------------------------------------


def test_one_change_is_one_commit_and_so_is_its_undo(library: Library) -> None:
    root = library.stores[0].root
    edit(library, "system/human.md", "She likes tea.")
    assert git(root, "log", "--format=%an %s").splitlines()[0] == "memtui memtui: system/human.md"
    assert git(root, "status", "--porcelain", "--", "system") == ""
    library.undo()
    assert git(root, "rev-list", "--count", "HEAD") == "3"
    assert git(root, "diff", "HEAD~2", "HEAD") == ""


def test_a_new_and_a_deleted_note_are_committed(library: Library) -> None:
    root = library.stores[0].root
    fields = {"content": "Fog.", "title": "Weather", "entity": "towns"}
    library.apply(library.plan([Change(Act.ADD, LABEL, "", fields)]))
    assert "towns/weather.md" in git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    library.apply(library.plan([Change(Act.DELETE, LABEL, f"{LABEL}:towns/weather.md")]))
    assert "towns/weather.md" not in git(root, "ls-tree", "-r", "--name-only", "HEAD")


def test_what_others_have_staged_is_left_staged(library: Library) -> None:
    root = library.stores[0].root
    (root / "staged.md").write_text("---\ndescription: x\n---\n\nx\n")
    git(root, "add", "staged.md")
    edit(library, "system/human.md", "She likes tea.")
    assert git(root, "diff", "--cached", "--name-only") == "staged.md"


def test_no_hook_of_the_repository_runs(library: Library, tmp_path: Path) -> None:
    root, mark = library.stores[0].root, tmp_path / "ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    git(root, "config", "core.fsmonitor", f"touch {mark}; false")
    git(root, "config", "filter.x.clean", f"touch {mark}; cat")
    (root / ".gitattributes").write_text("*.md filter=x\n")
    mark.unlink(missing_ok=True)
    edit(library, "system/human.md", "She likes tea.")
    assert not mark.exists()


def test_a_change_that_cannot_be_committed_says_so_until_it_can(library: Library) -> None:
    root = library.stores[0].root
    lock = root / ".git" / "HEAD.lock"
    lock.touch()
    edit(library, "system/human.md", "She likes tea.")
    library.refresh()
    assert any("not committed" in each.reason for each in library.snapshot.stores[0].unreadable)
    lock.unlink()
    edit(library, "towns/nesvik.md", "Fog.")
    library.refresh()
    assert library.snapshot.stores[0].unreadable == ()
    changed = git(root, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()
    assert changed == ["system/human.md", "towns/nesvik.md"]
    edit(library, "towns/nesvik.md", "Rain.")
    assert git(root, "diff", "--name-only", "HEAD~1", "HEAD") == "towns/nesvik.md"
