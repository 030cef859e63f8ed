"""What replaced what can be followed, whichever side the store wrote, however it is tangled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight.lineage import Lineage, find_lineage
from memtui.insight.links import LinkIndex
from memtui.model import Link, Memory

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(
    name: str,
    *,
    supersedes: Sequence[str] = (),
    superseded_by: Sequence[str] = (),
    links: Sequence[Link] = (),
    store: str = "tea",
    day: int | None = 0,
) -> Memory:
    return Memory(
        f"{store}:{name}",
        name,
        store,
        "fact",
        created=None if day is None else START + timedelta(days=day),
        supersedes=tuple(supersedes),
        superseded_by=tuple(superseded_by),
        links=tuple(links),
    )


def of(name: str, memories: Sequence[Memory], store: str = "tea") -> Lineage:
    there = {(m.store, m.id): m for m in memories}
    index = LinkIndex({one.ref: slot for slot, one in enumerate(memories)}, memories)
    return find_lineage(there[store, name], lambda s, n: there.get((s, n)), index)


def names(line: Lineage) -> list[str]:
    return [relative.id for relative in line.history]


CHAIN = [memory("c", supersedes=["b"], day=3), memory("b", supersedes=["a"], day=2), memory("a")]


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_the_whole_chain_from_any_of_its_members(name: str) -> None:
    assert names(of(name, CHAIN)) == ["a", "b", "c"]


def test_direct_neighbours_are_told_apart() -> None:
    line = of("b", CHAIN)
    assert [r.id for r in line.supersedes] == ["a"]
    assert [r.id for r in line.successors] == ["c"]
    assert line.supersedes[0].memory == CHAIN[2]


def test_the_other_side_alone_says_as_much_and_both_sides_say_it_once() -> None:
    old = memory("old", superseded_by=["new"])
    assert names(of("new", [old, memory("new", day=1)])) == ["old", "new"]
    line = of("new", [old, memory("new", supersedes=["old"], day=1)])
    assert [r.id for r in line.supersedes] == ["old"]


def test_who_replaced_whom_counts_more_than_the_time() -> None:
    memories = [memory("first", day=9), memory("second", supersedes=["first"], day=1)]
    assert names(of("first", memories)) == ["first", "second"]


def test_a_reference_to_nothing_is_kept_and_known_to_dangle() -> None:
    line = of("a", [memory("a", supersedes=["gone"])])
    assert names(line) == ["gone", "a"]
    assert line.history[0].memory is None
    assert line.supersedes[0].memory is None


def test_a_merge_and_a_split_are_in_order() -> None:
    memories = [
        memory("one", day=0),
        memory("two", day=1),
        memory("merged", supersedes=["two", "one"], day=2),
        memory("left", supersedes=["merged"], day=4),
        memory("right", supersedes=["merged"], day=3),
    ]
    assert names(of("merged", memories)) == ["one", "two", "merged", "right", "left"]
    assert names(of("left", memories)) == ["one", "two", "merged", "left"]


def test_circles_end() -> None:
    circle = [
        memory("a", supersedes=["c"], day=1),
        memory("b", supersedes=["a"], day=2),
        memory("c", supersedes=["b"], day=3),
    ]
    assert names(of("b", circle)) == ["a", "b", "c"]
    itself = of("x", [memory("x", supersedes=["x"])])
    assert names(itself) == ["x"]
    assert itself.supersedes[0].memory == itself.memory


def test_the_same_id_in_another_store_is_another_memory() -> None:
    memories = [memory("a"), memory("a", store="coffee"), memory("b", supersedes=["a"])]
    assert names(of("a", memories, "coffee")) == ["a"]
    assert names(of("a", memories)) == ["a", "b"]


def test_links_go_both_ways() -> None:
    link = Link("caused by", "rain", note="seen")
    memories = [memory("flood", links=[link, Link("near", "nowhere")]), memory("rain")]
    out = of("flood", memories)
    assert [(r.id, r.memory is None) for r in out.links] == [("rain", False), ("nowhere", True)]
    (back,) = of("rain", memories).backlinks
    assert (back.id, back.link) == ("flood", link)
    assert back.memory == memories[0]


def test_a_memory_alone_is_its_own_history() -> None:
    line = of("a", [memory("a", day=None)])
    assert line.supersedes == line.successors == line.links == line.backlinks == ()
    assert names(line) == ["a"]


@pytest.mark.slow
def test_a_chain_of_ten_thousand_is_followed_as_far_as_makes_sense() -> None:
    memories = [memory(str(n), supersedes=[str(n - 1)], day=n % 900) for n in range(10_000)]
    assert "5000" in names(of("5000", memories))


ids = st.sampled_from("abcdef")


@pytest.mark.slow
@given(st.dictionaries(ids, st.tuples(st.lists(ids), st.lists(ids), st.integers(0, 9))))
def test_however_tangled_the_history_holds_each_version_once(
    web: dict[str, tuple[list[str], list[str], int]],
) -> None:
    memories = [
        memory(name, supersedes=old, superseded_by=new, day=day)
        for name, (old, new, day) in web.items()
    ]
    for name in web:
        line = of(name, memories)
        assert names(line).count(name) == 1
        assert len(set(names(line))) == len(names(line))
        direct = {r.id for r in (*line.supersedes, *line.successors)}
        assert direct <= set(names(line))
