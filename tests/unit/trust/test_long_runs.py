"""Memories that are one long run of a character or of a few are checked, masked and shown.

Nothing is measured: what takes the square of the length does not end.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.config import ReviewSettings
from memtui.config.loading import save_value
from memtui.errors import Refused
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import Memory
from memtui.paths import bundled_folder
from memtui.query import parse_query
from memtui.stores.claude_code import rules as claude_code
from memtui.stores.codex import store as codex
from memtui.stores.markdown_folder import rules as notes
from memtui.text import has_hidden, highlights, mask_secrets, one_line, visible
from memtui.text.secrets import find_secrets, has_secret
from memtui.tui.appearance import Palette
from memtui.tui.memory_detail import MemoryDetail
from memtui.tui.themes import load_themes
from memtui.upkeep.model_requests import parse_facts
from memtui.upkeep.planted_text import find_suspicions
from tests.long_run import count
from tests.unit.library.stores_for_tests import agent_memory
from tests.unit.stores.engram.test_hostile_schema import altered, open_store

SIZE = count(200_000, 1_000_000)
BLANKS = " " * 200_000
RUNS = {
    "a letter": "a",
    "a letter of another script": "я",
    "Base64": base64.b64encode(random.Random(1).randbytes(3_000)).decode(),
    "hexadecimal digits": random.Random(1).randbytes(2_000).hex(),
    "names with underscores": "A_",
    "words with dashes": "a-",
    "the start of a key": "sk-",
    "names of a secret": "password token ",
}
MARKDOWN = {
    "quotes": "> ",
    "items": "- ",
    "brackets": "[",
    "links": "[a](",
    "code": "`a",
    "emphasis": "**a",
    "cells of a table": "|a",
    "tags": "<a",
    "blanks": " ",
    "lines": "a\n",
}


def _run(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_long_run_is_looked_through(name: str) -> None:
    text = _run(RUNS[name], SIZE)
    assert not find_suspicions(text)
    assert len(list(find_secrets(text))) < 2
    has_secret(text)
    assert len(mask_secrets(text)) == SIZE
    assert visible(text)
    assert one_line(text)
    assert not has_hidden(text)
    assert not highlights(text, ["tideline", "t*elin*x"])


@pytest.mark.slow
@pytest.mark.parametrize("raw", [False, True], ids=["Markdown", "text"])
def test_a_long_run_is_shown(raw: bool) -> None:
    palette = Palette(load_themes([bundled_folder("themes")])[0]["dusk"])
    now = datetime(2026, 3, 30, tzinfo=UTC)
    for piece in (RUNS | MARKDOWN).values():
        memory = Memory("a:1", "1", "a", "fact", content=_run(piece, SIZE // 4))
        lines = MemoryDetail(memory, (), ("tide", "t*e*x"), palette, now, 60, raw=raw).lines()
        shown = [lines[at] for at in range(50) if at < len(lines)]
        assert shown
        assert lines.find_passage(["tide", "t*e*x"])


@pytest.mark.slow
def test_a_library_of_long_runs_is_searched_checked_and_reviewed(tmp_path: Path) -> None:
    texts = [_run(run, SIZE // 8) for run in RUNS.values()]
    home = agent_memory(tmp_path / "home", {"runs": [*texts, "the tide is low"]})
    library = Library.open([home])
    library.load()
    library.index()
    found = library.find(parse_query("tide", library.now()))
    assert [found.rows[slot].content for slot in found.slots] == ["the tide is low"]
    library.check()
    ReviewQueue(library, ReviewSettings(), ()).scan(None)


def _a_setting(folder: Path) -> None:
    path = folder / "config.toml"
    path.write_text(f'theme = "dusk"{BLANKS}\n', encoding="utf-8")
    save_value(path, "theme", "paper")
    assert path.read_text("utf-8").rstrip() == 'theme = "paper"'


def _an_engram(folder: Path) -> None:
    store = altered(folder, f'CREATE INDEX "{"a" * len(BLANKS)}" ON observations (title)')
    assert not open_store(store).read_only


def _a_topic_of_claude(_: Path) -> None:
    front = f"name: a\nmetadata:\n  node_type: memory\n  type:{BLANKS[:60_000]}two words\n"
    with pytest.raises(Refused, match="not on one line"):
        claude_code.with_type(f"---\n{front}---\nbody\n", "user")


FOUND_SLOW: dict[str, Callable[[Path], object]] = {
    "a line of the settings": _a_setting,
    "the SQL of an index": _an_engram,
    "the type of a topic of Claude Code": _a_topic_of_claude,
    "a task group of Codex": lambda _: codex.task_groups(f"# Task Group: a{BLANKS}x\n"),
    "the context of an observation": lambda _: notes.observations(f"- [a] b{BLANKS}x\n"),
    "the relation of a note": lambda _: notes.relations(f"- a [[b]]{BLANKS}x\n"),
    "a query": lambda _: parse_query(f"kind:note{BLANKS}(", datetime(2026, 3, 30, tzinfo=UTC)),
}


@pytest.mark.parametrize("name", FOUND_SLOW)
def test_blanks_or_letters_in_a_part_of_a_memory_are_passed_over(name: str, tmp_path: Path) -> None:
    FOUND_SLOW[name](tmp_path)


def test_a_fence_of_empty_lines_in_the_answer_of_a_model_is_read() -> None:
    assert parse_facts("```json\n" + "\n" * 200_000 + "[]\n```") == ()
    assert parse_facts('[{"content": "a"}]' + "\n" * 10)
