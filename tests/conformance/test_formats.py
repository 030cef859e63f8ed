"""Each format of memtui passes the suite that it offers to others (`memtui.testing`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.stores.format import Format
from memtui.testing import StoreConformance, WritableStoreConformance
from memtui.testing.fixtures import memories, open_library, sample
from memtui.testing.hostile_text_tests import MIN_EDITABLE, editable
from memtui.testing.hostile_values import ALL
from tests.formats import EVERY_FORMAT, FORMATS, READ_ONLY
from tests.long_run import count

SHARE = count(12, 1)
"""The usual run shows each hostile value, and gives it to the commands, in one format, the long
one in all; the list, the search and the JSON of each format print all of them. The formats
differ in what they print, not in what they make of an argument."""
ONLY_NOTES = ("codex",)
"""Formats of which only small notes of their own can be edited: a few are enough."""


@pytest.mark.parametrize("known", FORMATS, ids=[known.name for known in FORMATS])
class TestFormats(WritableStoreConformance):
    """The sample of each format is what memtui ships of it."""

    def copy_sample(self, known: Format, place: Path) -> Path:
        return sample(known, place)

    def share(self, known: Format, texts: list[str]) -> list[str]:
        return texts[FORMATS.index(known) % SHARE :: SHARE]

    def test_the_sample_is_large_enough(self, known: Format, place: Path) -> None:
        library = open_library(place)
        assert len(memories(library)) > 20
        wanted = MIN_EDITABLE if known.name in ONLY_NOTES else len(ALL)
        assert len(editable(library, len(ALL))) >= wanted


ONLY_READ = [known for known in EVERY_FORMAT if known.name in READ_ONLY]


@pytest.mark.parametrize("known", ONLY_READ, ids=READ_ONLY)
class TestReadOnlyFormats(StoreConformance):
    """Formats that memtui does not write."""

    def copy_sample(self, known: Format, place: Path) -> Path:
        return sample(known, place)

    def test_every_act_is_refused_in_one_line(self, known: Format, place: Path) -> None:
        library = open_library(place)
        every = memories(library)
        assert len(every) > 20
        reasons = {library.refusal(act, memory) for act in Act for memory in every.values()}
        assert reasons == {library.stores[0].read_only}
        memory = next(iter(every.values()))
        for act in Act:
            with pytest.raises(Refused):
                library.plan([Change(act, memory.store, memory.ref, {"content": "x"})])
