"""What the search line offers while a filter is typed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memtui import query as queries
from memtui.tui.completion import MAX_COMPLETIONS, Vocabulary, offers

FOUND = {
    "type": {"decision": 9, "": 4, "debugging": 3, "bug": 1},
    "entity": {"people/alice": 5, "projects/shop-api": 3, "old notes": 1, "smith, j": 1},
    "store": {"work": 3, "say \u202ehi": 2, "a,b": 1, "x" * 90: 1},
}
KNOWN = Vocabulary.of(
    {"type": ["Design", "decision", "depends"], "entity": [f"deep/{n:04}" for n in range(5000)]}
)
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def lines(line: str) -> list[str]:
    return [offer.line for offer in offers(line, FOUND, KNOWN)]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("ty", "type:"),
        ("auth -TY", "auth -TYpe:"),
        ("sin", "since:"),
        ("type:dec", "type:decision"),
        ("auth type:DEC", "auth type:DECision"),
        ("type:bug,dec", "type:bug,decision"),
        ("type:", "type:decision"),
        ("type:des", "type:design"),
        ("-type:b", "-type:bug"),
        ("importance:h", "importance:high"),
        ("status:a", "status:active"),
        ("kind:ep", "kind:episode"),
        ("pinned:", "pinned:yes"),
        ("sort:re", "sort:relevance"),
        ("since:", "since:7d"),
        ("since:3", "since:30d"),
        ("entity:ali", "entity:alice"),
        ("entity:people", "entity:people/alice"),
        ("entity:deep/49", "entity:deep/4900"),
        ("entity:old", 'entity:"old notes"'),
        ('entity:"ol', 'entity:"old notes"'),
        ("entity:alice,old", 'entity:alice,"old notes"'),
        ("entity:smi", 'entity:"smith, j"'),
        ('entity:"smith, ', 'entity:"smith, j"'),
        ("store:wo", "store:work"),
    ],
)
def test_the_likeliest_comes_first_and_is_understood(line: str, first: str) -> None:
    assert lines(line)[0] == first
    if not first.endswith(":"):
        assert not queries.parse_query(first, NOW).hint


@pytest.mark.parametrize(
    "line",
    [
        "",
        "t",
        "tea ",
        "tea",
        "type:decision ",
        "type:bug",
        "type:zebra",
        "http:de",
        '"ty',
        '"a phrase" type:"x" ',
        "store:say",
        "store:a,",
        "store:xx",
        "importance:high",
        "état",
    ],
)
def test_nothing_is_offered_where_nothing_can_follow(line: str) -> None:
    assert not [o for o in lines(line) if "\u202e" in o or "xxx" in o]
    if line != "store:a,":
        assert not lines(line)


def test_values_that_were_found_often_stand_before_those_only_known() -> None:
    names = [offer.words for offer in offers("type:de", FOUND, KNOWN)]
    assert names == ["decision", "debugging", "depends", "Design"]
    assert len(names) == MAX_COMPLETIONS
    assert offers("type:decision,de", FOUND, KNOWN)[0].words == "debugging"


def test_without_a_result_the_closed_lists_are_still_there() -> None:
    assert [o.words for o in offers("status:", {}, Vocabulary())][:2] == ["active", "proposed"]
