"""What a review must not report: it would be turned off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from memtui.model import Memory, Place
from memtui.upkeep.checks import check_text
from memtui.upkeep.proposals import ProposalKind
from memtui.upkeep.similar_memories import find_duplicates
from memtui.upkeep.staleness import find_contradictions
from tests.growth import assert_straight

from .labelled_findings import HELD_BACK, LabelledCase, memories
from .test_precision import context, is_found

LINE = "The nightly build of the gateway passed on all three machines"


def found(given: Sequence[Memory]) -> list[str]:
    return [one.title for one in find_duplicates(given, context())]


def test_the_same_line_below_two_headings_is_about_two_things() -> None:
    texts = ["Address: 3 Harbour Road, Porto", "Address: 3 Harbour Road, Porto"]
    assert found(memories(*texts, extra={"section": "Clinic"}))
    assert not found(memories(*texts, extra=[{"section": "Clinic"}, {"section": "Bakery"}]))


def test_notes_of_a_series_are_true_of_their_days() -> None:
    titles = ["Status 2026-03-01", "Status 2026-03-08"]
    assert not found(memories(LINE, LINE, title=titles, kind="observation"))
    pair = memories(
        "2026-03-01: Ann lives in Braga with two cats",
        "2026-03-08: Ann lives in Porto near the river",
    )
    assert not list(find_contradictions(pair, context()))


def test_texts_that_name_other_files_are_no_duplicates() -> None:
    assert not found(
        memories(
            "Created `scripts/audit-posts.py` for the shop",
            "Created `scripts/post-audit.py` for the shop",
        )
    )


def test_many_repeated_lines_of_one_file_are_one_proposal() -> None:
    lines = [f"{LINE} in run {word}" for word in ("one", "two", "three", "four") for _ in range(3)]
    (title,) = found(
        [
            replace(one, origin=Place("/log/notes.md", at))
            for at, one in enumerate(memories(*lines, days=0))
        ]
    )
    assert title == "notes.md: 8 lines repeat 4 others"


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass: Deploy2Prod-ok",
        "bypass: Xk29-flag7",
        "token: sk-ant-api03-AbCd...",
        "apiKey: BSA3X8REAo[...]",
        "password: `Tr0ub4d` (truncated)",
        "the page shop.example/a/embed/#?secret=Kq7fL2mZ9x was embedded",
        "since 1Password was unlocked!27597 the tray icon is back",
        "MILL_API_KEY=sk-or-v1-xxx",
        "?userToken=&amp;view=%7B%22a%22%3A1%7D",
        "Moved the test credentials to process.env. **Why**: Post-1.0 cleanup",
        "- grinding: 8/8 pass\n- **5.2.3**: as before",
        "Jobs: checkout, login mill-registry, build-push-action@v5",
    ],
)
def test_what_is_cut_or_passes_is_no_secret(text: str) -> None:
    (memory,) = memories(text)
    assert not check_text(memory).secrets


@pytest.mark.parametrize(
    "text", ["db pass: Tr0ub4dor&3", "- pass: Tr0ub4dor&3", "DB_PASS=Tr0ub4dor&3"]
)
def test_a_password_after_pass_is_one(text: str) -> None:
    (memory,) = memories(text)
    assert check_text(memory).secrets


def test_paraphrases_that_were_held_back(figures: Callable[[str], None]) -> None:
    kind = ProposalKind.DUPLICATE
    cases = [
        (is_true, is_found(LabelledCase(kind, is_true, memories(*pair))))
        for each, is_true, *pair in HELD_BACK
        if each is kind
    ]
    right = sum(is_true and named for is_true, named in cases)
    wrong = sum(named and not is_true for is_true, named in cases)
    true = sum(is_true for is_true, _ in cases)
    figures(f"{kind}, held back: {right} of {true} named, {wrong} of {len(cases) - true} wrong")
    assert right >= 0.8 * true
    assert wrong <= 1


def test_a_line_that_a_program_writes_again_and_again_takes_no_square() -> None:
    lines = memories(*[LINE] * 4_000, days=0)
    assert_straight(lambda size: found(lines[:size]), 4_000)
    assert len(found(lines)) == 1
