"""A question is answered by the memory that states the answer, not by those that mention words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memtui.library.finding import SearchResult
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from tests.unit.search.finding_for_tests import find_in
from tests.unit.search.memories_for_tests import NOW, memory

FILLER = "the tower keeper wrote that morning about ropes and ladders and rain "


def ask(memories: Sequence[Memory], line: str, *, typing: bool = True) -> SearchResult:
    segment = memory_index.make([to_document(each) for each in memories])
    query = parse_query(line, NOW, typing=typing)
    return find_in(query, columns.build(memories), [segment], NOW, memories=memories)


def document(number: int, words: Sequence[str], between: int = 5) -> Memory:
    """A document of more than 200 words with each of the words once."""
    text = "".join(f"{word} {FILLER * between}" for word in words) + FILLER * 20
    return memory(number, text, kind="document")


@pytest.mark.parametrize("typing", [False, True])
def test_a_fact_comes_before_a_document_with_the_words_in_several_places(typing: bool) -> None:
    memories = [
        memory(0, "The security audit of March gave four open ports"),
        document(1, ["security", "audit", "March", "pay"]),
        *(memory(number, "the ropes of the tower") for number in range(2, 9)),
    ]
    asked = "what did the security audit in march pay"
    assert ask(memories, asked, typing=typing).slots[:2] == [0, 1]
    together = [*memories[:1], document(1, ["security audit in March pay"]), *memories[2:]]
    assert ask(together, asked, typing=typing).slots[:2] == [1, 0]


def test_two_words_need_no_passage() -> None:
    memories = [
        memory(0, "The security of the tower"),
        document(1, ["security", "audit"]),
        *(memory(number, "the ropes of the tower") for number in range(2, 9)),
    ]
    assert ask(memories, "security audit").slots[:2] == [1, 0]


@pytest.mark.parametrize("beginning", ["s", "se", "secu", "security"])
def test_a_document_keeps_its_rank_while_a_word_has_just_begun(beginning: str) -> None:
    memories = [document(0, ["audit march pay security"]), memory(1, "an audit in March")]
    assert ask(memories, f"audit march pay {beginning}").slots[0] == 0


@pytest.mark.parametrize(
    ("asked", "looked_up"),
    [
        ("what did the security audit find", {"security", "audit"}),
        ("what does the amber light mean?", {"amber", "light"}),
        ("how many ropes are there", {"ropes"}),
        ("find the amber light", {"find", "amber", "light"}),
        ("what happened", {"happened"}),
    ],
)
def test_words_that_only_ask_are_not_looked_for(asked: str, looked_up: set[str]) -> None:
    assert {part for term in terms_of(asked) for part in term} == looked_up


def terms_of(line: str) -> list[tuple[str, ...]]:
    from memtui.search.query_terms import analyze_terms

    return [term.parts for term in analyze_terms(parse_query(line, NOW).terms).optional]


def test_a_fact_with_one_word_is_not_first_for_what_its_neighbours_say() -> None:
    """The lines of one page: the page has all words, each line one of them."""
    words = ("rope", "ladder", "bell", "clapper")
    page = [memory(number, f"{words[number % 4]} {number}", entity="page") for number in range(20)]
    answer = memory(20, "the ladder and the rope of the clapper stand in the shed", entity="shed")
    others = [memory(number, f"rain {number}", entity=f"e{number}") for number in range(21, 40)]
    assert ask([*page, answer, *others], "where are rope ladder bell clapper").slots[0] == 20


def test_a_turn_of_a_conversation_has_the_words_around_it() -> None:
    def turns(speaker: str) -> list[Memory]:
        said = ["which rope is it?", "the blue one, near the ladder", "and the clapper?", "none"]
        return [
            memory(number, f"{speaker * (number % 2)}{text}", entity="talk", kind="event")
            for number, text in enumerate(said)
        ]

    def session(memories: list[Memory]) -> float:
        found = ask(memories, "which rope clapper ladder is blue")
        assert found.hits.match is not None
        at = found.hits.match.slots.tolist().index(2)
        return next(part.values[at] for part in found.hits.added if part.name == "session")

    named = [
        memory(number, f"{'Ada' if number % 2 else 'Ben'}: {text.content}", entity="talk")
        for number, text in enumerate(turns(""))
    ]
    assert session(named) > 1.5 * session(turns(""))
