"""A thirteenth format, written from docs/adding-a-store.md, passes the suite of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.stores.format import Format
from memtui.testing import WritableStoreConformance
from memtui.testing.act_tests import ActTests
from tests.conformance.test_formats import SHARE

from . import keepsake

WORDS = ("ink", "quill", "blotter", "ruler", "lamp", "stamp", "wax", "string")
TEXT = "".join(
    f"[{place}]\n" + "".join(f"* the {word} {n} lies in the {place}\n" for word in WORDS) + "\n"
    for n, place in enumerate(("desk", "attic", "cellar", "hall", "shed", "loft", "porch", "barn"))
)


def write(place: Path, text: str = TEXT) -> Path:
    place.mkdir(parents=True)
    (place / keepsake.FILE).write_text(text, encoding="utf-8")
    return place


class TestKeepsake(WritableStoreConformance):
    """The suite of memtui's own formats."""

    format = keepsake.FORMAT

    def copy_sample(self, known: Format, place: Path) -> Path:
        return write(place)

    def share(self, known: Format, texts: list[str]) -> list[str]:
        return texts[::SHARE]

    # What its engine decides is tried with Hermes's lists.
    test_nothing_is_lost_on_either_side = None  # type: ignore[assignment]
    test_keeping_an_index_changes_nothing = None  # type: ignore[assignment]
    test_no_command_lets_it_act = None  # type: ignore[assignment]
    test_every_act_that_is_allowed = pytest.mark.slow(ActTests.test_every_act_that_is_allowed)


def test_the_format_is_at_most_120_lines() -> None:
    assert len(Path(keepsake.__file__).read_text("utf-8").splitlines()) <= 120


def add(root: Path, text: str, entity: str) -> str:
    """The file after an ADD."""
    library = Library([keepsake.FORMAT.open(root, "k")], state=root.parent / "state")
    library.load()
    library.apply(library.plan([Change(Act.ADD, "k", "", {"content": text, "entity": entity})]))
    after = (root / keepsake.FILE).read_text(encoding="utf-8")
    library.undo()
    return after


def test_a_text_is_added_to_its_list_or_below_a_new_head(tmp_path: Path) -> None:
    root = write(tmp_path / "k", "[a]\n* one\n\n[b]\n* two\n")
    assert add(root, "new", "a") == "[a]\n* one\n* new\n\n[b]\n* two\n"
    assert add(root, "new", "c") == "[a]\n* one\n\n[b]\n* two\n\n[c]\n* new\n"
    assert add(root, "two\nlines", "a") == "[a]\n* one\n* two\\nlines\n\n[b]\n* two\n"
    for entity in ("a]b", ""):
        with pytest.raises(Refused):
            add(root, "new", entity)
    assert (root / keepsake.FILE).read_text(encoding="utf-8") == "[a]\n* one\n\n[b]\n* two\n"
