"""Who says otherwise: what is a conflict between two memories, and making them agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from memtui.model import Memory, Place
from memtui.upkeep.claims import agree, claims_of, find_conflicts, replace_word
from memtui.upkeep.proposals import Proposal, UpkeepContext

from .labelled_claims import HELD_BACK, TUNING, Pair
from .labelled_findings import NOW

CONTEXT = UpkeepContext(NOW)


def memory(store: str, text: str, days: int = 0, **fields: object) -> Memory:
    id = f"{len(text)}-{hash(text) % 1000}"
    made = {
        "kind": "fact",
        "entity": "shop",
        "created": NOW - timedelta(days=days),
        "origin": Place(f"/home/ann/{store}/facts.json"),
        **fields,
    }
    return Memory(ref=f"{store}:{id}", id=id, store=store, content=text, **made)  # type: ignore[arg-type]


def conflicts(*memories: Memory) -> list[Proposal]:
    claims = [claims_of(one.title, one.content) for one in memories]
    return list(find_conflicts(memories, claims, CONTEXT))


def differ(pair: Pair) -> bool:
    _, older, newer = pair
    return bool(conflicts(memory("codex", older, 9), memory("ambient", newer)))


def count(pairs: Sequence[Pair]) -> tuple[int, int, int, int]:
    """Right, true, wrong and false pairs."""
    right = sum(differ(pair) for pair in pairs if pair[0])
    wrong = sum(differ(pair) for pair in pairs if not pair[0])
    true = sum(pair[0] for pair in pairs)
    return right, true, wrong, len(pairs) - true


@pytest.mark.parametrize(
    ("pairs", "least"), [(TUNING, 0.85), (HELD_BACK, 0.5)], ids=["tuning", "held back"]
)
def test_most_that_differ_are_found_and_few_that_do_not(
    pairs: Sequence[Pair], least: float, figures: Callable[[str], None]
) -> None:
    right, true, wrong, false = count(pairs)
    figures(f"who says otherwise: {right} of {true} found, {wrong} of {false} wrong")
    assert right >= least * true
    assert wrong <= 0.2 * (right + wrong)


def test_the_newest_comes_first_with_its_value_and_line() -> None:
    (found,) = conflicts(
        memory("ambient", "shop-api listens on 8081, Keycloak keeps 8080", 20),
        memory("codex", "shop-api listens on http://localhost:8080.", 3),
        memory("engram", "shop-api is on port 8081", 9),
    )
    assert [(one.ref.partition(":")[0], one.value) for one in found.says] == [
        ("codex", "8080"),
        ("engram", "8081"),
        ("ambient", "8081"),
    ]
    assert found.message == "port of shop-api"
    assert not found.changes


@pytest.mark.parametrize(
    "other",
    [
        {"status": "superseded"},
        {"title": "2026-03-04"},
        {"title": "Session of the migration"},
        {"kind": "episode"},
    ],
    ids=str,
)
def test_what_was_so_on_its_day_says_nothing_otherwise(other: dict[str, object]) -> None:
    now = memory("ambient", "shop-api listens on 8081")
    assert conflicts(now, memory("codex", "shop-api listens on 8080"))
    assert not conflicts(now, memory("codex", "shop-api listens on 8080", **other))


@pytest.mark.parametrize(
    ("text", "other", "rule"),
    [
        ("shop-api listens on 8081", "shop-api listens on 8080", "port-of-a-thing"),
        ("Python 3.9", "Python 3.12", "version"),
        ("Managed with pnpm", "Managed with npm", "manager"),
        (
            "Deploys of the shop run every Monday",
            "Deploys of the shop run on Friday",
            "other-value",
        ),
    ],
)
def test_a_finding_names_its_rule_and_what_one_program_says_is_another(
    text: str, other: str, rule: str
) -> None:
    (found,) = conflicts(memory("codex", text), memory("ambient", other))
    assert found.rule == rule
    within = conflicts(memory("codex", text), memory("codex", other))
    assert [one.rule for one in within] == ["said-by-one"] * (rule != "other-value")


def test_files_that_other_programs_load_are_of_two() -> None:
    mine, others = (
        memory("x", text, origin=Place(f"/shop/{file}"), extra={"read_by": (program,)})
        for text, file, program in (
            ("Python 3.9", "CLAUDE.md", "claude"),
            ("Python 3.12", "GEMINI.md", "gemini"),
        )
    )
    assert [one.rule for one in conflicts(mine, others)] == ["version"]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The port moved: 3000 → 8000", "The port is 8000"),
        ("❌ Using npm instead of pnpm: `npm install`", "Use pnpm"),
        ("```\npip install locust\n```", "Use uv"),
        ("Ant Design Vue 4.2", "Vue 3"),
    ],
)
def test_what_only_looks_like_a_claim_is_none(text: str, other: str) -> None:
    assert not conflicts(memory("codex", text), memory("ambient", other))


def test_an_event_before_a_fact_of_its_store_says_nothing_and_the_fact_counts() -> None:
    other = memory("codex", "shop-api listens on 8080", 5)
    event = memory("ambient", "shop-api listens on port 8079", 9, kind="event")
    fact = memory("ambient", "shop-api listens on 8081")
    (found,) = conflicts(event, fact, other)
    assert [one.value for one in found.says] == ["8081", "8080"]


def test_a_memory_that_gives_both_values_says_neither() -> None:
    both = "The API is on port 8080. The API is on port 8081."
    assert not conflicts(memory("codex", both), memory("ambient", "The API is on port 8081"))


def test_a_bare_claim_is_about_the_project_that_it_belongs_to() -> None:
    bare = memory("mcp", "Listens on port 8081", entity="shop-api")
    assert conflicts(bare, memory("codex", "shop-api listens on 8080", entity="tips"))
    assert not conflicts(bare, memory("codex", "ledger listens on 8080", entity="tips"))


def test_notes_of_two_projects_are_not_compared() -> None:
    one = memory("a", "Python 3.9", kind="document", entity="", origin=Place("/src/shop/CLAUDE.md"))
    other = memory("b", "Python 3.12", kind="document", entity="", origin=Place("/src/x/CLAUDE.md"))
    assert not conflicts(one, other)
    here = memory("b", "Python 3.12", kind="document", entity="", origin=Place("/src/shop/A.md"))
    assert conflicts(one, here)


def test_all_say_the_chosen_value_each_in_its_own_words() -> None:
    mine = memory("ambient", "# Ports\n\n- shop-api listens on 8081, 18081 is free\n", 3)
    others = memory("codex", "shop-api listens on http://localhost:8080.")
    (found,) = conflicts(mine, others)
    by_ref = {mine.ref: mine, others.ref: others}
    (change,) = agree(found, "8080", by_ref, CONTEXT)
    assert change.fields == {"content": "# Ports\n\n- shop-api listens on 8080, 18081 is free\n"}
    one, other = agree(found, "9000", by_ref, CONTEXT)
    assert {one.ref, other.ref} == set(by_ref)
    assert other.fields["content"] == "# Ports\n\n- shop-api listens on 9000, 18081 is free\n"


def test_a_word_is_replaced_as_a_whole() -> None:
    assert replace_word("pnpm, `pnpm i` and xpnpm", "pnpm", "bun") == "bun, `bun i` and xpnpm"
    assert replace_word("v1.2 and 1.2.3", "1.2", "1.3") == "v1.2 and 1.2.3"
