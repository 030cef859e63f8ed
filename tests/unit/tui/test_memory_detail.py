"""Everything about one memory, as the detail shows it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memtui.model import Memory, Place
from memtui.paths import bundled_folder
from memtui.tui.appearance import Palette
from memtui.tui.memory_detail import MemoryDetail
from memtui.tui.themes import load_themes

NOW = datetime(2026, 3, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        (0, "0"),
        (1.0, "1.0"),
        (True, "yes"),
        (False, "no"),
        (None, "–"),
        ([], "–"),
        ({}, "–"),
        (["a", "b"], "a, b"),
        ("one", "one"),
    ],
)
def test_what_else_is_stored_is_shown_as_it_is(value: object, shown: str) -> None:
    """A count of one is no yes, though Python holds them for equal."""
    memory = Memory("a:1", "1", "a", "fact", content="told", extra={"counted": value})
    palette = Palette(load_themes([bundled_folder("themes")])[0]["dusk"])
    lines = MemoryDetail(memory, (), (), palette, NOW, 60, folded=False).lines()
    texts = ["".join(segment.text for segment in line.segments).split() for line in lines]
    assert ["counted", *shown.split()] in texts


@pytest.mark.parametrize("shorter", ["", "Only this is left."])
def test_every_line_has_one_like_it_after_the_text_became_shorter(shorter: str) -> None:
    palette = Palette(load_themes([bundled_folder("themes")])[0]["dusk"])
    before, after = (
        MemoryDetail(
            Memory("a:1", "1", "a", "fact", content=content), (), (), palette, NOW, width
        ).lines()
        for content, width in (("A paragraph.\n\n" * 20, 60), (shorter, 40))
    )
    found = [after.line_at(before.place_of(line)) for line in range(len(before))]
    assert max(found) < len(after)


@pytest.mark.parametrize(
    ("id", "file", "is_shown"),
    [
        ("7", "7-notes.md", True),
        ("facts", "facts.json", True),
        ("notes/tea.md", "notes/tea.md", False),
    ],
)
def test_an_id_is_left_out_only_where_the_file_is_named_by_it(
    id: str, file: str, is_shown: bool
) -> None:
    palette = Palette(load_themes([bundled_folder("themes")])[0]["dusk"])
    memory = Memory(f"a:{id}", id, "a", "fact", content="told", origin=Place(file, 12))
    lines = MemoryDetail(memory, (), (), palette, NOW, 60).lines()
    texts = ["".join(segment.text for segment in line.segments).split() for line in lines]
    assert (["Id", id] in texts) == is_shown
    assert ["File", f"{file}:12"] in texts
