"""A large store opens and a huge memory is shown like any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.library import Library
from memtui.query import parse_query
from tests.bench.corpus import write_facts
from tests.long_run import count
from tests.tui.stage import fact, stage

pytestmark = pytest.mark.slow

COUNT = count(66_700, 100_000)
"""Above 65,535, the largest number of sixteen bits."""
LONG_LINE = count(500_000, 5_000_000)


def huge() -> dict[str, dict[str, Any]]:
    """One memory of each kind of size."""
    return {
        "a line of megabytes": fact(1, "gull " * (LONG_LINE // 5), "2026-11-20"),
        "a word of 100,000 letters": fact(2, "x" * 100_000, "2026-11-20"),
        "100,000 joiners": fact(3, "\u200d" * 100_000, "2026-11-20"),
        "100,000 brackets": fact(4, "[" * 100_000, "2026-11-20"),
        "10,000 keys": fact(5, "many keys", "2026-11-20") | {f"key {n}": n for n in range(10_000)},
        "100 floors deep": fact(6, "deep", "2026-11-20") | {"deep": _nested(100)},
        "100,000 lines": fact(7, "line\n" * 100_000, "2026-11-20"),
    }


def _nested(depth: int) -> Any:
    whole: Any = "bottom"
    for _ in range(depth):
        whole = [whole]
    return whole


def test_many_thousand_memories_open_and_are_found(
    tmp_path: Path, figures: Callable[[str], None]
) -> None:
    texts = [f"fact {number} about the tide" for number in range(COUNT)]
    texts[66_666] = "the wheelbarrow stands behind the boathouse"
    write_facts(tmp_path / "memory", texts, each=1000)
    library = Library.open([tmp_path / "memory"])
    library.load()
    assert library.snapshot.count == COUNT
    (slot,) = library.find(parse_query("wheelbarrow", library.now())).slots
    assert library.snapshot.rows[slot].content == texts[66_666]
    assert not library.snapshot.stores[0].unreadable
    figures(f"T19 sizes: {COUNT:,} records open and the one that is meant is found")


@pytest.mark.parametrize("name", list(huge()))
async def test_a_huge_memory_is_shown_like_any_other(tmp_path: Path, name: str) -> None:
    small = fact(90, "a small neighbour", "2026-11-19")
    home = tmp_path / "memory" / "entities" / "alice"
    home.mkdir(parents=True)
    (home / "items.json").write_text(json.dumps([huge()[name], small]), encoding="utf-8")
    async with stage(tmp_path / "memory", (100, 40)) as on:
        await on.sees("1 of 2")
        await on.press("3", "G", "g", "z", "z", "2", "j")
        await on.sees("a small neighbour")
        assert on.app.backstop.hits == 0


def test_what_is_too_deep_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    for entity, text in {
        "deep": '[{"id": "1", "content": ' + "[" * 5000 + "]" * 5000 + "}]",
        "flat": json.dumps([fact(1, "still here", "2026-11-20")]),
    }.items():
        home = tmp_path / "memory" / "entities" / entity
        home.mkdir(parents=True)
        (home / "items.json").write_text(text, encoding="utf-8")
    library = Library.open([tmp_path / "memory"])
    library.load()
    assert [memory.content for memory in library.snapshot.rows if memory] == ["still here"]
    (bad,) = library.snapshot.stores[0].unreadable
    assert Path(bad.file).parent.name == "deep"
    assert bad.reason
