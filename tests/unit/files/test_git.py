"""Former versions of files and commits, of repositories made for each test."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.files import git_history, git_repository
from memtui.files.git_history import FileVersion, GitHistory
from memtui.files.git_repository import commit_files
from memtui.testing.fixtures import time_limit

START = 1_740_000_000
"""When the first commit was authored; each later one an hour after the one before."""


def git(top: Path, *arguments: str, stdin: bytes = b"") -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=top, input=stdin, capture_output=True, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.decode().strip()


def repository(top: Path, *commits: dict[str, bytes | None], options: tuple[str, ...] = ()) -> Path:
    """A repository with these commits; each names the files it writes or (None) removes."""
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q", "-b", "main", *options)
    stream = b""
    for number, files in enumerate(commits):
        who = b"Ada <ada@localhost> %d +0000" % (START + 3600 * number)
        stream += b"commit refs/heads/main\nauthor %s\ncommitter %s\ndata 1\n.\n" % (who, who)
        for name, content in files.items():
            if content is None:
                stream += b"D %s\n" % name.encode()
            else:
                stream += b"M 100644 inline %s\ndata %d\n" % (name.encode(), len(content))
                stream += content + b"\n"
    git(top, "fast-import", "--quiet", stdin=stream)
    git(top, "reset", "-q", "--hard")
    return top


def history(top: Path) -> GitHistory:
    found = GitHistory.of(top)
    assert found is not None
    return found


def at(number: int) -> datetime:
    """When the commit of this number was authored."""
    return datetime.fromtimestamp(START + 3600 * number, UTC)


# ---- versions of one file ------------------------------------------------------------------------


def test_versions_come_newest_first_with_commit_time_and_author(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"one"}, {"a.md": b"two"}, {"b.md": b"other"})
    found = history(top)
    first, second = git(top, "rev-list", "--reverse", "main", "--", "a.md").split()
    assert list(found.versions(top / "a.md")) == [
        FileVersion(second, at(1), "Ada", b"two"),
        FileVersion(first, at(0), "Ada", b"one"),
    ]
    assert found.left_out == ""


@pytest.mark.parametrize(
    ("most", "left_out"), [(2, "only the newest 2 commits were read"), (3, ""), (4, "")]
)
def test_no_more_commits_are_read_than_asked_for(tmp_path: Path, most: int, left_out: str) -> None:
    top = repository(tmp_path / "top", *({"a.md": text} for text in (b"1", b"2", b"3")))
    found = history(top)
    texts = [version.text for version in found.versions(top / "a.md", most)]
    assert texts == [b"3", b"2", b"1"][:most]
    assert found.left_out == left_out


def test_a_file_that_went_and_came_back_has_its_texts_once_each(tmp_path: Path) -> None:
    texts: list[bytes | None] = [b"one", None, b"one", b"", b"two"]
    top = repository(tmp_path / "top", *({"keep": b"", "a.md": text} for text in texts))
    found = [version.text for version in history(top).versions(top / "a.md")]
    assert found == [b"two", b"", b"one"]


def test_links_and_files_outside_have_no_versions(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"one"})
    (top / "link.md").symlink_to("nowhere")
    git(top, "add", ".")
    git(top, "commit", "-qm", "link")
    found = history(top)
    for path in (top / "link.md", tmp_path / "outside.md", top / "never.md"):
        assert list(found.versions(path)) == []
    assert found.left_out == ""


def test_a_version_that_is_too_large_is_left_out_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_history, "MAX_BYTES", 10)
    texts = [b"old", b"x" * 10, b"y" * 11, b"new"]
    top = repository(tmp_path / "top", *({"a.md": text} for text in texts))
    found = history(top)
    assert [each.text for each in found.versions(top / "a.md")] == [b"new", b"x" * 10, b"old"]
    assert found.left_out == "versions that are missing or too large were left out"


@pytest.mark.parametrize("size", [1, 9, 10, 11, 25, 1000])
def test_versions_are_the_same_however_many_one_command_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(git_history, "_CHUNK_BYTES", size)
    texts = [bytes([65 + number]) * (number % 3 * 5) + b"\n" for number in range(7)]
    top = repository(tmp_path / "top", *({"a.md": text} for text in texts))
    found = history(top)
    assert [version.text for version in found.versions(top / "a.md")] == texts[::-1]
    assert found.left_out == ""


def test_a_repository_without_commits_or_git_has_no_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    assert GitHistory.of(tmp_path / "plain") is None
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q")
    found = history(top)
    assert list(found.versions(top / "a.md")) == []
    assert found.files_at(top, at(0)) is None
    assert found.left_out == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert GitHistory.of(top) is None


def test_a_question_that_is_cancelled_or_late_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(tmp_path / "top", {"a.md": b"one"})
    stopped = GitHistory.of(top, lambda: True)
    assert stopped is not None
    assert list(stopped.versions(top / "a.md")) == []
    assert stopped.left_out == "cancelled"
    monkeypatch.setattr(git_history, "TIME_LIMIT", -1.0)
    late = history(top)
    assert list(late.versions(top / "a.md")) == []
    assert late.left_out == "it took longer than -1 seconds"


# ---- a folder at a time --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_files_of_a_time_are_those_that_differ_from_now(tmp_path: Path) -> None:
    top = repository(
        tmp_path / "top",
        {"memory/a.md": b"a 0", "memory/same.md": b"same", "memory/gone.md": b"gone", "b.md": b"b"},
        {"memory/a.md": b"a 1", "memory/gone.md": None, "b.md": b"b 1"},
    )
    (top / "memory" / "link.md").symlink_to("a.md")
    first, second = git(top, "rev-list", "--reverse", "main").split()
    found = history(top)
    assert found.files_at(top / "memory", at(0)) == {
        top / "memory" / "a.md": FileVersion(first, at(0), "Ada", b"a 0"),
        top / "memory" / "gone.md": FileVersion(first, at(0), "Ada", b"gone"),
    }
    assert found.files_at(top / "memory", at(1)) == {}
    (top / "memory" / "a.md").write_text("edited")
    assert found.files_at(top / "memory", at(5)) == {
        top / "memory" / "a.md": FileVersion(second, at(1), "Ada", b"a 1")
    }
    assert found.files_at(top / "memory", datetime.fromtimestamp(START - 1, UTC)) is None
    assert found.files_at(tmp_path, at(5)) is None
    whole = found.files_at(top, at(0))
    assert whole is not None
    assert sorted(path.name for path in whole) == ["a.md", "b.md", "gone.md"]


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_a_file_that_has_not_changed_is_known_by_its_hash(tmp_path: Path, hashes: str) -> None:
    options = (f"--object-format={hashes}",)
    top = repository(tmp_path / "top", {"a.md": b"a", "b.md": b"b"}, options=options)
    (top / "b.md").write_bytes(b"B")
    found = history(top).files_at(top, at(0))
    assert found is not None
    assert {path.name: version.text for path, version in found.items()} == {"b.md": b"b"}


def test_remote_and_merged_branches(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"a"})
    assert (history(top).remote(), history(top).merged_branches()) == ("", frozenset())
    git(top, "remote", "add", "origin", "git@example.org:a/b.git")
    git(top, "branch", "done/one")
    git(top, "checkout", "-q", "-b", "open")
    git(top, "commit", "-q", "--allow-empty", "-m", "ahead")
    git(top, "checkout", "-q", "main")
    found = history(top)
    assert found.remote() == "git@example.org:a/b.git"
    assert found.merged_branches() == {"done/one"}
    (top / ".git" / "config").write_text("[broken")
    broken = history(top)
    assert (broken.remote(), broken.merged_branches()) == ("", frozenset())
    assert "config" in broken.left_out


# ---- commits -------------------------------------------------------------------------------------


def test_files_are_committed_as_they_are_and_nothing_else(tmp_path: Path) -> None:
    names = {"a.md": b"a", "gone.md": b"x", "other.md": b"other"}
    top = repository(tmp_path / "top", names)
    odd = 'odd "\\ name.md'
    (top / "a.md").write_text("changed\r\n")
    (top / "other.md").write_text("changed too")
    (top / odd).write_text("odd")
    (top / "run.sh").write_text("#!/bin/sh\n")
    (top / "run.sh").chmod(0o755)
    (top / "gone.md").unlink()
    paths = [str(top / name) for name in ("a.md", odd, "run.sh", "gone.md")]
    assert commit_files(top, paths) == ""
    listed = git(top, "ls-tree", "-r", "-z", "HEAD").split("\0")
    assert sorted((line[:6], line.partition("\t")[2]) for line in listed if line) == [
        ("100644", "a.md"),
        ("100644", odd),
        ("100644", "other.md"),
        ("100755", "run.sh"),
    ]
    assert git(top, "show", "HEAD:a.md") == "changed"
    assert git(top, "status", "--porcelain") == "M other.md"
    assert git(top, "log", "-1", "--format=%s|%an|%ce") == "memtui: 4 files|memtui|memtui@localhost"
    assert git(top, "reflog", "-1", "--format=%gs") == "commit: memtui"
    head = git(top, "rev-parse", "HEAD")
    assert commit_files(top, paths) == ""  # there is nothing to commit now
    assert git(top, "rev-parse", "HEAD") == head


def test_nothing_is_committed_where_there_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    assert commit_files(tmp_path, [str(tmp_path / "a.md")]) == ""
    assert os.listdir(tmp_path) == ["a.md"]


def test_what_cannot_be_committed_is_refused_with_its_reason(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"a"})
    dot_git, other = top / ".git", tmp_path / "other"
    (top / "a.md").write_text("changed")
    outside = "a file lies outside the repository"
    assert commit_files(top, [str(top / "a.md"), str(tmp_path / "b.md")]) == outside
    dot_git.rename(other)

    def refusal() -> str:
        return commit_files(top, [str(top / "a.md")])

    for content, why in [
        ("nonsense: x", "the file .git names no repository"),
        ("", ".git names no folder"),
        (f"gitdir: {other}", "its .git leads to the repository of another folder"),
    ]:
        dot_git.write_text(content)
        assert refusal() == why
    dot_git.unlink()
    other.rename(dot_git)
    for name in ("logs/HEAD", "objects", "refs/heads/main"):
        path = dot_git / name
        path.rename(other)
        path.symlink_to(other)
        assert refusal() == f"{name} is or lies behind a link"
        path.unlink()
        other.rename(path)
    assert git(top, "rev-list", "--count", "HEAD") == "1"
    assert refusal() == ""
    assert git(top, "rev-list", "--count", "HEAD") == "2"


@pytest.mark.parametrize(("extra", "expected"), [(0, ""), (1, "config: it is larger than 0 MiB")])
def test_a_config_is_read_up_to_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int, expected: str
) -> None:
    top = repository(tmp_path / "top", {"a.md": b"a"})
    (top / "a.md").write_text("changed")
    config = top / ".git" / "config"
    monkeypatch.setattr(git_repository, "LARGEST", 500)
    config.write_text(config.read_text() + "#" * (500 + extra - config.stat().st_size))
    assert commit_files(top, [str(top / "a.md")]) == expected


def test_a_setting_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"a"})
    (top / "a.md").write_text("changed")
    git(top, "config", "core.sharedRepository", "group, all")
    why = "its setting core.sharedrepository is not understood"
    assert commit_files(top, [str(top / "a.md")]) == why
    config = top / ".git" / "config"
    config.write_text(config.read_text().replace("group, all", "0660"))
    git(top, "config", "extensions.partialClone", "origin")
    assert commit_files(top, [str(top / "a.md")]) == ""


def test_a_git_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = repository(tmp_path / "top", {"a.md": b"a"})
    assert commit_files(top, [str(top / "a.md")], -1.0) == "git took longer than -1 seconds"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with time_limit(120):
        assert commit_files(top, [str(top / "a.md")], 0.1) == "git took longer than 0.1 seconds"


@pytest.mark.parametrize("lost", [1, 2, 30])
def test_versions_that_git_does_not_give_whole_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    top = repository(tmp_path / "top", *({"a.md": b"text %d\n" % n} for n in range(3)))
    real = git_history.find_git()
    cut = tmp_path / "git"
    cut.write_text(
        f'#!/bin/sh\ncase "$*" in *cat-file*--batch) {real} "$@" | head -c -{lost};;'
        f' *) exec {real} "$@";; esac\n'
    )
    cut.chmod(0o755)
    for module in (git_history, git_repository):
        monkeypatch.setattr(module, "find_git", lambda: str(cut))
    found = history(top)
    whole = [b"text 2\n", b"text 1\n"]
    assert [each.text for each in found.versions(top / "a.md")] == whole
    assert found.left_out == git_history.NOT_UNDERSTOOD


def test_a_commit_of_no_time_that_there_is_has_that_of_the_epoch(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"a.md": b"one"})
    commit = git(top, "cat-file", "commit", "HEAD").replace(str(START), "9" * 18)
    made = git(
        top,
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--literally",
        "--stdin",
        stdin=(commit + "\n").encode(),
    )
    git(top, "update-ref", "HEAD", made)
    (version,) = history(top).versions(top / "a.md")
    assert version.time == datetime.fromtimestamp(0, UTC)
