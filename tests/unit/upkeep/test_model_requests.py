"""What a language model is sent, and what of its answer is believed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.errors import ModelError
from memtui.model import Memory
from memtui.upkeep.model_requests import (
    MAX_FACTS,
    MAX_SENT_CHARS,
    extraction_request,
    parse_facts,
    parse_summary,
    summary_request,
)

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def memory(content: str) -> Memory:
    return Memory(ref="s:1", id="1", store="s", kind="event", content=content)


def test_a_secret_is_masked_before_it_is_sent() -> None:
    request = summary_request([memory(f"deploy with {SECRET} today")])
    assert SECRET not in request.text
    assert request.masked == 1
    assert "deploy with ghp_" in request.text


def test_more_than_the_limit_is_refused_and_not_cut() -> None:
    with pytest.raises(ModelError, match="too much"):
        extraction_request("x" * (MAX_SENT_CHARS + 1))


@given(st.text(max_size=300))
def test_any_answer_is_facts_or_one_clear_error(answer: str) -> None:
    try:
        facts = parse_facts(answer)
    except ModelError:
        return
    assert len(facts) <= MAX_FACTS


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["content", "entity", "importance", "other"]),
            st.one_of(st.text(max_size=40), st.integers(), st.none()),
        ),
        max_size=5,
    )
)
def test_facts_have_text_and_an_entity_that_stays_in_the_store(values: list[object]) -> None:
    for fact in parse_facts(json.dumps(values)):
        assert fact.content.strip() == fact.content != ""
        assert ".." not in fact.entity
        assert not fact.entity.startswith("/")
        assert fact.importance in ("high", "medium", "low")


def test_facts_in_a_fenced_block_are_read() -> None:
    (fact,) = parse_facts(
        '```json\n[{"content": "Alice moved to Porto", "entity": "people/alice"}]\n```'
    )
    assert (fact.content, fact.entity) == ("Alice moved to Porto", "people/alice")


@pytest.mark.parametrize("answer", ["", "  \n", "\u200b", "x" * 3000])
def test_what_is_no_summary_is_refused(answer: str) -> None:
    with pytest.raises(ModelError):
        parse_summary(answer)
