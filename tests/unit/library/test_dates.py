"""What memories are dated by where a checkout has given every file the same new time."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.library.past_library import library_at
from memtui.model import Memory
from memtui.query import parse_query

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMMITTED = datetime(2026, 2, 5, 10, tzinfo=UTC)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (NOW.timestamp(), NOW.timestamp()))
    return path


def git(root: Path, *arguments: str, at: datetime = COMMITTED) -> None:
    env = {
        **os.environ,
        "GIT_AUTHOR_DATE": at.isoformat(),
        "GIT_COMMITTER_DATE": at.isoformat(),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=root, env=env, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    put(root, ".serena/memories/ports.md", "# Ports\n\nThe API listens on 8080.\n")
    put(root, ".serena/memories/2026-01-20-release.md", "Shipped.\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "notes")
    put(root, ".serena/memories/draft.md", "Not committed yet.\n")
    return root


def read(root: Path, cache: Path | None = None) -> dict[str, Memory]:
    library = Library.open([root], cache=cache, now=lambda: NOW)
    library.load()
    found = {memory.id: memory for memory in library.memories(library.stores[0].label)}
    library.close()
    return found


def test_a_file_has_the_time_of_its_last_commit(root: Path, tmp_path: Path) -> None:
    for _ in range(2):  # also from the cache
        found = read(root, tmp_path / "cache")
        assert (found["ports.md"].when, found["ports.md"].dated_by) == (COMMITTED, "git")
        assert found["draft.md"].when == NOW
        assert found["draft.md"].dated_by == "the file's time"
        release = found["2026-01-20-release.md"]
        assert release.when == datetime(2026, 1, 20, tzinfo=UTC)
        assert release.dated_by == "the day that it names"


def test_a_touch_makes_nothing_new_and_an_edit_does(root: Path, tmp_path: Path) -> None:
    read(root, tmp_path / "cache")
    os.utime(root / ".serena/memories/ports.md")
    assert read(root, tmp_path / "cache")["ports.md"].when == COMMITTED
    put(root, ".serena/memories/ports.md", "# Ports\n\nThe API listens on 9090 now.\n")
    assert read(root, tmp_path / "cache")["ports.md"].when == NOW


def test_the_oldest_commit_of_a_shallow_clone_dates_nothing(root: Path, tmp_path: Path) -> None:
    put(root, ".serena/memories/new.md", "A later one.\n")
    later = datetime(2026, 2, 20, tzinfo=UTC)
    git(root, "add", ".serena/memories/new.md", at=later)
    git(root, "commit", "-qm", "new", at=later)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "clone")
    found = read(tmp_path / "clone")
    assert found["ports.md"].is_dated_by_file


def test_a_file_that_a_merge_brought_has_the_time_of_the_merge(root: Path) -> None:
    git(root, "checkout", "-qb", "other", "HEAD")
    put(root, "README.md", "Notes.\n")
    git(root, "add", "README.md")
    git(root, "commit", "-qm", "readme")
    git(root, "checkout", "-q", "-")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "other")
    later = datetime(2026, 2, 20, tzinfo=UTC)
    git(root, "add", ".serena/memories/draft.md", at=later)
    git(root, "commit", "-qm", "merge", at=later)
    assert (read(root)["draft.md"].when, read(root)["ports.md"].when) == (later, COMMITTED)


def test_only_a_file_time_is_approximate_and_comes_last_of_its_day(root: Path) -> None:
    put(root, ".serena/memories/2026-03-01-today.md", "Of today.\n")
    library = Library.open([root], now=lambda: NOW)
    library.load()
    found = library.find(parse_query("", NOW))
    ids = [found.rows[slot].id for slot in found.slots]
    assert ids[:3] == ["2026-03-01-today.md", "draft.md", "ports.md"]
    about = [found.rows[slot].id for slot in found.slots if found.is_approximate(slot)]
    assert about == ["draft.md"]


def test_as_of_and_until_agree_and_a_later_text_is_named(root: Path) -> None:
    front = "---\ncreated: 2026-01-02\nupdated: 2026-02-28\n---\n"
    put(root, ".serena/memories/rule.md", f"{front}Use pnpm.\n")
    library = Library.open([root], now=lambda: NOW)
    library.load()
    at = datetime(2026, 2, 10, tzinfo=UTC)
    past = library_at(library, at)
    then = {
        past.snapshot.rows[slot].id: past.snapshot.rows[slot]
        for slot in past.snapshot.slot_of.values()
    }
    until = library.find(parse_query("until:2026-02-10", NOW))
    assert {until.rows[slot].id for slot in until.slots} == then.keys() - {"rule.md"}
    assert then["ports.md"].later_text == ""
    assert then["rule.md"].later_text == "text of 28 Feb 2026, earlier text unknown"
    assert then["2026-01-20-release.md"].later_text == "", "a checkout changed no text"
