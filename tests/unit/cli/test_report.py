"""`memtui report`: the page that the command writes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.samples import SAMPLES
from tests.unit.report.test_page import assert_harmless, read

SECRET = "ghp_q7Zt4Wm9Xc2Vb6Np1Lk8Jh3Gf5Ds0Aa4QwEr"


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., int]) -> Path:
    place = tmp_path / "stores"
    for name in ("hermes", "claude-code", "serena", "mcp-memory"):
        shutil.copytree(SAMPLES / name, place / name)
    notes = place / "hermes" / "memories" / "MEMORY.md"
    notes.write_text(f"{notes.read_text()}\n§\nThe token of the mill is {SECRET}.")
    monkeypatch.setenv("MEMTUI_STORES", str(place))
    return place


@pytest.mark.slow
def test_the_page_holds_what_the_query_shows(
    stores: Path, tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    assert call("list", "--json", "--all", "--status", "active,proposed") == 0
    listed = capsys.readouterr().out.count('"ref": ')
    assert (
        call("report", "-o", file, "--title", "Bells & towers", "--review", "--since", "90d") == 0
    )
    text = file.read_text("utf-8")
    found = assert_harmless(text)
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for _, attributes in found.elements if "href" in attributes}
    assert targets <= {f"#{id}" for id in ids}
    assert sum(tag == "article" for tag, _ in found.elements) == listed
    words = "".join(found.texts)
    for expected in ("Bells & towers", "Claude Code loads it when a session starts", "To review"):
        assert expected in words
    assert "secrets in" in words
    assert SECRET.encode() not in file.read_bytes()


def test_words_and_filters_choose_and_the_rest_is_counted(
    stores: Path, tmp_path: Path, call: Callable[..., int]
) -> None:
    file = tmp_path / "page.html"
    assert call("report", "-o", file, "store:hermes token of the mill") == 0
    words = "".join(read(file.read_text("utf-8")).texts)
    assert "The token of the mill is" in words
    assert "memories that the query does not show" in words
    assert "Serena" not in words


@pytest.mark.slow
def test_a_retired_memory_that_its_program_still_reads_says_so(
    stores: Path, tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("list", "--json", "--store", stores / "claude-code", "--limit", "1") == 0
    ref = re.search('"ref": "(.*?)"', capsys.readouterr().out)
    assert ref is not None
    assert call("retire", ref[1]) == 0
    file = tmp_path / "page.html"
    assert call("report", "-o", file, "status:retired") == 0
    assert "only memtui hides it; Claude Code still reads it" in file.read_text("utf-8")


def test_a_file_that_cannot_be_written_is_told(
    stores: Path, tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("report", "-o", tmp_path / "nowhere" / "page.html") != 0
    assert "nowhere" in capsys.readouterr().err


def test_a_line_of_a_megabyte_is_cut_and_counted(
    stores: Path, tmp_path: Path, call: Callable[..., int]
) -> None:
    entity = {"type": "entity", "name": "bell", "entityType": "part"}
    record = {**entity, "observations": ["<b>long line " * 90_000]}
    (stores / "mcp-memory" / "memory.jsonl").write_text(json.dumps(record))
    file = tmp_path / "page.html"
    assert call("report", "-o", file, "--store", stores / "mcp-memory") == 0
    text = file.read_text("utf-8")
    assert len(text) < 200_000
    assert "more characters" in "".join(assert_harmless(text).texts)
    assert "the end of 1 long text" in text
