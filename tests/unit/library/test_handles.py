"""Handles: what a listing prints in front of a memory names it, and so do other short names."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.errors import RefError
from memtui.library import Library
from memtui.library.handles import SHORTEST, Handles, find_named
from memtui.model import Memory
from memtui.testing.asked import AskedMemories
from tests.samples import open_samples


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return open_samples(tmp_path_factory.mktemp("handles") / "samples")


@pytest.mark.slow
def test_every_memory_of_every_format_is_found_by_its_handle(samples: Library) -> None:
    memories = [each for store in samples.stores for each in samples.memories(store.label)]
    handles = samples.handles(memories)
    assert len(set(handles.values())) == len(memories) == len(handles)
    for memory in memories:
        assert samples.resolve(handles[memory.ref]).ref == memory.ref
    short = [ref for ref, handle in handles.items() if len(handle) < len(ref)]
    assert len(short) > len(memories) * 0.8


REFS = {
    "a:notes/red.md": "Red paint",
    "a:notes/red green.md": "Green paint",
    "a:other/blue.md": "Blue sky",
    "b:other/blue.md": "Sky in blue",
    "a:x/MEMORY.md#1603960e8d": "The tower clock",
    "a:y/MEMORY.md#1603961111": "The tide table",
    "b:3": "Three",
    "c:kind/3": "A third",
    "c:-dash/only.md": "A dash",
}


@pytest.mark.parametrize(
    ("ref", "handle"),
    [
        ("a:notes/red.md", "red.md"),
        ("a:notes/red green.md", "a:notes/red green.md"),
        ("a:other/blue.md", "a:other/blue.md"),
        ("a:x/MEMORY.md#1603960e8d", "1603960"),
        ("a:y/MEMORY.md#1603961111", "1603961"),
        ("b:3", "b:3"),
        ("c:kind/3", "kind/3"),
        ("c:-dash/only.md", "only"),
    ],
)
def test_a_handle_is_the_shortest_that_can_be_typed(ref: str, handle: str) -> None:
    assert Handles(REFS).of(ref) == handle
    assert find_named(handle, REFS, REFS.__getitem__) == [ref]


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("red", ["a:notes/red.md"]),
        ("red.md", ["a:notes/red.md"]),
        ("notes/red", ["a:notes/red.md", "a:notes/red green.md"]),
        ("blue", ["a:other/blue.md", "b:other/blue.md"]),
        ("b:blue", ["b:other/blue.md"]),
        ("MEMORY.md", ["a:x/MEMORY.md#1603960e8d", "a:y/MEMORY.md#1603961111"]),
        ("x/MEMORY.md", ["a:x/MEMORY.md#1603960e8d"]),
        ("tide", ["a:y/MEMORY.md#1603961111"]),
        ("Tower Clock", ["a:x/MEMORY.md#1603960e8d"]),
        ("3", ["b:3"]),
        ("160", []),
        ("", []),
    ],
)
def test_what_a_text_names(text: str, refs: list[str]) -> None:
    assert find_named(text, REFS, REFS.__getitem__) == refs


def test_errors_name_candidates_that_can_be_typed(samples: Library) -> None:
    with pytest.raises(RefError) as found:
        samples.resolve("Marit")
    named = found.value.what.partition(" names ")[2].partition(" and ")[0].split(", ")
    assert len(named) == 5
    for handle in named:
        samples.resolve(handle)
    with pytest.raises(RefError, match="did you mean"):
        samples.resolve("numbering.mdd")


def test_rows_of_an_asked_store_have_handles_too() -> None:
    memories = [
        Memory(f"team:{id}", id, "team", "fact", content=text)
        for id, text in (("9eb65e0b-2a", "one"), ("9eb65e0b-2b", "two"), ("0b77", "three"))
    ]
    library = Library([AskedMemories(memories, "team")])
    library.load()
    handles = library.handles(memories)
    assert list(handles.values()) == ["9eb65e0b-2a", "9eb65e0b-2b", "0b77"]
    for memory in memories:
        assert library.resolve(handles[memory.ref]).content == memory.content
    with pytest.raises(RefError, match="9eb65e0b-2a, 9eb65e0b-2b"):
        library.resolve("9eb65e0b")
    longer = Memory("team:12345678-9abc-def0", "12345678-9abc-def0", "team", "fact", content="x")
    only = Library([AskedMemories([longer], "team")])
    only.load()
    assert only.handles([longer]) == {longer.ref: longer.id[:SHORTEST]}


def test_a_store_with_no_room_for_the_question_shows_whole_refs(tmp_path: Path) -> None:
    class Terse(AskedMemories):
        def ids_beginning(self, names: object, most: int) -> list[str]:
            return []

    memory = Memory("team:12345678-9abc", "12345678-9abc", "team", "fact", content="x")
    library = Library([Terse([memory], "team")])
    library.load()
    assert library.handles([memory]) == {memory.ref: memory.ref}
    assert library.resolve(memory.ref).content == "x"
