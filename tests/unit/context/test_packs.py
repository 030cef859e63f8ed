"""Packs of every recipe on the sample stores, and what holds for every pack."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.context import RECIPES, Pack, find_recipe, format_markdown
from memtui.context.pack import estimate_tokens
from memtui.errors import Refused
from memtui.library import Library
from memtui.testing.hostile_values import CONTROLS, HIDDEN, MARKUP
from tests.unit.context.packs_for_tests import (
    FORMATS,
    NOW,
    library_of,
    memory,
    pack_of,
    sample_library,
)

SNAPSHOTS = Path(__file__).with_name("packs")
TASK = "deploy the signed plans before the freeze"
NAMES = [*RECIPES]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Library]:
    place = tmp_path_factory.mktemp("samples")
    return {name: sample_library(name, place) for name in FORMATS}


def _text_of(recipe: str, library: Library) -> str:
    takes = find_recipe(recipe).takes
    text = TASK if takes == "task" else ""
    return pack_of(library, recipe, text, types=("decision", "goal")).text


@pytest.mark.parametrize("recipe", NAMES)
def test_each_recipe_on_the_sample_data(recipe: str, libraries: dict[str, Library]) -> None:
    """`MEMTUI_UPDATE_PACKS=1` writes the files again."""
    file = SNAPSHOTS / f"{recipe}.txt"
    text = "".join(
        f"===== {name}\n{_text_of(recipe, library)}\n" for name, library in libraries.items()
    )
    if os.environ.get("MEMTUI_UPDATE_PACKS"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert text == file.read_bytes().decode("utf-8", "surrogatepass")


@pytest.mark.parametrize("recipe", NAMES)
@pytest.mark.parametrize("budget", [1, 40, 150, 600])
def test_no_pack_is_over_its_budget(
    recipe: str, budget: int, libraries: dict[str, Library]
) -> None:
    for library in libraries.values():
        text = TASK if find_recipe(recipe).takes == "task" else ""
        pack = pack_of(library, recipe, text, budget=budget)
        assert pack.tokens == estimate_tokens(pack.text) <= budget
        whole = pack_of(library, recipe, text)
        left = {entry.entry.ref for entry in pack.dropped}
        assert set(whole.refs) <= set(pack.refs) | left


@pytest.mark.parametrize("recipe", [n for n in NAMES if n not in ("session", "loaded")])
def test_no_memory_stands_in_a_pack_twice(recipe: str, libraries: dict[str, Library]) -> None:
    """Ambient's own block does repeat what lies in the project and in the branch."""
    for library in libraries.values():
        pack = pack_of(library, recipe, TASK)
        named = [(e.ref, e.text) for s in pack.sections for e in s.entries if e.ref]
        assert len(named) == len(set(named))
        homes = [{e.ref for e in section.entries} for section in pack.sections]
        assert sum(map(len, homes)) == len(set().union(*homes))


@pytest.mark.parametrize("recipe", ["typed", "plan", "reflect", "recall", "decide", "prime"])
def test_entries_are_in_the_order_of_their_score(
    recipe: str, libraries: dict[str, Library]
) -> None:
    by_time = {"Recent episodes", "Contrasting episodes"}
    for library in libraries.values():
        for section in pack_of(library, recipe, TASK).sections:
            scores = [entry.score for entry in section.entries]
            assert section.title in by_time or scores == sorted(scores, reverse=True)
            for entry in section.entries:
                if entry.parts:
                    assert sum(p.value for p in entry.parts) == pytest.approx(entry.score)


def test_the_parts_of_a_pack_are_its_text_and_its_markdown_holds_it(
    libraries: dict[str, Library],
) -> None:
    pack = pack_of(libraries["engram"], "plan", TASK, budget=300)
    whole = pack.head + "".join(s.text for s in pack.sections) + pack.tail
    assert pack.text == whole
    document = format_markdown(pack)
    assert pack.text.rstrip("\n") in document
    assert "over the budget" in document
    record = pack.as_record()
    assert record["text"] == pack.text
    assert record["tokens"] <= 300


WORDS = st.sampled_from(
    [
        "deploy",
        "bell",
        "tower",
        "plan",
        "queue",
        "[bold]",
        "```",
        "{task}",
        "\x00",
        "�",
        "漢字",
        "-x",
        "a:b",
    ]
)
MEMORIES = st.lists(
    st.tuples(
        st.lists(WORDS, max_size=12).map(" ".join),
        st.sampled_from(["", "goal", "decision", "policy", "daily", "summary", "bugfix", "x\ny"]),
        st.sampled_from(["fact", "event", "episode", "schema", "observation", "document", "note"]),
        st.sampled_from(["", "a", "a/b", "a/b/c", "journal"]),
        st.integers(-3, 400),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(MEMORIES, st.lists(WORDS, max_size=5).map(" ".join), st.integers(1, 300))
def test_any_memories_and_any_task_give_a_pack_within_its_budget(
    held: list[tuple[str, str, str, str, int]], task: str, budget: int
) -> None:
    library = library_of(
        *(
            memory(
                str(n),
                text,
                type=type,
                kind=kind,
                entity=entity,
                created=NOW - timedelta(days=days),
            )
            for n, (text, type, kind, entity, days) in enumerate(held)
        )
    )
    for recipe in NAMES:
        pack = pack_of(library, recipe, task, budget=budget, types=("goal",))
        assert pack.tokens <= budget
        assert {e.ref for s in pack.sections for e in s.entries} - {""} == set(pack.refs)
        assert format_markdown(pack)


@pytest.mark.parametrize("text", [*CONTROLS.values(), *HIDDEN.values(), *MARKUP.values()])
def test_hostile_texts_change_nothing_but_themselves(text: str) -> None:
    library = library_of(memory("1", f"tide {text}", title=text, type=text, entity=text))
    for recipe in NAMES:
        pack = pack_of(library, recipe, "tide")
        assert len(pack.refs) <= 1
    assert pack_of(library, "typed", "tide").refs == ("s:1",)


def test_an_unknown_recipe_is_told_the_nearest() -> None:
    with pytest.raises(Refused, match="did you mean typed"):
        find_recipe("tpyed")


def test_any_id_can_be_paged_in() -> None:
    long = "first line of it\n" + "more of it " * 100
    library = library_of(memory("note-7", long))
    short: Pack = pack_of(library, "prime", "line")
    whole = pack_of(library, "prime", "line", page_in=("note-7",))
    assert short.text.count("more of it") < 100 == whole.text.count("more of it")
    assert "- [note-7]" in short.text
    assert "- [note-7]" in whole.text
    elsewhere = pack_of(library, "plan", "unrelated", page_in=("s:note-7", "no-such-id"))
    assert elsewhere.sections[-1].title == "Paged in"
    assert elsewhere.text.count("more of it") == 100
    assert any("no-such-id" in note for note in elsewhere.notes)
