"""Memories that name what their project no longer has, and where it is now."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.files.project_index import find_project, read_project
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import Place
from memtui.query import parse_query
from memtui.upkeep.outdated import find_outdated

from .labelled_findings import memories
from .labelled_outdated import AS_PEOPLE_WRITE, PROJECT, REPORTED, TUNING


def named(text: str, **fields: object) -> list[str]:
    (memory,) = memories(text)
    return [one.message for one in find_outdated(replace(memory, **fields), PROJECT)]


@pytest.mark.parametrize(("is_true", "text"), TUNING + AS_PEOPLE_WRITE, ids=str)
def test_each_of_the_examples(is_true: bool, text: str) -> None:
    assert bool(named(text)) is is_true


def test_the_half_that_was_held_back(figures: Callable[[str], None]) -> None:
    right = sum(bool(named(text)) for is_true, text in REPORTED if is_true)
    wrong = sum(bool(named(text)) for is_true, text in REPORTED if not is_true)
    true = sum(is_true for is_true, _ in REPORTED)
    figures(
        f"outdated, held back: {right} of {true} named, {wrong} of {len(REPORTED) - true} wrong"
    )
    assert right >= 0.8 * true
    assert wrong <= 1


def test_it_says_what_is_there_now() -> None:
    assert named("See `src/api/login.ts`.") == ["src/api/login.ts: now src/api/auth/login.ts"]
    assert named("`npm run linter`") == ["npm run linter: not in package.json; it has lint"]
    assert named("We use React 17 here") == ["React 17: now ^18.2.0"]


def test_a_log_of_a_day_and_what_is_not_current_say_nothing() -> None:
    text = "The login handler is in `src/api/login.ts`."
    assert not named(text, origin=Place("/x/2026-03-01.md", 1))
    assert not named(text, status="superseded")
    assert not named(text, kind="event")


def test_nothing_is_missing_in_an_index_that_is_not_complete() -> None:
    (memory,) = memories("See `src/api/login.ts`.")
    assert not find_outdated(memory, replace(PROJECT, is_complete=False))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a history, and a memory bank that names three things of it."""
    root = tmp_path / "ringer"
    (root / "src").mkdir(parents=True)
    (root / ".serena" / "memories").mkdir(parents=True)
    (root / ".serena" / "project.yml").write_text("project_name: ringer\n")
    (root / ".serena" / "memories" / "build.md").write_text(
        "# Build\n\nThe queue is in src/queue.py.\n\nAlways call `npm run bundle` first.\n"
    )
    (root / ".serena" / "memories" / "check.md").write_text("# Check\n\nRun `npm run test`.\n")
    (root / "src" / "queue.py").write_text(
        "".join(f"line_{number} = {number}\n" for number in range(40))
    )
    scripts = {"bundle": "x", "test": "y"}
    (root / "package.json").write_text(
        json.dumps({"scripts": scripts, "dependencies": {"left-pad": "1"}})
    )
    git(root, "init", "-b", "trunk")
    git(root, "add", ".")
    git(root, "commit", "-m", "one")
    git(root, "mv", "src/queue.py", "src/jobs.py")
    (root / "package.json").write_text(json.dumps({"scripts": {"test": "y"}}))
    git(root, "add", ".")
    git(root, "commit", "-m", "two")
    return root


def git(root: Path, *arguments: str) -> None:
    author = ("-c", "user.name=Runa", "-c", "user.email=runa@example.org")
    subprocess.run(["git", "-C", root, *author, *arguments], check=True, capture_output=True)


def test_renames_and_former_manifests_come_from_git(project: Path) -> None:
    index = read_project(project)
    assert index.is_complete
    assert index.moved == {"src/queue.py": "src/jobs.py"}
    assert index.removed_commands == {("package.json", "bundle")}
    assert index.removed_packages == {"left-pad"}
    assert find_project(project / "src") == project


def test_what_git_leaves_out_is_not_called_missing(project: Path) -> None:
    (project / ".gitignore").write_text("# made\n/src/*.py\nlogs/\n!keep\ndocs/**/old.md\n")
    ignored = read_project(project).ignored
    assert ignored is not None
    found = ("src/queue.py", "a/logs/x.txt", "docs/a/b/old.md")
    left = ("src/a/b.py", "catalogs/x", "keep")
    assert all(map(ignored.search, found))
    assert not any(map(ignored.search, left))
    (memory,) = memories("The queue is in src/queue.py.")
    assert not find_outdated(memory, read_project(project))


def test_a_file_that_is_reached_through_a_linked_folder_is_not_missing(project: Path) -> None:
    (memory,) = memories("The queue is in src/jobs.py.")
    git(project, "mv", "src", "code")
    git(project, "commit", "-m", "three")
    assert find_outdated(memory, read_project(project))
    (project / "src").symlink_to("code")
    assert not find_outdated(memory, read_project(project))


def test_packages_with_several_versions_in_a_project_have_none(project: Path) -> None:
    inner = project / "app"
    inner.mkdir()
    for folder, version in ((project, "^17.0.0"), (inner, "^18.2.0")):
        (folder / "package.json").write_text(json.dumps({"dependencies": {"react": version}}))
    assert read_project(project).now.packages["react"] == ""


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nnpm run linter  # if configured\n```",
        "```sh\n# for example\nnpm run linter\n```",
        "```sh\ncd ../ringer-docs\nnpm run linter\n```",
        "The front end uses Ant Design React 17",
    ],
)
def test_examples_other_repositories_and_longer_names_claim_nothing(text: str) -> None:
    assert not named(text)
    assert named("```sh\ncd src\nnpm run linter\n```")


def test_the_home_folder_is_no_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project))  # of somebody who keeps dotfiles in git
    assert find_project(project / "src") is None
    (project / "src" / "Makefile").write_text("")
    assert find_project(project / "src" / "inner") == project / "src"


def test_the_queue_check_and_search_show_it(project: Path) -> None:
    library = Library.open([project / ".serena" / "memories"])
    library.load()
    (one,) = [p for p in ReviewQueue(library).scan().proposals if p.kind == "outdated"]
    assert "src/queue.py: now src/jobs.py" in one.title
    assert "npm run bundle: not in package.json" in one.title
    assert "The queue is in src/queue.py." in one.reason
    assert not one.changes
    (finding,) = [f for f in library.check() if f.kind == "outdated"]
    assert finding.refs == one.refs
    found = library.find(parse_query("has:outdated", library.now()))
    assert [found.rows[slot].ref for slot in found.slots] == [finding.refs[0]]


@pytest.mark.slow
def test_what_changes_in_the_project_is_seen(project: Path) -> None:
    library = Library.open([project / ".serena" / "memories"])
    library.load()
    assert any(f.kind == "outdated" for f in library.check())
    (project / "package.json").write_text(json.dumps({"scripts": {"test": "", "bundle": ""}}))
    (project / "src" / "queue.py").write_text("")
    git(project, "add", ".")
    assert not any(f.kind == "outdated" for f in library.check())
    assert not library.find(parse_query("has:outdated", library.now())).total
