"""How often each finding is right on hand-labelled cases; what is often wrong is only a hint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import Link, Memory
from memtui.text import hidden_count
from memtui.upkeep.checks import (
    check_dangling_references,
    check_duplicate_ids,
    check_orphaned_files,
)
from memtui.upkeep.duplicates import find_across
from memtui.upkeep.proposals import RULES, ProposalKind, UpkeepContext
from memtui.upkeep.scanning import BY_ENTITY, BY_STORE, scan

from .labelled_findings import (
    CASES,
    HIDDEN_FALSE,
    HIDDEN_TRUE,
    MERGED,
    NOW,
    LabelledCase,
    memories,
)
from .test_instructions import SAMPLES

LEAST = 0.8
"""Precision below which a finding may only be a hint (issue 14)."""


@cache
def context() -> UpkeepContext:
    """The rules of the sample stores, which can do everything."""
    stores = ("agent-memory", "ambient", "engram", "simple-memory")
    queue = ReviewQueue(Library.open([SAMPLES / name for name in stores]))
    return replace(queue.context, can=lambda *_: True, now=NOW, merged=MERGED)


def is_found(case: LabelledCase) -> bool:
    return bool(scan(case.memories, context(), {}, kinds=[case.kind]).proposals)


@pytest.mark.parametrize("kind", [*BY_ENTITY, *BY_STORE], ids=str)
def test_a_finding_that_is_often_wrong_is_a_hint(
    kind: ProposalKind, figures: Callable[[str], None]
) -> None:
    cases = [case for case in CASES if case.kind is kind]
    true = [case for case in cases if case.is_true]
    assert true
    assert len(cases) > len(true), "no tempting false case"
    right = sum(map(is_found, true))
    wrong = sum(is_found(case) for case in cases if not case.is_true)
    precision = right / (right + wrong) if right + wrong else 0.0
    figures(
        f"finding {kind}: precision {precision:.0%}, recall {right / len(true):.0%}"
        f" of {len(true)} true and {len(cases) - len(true)} false cases"
    )
    assert right
    assert precision >= LEAST or RULES[kind].hint


def test_hidden_characters_spare_the_joiners_that_a_script_needs() -> None:
    assert [text for text in HIDDEN_TRUE if not hidden_count(text)] == []
    assert [text for text in HIDDEN_FALSE if hidden_count(text)] == []


def indexed(target: str) -> list[Memory]:
    """A topic file, and an index whose only line names this file."""
    (topic,) = memories("About the tower", kind="document")
    (line,) = memories("- the tower", kind="note", links=(Link("indexes", target),))
    return [replace(topic, id="topic.md", ref="agent-memory:topic.md"), line]


def test_the_same_in_two_stores_is_found_when_asked() -> None:
    (mine,) = memories("Ann works at Lumen Systems in Porto")
    (other,) = memories("Ann works at Lumen Systems, in Porto", store="engram")
    (third,) = memories("Ann works at Lumen Systems in Braga", store="ambient")
    found = list(find_across([mine, other, third], context()))
    assert [one.refs for one in found] == [(mine.ref, other.ref)]
    assert found[0].is_hint
    assert not scan([mine, other], context(), {}).proposals


@pytest.mark.parametrize(
    ("check", "true", "false"),
    [
        (
            check_duplicate_ids,
            [replace(one, id="1") for one in memories("Ann", "Bob")],
            memories("Ann", "Bob"),
        ),
        (
            check_duplicate_ids,
            [replace(one, id=id) for one, id in zip(memories("A", "B"), ("1", "1#2"), strict=True)],
            [replace(one, id=id) for one, id in zip(memories("A", "B"), ("1", "2#2"), strict=True)],
        ),
        (
            check_dangling_references,
            memories("Ann", links=(Link("met", "people/nobody"),)),
            memories("Ann", links=(Link("met", "people/ann"),)),
        ),
        (
            check_dangling_references,
            memories("Ann", supersedes=("gone",)),
            memories("Ann", "Bob", supersedes=("agent-memory-0",)),
        ),
        (check_orphaned_files, indexed("gone.md"), indexed("topic.md")),
    ],
    ids=[
        "duplicate id",
        "id twice in a file",
        "dangling link",
        "dangling supersedes",
        "orphaned file",
    ],
)
def test_checks_of_ids_find_the_true_case_only(
    check: Callable[[Sequence[Memory]], object],
    true: Sequence[Memory],
    false: Sequence[Memory],
) -> None:
    assert list(check(true))  # type: ignore[call-overload]
    assert not list(check(false))  # type: ignore[call-overload]
