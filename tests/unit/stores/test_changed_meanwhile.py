"""Another program changes a memory, or the one beside it, after ours were read or planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.act_tests import two_neighbours
from memtui.testing.fixtures import contents, open_library, sample
from tests.formats import FORMATS


def edited(library: Library, memory: Memory, word: str) -> Planned:
    content = f"{memory.content.rstrip()} {word}"
    return library.plan([Change(Act.EDIT, memory.store, memory.ref, {"content": content})])


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_a_memory_that_another_program_changed_is_a_conflict_and_the_one_beside_it_is_not(
    tmp_path: Path, known: Format
) -> None:
    place = sample(known, tmp_path / "store")
    ours, theirs = (open_library(place, tmp_path / name) for name in ("ours", "theirs"))
    memory, beside = two_neighbours(ours)
    planned, late = edited(ours, memory, "ours"), edited(ours, beside, "ours")
    theirs.apply(edited(theirs, memory, "theirs"))
    before = contents(place)

    with pytest.raises(Conflict) as caught:
        ours.apply(planned)
    assert contents(place) == before
    assert "theirs" in str(caught.value.theirs)
    assert caught.value.base not in (None, caught.value.theirs)

    if known.name != "conport":  # whose first two are values of one row
        ours.apply(late)
        found = [each.content.rstrip() for each in open_library(place).memories(memory.store)]
        assert f"{memory.content.rstrip()} theirs" in found
        assert f"{beside.content.rstrip()} ours" in found
