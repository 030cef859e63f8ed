"""What accepting a finding writes, and how references to what is missing are told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.model import Link, Memory, Place
from memtui.upkeep.checks import check_all, check_links, check_text
from memtui.upkeep.proposals import Proposal
from memtui.upkeep.staleness import find_long_history

from .labelled_findings import memories
from .test_precision import context


def broken(*links: tuple[str, ...]) -> tuple[Proposal, ...]:
    """The findings on one memory for each tuple, which links to these targets."""
    found: Sequence[Memory] = memories(*(f"memory {number}" for number in range(len(links))))
    linked = [
        replace(memory, links=tuple(Link("links_to", target) for target in targets))
        for memory, targets in zip(found, links, strict=True)
    ]
    return tuple(check_links(linked, context()))


def test_references_into_one_folder_are_one_hint() -> None:
    (one,) = broken(("notes/a.md", "notes/b.md"), ("notes/a.md",))
    assert one.title == "notes/: 2 missing files, named by 2 memories"
    assert one.reason.startswith("a.md, b.md: ")
    assert len(one.refs) == 2


def test_references_elsewhere_stay_apart() -> None:
    found = broken(("notes/a.md", "people/b.md", "Nobody"), ("Nobody",))
    assert len(found) == 3
    shared, *others = sorted(found, key=lambda one: -len(one.refs))
    assert shared.title == "links_to Nobody: not found, named by 2 memories"
    assert all(": not found: " in one.title for one in others)


def test_a_memory_that_was_removed_from_its_file_names_nothing_missing(tmp_path: Path) -> None:
    records = (
        {"type": "entity", "name": "shop", "entityType": "service", "observations": ["It sells"]},
        {"type": "relation", "from": "shop", "to": "old_outbox", "relationType": "reads"},
    )
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, records)))
    library = Library.open([tmp_path], state=tmp_path / "state")
    library.load()
    (memory,) = library.snapshot.rows
    (found,) = library.check()
    assert found.message == "reads old_outbox: not found"
    library.apply(library.plan([Change(Act.RETIRE, memory.store, memory.ref)]))
    (left,) = library.check()  # the relation is still in the file, and so is its entity
    assert memory.ref not in left.refs
    assert left.message == found.message


def test_links_that_show_a_form_are_not_broken() -> None:
    assert not broken(("path/to/note.md", "people/<name>.md", "log/YYYY-MM-DD.md"))


@given(st.text("ab c d, é猫😀\n", min_size=500, max_size=900))
def test_a_long_historical_fact_keeps_its_beginning(content: str) -> None:
    (memory, _) = memories(content, "x", days=300, status="superseded")
    (one,) = find_long_history([memory], context())
    (change,) = one.changes
    shortened = str(change.fields["content"])
    assert change.act is Act.EDIT
    assert len(shortened) <= context().settings.history_chars
    assert content.startswith(shortened.removesuffix("…"))


def test_hidden_characters_all_over_a_file_are_one_proposal() -> None:
    """A program that wrote its colours did so in each of its records."""
    for count, expected in ((3, 3), (4, 1)):
        found = [
            replace(one, origin=Place("/beads/issues.jsonl", at))
            for at, one in enumerate(memories(*["\x1b[1mFix the mill\x1b[0m"] * count))
        ]
        texts = list(map(check_text, found))
        proposals = list(check_all(found, texts, (), context()))
        assert len(proposals) == expected
        changes = [change.fields["content"] for one in proposals for change in one.changes]
        assert changes == ["Fix the mill"] * count
