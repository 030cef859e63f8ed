"""The text of a memory that is compared."""

from __future__ import annotations

import pytest

from memtui.model import Memory


@pytest.mark.parametrize(
    ("title", "content", "compared"),
    [
        ("Tea", "# Tea\n\nAlice drinks it.", "# Tea\n\nAlice drinks it."),
        ("Tea", "Tea", "Tea"),
        ("Tea", "Teapots are red.", "Tea\n\nTeapots are red."),
        ("", "Alice drinks tea.", "Alice drinks tea."),
    ],
)
def test_a_title_that_the_text_begins_with_is_said_once(
    title: str, content: str, compared: str
) -> None:
    memory = Memory(ref="s:1", id="1", store="s", kind="document", title=title, content=content)
    assert memory.full_text == compared
