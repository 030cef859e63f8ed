"""Engram's rules for names, texts, hashes and dates."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui.changes import Act
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.engram import records, rules
from memtui.stores.engram.planning import refusal
from memtui.stores.engram.records import entity_of
from memtui.stores.engram.schema import Schema
from memtui.stores.sqlite import rows as columns


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


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a", "a"),
        (" \u00a0a\n", "a"),
        ("a <private>key</private> b", "a [REDACTED] b"),
        ("a <PRIVATE>\nkey</Private> <private>x</private>", "a [REDACTED] [REDACTED]"),
        ("a <private>key", "a <private>key"),
        ("x" * 50_000, "x" * 50_000),
        ("é" * 25_000, "é" * 25_000),
    ],
)
def test_a_text_is_stored_as_engram_stores_it(value: str, stored: str) -> None:
    assert rules.content(value) == stored


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("", "needs a text"),
        (" \u3000", "needs a text"),
        ("x" * 50_001, "50,001 bytes"),
        ("é" * 25_001, "50,002 bytes"),
        ("\ud800", "half a character"),
    ],
)
def test_a_text_that_engram_would_cut_is_refused(value: str, fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        rules.content(value)


def test_a_title_is_given_or_taken_from_the_first_line() -> None:
    assert rules.title(" a ", "b") == "a"
    assert rules.title("", " first \nsecond") == "first"
    assert rules.title("", "x" * 80) == "x" * 80
    assert rules.title("", "x" * 76 + " yyyy") == "x" * 76 + "..."
    for title, fallback in (("", ""), (" ", "")):
        with pytest.raises(Refused, match="needs a title"):
            rules.title(title, fallback)
    with pytest.raises(Refused, match="needs a type"):
        rules.kind(" ")
    assert rules.kind(" decision ") == "decision"


@pytest.mark.parametrize(
    ("text", "found"),
    [("<private>a</private>", True), ("<private>a", False), ("a", False)],
)
def test_a_private_passage_has_an_end(text: str, found: bool) -> None:
    assert rules.has_private(text) is found


@pytest.mark.parametrize(
    ("entity", "parts"),
    [
        ("Mill", ("mill", "project", "")),
        ("/mill/", ("mill", "project", "")),
        ("mill/personal", ("mill", "personal", "")),
        ("mill/global", ("mill", "global", "")),
        ("mill/decision", ("mill", "project", "decision/a-title")),
        ("mill/a/b", ("mill", "project", "a/b/a-title")),
        ("", ("", "project", "")),
    ],
)
def test_an_entity_is_a_project_with_a_scope_or_a_family(
    entity: str, parts: tuple[str, str, str]
) -> None:
    at = rules.address(entity, "A title!")
    assert (at.project, at.scope, at.topic_key) == parts
    with pytest.raises(Refused, match="half a character"):
        rules.address("mill/\ud800", "a")


def test_names_have_a_length() -> None:
    assert rules.segment("  An  Ünusual title. ") == "an-nusual-title"
    assert rules.segment("!") == "general"
    assert rules.segment("x" * 101) == "x" * 100
    assert rules.manual_session("mill") == "manual-save-mill"
    assert rules.manual_session("") == "manual-save"
    assert (
        rules.sync_id_of("obs", "a") == rules.sync_id_of("obs", "a") != rules.sync_id_of("obs", "b")
    )
    assert len(rules.new_sync_id("rel")) == len(rules.sync_id_of("rel", "a")) == 20


def test_json_is_compact_or_indented() -> None:
    assert rules.go_json({"a": 1, "b": "<é>"}) == '{"a":1,"b":"\\u003cé\\u003e"}'
    assert rules.go_json({"a": 1}, 2) == '{\n  "a": 1\n}'


FULL = Schema(
    {
        "observations": frozenset({"pinned", "review_after"}),
        "memory_relations": frozenset({"sync_id"}),
    },
    1,
    "",
)
LIVE = Memory(ref="s:1", id="1", store="s", kind="observation", content="a", extra={"sync_id": "x"})


def _with(**values: Any) -> Memory:
    return replace(LIVE, **values)


@pytest.mark.parametrize(
    ("act", "memory", "reason"),
    [
        (Act.TAG, LIVE, "no tags"),
        (Act.MERGE, LIVE, "cannot merge"),
        (Act.RATE, None, "no ratings"),
        (Act.ACCEPT, LIVE, "no proposals"),
        (Act.ARCHIVE, LIVE, "no branches"),
        (Act.LINK, _with(kind="note"), ""),
        (Act.UNLINK, _with(status="deleted"), ""),
        (Act.EDIT, LIVE, ""),
        (Act.EDIT, None, ""),
        (Act.EDIT, _with(kind="episode"), "session summaries"),
        (Act.EDIT, _with(kind="note"), "as they were typed"),
        (Act.DELETE, _with(kind="note"), ""),
        (Act.EDIT, _with(extra={columns.DAMAGED: ["content"]}), "not UTF-8"),
        (Act.EDIT, _with(status="deleted"), "restore it first"),
        (Act.PIN, _with(status="deleted"), "restore it first"),
        (Act.DELETE, _with(status="deleted"), ""),
        (Act.RESTORE, _with(status="deleted"), ""),
        (Act.RESTORE, _with(status="superseded"), ""),
        (Act.RESTORE, LIVE, "neither deleted nor superseded"),
        (Act.SUPERSEDE, LIVE, ""),
        (Act.SUPERSEDE, _with(extra={}), "no sync_id"),
        (Act.RETIRE, _with(extra={}), ""),
    ],
)
def test_an_act_is_refused_with_its_reason(act: Act, memory: Memory | None, reason: str) -> None:
    found = refusal(FULL, act, memory)
    assert reason in found
    assert bool(found) is bool(reason)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (Act.SUPERSEDE, "keeps no relations"),
        (Act.PIN, "keeps no pins"),
        (Act.UNPIN, "keeps no pins"),
        (Act.REVIEW, "keeps no review dates"),
        (Act.EDIT, ""),
    ],
)
def test_an_older_database_lacks_columns(act: Act, reason: str) -> None:
    old = Schema({"observations": frozenset({"id"})}, 0, "")
    assert reason in refusal(old, act, LIVE)
    assert bool(refusal(old, act, LIVE)) is bool(reason)


@pytest.mark.parametrize(
    ("value", "shown", "as_json"),
    [
        (None, "", None),
        ("é", "é", "é"),
        (7, "7", 7),
        (b"a\xff", "a\ufffd", {"base64": "Yf8="}),
        ("a\udcff", "a\ufffd", "a\ufffd"),
    ],
)
def test_a_column_of_any_type_is_shown(value: object, shown: str, as_json: object) -> None:
    assert columns.text(value) == shown
    assert columns.to_json_value(value) == as_json
    if isinstance(value, bytes | int):
        assert columns.from_json_value(as_json) == value


def test_blank_and_count_columns() -> None:
    assert [records.is_blank(value) for value in (None, "", " ", "a", 0)] == [
        *(True, True, True),
        *(False, False),
    ]
    assert [records.count_of(value) for value in (3, None, "3")] == [3, 0, 0]
    assert records.row_key({"id": 1, "sync_id": "x", "title": "t"}) == {"id": 1, "sync_id": "x"}
    assert records.row_key({"id": 1, "sync_id": None}) == {"id": 1}


@pytest.mark.parametrize(
    ("kind", "pinned", "importance"),
    [("decision", False, "high"), ("passive", True, "high"), ("passive", False, "low")],
)
def test_pins_and_types_say_the_importance(kind: str, pinned: bool, importance: str) -> None:
    assert records.importance(kind, pinned) == importance
    assert records.importance("discovery", False) == "medium"


@pytest.mark.parametrize(
    ("row", "entity"),
    [
        ({"project": "p", "topic_key": "a/b/c"}, "p/a/b"),
        ({"project": "p", "topic_key": "/c"}, "p/project"),
        ({"project": "p", "topic_key": "c", "scope": "personal"}, "p/personal"),
        ({"project": None, "scope": None}, "project"),
    ],
)
def test_the_entity_of_a_row(row: dict[str, Any], entity: str) -> None:
    assert entity_of(row) == entity
