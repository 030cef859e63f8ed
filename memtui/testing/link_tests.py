"""What is changed lies in the store: a link that leads out of it is never written through (P14)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.acting import first_plan
from memtui.testing.fixtures import FormatFixtures, contents, memories, open_library

_SIDECAR_ACT = Act.RATE
"""An act that most formats leave to the sidecar."""


def the_file(planned: Planned, place: Path) -> Path:
    """The first file that the plan changes, below the place."""
    (part, *_) = planned.parts
    return Path(part.edits[0].path)


def its_folder(planned: Planned, place: Path) -> Path:
    """The folder of that file, which may be the store's own."""
    return the_file(planned, place).parent


def the_sidecar(planned: Planned, place: Path) -> Path:
    """The folder of memtui's own file beside the store."""
    return next(place.rglob(".memtui"))


def _swap(victim: Path, beyond: Path) -> None:
    """Move a file or folder out of the store, and put a link to it in its place."""
    beyond.mkdir()
    target = beyond / victim.name
    victim.rename(target)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(f"{victim}{suffix}"):
            os.rename(f"{victim}{suffix}", f"{target}{suffix}")
    victim.symlink_to(target)


class LinkTests(FormatFixtures):
    """A file or folder that became a link to another place is not written there."""

    @pytest.mark.parametrize("what", [the_file, its_folder, the_sidecar])
    @pytest.mark.parametrize("when", ["apply", "undo", "undo later", "redo", "redo later"])
    def test_a_link_out_of_the_store_is_never_written_through(
        self,
        known: Format,
        place: Path,
        tmp_path: Path,
        state: Path,
        what: Callable[[Planned, Path], Path],
        when: str,
    ) -> None:
        library = open_library(place, state)
        is_beside = what is the_sidecar
        act, among = (_SIDECAR_ACT if is_beside else Act.EDIT), list(memories(library).values())
        planned = _planned(library, act, among)
        if is_beside:
            library.apply(planned)  # the sidecar is made
            among = list(memories(library).values())
            planned = _planned(library, Act.HIDE, among) if when == "apply" else planned
        elif when != "apply":
            library.apply(planned)
        if when.startswith("redo"):
            library.undo()
        if is_beside and not list(place.rglob(".memtui")):
            pytest.skip("the format keeps this itself, or undoing has taken the folder away")
        beyond = tmp_path / "beyond"
        _swap(what(planned, place), beyond)
        before = contents(beyond)
        library.close()
        with pytest.raises(MemtuiError):
            _write(library, planned, when, place)
        assert contents(beyond) == before
        library.close()


def _write(library: Library, planned: Planned, when: str, place: Path) -> None:
    verb, _, later = when.partition(" ")
    if later:  # by another memtui, which may not even recognise the store
        library = Library.open([place], state=library.state_folder)
    if verb == "apply":
        library.apply(planned)
    else:
        (library.undo if verb == "undo" else library.redo)()


def _planned(library: Library, act: Act, among: Sequence[Memory]) -> Planned:
    try:
        _, planned, _ = first_plan(library, act, among)
    except LookupError as error:
        pytest.skip(f"the format cannot {act}: {error}")
    return planned
