"""`memtui status`: what waits, what agents wrote, what is not loaded, in a line and at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.cli import status_cache

Call = Callable[..., int]


@pytest.fixture
def notes(tmp_path: Path, call: Call) -> Path:
    """The memory folder of a project, in the home of the person; returns its index."""
    folder = tmp_path / "person" / ".claude" / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    index = folder / "MEMORY.md"
    index.write_text("- Ask before a migration.\n- Prices are whole cents.\n")
    return index


@pytest.fixture
def says(call: Call, notes: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What `memtui status` prints with these options."""

    def said(*options: str) -> str:
        capsys.readouterr()
        code = status_cache.answer(options)  # as `__main__` does before anything is imported
        assert (call("status", *options) if code is None else code) == 0
        return capsys.readouterr().out

    return said


def test_what_another_program_writes_is_counted_until_it_is_seen(
    says: Callable[..., str], notes: Path
) -> None:
    assert says().startswith("0 to review, 0 new since ")
    assert says("--short") == ""
    text = notes.read_text()
    notes.write_text(text.replace("whole cents", "in cents") + "- Deploy on Mondays.\n")
    notes.with_name("deploys.md").write_text("---\nname: Deploys\n---\n\nOn Mondays.\n")
    written = json.loads(says("--json"))["written"]
    # an item of the index has no name but its text: another text is another item
    assert {n: written[n] for n in ("added", "changed", "removed")} == {
        **{"added": 3, "changed": 0, "removed": 1}
    }
    assert "3 new, 1 removed since " in says()
    assert says("--short") == "4 new\n"
    assert "0 new since " in says("--seen")
    notes.with_name("deploys.md").write_text("---\nname: Deploys\n---\n\nOn Tuesdays.\n")
    assert "1 changed since " in says()


@pytest.mark.slow
def test_what_a_person_writes_with_memtui_is_known(
    says: Callable[..., str], notes: Path, call: Call
) -> None:
    says()
    fields = ("--entity", "-srv-shop", "--title", "Deploys")
    assert call("add", "On Mondays, never on Fridays.", *fields) == 0
    assert "0 new since " in says()
    notes.write_text(notes.read_text() + "- Ask twice.\n")
    assert "1 new since " in says()
    assert call("undo", "--store", notes.parents[3]) == 0
    assert "1 new since " in says()


@pytest.mark.slow
def test_what_is_over_a_limit_is_named(says: Callable[..., str], notes: Path) -> None:
    notes.write_text("".join(f"- Rule {number} of the shop\n" for number in range(203)))
    assert says().endswith(", 3 not loaded (Claude Code -srv-shop: MEMORY.md)\n")
    assert says("--short") == "3 not loaded\n"


def test_what_the_review_finds_is_counted(says: Callable[..., str], notes: Path) -> None:
    notes.write_text("- [Prices](prices.md) — whole cents\n")
    counts = json.loads(says("--json"))["review"]
    assert counts == {"waiting": 1, "hints": 0, "from_agents": 0, "scanned": True}
    assert says().startswith("1 to review, ")
    assert says("--short").startswith("1 to review")


@pytest.mark.slow
def test_an_answer_is_kept_while_nothing_changes(
    says: Callable[..., str], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = says()
    asked = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memtui", "status"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout == first
    imported = {line.rpartition("|")[2].strip() for line in asked.stderr.split("\n")}
    assert not imported & {"click", "msgspec", "memtui.library", "memtui.stores.registry"}
    for change in (
        lambda: notes.write_text("- Ask.\n"),
        lambda: notes.with_name("new.md").write_text("A note.\n"),
        lambda: (Path.home() / ".hermes").mkdir(),
        lambda: monkeypatch.setenv("HERMES_HOME", str(notes.parents[3] / "elsewhere")),
    ):
        kept = status_cache.read(())
        assert kept is not None
        assert kept.is_current
        change()
        kept = status_cache.read(())
        assert kept is not None
        assert not kept.is_current
        says()


def test_a_prompt_never_waits(says: Callable[..., str], notes: Path) -> None:
    says()
    notes.write_text(notes.read_text() + "- Deploy on Mondays.\n")
    assert says("--short") == ""  # as it was; another process looks
    until = time.monotonic() + 60
    while says("--short") != "1 new\n":
        assert time.monotonic() < until
        time.sleep(0.1)


def test_without_a_store_a_prompt_stays_empty(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("status", "--short") == 0
    assert capsys.readouterr().out == ""
    assert call("status") == 1
