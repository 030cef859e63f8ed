"""What agents changed and deleted is shown with the session that did it."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from memtui.changes import Act, Change
from memtui.cli.group import memtui
from memtui.config import HistorySettings
from memtui.library import Library
from memtui.library.change_authors import authors_of, describe_authors, with_authors
from memtui.library.past_library import library_at
from memtui.library.restoring import plan_restore
from memtui.library.text_looks import keep_texts
from memtui.library.time_views import compare_times
from memtui.sessions import find_sessions
from tests.unit.library.test_restoring import every
from tests.unit.sessions.test_origin import session_with

LOOKED = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
CHANGED = datetime(2026, 5, 4, 8, 16, tzinfo=UTC)
"""The calls of `session_with` are in the minute before it."""
AUTHOR = "Claude Code, session 5c0f"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three memories of Claude Code."""
    folder = tmp_path / "home" / ".claude" / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    names = ("money", "deploys", "tests")
    for name in names:
        text = f"---\nname: {name}\n---\n\nWhat is known of {name}.\n"
        (folder / f"project_{name}.md").write_text(text)
    lines = [f"- [{name}](project_{name}.md)\n" for name in names]
    (folder / "MEMORY.md").write_text("".join(lines))
    return tmp_path / "home"


def memory_file(home: Path, name: str) -> Path:
    return next(home.rglob(f"project_{name}.md"))


def look(home: Path, at: datetime) -> Library:
    """A look at a time at which the files were written that have been since the last one."""
    for file in home.rglob("*.md"):
        if file.stat().st_mtime > CHANGED.timestamp():
            os.utime(file, (at.timestamp(), at.timestamp()))
    state = home.parent / "state"
    library = Library.open([home / ".claude"], state=state, now=lambda: at)
    library.load()
    keep_texts(library, HistorySettings())
    return library


def consolidate(home: Path) -> Library:
    """One memory is rewritten and one deleted by a session; a person rewrites the third."""
    look(home, LOOKED)
    money, deploys = memory_file(home, "money"), memory_file(home, "deploys")
    after = money.read_text().replace("What is known", "All that is known")
    session_with(
        home,
        ("Bash", {"command": f"cat {memory_file(home, 'tests')}"}, "What is known of tests."),
        ("Write", {"file_path": str(money), "content": after}, "ok"),
        ("Bash", {"command": f"cd {deploys.parent} && rm {deploys.name}"}, ""),
    )
    money.write_text(after)
    deploys.unlink()
    tests = memory_file(home, "tests")
    tests.write_text(tests.read_text().replace("What is known", "Nothing is known"))
    return look(home, CHANGED)


def test_what_changed_says_who_it_was(home: Path) -> None:
    library = consolidate(home)
    sessions = find_sessions(["claude"], [], home, {}).sessions
    found = compare_times(library, LOOKED, sessions=sessions)
    by = {each.memory.title: (str(each.kind), each.by) for each in found}
    assert by["money"] == ("changed", AUTHOR)
    assert by["deploys"] == ("removed", AUTHOR)
    assert by["tests"] == ("changed", "")
    assert all(each.by == "" for each in compare_times(library, LOOKED))


def test_the_versions_and_the_preview_of_a_restore_say_who_it_was(home: Path) -> None:
    library = consolidate(home)
    sessions = find_sessions(["claude"], [], home, {}).sessions
    memories = {each.title: each for each in every(library)}
    for title, author in (("money", AUTHOR), ("tests", "")):
        found = with_authors(library, library.history(memories[title]), sessions)
        assert [each.author for each in found.versions] == ["", author]
    plan = plan_restore(library, library_at(library, LOOKED), only_deleted=True)
    (words,) = describe_authors(authors_of(library, plan.changes, sessions))
    assert words.startswith(f"1 memory by {AUTHOR}, 2026-05-04")


def test_the_commands_say_who_it_was(
    own_places: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    consolidate(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMTUI_STATE", str(home.parent / "state"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)

    def run(*arguments: str) -> str:
        store = ("--store", str(home / ".claude"))
        return CliRunner().invoke(memtui, [*arguments, *store]).output

    restore = ("restore", "--since", "2026-05-04T08:01Z", "--deleted", "--dry-run")
    assert "was changed" not in run(*restore)
    CliRunner().invoke(memtui, ["sessions", "on", "claude", "--yes"])
    assert f"by {AUTHOR}" in run("diff", "--since", "2026-05-04T08:01Z")
    assert f"by {AUTHOR}" in run("history", "money")
    assert f"was changed: 1 memory by {AUTHOR}" in run(*restore)


def test_memtui_is_named_only_for_what_it_changed_in_a_file(tmp_path: Path) -> None:
    """An agent takes two lines out; memtui gives one of them back and removes a third."""
    index = tmp_path / "claude" / "projects" / "-srv-shop" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    lines = [f"- Bo has {count} boats.\n" for count in ("two", "three", "four", "five")]
    index.write_text("".join(lines))

    def looked() -> Library:
        library = Library.open([tmp_path / "claude"], state=tmp_path / "state")
        library.load()
        keep_texts(library, HistorySettings())
        return library

    looked()
    since = datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    index.write_text("".join(lines[2:]))
    library = looked()
    assert {each.by for each in compare_times(library, since)} == {""}
    past = library_at(library, since)
    refs = [past.resolve(line[2:-1]).ref for line in lines]
    library.apply(plan_restore(library, past, refs[:1]).planned)
    change = Change(Act.DELETE, library.stores[0].label, refs[2], force=True)
    library.apply(library.plan([change]))
    found = compare_times(looked(), since)
    assert {(each.memory.ref, str(each.kind), each.by) for each in found} == {
        (refs[1], "removed", ""), (refs[2], "removed", "memtui"),
    }  # fmt: skip
