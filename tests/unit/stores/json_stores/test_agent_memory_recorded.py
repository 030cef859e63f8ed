"""An add to agent-memory answers what the program's own script was recorded to answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Outcome, Plan
from tests.unit.stores.json_stores.opened import LABEL, Opened, open_agent_memory
from tests.unit.stores.json_stores.programs import AgentMemoryPrograms

RECORDED = json.loads(Path(__file__).with_name("recorded_adds.json").read_text("utf-8"))
WITHOUT_WORDS = {"これは別の文で、内容も違います。十五文字以上"}
"""Texts without an ASCII letter or digit that the script takes for duplicates of any other such
text, and memtui does not (see `memtui.stores.agent_memory.records`)."""


@pytest.fixture
def programs(tmp_path: Path) -> AgentMemoryPrograms:
    return AgentMemoryPrograms(tmp_path / "workspace")


def planned(opened: Opened, text: str) -> Plan:
    opened.reload()
    return opened.plan(Act.ADD, content=text, entity="people/alice")


@pytest.mark.slow
def test_outcome_and_superseded_facts_are_those_of_the_script(
    programs: AgentMemoryPrograms,
) -> None:
    opened = open_agent_memory(programs.home)
    facts: list[dict[str, Any]] = []
    differing: list[str] = []
    for text, outcome, *superseded in RECORDED["steps"]:
        historical, named = superseded or ([], None)
        plan = planned(opened, text)
        positions = {f"{LABEL}:{fact['id']}": place for place, fact in enumerate(facts)}
        ours = [positions[ref] for ref in plan.supersedes]
        last = ours[-1] if ours else None
        if (str(plan.outcome), sorted(ours), last) != (outcome, sorted(historical), named):
            differing.append(text)
        # The next text meets what the script had written.
        if outcome in ("ADDED", "SUPERSEDED"):
            for place in historical:
                facts[place]["status"] = "historical"
            facts.append(programs.fact("person", text))
            programs.write("alice", facts)
    assert set(differing) == WITHOUT_WORDS


@pytest.mark.parametrize("status", ["archived", "Active", "", None, 1])
def test_facts_of_another_status_are_left_alone(
    programs: AgentMemoryPrograms, status: object
) -> None:
    text = "Alice works at the harbour office"
    programs.add_fact("alice", "person", text, status=status)
    opened = open_agent_memory(programs.home)
    assert planned(opened, text).outcome is Outcome.ADDED
    other = planned(opened, "Alice works at NewCorp now")
    assert (other.outcome, other.supersedes) == (Outcome.ADDED, ())


LINES = "The deploy runs at noon every day\nAlice works at Acme as the lead engineer"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("the deploy runs at noon every day!", Outcome.DEDUPE),
        (LINES, Outcome.DEDUPE),
        ("The deploy runs at noon every day. Alice works at Acme as a lead", Outcome.ADDED),
        ("Bob works at NewCorp these days", Outcome.SUPERSEDED),
    ],
)
def test_a_fact_of_several_lines_is_compared_line_by_line(
    programs: AgentMemoryPrograms, text: str, outcome: Outcome
) -> None:
    old = programs.add_fact("alice", "person", LINES)
    plan = planned(open_agent_memory(programs.home), text)
    assert plan.outcome is outcome
    assert plan.supersedes == ((f"{LABEL}:{old}",) if outcome is Outcome.SUPERSEDED else ())
