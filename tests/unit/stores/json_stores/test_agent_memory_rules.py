"""agent-memory's rules for a new fact: what its scripts were seen to do, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.model import Memory
from memtui.stores.agent_memory.records import (
    FactRules,
    broken_rule,
    contradicted,
    most_similar,
    similarity,
    words,
)

RULES = FactRules()


def fact(content: str, id: str = "old") -> Memory:
    return Memory(ref=f"s:{id}", id=id, store="s", kind="fact", content=content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Alice is tired", "Fact too short (14 chars < 15 minimum)"),
        ("Alice Is Tired today", "Contains transient/vague pattern: 'is tired'"),
        ("Alice will Probably come", "Contains transient/vague pattern: 'probably'"),
        ("Alice joined Acme", ""),
        ("Zoë führt Tagebuch", ""),
    ],
)
def test_short_and_passing_facts_are_rejected_in_this_order(content: str, reason: str) -> None:
    assert broken_rule(content, RULES) == reason


def test_a_changed_value_in_the_same_words_counts_as_said_already() -> None:
    old, new = "Alice has the email: old@example.org", "Alice has the email: new@example.org"
    assert similarity(new, old) == pytest.approx(6 / 8, abs=0.006)
    assert most_similar(new, [fact(old)], RULES) is not None


def test_the_limit_is_met_after_rounding_to_two_places() -> None:
    shared = [f"w{n}" for n in range(16)]
    one = " ".join([*shared, "a1", "a2", "a3"])
    other = " ".join([*shared, "b1", "b2", "b3", "b4"])
    assert 0.695 < 16 / 23 < 0.7
    assert similarity(one, other) == 0.7
    assert most_similar(one, [fact(other)], RULES) is not None


def test_letters_beyond_ascii_part_words() -> None:
    assert words("Zoë Ähre café_9") == {"zo", "hre", "caf", "9"}


def test_the_same_text_is_a_duplicate_in_any_script() -> None:
    assert similarity("爱丽丝住在里斯本", "爱丽丝住在里斯本") == 1.0
    assert similarity("爱丽丝住在里斯本", "鲍勃住在波尔图") == 0.0


@pytest.mark.parametrize(
    ("new", "old", "anchor"),
    [
        ("Alice works at NewCorp now", "Alice works at Acme as head of bells", "works at"),
        ("Alice works at NewCorp now", "Alice joined Acme as CTO", None),
        ("Alice's email is a@example.org these days", "Alice's email: b@example.org", None),
        ("Alice MOVED TO Porto", "alice moved to Lisbon in the spring of that year", "moved to"),
    ],
)
def test_a_contradiction_needs_the_same_anchor(new: str, old: str, anchor: str | None) -> None:
    found = contradicted(new, [fact(old)], RULES)
    assert [hit for _, hit in found] == ([anchor] if anchor else [])


def test_the_order_of_hits_is_that_of_the_file() -> None:
    facts = [
        fact("Alice lives in Lisbon near the river", "home"),
        fact("Alice works at Acme as a founder and lives in Lisbon", "job"),
    ]
    found = contradicted("Alice works at NewCorp and lives in Porto", facts, RULES)
    assert [(old.id, anchor) for old, anchor in found] == [
        ("home", "lives in"),
        ("job", "works at"),
    ]


def test_the_constants_can_be_set_otherwise() -> None:
    assert broken_rule("short", FactRules(shortest=3)) == ""
    assert most_similar("a b c d", [fact("a b x y")], FactRules(similar=0.3)) is not None


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_a_share_the_same_both_ways(one: str, other: str) -> None:
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, other) == similarity(other, one)
    assert similarity(one, one) == 1.0
