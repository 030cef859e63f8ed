"""`context`, `hot` and `show --track` on the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.printed_rows import printed_rows
from tests.samples import SAMPLES

Call = Callable[..., int]


@pytest.fixture
def ambient(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "ambient", tmp_path / "ambient"))


@pytest.mark.slow
def test_a_pack_is_printed_with_its_tokens_beside_it(
    call: Call, ambient: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("context", "prime", "signed", "plans", "--store", ambient, "--budget", "200") == 0
    out, err = capsys.readouterr()
    assert out.startswith("## Relevant knowledge\n\n- [")
    assert " of 200 tokens (estimated) · " in err
    assert call("context", "prime", "signed plans", "--store", ambient, "--explain") == 0
    out, _ = capsys.readouterr()
    assert "text 1.00" in out


def test_json_and_markdown_hold_the_same_pack(
    call: Call, ambient: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("context", "typed", "plans", "--store", ambient, "--memory-type", "decision")
    assert call(*arguments, "--json", "--explain") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["sections"][0]["title"] == "decision"
    assert {"ref", "text", "tokens", "score", "parts", "why"} == set(
        record["sections"][0]["entries"][0]
    )
    assert record["dropped"]
    assert call(*arguments, "--markdown") == 0
    document = capsys.readouterr().out
    assert document.startswith("# Context: typed\n")
    assert record["sections"][0]["entries"][0]["text"].rstrip() in document


@pytest.mark.slow
def test_a_type_filters(call: Call, ambient: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("context", "prime", "plans", "--store", ambient, "--json")
    assert call(*arguments, "--type", "error-resolution") == 0
    shown = printed_rows(capsys.readouterr().out)
    assert call("list", "--store", ambient, "--type", "error-resolution", "--all", "--json") == 0
    errors = capsys.readouterr().out
    refs = [entry["ref"] for section in shown["sections"] for entry in section["entries"]]
    assert refs
    assert all(ref in errors for ref in refs)


def test_without_a_recipe_they_are_listed_and_a_wrong_one_is_told_the_nearest(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("context") == 0
    assert len(capsys.readouterr().out.strip().split("\n")) == 10
    assert call("context", "primme", "x") == 1
    assert "did you mean prime?" in capsys.readouterr().err


@pytest.mark.slow
def test_accesses_are_counted_only_with_track(
    call: Call, ambient: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("context", "prime", "signed plans", "--store", ambient, "--limit", "1", "--json")
    assert call(*arguments) == 0
    ref = json.loads(capsys.readouterr().out)["sections"][0]["entries"][0]["ref"]
    assert call("hot", "--store", ambient) == 1
    assert call(*arguments, "--track") == 0
    assert call("show", ref, "--store", ambient, "--track") == 0
    capsys.readouterr()
    assert call("hot", "--store", ambient, "--json") == 0
    (hot,) = printed_rows(capsys.readouterr().out)
    assert (hot["ref"], hot["accesses"]) == (ref, 2)
    assert call("hot", "--store", ambient) == 0
    assert capsys.readouterr().out.lstrip().startswith("2  ")


@pytest.mark.slow
def test_a_store_that_may_not_be_written_stops_neither_the_output_nor_other_counts(
    call: Call, ambient: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", closed)
    folders = [closed, *(path for path in closed.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    stores = ("--store", closed, "--store", ambient)
    assert call("context", "recall", "signed plans", *stores, "--track") == 0
    said = capsys.readouterr()
    assert said.out
    assert said.err.count("the accesses are not counted") == 1
    assert "agent-memory: the accesses are not counted" in said.err
    assert call("hot", "--store", ambient) == 0
    for path in folders:
        path.chmod(0o755)


def test_stats_tell_the_range_of_salience(
    call: Call, ambient: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("stats", "--store", ambient, "--json") == 0
    salience = json.loads(capsys.readouterr().out)["salience"]
    assert list(salience) == ["min", "median", "p90", "max"]
    assert list(salience.values()) == sorted(salience.values())


def test_an_own_recipe_comes_from_the_settings_and_unknown_settings_are_named(
    call: Call, ambient: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        """
[context.constants]
facts = 1
[context.recipes.standup]
sections = [{ title = "Decisions", query = "type:decision", limit = 2 }]
[context.recipes.broken]
sections = [{ title = "No query" }]
""",
        encoding="utf-8",
    )
    assert call("context", "standup", "--store", ambient) == 0
    out, err = capsys.readouterr()
    assert out.startswith("## Decisions\n\n- [")
    assert "context.recipes.broken must be" in err
    assert "it lacks `query`, in `sections[0]`" in err
    assert "context.constants is not a setting" in err


def test_what_programs_load_has_a_heading_for_each_program_and_file(
    call: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "AGENTS.md").write_text("- rye\n")
    (tmp_path / "GEMINI.md").write_text("- oats\n")
    assert call("context", "loaded", "--store", tmp_path) == 0
    first, _, second = capsys.readouterr().out.partition("\n\n")
    assert first.startswith("==> Instructions · AGENTS.md (given to Codex, ")
    assert first.endswith(" <==\n- rye")
    assert second == "==> Instructions · GEMINI.md (given to Gemini CLI) <==\n- oats\n"
