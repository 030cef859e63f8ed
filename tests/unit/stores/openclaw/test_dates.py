"""A copy or a checkout of a workspace does not make its memories new."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from memtui.library import Library
from memtui.query import parse_query

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


def test_the_line_of_a_log_is_as_old_as_its_day_whatever_the_file_s_time(tmp_path: Path) -> None:
    for name, text in (
        ("SOUL.md", "x\n"),
        ("USER.md", "x\n"),
        ("MEMORY.md", "- a rule\n"),
        ("memory/2026-02-09.md", "- the old line\n"),
        ("memory/2026-03-01.md", "- the new line\n"),
    ):
        path = tmp_path / "w" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (NOW.timestamp(), NOW.timestamp()))
    library = Library.open([tmp_path / "w"])
    library.load()

    def found(line: str) -> list[str]:
        answer = library.find(parse_query(line, NOW))
        return [answer.rows[slot].content for slot in answer.slots]

    assert found("entity:daily until:2026-02-10") == ["the old line"]
    assert found("entity:daily") == ["the new line", "the old line"]
    assert found("since:1d kind:fact") == ["a rule"]  # which has no time but its file's
