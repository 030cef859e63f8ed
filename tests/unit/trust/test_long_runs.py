"""Memories of a megabyte without a blank, or of nothing but one pair, are checked and shown.

Nothing is measured: what takes the square of the length does not end.
"""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

from memtui.config import ReviewSettings
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.query import parse_query
from memtui.text import one_line, visible
from memtui.text.secrets import find_secrets
from memtui.upkeep.instructions import find_suspicions
from memtui.upkeep.model_requests import parse_facts
from tests.unit.library.stores_for_tests import agent_memory

SIZE = 1_000_000
RUNS = {
    "a letter": "a",
    "a letter of another script": "я",
    "Base64": base64.b64encode(random.Random(1).randbytes(3_000)).decode(),
    "hexadecimal digits": random.Random(1).randbytes(2_000).hex(),
    "names with underscores": "A_",
    "words with dashes": "a-",
    "the start of a key": "sk-",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_long_run_is_looked_through(name: str) -> None:
    text = (RUNS[name] * SIZE)[:SIZE]
    assert not find_suspicions(text, ())
    assert len(list(find_secrets(text))) < 2
    assert visible(text)
    assert one_line(text)


@pytest.mark.slow
def test_a_library_of_long_runs_is_searched_checked_and_reviewed(tmp_path: Path) -> None:
    texts = [(run * SIZE)[: SIZE // 8] for run in RUNS.values()]
    home = agent_memory(tmp_path / "home", {"runs": [*texts, "the tide is low"]})
    library = Library.open([home])
    library.load()
    library.index()
    found = library.find(parse_query("tide", library.now()))
    assert [found.rows[slot].content for slot in found.slots] == ["the tide is low"]
    library.check()
    ReviewQueue(library, ReviewSettings(), ()).scan(None)


def test_a_fence_of_empty_lines_in_the_answer_of_a_model_is_read() -> None:
    assert parse_facts("```json\n" + "\n" * 200_000 + "[]\n```") == ()
    assert parse_facts('[{"content": "a"}]' + "\n" * 10)
