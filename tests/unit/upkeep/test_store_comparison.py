"""What two stores have in common, against expectations worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.model import Memory, Place
from memtui.upkeep.similar_memories import compare_stores, is_about


def memory(store: str, id: str, content: str, entity: str = "", **more: object) -> Memory:
    ref = f"{store}:{id}"
    values = {"kind": "fact", "origin": Place(f"/{store}"), "content": content, "entity": entity}
    return Memory(ref=ref, id=id, store=store, **{**values, **more})  # type: ignore[arg-type]


CLAUDE = [
    memory("claude", "a", "the ledger uses Postgres"),
    memory("claude", "b", "deploys happen on Tuesdays after lunch"),
    memory("claude", "c", "Alice lives in Lisbon"),
    memory("claude", "d", "the ledger uses SQLite", status="superseded"),
]
SERENA = [
    memory("serena", "1", "The ledger uses Postgres."),
    memory("serena", "2", "deploys happen on Tuesdays"),
    memory("serena", "3", "tokens expire after 24 hours"),
    memory("serena", "4", "the ledger uses SQLite"),
]


def test_near_equal_memories_stand_together_and_the_rest_alone() -> None:
    """Words of a and 1 are the same four: 1. Words of b and 2: 4 common of 6: 0.667. Words of a
    and 4: 3 of 5: 0.6, but a is nearer to 1; 4 is listed with a, because it is not unknown."""
    found = compare_stores("claude", "serena", [*CLAUDE, *SERENA])
    assert [(s.left.id, s.right.id, round(s.score, 3)) for s in found.shared] == [
        ("a", "1", 1.0),
        ("b", "2", 0.667),
        ("a", "4", 0.6),
    ]
    assert [one.id for one in found.only_left] == ["c"]
    assert [one.id for one in found.only_right] == ["3"]


def test_a_threshold_of_one_wants_the_same_words() -> None:
    found = compare_stores("claude", "serena", [*CLAUDE, *SERENA], 1)
    assert [(s.left.id, s.right.id) for s in found.shared] == [("a", "1")]
    assert [one.id for one in found.only_right] == ["2", "3", "4"]


def test_two_words_are_too_few_to_be_the_same_statement() -> None:
    both = [memory("x", "1", "in Lisbon"), memory("y", "1", "in Lisbon")]
    assert compare_stores("x", "y", both).shared == ()


def test_near_equal_words_with_other_numbers_are_not_in_both() -> None:
    """Both values are shown; a number that only one of them gives is no disagreement."""
    left = [
        memory("x", "1", "the gateway of the shop listens on port 8080 behind the proxy"),
        memory("x", "2", "backups of the ledger are kept 30 days in the vault"),
        memory("x", "3", "the ledger of the shop runs on Postgres"),
    ]
    right = [
        memory("y", "1", "the gateway of the shop listens on port 8081 behind the proxy"),
        memory("y", "2", "backups of the ledger are kept 14 days in the vault"),
        memory("y", "3", "the ledger of the shop runs on Postgres 16"),
    ]
    found = compare_stores("x", "y", [*left, *right])
    assert [(one.attribute, one.values) for one in found.disagreeing] == [
        ("port", ("8080", "8081")),
        ("days", ("30", "14")),
    ]
    assert [one.left.id for one in found.shared] == ["3"]
    assert (found.only_left, found.only_right) == ((), ())


TEXTS = st.lists(st.text("abcd ", min_size=1, max_size=12), max_size=6)


@pytest.mark.slow
@given(TEXTS, TEXTS, st.sampled_from([0.3, 0.5, 1.0]))
def test_every_memory_is_shared_or_alone_and_the_sides_can_be_swapped(
    left: list[str], right: list[str], threshold: float
) -> None:
    every = [memory("x", str(at), words) for at, words in enumerate(left)]
    every += [memory("y", str(at), words) for at, words in enumerate(right)]
    found = compare_stores("x", "y", every, threshold)
    turned = compare_stores("y", "x", every[::-1], threshold)
    shared = {one.ref for each in found.shared for one in (each.left, each.right)}
    alone = {one.ref for one in (*found.only_left, *found.only_right)}
    assert not shared & alone
    assert shared | alone == {one.ref for one in every}
    assert {(s.left.ref, s.right.ref) for s in found.shared} == {
        (s.right.ref, s.left.ref) for s in turned.shared
    }


@pytest.mark.parametrize(
    ("entity", "subject", "expected"),
    [
        ("people/alice", "alice", True),
        ("alice", "people/alice", True),
        ("people/alice/garden", "people/alice", True),
        ("People/Alice_Smith", "people/alice-smith", True),
        ("people/malice", "alice", False),
        ("people/bob", "people/alice", False),
        ("people", "people/alice", False),
        ("", "people/alice", False),
        ("people/bob", "", True),
    ],
)
def test_an_entity_has_other_paths_in_other_stores(
    entity: str, subject: str, expected: bool
) -> None:
    assert is_about(memory("x", "1", "text", entity), subject) is expected


def test_a_title_or_a_tag_names_the_subject_too() -> None:
    assert is_about(memory("x", "1", "text", "notes", title="Alice"), "people/alice")
    assert is_about(memory("x", "1", "text", "notes", tags=("alice",)), "people/alice")
    assert not is_about(memory("x", "1", "text", "notes", title="Alice in Porto"), "alice")


def test_a_line_of_a_page_is_the_fact_that_another_program_keeps_alone() -> None:
    page = memory("serena", "page", "# Ledger\n\n- The ledger uses Postgres.\n- Backups at night\n")
    found = compare_stores("serena", "claude", [*CLAUDE, page])
    assert [(s.right.id, s.score, s.left_passage) for s in found.shared] == [
        ("a", 1.0, "- The ledger uses Postgres.")
    ]
    assert found.only_left == ()
