"""What a query finds and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest

from memtui.model import Memory
from memtui.progress import Cancelled
from memtui.query import parse_query
from memtui.search import columns, ranking
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from memtui.search.literals import LiteralSearch
from memtui.search.matching import Match
from memtui.search.ranking import order_by_score
from tests.unit.search.finding_for_tests import match
from tests.unit.search.memories_for_tests import NOW, memory


def look(memories: Sequence[Memory], text: str, *, typing: bool = False) -> Match:
    """Match with the memories in three segments, the middle one of a single memory."""
    documents = [to_document(each) for each in memories]
    cuts = [0, len(documents) // 2, len(documents) // 2 + 1, len(documents)]
    segments = [
        memory_index.make(documents[first:last], range(first, last))
        for first, last in pairwise(cuts)
        if first < last
    ]
    return match(segments, len(documents), parse_query(text, NOW, typing=typing).terms)


def found(contents: Sequence[str], text: str, *, typing: bool = False) -> list[int]:
    memories = [memory(number, content) for number, content in enumerate(contents)]
    return np.flatnonzero(look(memories, text, typing=typing).found).tolist()


def ordered(memories: Sequence[Memory], text: str, **options: object) -> list[int]:
    result = look(memories, text)
    table = columns.build(memories)
    scores = ranking.score_matches(result, table, NOW, **options)  # type: ignore[arg-type]
    return order_by_score(table, result.slots, scores)[0].tolist()


TEXTS = [
    "We deploy on Fridays",  # 0
    "The deployment failed, rolled back at noon",  # 1
    "Deployed the payment service to Zürich",  # 2
    "getUserById is slow with GitHub tokens",  # 3
    "get_user_by_id was renamed on github",  # 4
    "東京都に引っ越した",  # 5
    "noon rolled out, back again",  # 6
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deploys", [0, 1, 2]),
        ("DEPLOYMENT", [0, 1, 2]),
        ("zurich", [2]),
        ("Zürich", [2]),
        ("getUserById", [3, 4]),
        ("get_user_by_id", [3, 4]),
        ("GitHub", [3, 4]),
        ("github", [3, 4]),
        ("京都", [5]),
        ("東", [5]),
        ("た", [5]),
        ('"rolled back"', [1]),
        ('"back rolled"', []),
        ('noon "rolled back"', [1]),
        ("noon -back", []),
        ("noon -failed", [6]),
        ("-deploy", [3, 4, 5, 6]),
        ("de*", [0, 1, 2]),
        ("dep*ment", [1]),
        ("fr?days", [0]),
        ("githib~", [3, 4]),
        ("nothing", []),
        ("what did we deploy", [0, 1, 2]),
        ("~payment", [2]),
        ("!!!", []),
    ],
)
def test_found(text: str, expected: list[int]) -> None:
    assert found(TEXTS, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("de", [0, 1, 2]),
        ("deploym", [1]),
        ("getUs", [3, 4]),
        ("get_user_b", [3, 4]),
        ("gith", [3, 4]),
    ],
)
def test_last_word_is_a_prefix_while_typing(text: str, expected: list[int]) -> None:
    assert found(TEXTS, text, typing=True) == expected


def test_a_typed_asterisk_finds_words_that_begin_so_and_a_word_being_typed_its_forms_too() -> None:
    texts = ["the bell", "two bells", "version 3.1", "3 belfries"]
    assert found(texts, "bells*") == [1]
    assert found(texts, "-bells*") == [0, 2, 3]
    assert found(texts, "bells", typing=True) == [0, 1]
    assert found(texts, "3.*") == [2]


def test_question_words_alone_are_looked_for() -> None:
    assert found(["to be or not", "nothing here"], "to be") == [0]


def test_phrases_do_not_reach_from_one_field_into_another() -> None:
    memories = [memory(0, "back", title="rolled"), memory(1, "rolled back")]
    assert np.flatnonzero(look(memories, '"rolled back"').found).tolist() == [1]


def test_what_matches_nothing_is_named() -> None:
    result = look([memory(0, "the deployment")], "deployment zzz")
    assert result.missing == ("zzz",)
    assert not result.all_words.any()


def test_forms_in_the_index_are_pointed_out() -> None:
    result = look([memory(0, "deployed"), memory(1, "deploying")], "deploy")
    assert {"deploy", "deployed", "deploying"} <= set(result.words)


def test_text_score_is_a_share() -> None:
    result = look([memory(n, "word " * n) for n in range(1, 70)], "word")
    assert result.text.min() > 0
    assert result.text.max() <= 1


def test_cancelled() -> None:
    segment = memory_index.make([to_document(memory(0, "word"))])
    with pytest.raises(Cancelled):
        match([segment], 1, parse_query("word other", NOW).terms, cancelled=lambda: True)


def test_all_words_come_first_however_good_the_rest() -> None:
    memories = [
        memory(0, "redis " * 50, importance="high", pinned=True, created=NOW),
        memory(1, "long ago we moved the timeout away from redis", status="superseded"),
        memory(2, "timeout timeout timeout", title="timeout", importance="high", created=NOW),
    ]
    assert ordered(memories, "redis timeout")[0] == 1


def test_rare_words_weigh_more() -> None:
    memories = [memory(n, "common text") for n in range(10)] + [memory(10, "rare text")]
    assert ordered(memories, "common rare")[0] == 10


def test_the_form_that_was_written_comes_first() -> None:
    memories = [memory(0, "deployment"), memory(1, "deploys"), memory(2, "deploying")]
    assert ordered(memories, "deploys")[0] == 1


def test_exact_title_then_words_in_the_title() -> None:
    memories = [
        memory(0, "retry policy retry policy retry policy"),
        memory(1, "words", title="The retry policy of old"),
        memory(2, "words", title="Retry policy", created=NOW - timedelta(days=900)),
    ]
    assert ordered(memories, "retry policy")[0] == 2


def test_exact_id_beats_all() -> None:
    memories = [memory(0, "abcd", title="abcd"), memory(1, "no such word")]
    result = look(memories, "abcd").with_slots(np.array([1]))
    table = columns.build(memories)
    scores = ranking.score_matches(result, table, NOW, id_matches=[1])
    assert scores[1] > scores[0]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"created": NOW}, {}),
        ({"importance": "high"}, {}),
        ({"pinned": True}, {}),
        ({}, {"status": "superseded"}),
        ({}, {"importance": "low"}),
    ],
)
def test_what_else_counts(better: dict[str, object], worse: dict[str, object]) -> None:
    memories = [memory(0, "redis timeout", **worse), memory(1, "redis timeout", **better)]
    assert ordered(memories, "redis") == [1, 0]


def test_preferred_type() -> None:
    memories = [memory(n, "ship it", type=kind) for n, kind in enumerate(["bug", "", "goal"])]
    assert ordered(memories, "ship", preferred_types=("goal",)) == [2, 1, 0]


def test_parts_add_up_to_the_score() -> None:
    memories = [
        memory(0, "redis timeout", title="redis", importance="high", pinned=True, type="goal"),
        memory(1, "timeout", created=NOW, status="retired", kind="event"),
        memory(2, "redis", created=None, type="bug", importance="low", kind="event"),
    ]
    result = look(memories, "redis timeout")
    table = columns.build(memories)
    scores = ranking.score_matches(result, table, NOW, preferred_types=["goal"], id_matches=[2])
    for at, slot in enumerate(result.slots.tolist()):
        parts = ranking.explain_score(
            result, table, slot, NOW, preferred_types=["goal"], id_matches=[2]
        )
        assert sum(part.value for part in parts) == pytest.approx(scores[at])
        assert all(part.value for part in parts)


def test_weights_come_from_settings_and_nonsense_is_left_out() -> None:
    weights = ranking.read_weights({"recency": 1, "half_life_days": 0, "pinned": "x", "foo": 3})
    assert weights.recency == 1
    assert weights.half_life_days > 0
    assert weights.pinned == ranking.DEFAULTS.pinned


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("deploy", [0, 1]),
        ("friday", [0, 2]),
        ('"on friday"', [0]),
        ("fri*", [0, 2]),
        ("*day", [0, 2]),
        ("f?iday", [0, 2]),
        ("ida", []),
        ("deploying -friday", [1]),
        ("->", [3]),
        ("zürich", [3]),
    ],
)
def test_until_there_is_an_index_the_texts_are_read(line: str, expected: list[int]) -> None:
    texts = ("deployed on friday", "deploying", "Friday", "Zurich -> Basel")
    held = [memory(number, text) for number, text in enumerate(texts)]
    terms = parse_query(line, NOW, typing=True).terms
    result = match([], len(held), terms, literals=LiteralSearch(held))
    assert sorted(result.slots.tolist()) == expected
