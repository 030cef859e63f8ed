"""Patches of the inbox are applied exactly, or refused and nothing is written."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui import paths
from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.stores.gemini import detect
from memtui.stores.gemini.records import apply_patch, parse_patch
from memtui.testing.fixtures import contents

SAMPLES = paths.bundled_folder("sample-data")
NOTES = "tmp/quarterbell-books/memory"
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "- c\n", "@@\n"]), max_size=9).map("".join)


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_a_diff_of_two_texts_leads_from_one_to_the_other(old: str, new: str, around: int) -> None:
    lines = (text.splitlines(True) for text in (old, new))
    diff = "".join(difflib.unified_diff(*lines, "a/x.md", "b/x.md", n=around))
    if not diff:
        return
    (patch,) = parse_patch(diff)
    assert apply_patch(old, patch, "x.md") == new
    if old != new and patch.hunks[0].old:
        with pytest.raises(Refused):
            apply_patch("another\n" * 20, patch, "x.md")


def load(tmp_path: Path) -> tuple[Path, Library]:
    root = Path(shutil.copytree(SAMPLES / "gemini", tmp_path / "gemini"))
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return root, library


@pytest.mark.parametrize("act", [Act.ACCEPT, Act.DECLINE])
def test_a_patch_is_decided_on_and_the_decision_undone(tmp_path: Path, act: Act) -> None:
    root, library = load(tmp_path)
    before = contents(root)
    proposed = [m for m in library.snapshot.rows if m.status == "proposed"]
    assert len(proposed) == 2
    for memory in proposed:
        library.apply(library.plan([Change(act, memory.store, memory.ref)]))
        wanted = "active" if act is Act.ACCEPT else "retired"
        assert library.get(memory.ref).status == wanted
    assert not list(root.rglob("extraction.patch"))
    told = "Memos longer than 140 characters" in (root / NOTES / "MEMORY.md").read_text()
    assert told is (act is Act.ACCEPT)
    library.undo()
    library.undo()
    assert contents(root) == before


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../../../x.md", "a/.inbox/x.md", "a/x.json"])
def test_a_patch_of_another_file_is_refused(tmp_path: Path, name: str) -> None:
    root, _ = load(tmp_path)
    patch = root / NOTES / ".inbox/private/extraction.patch"
    patch.write_text(f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+- x\n")
    library = Library.open([root], state=tmp_path / "other")
    library.load()
    memory = next(m for m in library.snapshot.rows if m.content == patch.read_text())
    before = contents(root)
    with pytest.raises(Refused):
        library.plan([Change(Act.ACCEPT, memory.store, memory.ref)])
    assert contents(root) == before


def test_a_patch_that_no_longer_fits_is_refused(tmp_path: Path) -> None:
    root, _ = load(tmp_path)
    file = root / NOTES / "MEMORY.md"
    file.write_text(file.read_text().replace("An empty memo", "No memo"))
    library = Library.open([root], state=tmp_path / "other")
    library.load()
    memory = next(m for m in library.snapshot.rows if "quarterbell" in m.entity and m.type)
    with pytest.raises(Refused, match="does not fit"):
        library.plan([Change(Act.ACCEPT, memory.store, memory.ref)])


def test_other_folders_are_left_alone() -> None:
    for sample in SAMPLES.iterdir():
        assert sample.name == "gemini" or detect(sample) is None, sample.name
