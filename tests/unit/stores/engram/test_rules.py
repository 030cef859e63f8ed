"""Engram's rules for names, texts, hashes and dates."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.stores.engram import rules
from memtui.stores.engram.records import entity_of


@pytest.mark.parametrize(
    ("kind", "day", "due"),
    [
        ("decision", (2026, 8, 31), "2027-03-03 00:00:00"),
        ("preference", (2026, 11, 30), "2027-03-02 00:00:00"),
        ("policy", (2028, 2, 29), "2029-03-01 00:00:00"),
        ("discovery", (2026, 1, 1), None),
    ],
)
def test_review_dates_overflow_as_go_adds_months(
    kind: str, day: tuple[int, int, int], due: str | None
) -> None:
    assert rules.review_after(kind, datetime(*day, tzinfo=UTC)) == due


def test_the_hash_folds_case_and_blanks_as_go_does() -> None:
    assert rules.content_hash(" Bells\u00a0\n\tRING ") == hashlib.sha256(b"bells ring").hexdigest()
    expected = hashlib.sha256("οδοσ i".encode()).hexdigest()
    assert rules.content_hash("ΟΔΟΣ İ") == expected


def test_names_are_made_as_engram_makes_them() -> None:
    assert rules.project_name("  My--App__x ") == "my-app_x"
    assert rules.topic_key(" Decision/My  Topic ") == "decision/my-topic"
    assert len(rules.topic_key("x" * 500)) == 120


@pytest.mark.slow
@given(
    st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True),
    st.from_regex(r"[a-z]+(/[a-z0-9]+){0,3}", fullmatch=True),
    st.text(),
)
def test_an_entity_reads_back_as_it_was_asked_for(project: str, tail: str, title: str) -> None:
    if len(tail) > 15:
        tail = tail[:15].strip("/")
    at = rules.address(f"{project}/{tail}", title)
    row = {"project": at.project, "scope": at.scope, "topic_key": at.topic_key or None}
    assert entity_of(row) == f"{project}/{tail}"


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.none()), st.sampled_from([None, 2])
)
def test_json_in_gos_style_is_the_same_json(
    document: dict[str, object], indent: int | None
) -> None:
    written = rules.go_json(document, indent)
    assert json.loads(written) == document
    assert not set("<>&\u2028\u2029") & set(written)
