"""Former texts from git in every kind of repository and file, and with a git that fails."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memtui.files import git_history
from memtui.files.git_history import GitHistory
from memtui.insight.versions import VersionHistory, VersionOrigin
from memtui.library import Library
from memtui.library.former_versions import FormerReader, text_versions
from memtui.testing import hostile_values
from tests.long_run import count
from tests.torture.processes import has_ended
from tests.unit.library.stores_for_tests import fact, write_facts
from tests.unit.library.test_history import committed, git, loaded

ID = "00000001"


def texts(found: VersionHistory) -> list[str]:
    return [version.memory.content for version in found.versions]


def history(library: Library, ref: str = ID) -> VersionHistory:
    return library.history(library.resolve(ref))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a store in `memory`, of which one fact had three texts."""
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    for number, boats in enumerate(("one boat", "two boats", "three boats"), 1):
        write_facts(top / "memory", "bo", [fact(1, f"Bo has {boats}")])
        committed(top, f"2026-05-0{number}T10:00:00Z")
    return top


ALL = ["Bo has one boat", "Bo has two boats", "Bo has three boats"]


def imported(top: Path, path: str, contents: Sequence[bytes]) -> None:
    """A repository in which each commit gives one file the next content."""
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    stream = b""
    for number, content in enumerate(contents):
        who = b"Ada <a@example.org> %d +0000" % (1_740_000_000 + 3600 * number)
        stream += b"commit refs/heads/main\nauthor %s\ncommitter %s\ndata 1\n.\n" % (who, who)
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)
    subprocess.run(["git", "fast-import", "--quiet"], input=stream, cwd=top, check=True)
    git(top, "reset", "-q", "--hard")


def json_lines(facts: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(facts, indent=2).encode() + b"\n"


def one_line(facts: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(facts).encode()


def edited(walk: random.Random, facts: list[dict[str, Any]], number: int) -> None:
    """Change, insert, remove or move a fact."""
    at = walk.randrange(len(facts))
    match walk.choice(["change", "change", "insert", "remove", "move"]):
        case "change":
            facts[at] = {**facts[at], "content": f"text {number}\nin two lines"}
        case "insert":
            facts.insert(at, fact(100 + number, f"fact {number}"))
        case "remove" if len(facts) > 3:
            del facts[at]
        case _:
            facts.append(facts.pop(at))


@pytest.mark.slow
@pytest.mark.parametrize("write", [json_lines, one_line])
@pytest.mark.parametrize("seed", range(count(2, 30)))
def test_versions_are_those_that_reading_every_commit_gives(
    tmp_path: Path, seed: int, write: Callable[[Sequence[dict[str, Any]]], bytes]
) -> None:
    walk = random.Random(seed)
    facts = [fact(number, f"fact {number}") for number in range(1, 6)]
    contents = []
    for number in range(20):
        edited(walk, facts, number)
        contents.append(write(facts))
    imported(tmp_path / "top", "memory/entities/bo/items.json", contents)
    library = loaded(tmp_path / "top" / "memory")
    reader = FormerReader(library.stores[0])
    file = library.snapshot.rows[0].origin.file
    every = [reader.read([(file, content)]) for content in contents]
    for memory in library.snapshot.rows:
        expected: list[str] = []
        for read in every:
            former = read.get(memory.id)
            if former is not None and expected[-1:] != [former.content]:
                expected.append(former.content)
        log = GitHistory.of(library.stores[0].root)
        assert log is not None
        versions = log.versions(Path(memory.origin.file))
        found = text_versions(memory, versions, reader, VersionOrigin.GIT)
        assert [version.memory.content for version in found] == expected
        assert not log.left_out


@pytest.mark.slow
def test_all_texts_of_a_memory_are_found_in_a_thousand_commits(tmp_path: Path) -> None:
    facts = [fact(number, f"fact {number}") for number in range(20)]
    contents = []
    for number in range(1000):
        at = number % 20
        facts[at] = {**facts[at], "content": f"fact {at}, version {number}"}
        contents.append(json_lines(facts))
    imported(tmp_path / "top", "memory/entities/bo/items.json", contents)
    found = history(loaded(tmp_path / "top" / "memory"), "00000003")
    assert texts(found) == ["fact 3", *(f"fact 3, version {n}" for n in range(3, 1000, 20))]
    assert not found.left_out


@pytest.mark.slow
def test_a_renamed_file_keeps_its_history(repository: Path) -> None:
    entities = repository / "memory" / "entities"
    git(repository, "mv", "memory/entities/bo", "memory/entities/bosun")
    committed(repository, "2026-05-04T10:00:00Z")
    assert not (entities / "bo").exists()
    write_facts(repository / "memory", "bosun", [fact(1, "Bo has four boats")])
    committed(repository, "2026-05-05T10:00:00Z")
    assert texts(history(loaded(repository / "memory"))) == [*ALL, "Bo has four boats"]


def test_the_other_side_of_a_merge_is_history_too(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "side", "HEAD~1")
    write_facts(repository / "memory", "bo", [fact(1, "Bo has a raft")])
    committed(repository, "2026-05-04T10:00:00Z", by="Grace")
    git(repository, "merge", "-q", "-X", "ours", "--no-edit", "main", date="2026-05-05T10:00:00Z")
    assert texts(history(loaded(repository / "memory"))) == [*ALL, "Bo has a raft"]


@pytest.mark.slow
def test_a_shallow_clone_says_that_older_commits_are_missing(
    repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", repository.as_uri(), "shallow")
    found = history(loaded(tmp_path / "shallow" / "memory"))
    assert texts(found) == ALL[1:]
    assert "shallow" in found.left_out


@pytest.mark.slow
def test_a_work_tree_and_a_submodule_have_their_own_history(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
    assert texts(history(loaded(tmp_path / "tree" / "memory"))) == ALL[:2]
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "in")
    committed(outer, "2026-05-06T10:00:00Z")
    found = history(loaded(outer / "in" / "memory"))
    assert (texts(found), found.left_out) == (ALL, "")


def test_what_git_does_not_have_is_no_fault(repository: Path, tmp_path: Path) -> None:
    (repository / ".gitignore").write_text("private\n")
    write_facts(repository / "private", "bo", [fact(1, "Bo has a secret")])
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q")
    write_facts(fresh / "memory", "bo", [fact(1, "Bo has a new boat")])
    for home, text in ((repository / "private", "secret"), (fresh / "memory", "new boat")):
        found = history(loaded(home))
        assert [one.rpartition("a ")[2] for one in texts(found)] == [text]
        assert found.left_out == ""


def test_without_git_the_rest_of_the_history_is_shown(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = history(loaded(repository / "memory"))
    assert texts(found) == ALL[2:]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("sleep 600 & echo $! > child; wait", "it took longer than 1 seconds"),
        ("echo 'fatal: detected \033[31mdubious ownership' >&2; exit 128", "dubious ownership"),
        ("exit 3", ""),
        ("head -c 100000 /dev/urandom", ""),
    ],
)
def test_a_git_that_hangs_or_fails_stops_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncd {program.parent}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    if "longer" in reason:
        monkeypatch.setattr(git_history, "TIME_LIMIT", 1.0)
    found = history(loaded(repository / "memory"))
    assert texts(found) == ALL[2:]
    assert reason in found.left_out
    assert "\033" not in found.left_out
    child = program.with_name("child")
    if child.exists() and child.read_text():
        assert has_ended(int(child.read_text())), "what git has started is killed with it"


NAMES = [
    "-n.md", "a b.md", "*.md", ":(top)x.md", "quote\".md", "tab\t.md", "line\nbreak.md", "ünï.md",
    "$(touch ran).md", hostile_values.ESC + "[2J.md", os.fsdecode(b"\xff\xfe.md"),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_file_of_any_name_has_a_history(tmp_path: Path, name: str) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / "notes" / name
    file.parent.mkdir()
    for number in (1, 2):
        file.write_text(f"# Note\n\nversion {number}\n")
        (file.parent / "other.md").write_text(f"# Other\n\nversion {number}\n")
        committed(tmp_path, f"2026-05-0{number}T10:00:00Z")
    log = GitHistory.of(file.parent)
    assert log is not None
    versions = [version.text.split()[-1] for version in log.versions(file)]
    assert versions == [b"2", b"1"]
    assert not log.left_out
    assert not (tmp_path / "ran").exists()
