"""A memory survives the one JSON form that export, cache and `--json` share."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui.changes import invert_edits, record_edit, value_edit
from memtui.model import IMPORTANCES, KINDS, STATUSES, Link, Memory, Place, from_record, to_record

_TEXT = st.text(st.characters(codec=None))
_TIMES = st.none() | st.datetimes(timezones=st.just(UTC))
_PLACES = st.builds(Place, _TEXT, st.none() | st.integers(1), _TEXT)
MEMORIES = st.builds(
    Memory,
    ref=_TEXT,
    id=_TEXT,
    store=_TEXT,
    kind=st.sampled_from(KINDS),
    type=_TEXT,
    title=_TEXT,
    content=_TEXT,
    entity=_TEXT,
    created=_TIMES,
    updated=_TIMES,
    also_entities=st.lists(_TEXT).map(tuple),
    importance=st.sampled_from(IMPORTANCES),
    confidence=st.none() | st.floats(0, 1),
    status=st.sampled_from(STATUSES),
    pinned=st.booleans(),
    supersedes=st.lists(_TEXT).map(tuple),
    superseded_by=st.lists(_TEXT).map(tuple),
    tags=st.lists(_TEXT).map(tuple),
    links=st.lists(st.builds(Link, _TEXT, _TEXT, _TIMES, _TIMES, _TEXT)).map(tuple),
    source=_TEXT,
    origin=_PLACES,
    also=st.lists(_PLACES).map(tuple),
    extra=st.dictionaries(_TEXT, st.none() | st.integers() | _TEXT),
)


@pytest.mark.slow
@given(MEMORIES)
def test_a_memory_survives_its_record(memory: Memory) -> None:
    assert from_record(json.loads(json.dumps(to_record(memory)))) == memory


def test_the_record_has_times_in_utc_with_z() -> None:
    memory = Memory("s:1", "1", "s", "fact", created=datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert to_record(memory)["created"] == "2026-03-01T10:00:00Z"


def test_the_headline_is_the_title_or_the_first_line_that_says_something() -> None:
    assert Memory("s:1", "1", "s", "fact", title="T", content="a\nb").headline == "T"
    assert Memory("s:1", "1", "s", "fact", content="\n\n  a  \nb").headline == "a"
    assert Memory("s:1", "1", "s", "fact").headline == ""


def test_taking_edits_back_reverses_their_order_and_direction() -> None:
    first = record_edit("f", ("events",), "id", "1", None, "{}")
    second = value_edit("f", ("lastActive",), "1", "2")
    assert invert_edits((first, second)) == (
        value_edit("f", ("lastActive",), "2", "1"),
        record_edit("f", ("events",), "id", "1", "{}", None),
    )
    assert invert_edits(invert_edits((first, second))) == (first, second)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("**Port** is 8080", "Port is 8080"),
        ("- use `pnpm`, *never* npm", "use pnpm, never npm"),
        ("> [Rules](rules.md) — of `make`", "Rules — of make"),
        (
            "a * b * c, x[1](y), __init__, snake_case_*",
            "a * b * c, x[1](y), __init__, snake_case_*",
        ),
        ("**", "**"),
    ],
)
def test_a_headline_has_no_marks_of_markdown(written: str, shown: str) -> None:
    memory = Memory(ref="s:1", id="1", store="s", kind="note", title=written)
    assert memory.headline == shown
    assert replace(memory, title="", content=f"{written}\n\nmore").headline == shown
