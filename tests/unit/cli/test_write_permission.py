"""Files and folders without write permission, for the commands, also for root."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.library.stores_for_tests import agent_memory

TEXT = "Alice leads nobody"
ACTS = {
    "edit": ("edit", "00000001", "--content", TEXT),
    "supersede": ("supersede", "00000001", "Alice leads two whole teams"),
    "retire": ("retire", "00000001"),
    "merge": ("merge", "00000001", "00000002"),
    "add": ("add", "Alice repairs old sextants at home", "--entity", "people/alice"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "memory",
        {"alice": ["Alice leads the tide tables team", "Alice works at the harbour office"]},
    )


@pytest.fixture
def file(home: Path) -> Iterator[Path]:
    """The facts of Alice, which nobody may write."""
    path = home / "entities" / "alice" / "items.json"
    path.chmod(0o444)
    yield path
    path.parent.chmod(0o755)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("act", ACTS)
def test_it_is_refused_in_one_line_and_done_with_force(
    call: Callable[..., int],
    home: Path,
    file: Path,
    act: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = file.read_bytes()
    store = ("--store", home)
    assert call(*ACTS[act], *store) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith(f"memtui: {file}: the file has no write permission (")
    assert "--force" in error
    assert file.read_bytes() == before
    owner = file.owner()
    assert call(*ACTS[act], *store, "--force") == 0
    done = capsys.readouterr().err
    assert f"memtui: {file}: it was replaced (owner {owner}:{file.group()} and mode 0444 stay)" in (
        done
    )
    assert (mode(file), file.owner()) == (0o444, owner)
    assert file.read_bytes() != before
    assert call("undo", *store) == 1, "undo writes it too"
    assert "no write permission" in capsys.readouterr().err
    assert call("undo", *store, "--force") == 0
    assert (mode(file), file.read_bytes()) == (0o444, before)


def test_a_dry_run_says_what_needs_force(
    call: Callable[..., int], home: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*ACTS["edit"], "--dry-run", "--store", home) == 0
    said = capsys.readouterr()
    assert TEXT in said.out
    assert said.err.startswith(f"memtui: {file}: the file has no write permission")


def test_force_holds_for_one_command(call: Callable[..., int], home: Path, file: Path) -> None:
    assert call(*ACTS["edit"], "--store", home, "--force") == 0
    before = file.read_bytes()
    assert call("edit", "00000002", "--content", TEXT, "--store", home) == 1
    assert file.read_bytes() == before


def test_a_file_that_is_deleted(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "notes" / "dusk.md"
    note.parent.mkdir()
    note.write_text("# Dusk\n\nThe bell rings at ten.\n", encoding="utf-8")
    note.with_name("dawn.md").write_text("# Dawn\n\nNo bell.\n", encoding="utf-8")
    note.chmod(0o444)
    assert call("accept", "dusk.md", "--store", note.parent) == 1
    capsys.readouterr()
    assert call("delete", "dusk.md", "--store", note.parent, "--force") == 0
    assert f"{note}: it was deleted\n" in capsys.readouterr().err
    assert not note.exists()


def test_a_folder_without_write_permission(
    call: Callable[..., int], home: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be replaced in it by those who are not root, so force does not help."""
    file.chmod(0o644)
    file.parent.chmod(0o555)
    before = file.read_bytes()
    for force in ((), ("--force",)):
        for act in ("edit", "retire"):
            assert call(*ACTS[act], "--store", home, *force) == 1
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            assert "the folder of its file has no write permission" in error
        assert call(*ACTS["add"], "--store", home, *force) == 1
        assert f"{file.parent}: the folder has no write permission" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_a_database_without_write_permission(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from memtui.stores import registry
    from memtui.testing.fixtures import sample

    known = registry.format_of("engram")
    assert known is not None
    place = sample(known, tmp_path / "engram")
    database = next(place.rglob("*.db"))
    database.chmod(0o444)
    store = ("--store", place)
    for force in ((), ("--force",)):
        assert call("add", "Gulls nest on the roof", "--entity", "x", *store, *force) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "the database has no write permission" in error
        assert str(database.parent) in error
