"""The line of the file where `o` opens a memory that a search has found."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.files.drafts import find_line
from memtui.model import Memory, Place

CONTENT = "# Log\n\nfirst thing\n\nthe winch turns left\n\nlast thing"


def memory(file: Path, line: int | None) -> Memory:
    origin = Place(str(file), line)
    return Memory("s:1", "1", "s", "document", content=CONTENT, origin=origin)


@pytest.mark.parametrize("before", [0, 1, 7])
def test_it_is_the_line_of_the_passage(tmp_path: Path, before: int) -> None:
    file = tmp_path / "log.md"
    file.write_text("front: matter\n" * before + CONTENT, encoding="utf-8")
    assert find_line(memory(file, before + 1), ("winch", "left")).line == before + 5
    assert find_line(memory(file, before + 1), ()).line == before + 1


def test_it_is_the_line_of_the_memory_where_its_text_is_not_written_in_lines(
    tmp_path: Path,
) -> None:
    file = tmp_path / "items.json"
    file.write_text('[\n {"content": "# Log\\\\n the winch\\\\n"}\n]', encoding="utf-8")
    assert find_line(memory(file, 2), ("winch", "left")).line == 2
    assert find_line(memory(tmp_path / "gone.md", 3), ("winch",)).line == 3
