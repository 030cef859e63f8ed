"""`log`, `stores` and `check` tell of changes that another program has taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.printed_rows import printed_rows
from tests.unit.library.stores_for_tests import agent_memory

Call = Callable[..., int]

TEXT = "Alice keeps bees on the roof garden"
REASON = "another program has removed what was added"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "memory", {"alice": ["Alice leads the tide tables team"]})


@pytest.fixture
def told(call: Call, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Exit code and what is printed, read as JSON where it is asked for."""

    def run(*arguments: object) -> tuple[int, Any]:
        capsys.readouterr()
        code = call(*arguments)
        out = capsys.readouterr().out
        return code, printed_rows(out) if "--json" in arguments else out

    return run


def test_an_addition_that_vanished_is_told_by_log_stores_and_check(
    told: Callable[..., Any], home: Path
) -> None:
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    assert told("add", TEXT, "--store", home, "-e", "people/alice")[0] == 0
    assert told("stores", "--store", home, "--json")[1][0]["overwritten"] == []
    assert told("check", "--store", home) == (0, "0 findings\n")
    assert not told("log", "--json")[1][0]["put_back"]

    file.write_bytes(before)
    assert told("log", "--json")[1][0]["put_back"]
    assert REASON in told("log")[1]
    (store,) = told("stores", "--store", home, "--json")[1]
    assert store["overwritten"] == [{"number": 1, "title": f"add: {TEXT}", "reason": REASON}]
    assert (
        f"overwritten  add: {TEXT} (number 1 in the log): {REASON}"
        in told("stores", "--store", home)[1]
    )
    code, (finding,) = told("check", "--store", home, "--json")
    assert (code, finding["kind"], finding["file"]) == (1, "overwritten", str(file))
    assert REASON in finding["message"]
    assert file.read_bytes() == before


def test_another_store_is_not_told_of_it(
    told: Callable[..., Any], home: Path, tmp_path: Path
) -> None:
    other = agent_memory(tmp_path / "other", {"bob": ["Bob rings the bells at noon"]})
    told("add", TEXT, "--store", home, "-e", "people/alice")
    (home / "entities" / "alice" / "items.json").write_text("[]\n")
    assert told("check", "--store", other) == (0, "0 findings\n")
    assert told("stores", "--store", other, "--json")[1][0]["overwritten"] == []


def test_a_journal_that_cannot_be_read_stops_no_look(
    told: Callable[..., Any], home: Path, tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "journal.sqlite").mkdir()
    assert told("check", "--store", home) == (0, "0 findings\n")
    assert told("stores", "--store", home)[0] == 0
