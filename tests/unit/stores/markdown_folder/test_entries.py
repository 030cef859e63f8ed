"""Entries of `.learnings`: read with their date and fields, edited and deleted in their note."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.model import Memory

LOG = """# Learnings

Corrections and gaps.

---

## [LRN-20260711-001] correction

**Logged**: 2026-07-11T08:30:00Z
**Priority**: critical
**Status**: pending
**Area**: plans

### Summary
Halmsund has four bells

### Details
The plan said five.

### Metadata
- Source: user_feedback
- Tags: halmsund, bells

---

## [LRN-20260712-A3F] best_practice

Ask the keeper first.

## Not an entry

Text.
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    file = tmp_path / "p" / ".learnings" / "LEARNINGS.md"
    file.parent.mkdir(parents=True)
    file.write_text(LOG)
    library = Library.open([file.parent], state=tmp_path / "state")
    library.load()
    return library


def entries(library: Library) -> list[Memory]:
    return [each for each in library.snapshot.rows if each.kind == "fact"]


def do(library: Library, act: Act, memory: Memory, **fields: object) -> str:
    library.apply(library.plan([Change(act, memory.store, memory.ref, fields)]))
    library.refresh()
    return Path(memory.origin.file).read_text()


def test_an_entry_has_its_date_and_fields(library: Library) -> None:
    first, second = entries(library)
    assert first.id == "LEARNINGS.md#LRN-20260711-001"
    assert (first.title, first.type) == ("Halmsund has four bells", "correction")
    assert first.created == datetime(2026, 7, 11, 8, 30, tzinfo=UTC)
    assert (first.importance, first.tags) == ("high", ("halmsund", "bells"))
    assert (first.extra["status"], first.extra["area"]) == ("pending", "plans")
    assert first.content.startswith("**Logged**")
    assert first.content.endswith("- Tags: halmsund, bells")
    assert first.origin.line == 9
    assert second.created == datetime(2026, 7, 12, tzinfo=UTC)
    assert second.content == "Ask the keeper first."


def test_an_edit_changes_the_entry_alone_and_is_undone(library: Library) -> None:
    first, second = entries(library)
    text = do(library, Act.EDIT, first, content=first.content.replace("four", "six"))
    assert text == LOG.replace("four", "six")
    text = do(library, Act.EDIT, second, content="Ask the keeper, then the town.")
    assert text.endswith("then the town.\n\n## Not an entry\n\nText.\n")
    library.undo()
    library.undo()
    assert Path(first.origin.file).read_text() == LOG


def test_a_deleted_entry_takes_its_heading_along(library: Library) -> None:
    first, _ = entries(library)
    text = do(library, Act.DELETE, first)
    start, end = LOG.index("## [LRN-20260711"), LOG.index("## [LRN-20260712")
    assert text == LOG[:start] + LOG[end:]
    library.undo()
    assert Path(first.origin.file).read_text() == LOG


def test_a_text_that_would_be_another_entry_is_refused(library: Library) -> None:
    first, _ = entries(library)
    fields = {"content": "One.\n\n## [LRN-20260713-001] other\n\nTwo."}
    change = Change(Act.EDIT, first.store, first.ref, fields)
    with pytest.raises(Refused, match="one entry"):
        library.plan([change])
