"""What each recipe takes, weighs and leaves out, on memories made for it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.context.packs_for_tests import NOW, library_of, memory, pack_of


def _ago(days: float) -> dict[str, object]:
    return {"created": NOW - timedelta(days=days)}


# ---- typed --------------------------------------------------------------------------------------


def test_a_wanted_type_overtakes_a_better_text_of_another_type() -> None:
    library = library_of(
        memory("a", "tide tide", type="journal", kind="document"),
        memory("b", "tide", type="goal", kind="document"),
        memory("c", "tide without a type", kind="document"),
    )

    plain = pack_of(library, "typed", "tide")
    best = max((e for s in plain.sections for e in s.entries), key=lambda entry: entry.score)
    assert best.ref == "s:a"
    pack = pack_of(library, "typed", "tide", types=("goal",))
    assert [section.title for section in pack.sections] == ["goal", "journal", "other"]
    goal, journal, untyped = (section.entries[0] for section in pack.sections)
    assert {p.name for p in goal.parts} == {"text", "type"}
    assert goal.score == pytest.approx(goal.parts[0].value * 1.35)
    assert journal.score == pytest.approx(journal.parts[0].value * 0.9)
    assert [p.name for p in untyped.parts] == ["text"]
    assert goal.text.endswith("(from b)\n")
    assert goal.score > journal.score


# ---- prime --------------------------------------------------------------------------------------


def test_what_is_used_stands_above_its_like() -> None:
    library = library_of(
        memory("rare", "queue retries back off", **_ago(90)),
        memory(
            "used",
            "queue retries back off twice",
            extra={"access_count": 9, "last_accessed": "2026-11-20T00:00:00Z"},
            **_ago(90),
        ),
    )
    pack = pack_of(library, "prime", "queue retries")
    assert pack.refs == ("s:used", "s:rare")
    assert "salience" in {part.name for part in pack.sections[0].entries[0].parts}


def test_one_topic_does_not_fill_the_pack() -> None:
    same = [memory(f"s{n}", f"queue retries back off twice {n}", **_ago(5)) for n in range(6)]
    other = memory("other", "queue retries are counted by the platform guild", **_ago(5))
    library = library_of(*same, other)
    diverse = pack_of(library, "prime", "queue retries", limit=2)
    assert "s:other" in diverse.refs
    assert "s:other" not in pack_of(library, "typed", "queue retries", limit=2).refs
    assert any(one.reason.startswith("too similar") for one in diverse.dropped)


# ---- Simple Memory's intents --------------------------------------------------------------------


def _stores_of_one_subject() -> list[object]:
    return [
        memory("g", "Ship the reading room", kind="schema", type="goal", **_ago(3)),
        memory("p", "No merges on Friday", kind="schema", type="policy", **_ago(3)),
        memory("q", "Ask twice", kind="schema", type="policy", status="proposed", **_ago(3)),
        memory(
            "bad", "The reading room leaked", kind="episode",
            extra={"affect": {"valence": -0.8}}, **_ago(40),
        ),
        memory(
            "good", "The reading room is dry", kind="episode",
            extra={"affect": {"valence": 0.6}}, **_ago(2),
        ),
        memory("d", "Chose copper for the reading room", kind="event", type="decision", **_ago(9)),
        memory("f", "reading room opening blocked by the roof", **_ago(1)),
        memory("o", "The reading room roof was fixed", **_ago(1)),
        memory("m1", "reading room buckets 5", **_ago(30)),
        memory("m2", "reading room buckets 1", **_ago(1)),
    ]  # fmt: skip


def _sections(recipe: str, text: str = "reading room roof") -> dict[str, list[str]]:
    pack = pack_of(library_of(*_stores_of_one_subject()), recipe, text)  # type: ignore[arg-type]
    return {section.title: [e.ref[2:] for e in section.entries] for section in pack.sections}


def test_plan_is_goals_recent_episodes_and_what_blocks() -> None:
    assert _sections("plan") == {
        "Goals and policies": ["g", "p"],
        "Recent episodes": ["good", "bad"],
        "Blocking facts": ["f"],
    }


def test_reflect_is_schema_a_contrast_and_what_changed() -> None:
    assert _sections("reflect") == {
        "Schema": ["g", "p"],
        "Contrasting episodes": ["bad", "good"],
        "Metric changes": ["m2"],
    }
    pack = pack_of(library_of(*_stores_of_one_subject()), "reflect", "reading room")  # type: ignore[arg-type]
    assert "- before: [bad]" in pack.text
    assert "- after: [good]" in pack.text
    assert "buckets 5 -> 1 (-4, 2026-10-22 to 2026-11-20) [m1, m2]" in pack.text


def test_recall_is_episodes_and_their_facts() -> None:
    found = _sections("recall")
    assert set(found["Episodes"]) == {"good", "bad"}
    assert set(found["Supporting facts"]) >= {"f", "o", "d"}


def test_decide_is_policies_past_decisions_and_outcomes() -> None:
    found = _sections("decide")
    assert set(found["Policies and goals"]) == {"p", "g"}
    assert found["Past decisions"] == ["d"]
    assert found["Outcome facts"] == ["o"]


def test_nudge_is_one_policy_one_trend_one_suggestion() -> None:
    found = _sections("nudge")
    assert found == {"Policies": ["p"], "Metric trend": ["m2"], "Suggestion": ["q"]}


# ---- a recipe of one's own ----------------------------------------------------------------------


def test_an_own_recipe_has_its_sections_orders_limits_and_budgets() -> None:
    library = library_of(
        memory("old", "tide table", type="goal", **_ago(60)),
        memory("new", "mooring", type="goal", **_ago(1)),
        memory("x", "tide gauge", **_ago(2)),
        memory("y", "tide gauge is wet and long " * 20, **_ago(1)),
    )
    recipes = {
        "watch": {
            "sections": [
                {"title": "Goals", "query": "type:goal", "sort": "old", "limit": 1},
                {"title": "About", "query": "{task} -type:goal", "budget": 60},
            ]
        }
    }
    pack = pack_of(library, "watch", "the tide gauge", recipes=recipes)
    assert {s.title: [e.ref for e in s.entries] for s in pack.sections} == {
        "Goals": ["s:old"],
        "About": ["s:x"],
    }
    reasons = {one.entry.ref: one.reason for one in pack.dropped}
    assert reasons["s:new"] == "number 2 of at most 1"
    assert reasons["s:y"].startswith("over the budget")
    assert pack_of(library, "watch", recipes=recipes).notes == ("About: needs a task",)
