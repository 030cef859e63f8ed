"""Acts that every store can do: what they write into the sidecar, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change, Kind, Outcome, Plan, sidecar_edit
from memtui.errors import RefError, Refused
from memtui.model import Link, Memory
from memtui.stores.plans import (
    BatchView,
    SidecarEntry,
    dangling_warnings,
    leads_to_other_store,
    plan_duplicate,
    plan_one,
    plan_sidecar_act,
    planned_before,
    repeated_change,
    successor_warnings,
)
from memtui.stores.sidecar import Sidecar

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
MEMORY = Memory(ref="s:1", id="1", store="s", kind="fact", content="a")
SEE = {"relation": "see", "target": "2"}


def change(act: Act, **fields: Any) -> Change:
    return Change(act, "s", "" if act is Act.ADD else "s:1", fields)


def done(
    act: Act, known: Mapping[str, Any] | None = None, memory: Memory = MEMORY, **fields: Any
) -> Plan:
    entries = {} if known is None else {"1": known}
    entry = SidecarEntry(memory, Path("/store"), Sidecar(entries), "shard")
    return plan_sidecar_act(change(act, **fields), entry, NOW, ("native",))


def written(plan: Plan) -> Mapping[str, Any] | None:
    (edit,) = plan.edits
    assert edit.kind is Kind.SIDECAR
    return edit.after


@pytest.mark.parametrize(
    ("act", "fields", "entry"),
    [
        (Act.PIN, {}, {"pinned": True}),
        (Act.TAG, {"tags": ["a", "native", " b "]}, {"tags": ["a", "b"]}),
        (Act.RATE, {"rating": 1}, {"rating": 1}),
        (Act.RATE, {"rating": 5}, {"rating": 5}),
        (Act.REVIEW, {}, {"reviewed": "2026-11-20T18:30:00Z"}),
        (Act.LINK, SEE, {"links": [SEE]}),
        (Act.LINK, {"relation": "see", "target": "s:2"}, {"links": [SEE]}),
        (
            Act.LINK,
            {**SEE, "valid_from": "2026-11-01", "valid_to": NOW, "note": "n"},
            {
                "links": [
                    {
                        **SEE,
                        "valid_from": "2026-11-01T00:00:00+00:00",
                        "valid_to": "2026-11-20T18:30:00+00:00",
                        "note": "n",
                    }
                ]
            },
        ),
    ],
)
def test_an_act_sets_its_key(act: Act, fields: dict[str, Any], entry: dict[str, Any]) -> None:
    plan = done(act, **fields)
    assert written(plan) == {**entry, "shard": "shard"}
    assert (plan.outcome, plan.refs, plan.supersedes) == (Outcome.DONE, ("s:1",), ())


@pytest.mark.parametrize(
    ("act", "known", "fields", "left"),
    [
        (Act.UNPIN, {"pinned": True, "rating": 2}, {}, {"rating": 2, "shard": "shard"}),
        (Act.UNPIN, {"pinned": True}, {}, None),
        (Act.TAG, {"tags": ["a"]}, {"tags": []}, None),
        (Act.RATE, {"rating": 2}, {"rating": 0}, None),
        (Act.RATE, {"rating": 2}, {}, None),
        (Act.PIN, {"shard": "other"}, {}, {"pinned": True, "shard": "shard"}),
        (Act.UNPIN, {"pinned": True, "shard": "other"}, {}, {"shard": "shard"}),
    ],
)
def test_a_key_that_says_nothing_any_more_is_removed(
    act: Act, known: dict[str, Any], fields: dict[str, Any], left: dict[str, Any] | None
) -> None:
    assert written(done(act, {"shard": "shard", **known}, **fields)) == left


@pytest.mark.parametrize(
    ("act", "known", "fields"),
    [
        (Act.UNPIN, None, {}),
        (Act.UNPIN, {"rating": 2, "shard": "shard"}, {}),
        (Act.TAG, {"tags": ["a"], "shard": "shard"}, {"tags": ["a"]}),
        (Act.RATE, {"rating": 2, "shard": "shard"}, {"rating": 2}),
        (Act.TAG, None, {"tags": ["native"]}),
    ],
)
def test_what_is_so_already_writes_nothing(
    act: Act, known: dict[str, Any] | None, fields: dict[str, Any]
) -> None:
    plan = done(act, known, **fields)
    assert (plan.edits, plan.outcome, plan.reason) == ((), Outcome.NOTHING, "it is so already")
    pinned = done(Act.PIN, memory=replace(MEMORY, pinned=True))
    linked = done(Act.LINK, memory=replace(MEMORY, links=(Link("see", "2"),)), **SEE)
    assert pinned.edits == linked.edits == ()


@pytest.mark.parametrize(
    ("act", "fields", "fault"),
    [
        (Act.RATE, {"rating": 6}, "from 1 to 5"),
        (Act.RATE, {"rating": 0.5}, "from 1 to 5"),
        (Act.RATE, {"rating": "5"}, "from 1 to 5"),
        (Act.TAG, {"tags": "a"}, "list of words"),
        (Act.LINK, {"target": "2"}, "a relation is a word"),
        (Act.LINK, {"relation": "See", "target": "2"}, "a relation is a word"),
        (Act.LINK, {"relation": "see"}, "leads? to|lead to"),
        (Act.UNLINK, SEE, "no link see to 2 that memtui made"),
        (Act.EDIT, {}, "not kept beside a store"),
    ],
)
def test_a_refusal_says_why(act: Act, fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        done(act, **fields)


def test_a_removed_link_is_kept_as_ended() -> None:
    other = {"relation": "see", "target": "3"}
    former = {**other, "valid_to": "2026-01-01T00:00:00+00:00"}
    known = {"links": [SEE, other], "ended_links": [former], "shard": "shard"}
    assert written(done(Act.UNLINK, known, **SEE)) == {
        "links": [other],
        "ended_links": [former, {**SEE, "valid_to": "2026-11-20T18:30:00+00:00"}],
        "shard": "shard",
    }
    assert written(done(Act.LINK, {"links": [other], "shard": "shard"}, **SEE)) == {
        "links": [other, SEE],
        "shard": "shard",
    }


@dataclass
class View:
    held: dict[str, Memory] = field(default_factory=dict)

    def get(self, ref: str) -> Memory:
        if ref not in self.held:
            raise RefError("no such memory", where=ref)
        return self.held[ref]

    def memories(self, store: str) -> Iterable[Memory]:
        return [memory for memory in self.held.values() if memory.store == store]


@pytest.mark.parametrize(
    ("act", "target", "leads"),
    [
        (Act.LINK, "t:1", True),
        (Act.LINK, "t:2", False),
        (Act.LINK, "s:1", False),
        (Act.LINK, "1", False),
        (Act.LINK, "", False),
        (Act.EDIT, "t:1", False),
        (Act.UNLINK, "t:9", True),
        (Act.UNLINK, "t:1", False),
    ],
)
def test_a_link_to_a_memory_of_another_store(act: Act, target: str, leads: bool) -> None:
    memory = replace(MEMORY, links=(Link("see", "t:9"),))
    view = View({"t:1": replace(MEMORY, ref="t:1", store="t"), "s:1": memory})
    assert leads_to_other_store(change(act, target=target), memory, view) is leads


def test_the_same_addition_in_one_action_is_made_once() -> None:
    edit = sidecar_edit("/store", "1", None, {"pinned": True})
    asked = change(Act.ADD, content="a", entity="e")
    before = Plan((asked,), (edit,), refs=("s:7", "s:8"))
    again = repeated_change(change(Act.ADD, content="a", entity="e", title=""), [before])
    assert again is not None
    assert (again.outcome, again.refs, again.edits) == (Outcome.DEDUPE, ("s:7",), ())
    for other in (
        change(Act.ADD, content="b", entity="e"),
        change(Act.ADD, content="a", entity="f"),
        change(Act.ADD, content="a", entity="e", type="t"),
        change(Act.ADD, content="a", entity="e", kind="k"),
        change(Act.ADD, content="a", entity="e", id="own"),
        change(Act.EDIT, content="a", entity="e"),
        replace(asked, force=True),
        replace(asked, store="t"),
    ):
        assert repeated_change(other, [before]) is None
    assert repeated_change(asked, [replace(before, edits=())]) is None
    view = View()
    assert planned_before(BatchView(view, [before])) == [before]
    assert planned_before(view) == ()


def test_plans_name_what_they_concern() -> None:
    edit = sidecar_edit("/store", "1", None, {"pinned": True})
    ends = plan_one(change(Act.RETIRE), MEMORY, (edit,), ends=True, others=["s:2"])
    assert (ends.refs, ends.supersedes) == (("s:1", "s:2"), ("s:1",))
    assert plan_one(change(Act.RETIRE), MEMORY, (), ends=True).supersedes == ()
    twin = plan_duplicate(change(Act.ADD), "the same text", "s:3")
    assert (twin.outcome, twin.reason, twin.refs) == (
        Outcome.DEDUPE,
        "the same text already exists",
        ("s:3",),
    )
    assert plan_duplicate(change(Act.ADD), "it").refs == ()


def test_who_names_a_memory_is_warned_of() -> None:
    linked = replace(MEMORY, id="2", links=(Link("see", "1"),))
    newer = replace(MEMORY, id="3", supersedes=("1",))
    other = replace(MEMORY, id="4", links=(Link("see", "9"),), supersedes=("9",))
    warnings = dangling_warnings(MEMORY, [linked, newer, other])
    assert warnings == tuple(f"{id} names it and will point nowhere" for id in ("2", "3"))
    assert successor_warnings(MEMORY) == ()
    assert successor_warnings(replace(MEMORY, superseded_by=("2", "3"))) == (
        "2, 3 took its place and stays active too",
    )
