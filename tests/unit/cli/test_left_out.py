"""What could not be read is named and told by the exit code; an empty answer means that nothing
is there."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.own_folders import own_folders
from tests.printed_rows import printed_rows
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

READING = {
    "list": ["list", "--json"],
    "search": ["search", "tide", "--json"],
    "a search without a match": ["search", "zzzz", "--json"],
    "similar": ["similar", "00000001", "--json"],
    "show": ["show", "00000001", "--json"],
    "stats": ["stats", "--json"],
    "history": ["history", "00000001", "--json"],
    "diff": ["diff", "--json", "--since", "2020-01-01"],
    "links": ["links", "people/alice", "--json"],
    "traverse": ["traverse", "people/alice", "--json"],
    "context": ["context", "recall", "tide", "--json"],
    "hot": ["hot", "--json"],
    "review": ["review", "--json", "--kind", "secret"],
    "export": ["export", "--format", "jsonl", "-o", "export.jsonl"],
    "stores": ["stores", "--json"],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "memory",
        {
            "alice": ["Alice leads the tide tables team", "Alice works at the harbour office"],
            "atlas": ["Atlas stores soundings in PostgreSQL"],
        },
    )


@pytest.mark.parametrize("name", READING)
def test_a_command_says_that_it_lacks_a_file(
    name: str, call: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*READING[name], "--store", home]
    expected = 1 if name == "a search without a match" else 0
    assert call(*arguments) == expected
    broken = home / "entities" / "atlas" / "items.json"
    broken.write_text('[{"id": "00000003', encoding="utf-8")
    capsys.readouterr()
    assert call(*arguments) == 3
    printed = capsys.readouterr()
    if name == "stores":
        assert str(broken) in printed.out
    else:
        assert str(broken) in printed.err
        assert str(broken) not in printed.out
    if name != "export":
        json.loads(printed.out)
    broken.unlink()
    assert call(*arguments) == expected


def test_a_change_is_done_whatever_else_cannot_be_read(
    call: Callable[..., int], home: Path
) -> None:
    (home / "entities" / "atlas" / "items.json").write_text("", encoding="utf-8")
    assert call("edit", "00000001", "--content", "Alice left", "--store", home) == 0


def test_many_unreadable_files_are_not_all_named(
    call: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(40):
        write_facts(home, f"p{number}", [fact(100 + number, "x")])
        (home / "entities" / f"p{number}" / "items.json").write_text("{", encoding="utf-8")
    assert call("list", "--store", home) == 3
    assert len(capsys.readouterr().err.splitlines()) < 10


def limited(tmp_path: Path, limit: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command that may map no more than so many bytes."""
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "HOME": str(tmp_path),
        **own_folders(tmp_path),
    }
    return subprocess.run(
        [sys.executable, "-m", "memtui", *map(str, arguments)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep RLIMIT_AS")
def test_a_small_store_is_read_with_little_memory(tmp_path: Path, home: Path) -> None:
    done = limited(tmp_path, 1_100_000 << 10, "list", "--json", "--store", home)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(printed_rows(done.stdout)) == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep RLIMIT_AS")
def test_a_file_that_memory_has_no_room_for_is_named(tmp_path: Path, home: Path) -> None:
    large = home / "entities" / "atlas" / "items.json"
    os.truncate(large, 1_000 << 20)
    done = limited(tmp_path, 1_000_000 << 10, "list", "--json", "--store", home)
    assert done.returncode == 3
    assert f"{large}: there is not enough memory to read it" in done.stderr
    records: list[dict[str, Any]] = printed_rows(done.stdout)
    assert {record["entity"] for record in records} == {"people/alice"}


@pytest.mark.parametrize("recipe", ["session", "loaded"])
def test_a_project_that_no_memory_is_about_is_refused(
    recipe: str, call: Callable[..., int], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("context", recipe, "alice", "--store", home) == 0
    assert call("context", recipe, "nosuch", "--store", home) == 1
    assert "no memory is about 'nosuch'" in capsys.readouterr().err
