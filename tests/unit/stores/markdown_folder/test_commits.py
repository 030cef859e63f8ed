"""A change in a memory that is a git repository is one commit, and runs nothing found there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memtui import paths
from memtui.changes import Act, Change
from memtui.library import Library

LABEL = "markdown-folder"
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


@pytest.fixture
def library(tmp_path: Path) -> Library:
    root = tmp_path / "memfs"
    shutil.copytree(paths.bundled_folder("sample-data") / "memfs", root)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return library


def edit(library: Library, id: str, more: str) -> None:
    memory = library.get(f"{LABEL}:{id}")
    fields = {"content": f"{memory.content.rstrip()} {more}"}
    library.apply(library.plan([Change(Act.EDIT, LABEL, memory.ref, fields)]))


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
    edit(library, "system/human.md", "With milk.")
    library.refresh()
    assert library.snapshot.stores[0].unreadable == ()
