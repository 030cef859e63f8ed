"""The list of the screen and `memtui search` find the same memories, in the same order."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from memtui.cli.main import run
from memtui.library import Library
from tests.bench import corpus
from tests.long_run import count

from .stage import stage


def _queries(number: int) -> list[str]:
    """Searches with words of the texts, words that nothing has, beginnings, phrases, filters."""
    draw = random.Random(29)
    texts = [memory.content.split() for memory in corpus.memories(300)]
    found = []
    for _ in range(number):
        text = draw.choice(texts)
        words = [word.strip(".") for word in draw.sample(text, draw.randint(1, min(5, len(text))))]
        if draw.random() < 0.3:
            words[-1] = words[-1][: draw.randint(1, len(words[-1]))]
        if draw.random() < 0.3:
            words.insert(draw.randrange(len(words) + 1), draw.choice(("zzqx", "xylophon", "tokn")))
        at = draw.randrange(len(text) - 1)
        words += draw.choice(
            ([], [], [], [f'"{text[at]} {text[at + 1]}"'], [f"-{text[at]}"], ["type:decision,goal"])
        )
        found.append(" ".join(words))
    return found


@pytest.mark.slow
async def test_the_list_and_the_command_answer_the_same(
    own_places: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus.write_agent_memory(tmp_path / "store", 300)
    root = tmp_path / "store"

    def open_library() -> Library:
        return Library.open([root], cache=tmp_path / "screen", state=None)

    listed: dict[str, list[str]] = {}
    async with stage(root, open_library=open_library) as on:
        await on.settle()
        for query in _queries(count(25, 500)):
            on.browse.set_text(query)
            await on.settle()
            found = on.browse.found
            assert found is not None
            listed[query] = [found.rows[slot].ref for slot in found.slots]
            words = [part.name for at in range(found.total) for part in found.explain(at)]
            assert words.count("text") == found.total, f"{query}: a memory without its words"
    for query, refs in listed.items():
        run(["search", "--json", "--all", "--store", str(root), "--", query])
        printed = json.loads(capsys.readouterr().out)["memories"]
        scores = {each["ref"]: each["score"] for each in printed}
        assert len(refs) == len(scores), query
        found_scores = [scores[ref] for ref in refs]
        for score, following in pairwise(found_scores):  # equal ones drift with the clock
            assert score >= following - 1e-4, query
