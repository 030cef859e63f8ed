"""An observation of a basic-memory note is edited as a line; the rest of the note stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict, Refused
from memtui.library import Library
from memtui.model import Memory
from memtui.testing.fixtures import memories, open_library

NOTE = """---
title: Ports
permalink: ports
---

# Ports

- [config] The api has 8123 #api (measured)
* [decision] Deploys wait for staging
- [config] The api has 8123 #api (measured)
- plain #tagged line

- depends_on [[Hosts]]
"""


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "basic-memory" / "ports.md"
    path.parent.mkdir()
    path.write_text(NOTE)
    return path


def _opened(note: Path) -> Library:
    return open_library(note.parent, note.parent.parent / "state")


def _fact(library: Library, text: str) -> Memory:
    return next(m for m in memories(library).values() if m.kind == "fact" and m.content == text)


def _change(library: Library, act: Act, memory: Memory, **fields: object) -> None:
    library.apply(library.plan([Change(act, memory.store, memory.ref, fields)]))


def test_the_text_is_replaced_and_category_and_context_stay(note: Path) -> None:
    library = _opened(note)
    fact = _fact(library, "Deploys wait for staging")

    _change(library, Act.EDIT, fact, content="Deploys wait for the smoke test #ci")

    old, new = "Deploys wait for staging", "Deploys wait for the smoke test #ci"
    assert note.read_text() == NOTE.replace(old, new)
    edited = library.get(fact.ref)
    assert (edited.content, edited.type, edited.tags) == (new, "decision", ("ci",))
    library.undo()
    assert note.read_text() == NOTE
    assert library.get(fact.ref).content == old


def test_one_of_two_equal_lines_is_edited(note: Path) -> None:
    library = _opened(note)
    twins = [m for m in memories(library).values() if m.content.startswith("The api")]

    _change(library, Act.EDIT, twins[1], content="The api has 9000 #api")

    lines = note.read_text().split("\n")
    assert lines[7] == "- [config] The api has 8123 #api (measured)"
    assert lines[9] == "- [config] The api has 9000 #api (measured)"
    assert library.get(twins[1].ref).content == "The api has 9000 #api"


def test_the_category_is_the_type(note: Path) -> None:
    library = _opened(note)

    _change(library, Act.RETYPE, _fact(library, "Deploys wait for staging"), type="rule")
    _change(library, Act.RETYPE, _fact(library, "plain #tagged line"), type="fact")

    assert "* [rule] Deploys wait for staging\n" in note.read_text()
    assert "- [fact] plain #tagged line\n" in note.read_text()


def test_tags_are_added_beside_those_in_the_line(note: Path) -> None:
    library = _opened(note)
    fact = next(m for m in memories(library).values() if m.content == "The api has 8123 #api")

    _change(library, Act.EDIT, fact, tags=["api", "new"])

    assert library.get(fact.ref).tags == ("api", "new")
    _change(library, Act.EDIT, fact, content="The api has 8123")
    assert library.get(fact.ref).tags == ("new",), "only what is not in the line is beside it"


def test_the_line_is_deleted(note: Path) -> None:
    library = _opened(note)

    _change(library, Act.DELETE, _fact(library, "Deploys wait for staging"))

    assert note.read_text() == NOTE.replace("* [decision] Deploys wait for staging\n", "")


@pytest.mark.parametrize("text", ["two\nlines", "", "text (with) (two)"])
def test_what_would_not_be_read_as_one_observation_is_refused(note: Path, text: str) -> None:
    library = _opened(note)
    last = [m for m in memories(library).values() if m.extra.get("note")][-1]

    for fact in (_fact(library, "Deploys wait for staging"), last):
        with pytest.raises(Refused):
            library.plan([Change(Act.EDIT, fact.store, fact.ref, {"content": text})])

    assert note.read_text() == NOTE


def test_another_line_may_have_changed_meanwhile(note: Path) -> None:
    library = _opened(note)
    fact = _fact(library, "Deploys wait for staging")
    theirs = NOTE.replace("# Ports\n", "# Ports of all hosts\n")
    note.write_text(theirs)

    _change(library, Act.EDIT, fact, content="Deploys wait for the smoke test")

    assert note.read_text() == theirs.replace("for staging", "for the smoke test")


def test_the_same_line_may_not(note: Path) -> None:
    library = _opened(note)
    fact = _fact(library, "Deploys wait for staging")
    note.write_text(NOTE.replace("for staging", "for nobody"))

    with pytest.raises(Conflict):
        library.plan([Change(Act.EDIT, fact.store, fact.ref, {"content": "new"})])
