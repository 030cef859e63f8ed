"""`compare` of two stores of different programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.library.stores_for_tests import fact, write_facts

Call = Callable[..., int]
LEDGER = "The ledger uses Postgres, because SQLite locked"


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Facts of a shop by one program, notes by another; both know of the ledger."""
    facts = [fact(1, LEDGER), fact(2, "Deploys happen on Tuesdays")]
    write_facts(tmp_path / "shop", "shop-api", facts)
    notes = tmp_path / "code" / ".serena" / "memories"
    notes.mkdir(parents=True)
    (notes / "shop-api.md").write_text(f"# Ledger\n\n- {LEDGER}\n", encoding="utf-8")
    (notes / "billing.md").write_text("Invoices are sent on the first of a month\n", "utf-8")
    return tmp_path / "shop", tmp_path / "code"


def test_what_both_say_and_what_one_knows(
    call: Call, stores: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *stores, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(s["score"], s["left"]["id"][:8], s["right_passage"]) for s in found["shared"]] == [
        (1.0, "00000001", f"- {LEDGER}")
    ]
    assert [one["id"][:8] for one in found["only_left"]] == ["00000002"]
    assert [one["id"] for one in found["only_right"]] == ["billing.md"]
    assert call("compare", *stores) == 0
    text = capsys.readouterr().out
    assert "in both (1)" in text
    assert "only in agent-memory (1)" in text


def test_of_one_subject_only(
    call: Call, stores: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *stores, "--entity", "shop-api", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["shared"]), len(found["only_left"]), found["only_right"]) == (1, 1, [])


def test_one_store_twice_is_refused(
    call: Call, stores: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", stores[0], stores[0]) != 0
    assert "same store" in capsys.readouterr().err
