"""A look at stores that are not loaded keeps the same as one at those that are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memtui.config import HistorySettings
from memtui.files.text_history import TextHistory
from memtui.library import Library
from memtui.library.text_looks import keep_texts, scan_texts
from memtui.stores.format import Format
from tests.formats import FORMATS
from tests.samples import SAMPLES

SETTINGS = HistorySettings()


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_both_looks_see_the_same(tmp_path: Path, known: Format) -> None:
    shutil.copytree(SAMPLES / known.name, tmp_path / "store")
    root = known.detect(tmp_path / "store") or tmp_path / "store"
    states = tmp_path / "loaded", tmp_path / "scanned"
    libraries = [Library.open([root], state=state, formats=[known.name]) for state in states]
    libraries[0].load()
    loaded = keep_texts(libraries[0], SETTINGS)
    scanned = scan_texts(libraries[1], SETTINGS)
    assert sum(loaded.changed.values()) > 0
    assert scanned.changed == loaded.changed
    assert TextHistory(states[0]).marks() == TextHistory(states[1]).marks()
    assert scan_texts(libraries[0], SETTINGS).changed == {}
