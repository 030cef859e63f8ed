"""Writes that Hermes keeps back are answered as `/memory approve` and `/memory reject` do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory
from memtui.testing.fixtures import contents, memories, open_library
from memtui.upkeep.proposals import ProposalKind

NOTES = "Tower 4 has no network\n§\nThe key is with the harbour office\n§\nAsk before noon"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / ".hermes"
    (root / "memories").mkdir(parents=True)
    (root / "pending" / "memory").mkdir(parents=True)
    (root / "memories" / "MEMORY.md").write_text(NOTES)
    return root


def wait(home: Path, **payload: Any) -> Path:
    file = home / "pending" / "memory" / "0a1b2c3d.json"
    record = {
        **{"id": "0a1b2c3d", "subsystem": "memory", "action": payload["action"]},
        **{"summary": "a write", "origin": "background_review", "created_at": 1790000000.5},
        "payload": {"target": "memory", **payload},
    }
    file.write_text(json.dumps(record))
    return file


def opened(home: Path) -> tuple[Library, Memory]:
    library = open_library(home, home.parent / "state")
    (found,) = (m for m in memories(library).values() if m.status == "proposed")
    return library, found


def answer(home: Path, act: Act) -> Library:
    library, found = opened(home)
    library.apply(library.plan([Change(act, found.store, found.ref)]))
    return library


def notes(home: Path) -> str:
    return (home / "memories" / "MEMORY.md").read_text()


@pytest.mark.parametrize(
    ("payload", "after"),
    [
        (
            {"action": "add", "content": " The bell is cracked \n"},
            f"{NOTES}\n§\nThe bell is cracked",
        ),
        ({"action": "add", "content": "Ask before noon"}, NOTES),
        (
            {"action": "replace", "old_text": "harbour", "content": "The key is with Yael"},
            "Tower 4 has no network\n§\nThe key is with Yael\n§\nAsk before noon",
        ),
        (
            {"action": "remove", "old_text": "Tower 4"},
            "The key is with the harbour office\n§\nAsk before noon",
        ),
        (
            {
                "action": "batch",
                "operations": [
                    {"action": "remove", "old_text": "noon"},
                    {"action": "add", "content": "Ask by letter"},
                ],
            },
            "Tower 4 has no network\n§\nThe key is with the harbour office\n§\nAsk by letter",
        ),
    ],
)
def test_accepting_makes_the_write_and_undoing_puts_it_back(
    home: Path, payload: dict[str, Any], after: str
) -> None:
    file = wait(home, **payload)
    before = contents(home)
    library = answer(home, Act.ACCEPT)
    assert notes(home) == after
    assert not file.exists()
    library.undo()
    assert contents(home) == before | {k: v for k, v in contents(home).items() if ".lock" in k}


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"action": "replace", "old_text": "no such text", "content": "x"}, "no entry contains"),
        ({"action": "remove", "old_text": "e"}, "entries that differ"),
        ({"action": "add", "content": "x" * 2200}, "would hold"),
        (
            {"action": "batch", "operations": [{"action": "remove", "old_text": "gone"}]},
            "no entry contains",
        ),
    ],
)
def test_what_hermes_would_refuse_is_refused(home: Path, payload: dict[str, Any], why: str) -> None:
    file = wait(home, **payload)
    with pytest.raises(Refused, match=why):
        answer(home, Act.ACCEPT)
    assert notes(home) == NOTES
    assert file.exists()


def test_declining_removes_it_and_restoring_puts_it_back(home: Path) -> None:
    file = wait(home, action="add", content="The bell is cracked")
    text = file.read_bytes()
    library = answer(home, Act.DECLINE)
    assert not file.exists()
    assert notes(home) == NOTES
    kept = next(m for m in memories(library).values() if m.type == "write")
    library.apply(library.plan([Change(Act.RESTORE, kept.store, kept.ref)]))
    assert file.read_bytes() == text


def test_it_says_what_it_would_do_and_who_asked(home: Path) -> None:
    wait(home, action="replace", old_text="harbour", content="The key is with Yael")
    _, found = opened(home)
    assert found.content == "In place of the entry with: harbour\nThe key is with Yael"
    assert (found.source, found.entity) == ("background_review", "memory")
    assert found.created is not None


@pytest.mark.parametrize(
    ("payload", "headline"),
    [
        ({"action": "add", "content": "The bell is cracked\nSince May"}, "The bell is cracked"),
        ({"action": "replace", "old_text": "harbour", "content": "Ask Yael"}, "Ask Yael"),
        ({"action": "remove", "old_text": "Tower 4"}, "Remove the entry with: Tower 4"),
        (
            {
                "action": "batch",
                "operations": [
                    {"action": "remove", "old_text": "noon"},
                    {"action": "add", "content": "Ask by letter"},
                ],
            },
            "Ask by letter",
        ),
    ],
)
def test_it_is_headed_by_what_would_be_remembered(
    home: Path, payload: dict[str, Any], headline: str
) -> None:
    wait(home, **payload)
    assert opened(home)[1].headline == headline


def test_without_a_time_of_its_own_it_has_that_of_its_file(home: Path) -> None:
    file = wait(home, action="add", content="The bell is cracked")
    assert FILE_TIME_KEY not in opened(home)[1].extra
    file.write_text(json.dumps({**json.loads(file.read_text()), "created_at": None}))
    assert opened(home)[1].extra[FILE_TIME_KEY] == FILE_TIME


def test_another_form_is_listed_as_unreadable(home: Path) -> None:
    (home / "pending" / "memory" / "bad.json").write_text('{"payload": {"action": "forget"}}')
    library = open_library(home)
    (fault,) = library.snapshot.stores[0].unreadable
    assert "cannot be offered" in fault.reason


def test_the_review_lists_it_and_answers_as_hermes_does(home: Path, tmp_path: Path) -> None:
    file = wait(home, action="add", content="The bell is cracked")
    library = open_library(home, tmp_path / "state")
    (found,) = ReviewQueue(library).scan([ProposalKind.AGENT]).proposals
    assert found.reason == "Hermes waits for the answer"
    ReviewQueue(library).decline([found])
    assert not file.exists()
    assert notes(home) == NOTES
    library.undo()
    queue = ReviewQueue(library)
    (again,) = queue.scan([ProposalKind.AGENT]).proposals
    library.apply(queue.plan([again]))
    assert notes(home).endswith("§\nThe bell is cracked")
    assert not queue.scan([ProposalKind.AGENT]).proposals
