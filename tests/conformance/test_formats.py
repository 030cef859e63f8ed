"""Each format of memtui passes the suite that it offers to others (`memtui.testing`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.stores.format import Format
from memtui.stores.plans import SIDECAR_ACTS
from memtui.testing import StoreConformance, WritableStoreConformance
from memtui.testing.fixtures import memories, open_library, sample
from memtui.testing.hostile_text_tests import MIN_EDITABLE, editable
from memtui.testing.hostile_values import ALL
from tests.formats import EVERY_FORMAT, FORMATS, ONE_OF_EACH_ENGINE, READ_ONLY
from tests.long_run import count, share

SHARE = count(12, 1)
"""The usual run makes each hostile value the title of a memory in one format, and shows and adds
it there if commands are tried with that one; the long one does so in all. The list, the search and
the JSON of each format print all of them."""
IN_TURN = (*ONE_OF_EACH_ENGINE, *(known for known in FORMATS if known not in ONE_OF_EACH_ENGINE))
EVERY_SIDECAR_ACT = 3
"""The usual run tries every third of the acts that most formats leave to memtui's file beside the
store, with the next format others; the long one all."""
FEW = ("codex", "qwen", "project-memory", "goose", "openwolf", "claude-remember", "memsearch")
FEW += ("vscode-copilot",)
"""Formats of which a few texts are enough: Codex has only notes of its own that can be edited, the
others are on the engine of another format."""


@pytest.mark.parametrize("known", FORMATS, ids=[known.name for known in FORMATS])
class TestFormats(WritableStoreConformance):
    """The sample of each format is what memtui ships of it."""

    def copy_sample(self, known: Format, place: Path) -> Path:
        return sample(known, place)

    def share(self, known: Format, texts: list[str]) -> list[str]:
        return texts[IN_TURN.index(known) % SHARE :: SHARE]

    def acts(self, known: Format) -> Sequence[Act]:
        row = FORMATS.index(known)
        kept = share(sorted(SIDECAR_ACTS), -row, EVERY_SIDECAR_ACT)
        return [act for act in Act if act in kept or act not in SIDECAR_ACTS]

    def test_the_sample_is_large_enough(self, known: Format, place: Path) -> None:
        library = open_library(place)
        assert len(memories(library)) > 20
        wanted = MIN_EDITABLE if known.name in FEW else len(ALL)
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
