"""Values of files are read with tolerance; fields of a change are taken as they are or refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import Conflict, Refused
from memtui.model import Memory
from memtui.stores import values

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MEMORY = Memory(ref="s:1", id="1", store="s", kind="fact", content="a", tags=("x", "y"))


def change(**fields: Any) -> Change:
    return Change(Act.ADD, "s", "", fields)


@pytest.mark.parametrize(
    ("read", "value", "found"),
    [
        (values.parse_json, "[1]", [1]),
        (values.parse_json, "[", None),
        (values.parse_json, "[" * 100_000, None),
        (values.parse_object, '{"a": 1}', {"a": 1}),
        (values.parse_object, "[1]", {}),
        (values.text_of, "é", "é"),
        (values.text_of, None, ""),
        (values.text_of, ["é"], '["é"]'),
        (values.text_of, 0, "0"),
        (values.texts_of, ["a", 1, "b"], ("a", "b")),
        (values.texts_of, "ab", ()),
        (values.lower_word, " A ", "a"),
        (values.lower_word, 1, ""),
        (values.list_of, (1,), []),
        (values.is_number, 1.5, True),
        (values.is_number, True, False),
        (values.is_number, "1", False),
        (values.whole_number, 3, 3),
        (values.whole_number, 3.0, 0),
        (values.whole_number, True, 0),
        (values.from_iso, " 2026-11-20 ", NOON.replace(hour=0)),
        (values.from_iso, "2026-11-20T00:00Z", NOON.replace(hour=0, microsecond=1)),
        (values.from_iso, "2026-11-20T14:00:00+02:00", NOON),
        (values.from_iso, "0001-01-01T00:00:00+14:00", None),
        (values.from_iso, "noon", None),
        (values.from_iso, 20261120, None),
        (values.from_milliseconds, 1_795_176_000_000, NOON),
        (values.from_milliseconds, 1e30, None),
        (values.from_milliseconds, float("nan"), None),
        (values.from_milliseconds, True, None),
        (values.from_milliseconds, "1", None),
        (values.to_milliseconds, NOON, 1_795_176_000_000),
        (values.to_milliseconds, datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), -1),
        (
            values.to_iso_seconds,
            NOON.astimezone(timezone(timedelta(hours=2))),
            "2026-11-20T12:00:00Z",
        ),
        (values.importance_of_rating, 5, "high"),
        (values.importance_of_rating, 4, "high"),
        (values.importance_of_rating, 3.9, "medium"),
        (values.importance_of_rating, 3, "medium"),
        (values.importance_of_rating, 2.9, "low"),
        (values.importance_of_rating, float("nan"), ""),
        (values.importance_of_rating, True, ""),
        (values.importance_of_rating, None, ""),
    ],
)
def test_a_value_of_a_file(read: Callable[[Any], object], value: object, found: object) -> None:
    made = read(value)
    assert made == found
    assert type(made) is type(found)


def test_a_time_without_a_zone_is_utc() -> None:
    assert values.from_iso("2026-11-20T12:00:00") == NOON
    assert values.created_of(change(created=NOON.replace(tzinfo=None)), NOON) == NOON
    later = NOON + timedelta(days=1)
    assert values.created_of(change(created=later), NOON) == later
    assert values.created_of(change(created="2026-11-21 12:00"), NOON) == later
    assert values.created_of(change(created="soon"), NOON) == NOON
    assert values.created_of(change(), NOON) == NOON


@pytest.mark.parametrize("content", [None, "", " \n", 7])
def test_a_change_needs_a_text(content: object) -> None:
    with pytest.raises(Refused, match="no text"):
        values.content_of(change(content=content))
    assert values.content_of(change(content=" a\n")) == " a\n"


@pytest.mark.parametrize("word", [" ", "a\nb", 7, ["a"]])
def test_a_word_is_one_line(word: object) -> None:
    with pytest.raises(Refused, match="the type must be a word"):
        values.word_of(change(type=word), "type", "fact")


def test_a_word_that_is_not_given_is_the_default() -> None:
    given = [values.word_of(change(type=word), "type", "fact") for word in (None, "", " a ")]
    assert given == ["fact", "fact", "a"]
    assert values.word_of(change(), "type", "fact") == "fact"


def test_an_importance_is_one_of_three() -> None:
    assert values.importance_of(change(importance=""), "medium") == "medium"
    assert values.importance_of(change(importance="low"), "medium") == "low"
    with pytest.raises(Refused, match="high, medium, low"):
        values.importance_of(change(importance="huge"), "medium")


def test_tags_are_words_each_once() -> None:
    assert values.tag_words([" b", "a", "", "b ", 7]) == ["b", "a", "7"]
    assert values.tag_words(("a",)) == ["a"]
    with pytest.raises(Refused, match="list of words"):
        values.tag_words("a")


def test_what_is_so_already_is_no_change() -> None:
    asked = change(content="a", tags=["x", "y"], title="new")
    assert values.changed_values(asked, MEMORY, {"title"}) == {"title": "new"}
    with pytest.raises(Refused, match="the title cannot be changed here") as caught:
        values.changed_values(asked, MEMORY, {"tags", "content"})
    assert caught.value.do == "what can be: content, tags"
    with pytest.raises(Refused) as caught:
        values.changed_values(change(tags=["y", "x"]), MEMORY, set())
    assert caught.value.do == "what can be: nothing"


def test_a_text_that_changed_meanwhile_is_a_conflict_with_all_three_texts() -> None:
    values.check_unchanged(MEMORY, "a", "f:1", "mine")
    with pytest.raises(Conflict) as caught:
        values.check_unchanged(MEMORY, "b", "f:1", "mine")
    error = caught.value
    assert (error.where, error.base, error.theirs, error.yours) == ("f:1", "a", "b", "mine")


def test_repeated_ids_are_numbered_and_cannot_be_changed() -> None:
    memories = [
        replace(MEMORY, id=id, ref=f"s:{id}", content=str(n)) for n, id in enumerate("abaca")
    ]
    found = values.with_unique_ids(memories)
    assert [(m.ref, m.id, m.content) for m in found] == [
        ("s:a", "a", "0"),
        ("s:b", "b", "1"),
        ("s:a#2", "a#2", "2"),
        ("s:c", "c", "3"),
        ("s:a#3", "a#3", "4"),
    ]
    fault = "the store holds the id a more than once"
    assert [m.extra.get(values.UNADDRESSABLE) for m in found] == [fault, None, fault, None, fault]
    assert [m.extra.get("id") for m in found] == ["a", None, "a", None, "a"]
