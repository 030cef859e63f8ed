"""Changes of a team's memories: acts and their undo, two people at once, history, any text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change, invert_edits
from memtui.errors import Conflict, Refused, SaveError
from memtui.library.held_stores import memories_at
from memtui.query import parse_query
from tests.long_run import count
from tests.team_fixtures import Team, View, add, apply, do

EVERY = parse_query("status:all", datetime.now(UTC))
HOSTILE = (
    *("%", "\\", "'", '"', "a & b | !c", "x:*", "<->", "$1", "%s", "-- ;", "'; drop table x", "😀"),
    *("\\u0000", "E'\\\\'", "{a,b}", "NULL", "line\r\nline\ttab", "\x01\x7f", "e\u0301", "𝔘"),
)


def rows(team: Team) -> list[tuple[object, ...]]:
    """Every column of every row, without the number of its version."""
    return team.execute(
        "select to_jsonb(m) - 'version' - 'changed' from memtui.memories m union all"
        " select to_jsonb(l) from memtui.links l order by 1"
    )


@pytest.mark.slow
def test_each_act_is_undone_in_every_column(team: Team) -> None:
    store = team.open()
    ref = add(store, "We deploy on Fridays", type="decision", tags=["a"], entity="shop/api")
    other = add(store, "We deploy on Mondays", tags=["b"])
    acts: tuple[tuple[Act, dict[str, object]], ...] = (
        (Act.EDIT, {"content": "We never deploy", "title": "Deploys", "importance": "high"}),
        (Act.TAG, {"tags": ["x", "y"]}),
        (Act.RETYPE, {"type": "policy"}),
        (Act.PIN, {}),
        (Act.UNPIN, {}),
        (Act.LINK, {"relation": "about", "target": other}),
        (Act.UNLINK, {"relation": "about", "target": other}),
        (Act.LINK, {"relation": "about", "target": "shop"}),
        (Act.MERGE, {"others": [other], "content": "We deploy daily"}),
        (Act.SUPERSEDE, {"content": "We deploy hourly"}),
        (Act.RESTORE, {}),
        (Act.RETIRE, {}),
        (Act.DELETE, {}),
    )
    for act, fields in acts:
        before = rows(team)
        plan = do(store, act, ref, **fields)
        after = rows(team)
        assert before != after, act
        apply(store, invert_edits(plan.edits))
        assert rows(team) == before, act
        apply(store, plan.edits)
        assert rows(team) == after, act


def test_two_people_on_one_memory_get_a_conflict(team: Team) -> None:
    anna, bert = team.open("anna"), team.open("bert")
    ref = add(anna, "The port is 8080")
    seen = View(bert)
    planned = bert.plan(Change(Act.EDIT, "team", ref, {"content": "The port is 9090"}), seen)
    do(anna, Act.EDIT, ref, content="The port is 7070")
    with pytest.raises(Conflict) as caught:
        apply(bert, planned.edits)
    assert "7070" in str(caught.value.theirs)
    assert "9090" in str(caught.value.yours)

    class Shown(View):
        def get(self, ref: str) -> Any:
            return old

    (old,) = bert.get([ref])
    do(anna, Act.EDIT, ref, content="The port is 6060")
    with pytest.raises(Conflict):
        bert.plan(Change(Act.EDIT, "team", ref, {"content": "x"}), Shown(bert))
    do(anna, Act.DELETE, ref)
    with pytest.raises(Conflict):
        bert.plan(Change(Act.EDIT, "team", ref, {"content": "x"}), Shown(bert))


def test_an_action_is_made_whole_or_not_at_all(team: Team) -> None:
    store = team.open()
    one, other = add(store, "one"), add(store, "other")
    plans = [
        store.plan(Change(Act.EDIT, "team", ref, {"content": "changed"}), View(store))
        for ref in (one, other)
    ]
    do(store, Act.EDIT, other, content="changed by another")
    before = rows(team)
    with pytest.raises(Conflict):
        apply(store, [edit for plan in plans for edit in plan.edits])
    assert rows(team) == before


def test_any_text_is_kept_and_found(team: Team) -> None:
    store = team.open()
    for text in HOSTILE:
        content = f"before {text} after"
        ref = add(store, content, title=text, tags=[text], entity=f"e/{text}", type=text[:20])
        (memory,) = store.get([ref])
        assert memory.content == content
        assert memory.tags == ((text.strip(),) if text.strip() else ())
        do(store, Act.EDIT, ref, content=f"{content}!")
        (memory,) = store.get([ref])
        assert memory.content == f"{content}!"
    assert store.count(EVERY, 1_000).value == len(HOSTILE)
    assert store.find(parse_query('"before" tag:%', datetime.now(UTC)), None, 9).memories


def test_what_postgres_cannot_keep_is_refused(team: Team) -> None:
    store = team.open()
    for text in ("a\0b", "half \ud800"):
        with pytest.raises(Refused, match="cannot keep"):
            add(store, text)
        with pytest.raises(Refused, match="cannot keep"):
            add(store, "fine", tags=[text])
    assert store.get(["team:a\0b", "team:\ud800"]) == ()


@pytest.mark.slow
def test_a_memory_of_megabytes(team: Team) -> None:
    """More words than Postgres has room for in what it searches by, which is one megabyte."""
    store = team.open()
    content = "".join(f"word{number} " for number in range(count(200_000, 900_000)))
    ref = add(store, content)
    (memory,) = store.get([ref])
    assert memory.content == content
    assert store.find(parse_query("word17", datetime.now(UTC)), None, 9).memories
    do(store, Act.EDIT, ref, title="Large")
    assert store.get([ref])[0].content == content


def test_former_rows_are_kept_for_everybody_with_who_and_when(team: Team) -> None:
    anna, bert, rita = (team.open(name) for name in ("anna", "bert", "rita"))
    ref = add(anna, "first")
    do(bert, Act.EDIT, ref, content="second")
    with team.server.connect(team.database, "anna") as connection:  # another program
        connection.execute("update memtui.memories set content = 'third'")
    (memory,) = rita.get([ref])
    found = rita.former(memory.id)
    assert [(each.memory.content, each.who) for each in found] == [
        ("second", "anna"),
        ("first", "bert"),
    ]
    assert found[0].until > found[1].until
    between = found[1].until + (found[0].until - found[1].until) / 2
    assert [each.content for each in memories_at(rita, between).values()] == ["second"]
    assert memories_at(rita, datetime(2020, 1, 1, tzinfo=UTC)) == {}


def test_any_change_is_undone_by_anybody_who_may_write(team: Team) -> None:
    anna, bert = team.open("anna"), team.open("bert")
    ref = add(anna, "right", tags=["a"])
    before = rows(team)
    do(anna, Act.EDIT, ref, content="wrong", importance="low")
    (last,) = bert.former(ref.removeprefix("team:"))
    plan = bert.plan_revert(last)
    apply(bert, plan.edits)
    assert rows(team) == before
    do(anna, Act.DELETE, ref)
    last = bert.former(ref.removeprefix("team:"))[0]
    apply(bert, bert.plan_revert(last).edits)
    assert rows(team) == before


def test_undo_leaves_what_others_changed_since(team: Team) -> None:
    anna, bert = team.open("anna"), team.open("bert")
    ref = add(anna, "right", tags=["a"])
    id = ref.removeprefix("team:")

    def now() -> tuple[str, tuple[str, ...], str, list[str]]:
        (memory,) = bert.get([ref])
        return memory.content, memory.tags, memory.type, [link.target for link in memory.links]

    plan = do(anna, Act.EDIT, ref, content="wrong")
    do(bert, Act.TAG, ref, tags=["b"])
    do(bert, Act.LINK, ref, relation="about", target="shop")
    (theirs,) = bert.get([ref])
    apply(anna, invert_edits(plan.edits))
    assert now() == ("right", ("b",), "", ["shop"])
    assert bert.get([ref])[0].updated == theirs.updated, "not older than bert's change"
    apply(anna, plan.edits)
    assert now() == ("wrong", ("b",), "", ["shop"]), "redone"

    do(bert, Act.RETYPE, ref, type="policy")
    first, tagged, linked = sorted(anna.former(id), key=lambda each: each.number)[:3]
    apply(bert, bert.plan_revert(tagged).edits)
    assert now() == ("wrong", ("a",), "policy", ["shop"])
    apply(bert, bert.plan_revert(linked).edits)
    assert now() == ("wrong", ("a",), "policy", [])
    for former in (tagged, linked):
        with pytest.raises(Conflict, match=r"somebody else changed its (tags|links) since then"):
            bert.plan_revert(former)

    do(bert, Act.EDIT, ref, content="of bert")
    with pytest.raises(Conflict) as caught:
        apply(anna, invert_edits(plan.edits))
    assert "of bert" in str(caught.value.theirs)
    with pytest.raises(Conflict, match="somebody else changed its content since then"):
        anna.plan_revert(first)
    do(bert, Act.DELETE, ref)
    with pytest.raises(Conflict, match="somebody else removed it since then"):
        anna.plan_revert(first)
    apply(anna, anna.plan_revert(anna.former(id, 1)[0]).edits)
    assert now() == ("of bert", ("a",), "policy", [])


def test_history_cannot_be_rewritten(team: Team) -> None:
    anna = team.open()
    add(anna, "first")
    with team.server.connect(team.database, "anna") as connection:
        for statement in ("delete from memtui.versions", "update memtui.versions set who = 'bert'",
                          "insert into memtui.members values ('other', 'anna')"):  # fmt: skip
            with pytest.raises(Exception, match="permission denied"):
                connection.execute(statement)


def test_who_may_only_read_is_told(team: Team) -> None:
    anna, rita = team.open("anna"), team.open("rita")
    ref = add(anna, "first")
    assert rita.count(EVERY, 9).value == 1
    assert "memtui_reader" in rita.read_only
    with pytest.raises(Refused, match="may only read"):
        do(rita, Act.EDIT, ref, content="x")
    plan = anna.plan(Change(Act.EDIT, "team", ref, {"content": "x"}), View(anna))
    edits = [replace(edit, path=str(rita.root)) for edit in plan.edits]
    with pytest.raises(SaveError, match="no right"):
        apply(rita, edits)


def test_changes_of_others_are_told(team: Team) -> None:
    anna, bert = team.open("anna"), team.open("bert")
    mark = anna.changed_since("").mark
    assert anna.wait_for_change(0.01)  # it begins to listen
    assert not anna.wait_for_change(0.01)
    ref = add(bert, "new")
    assert anna.wait_for_change(5)
    changed = anna.changed_since(mark)
    assert changed.refs == (ref,)
    assert changed.is_complete
    do(bert, Act.DELETE, ref)
    assert ref in anna.changed_since(changed.mark).refs


def test_server_stopped_within_a_transaction(team: Team) -> None:
    store = team.open()
    ref = add(store, "kept")
    plan = store.plan(Change(Act.EDIT, "team", ref, {"content": "lost"}), View(store))

    failed: list[str] = []

    class Stopping:
        """Ends the connection when all is written and nothing is committed."""

        state = None
        agent = ""

        def intend(self, path: str, pre: str, post: str) -> None:
            team.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'anna'"
            )

        def done(self, path: str) -> None:
            raise AssertionError(path)

        def failed(self, path: str) -> None:
            failed.append(path)

    with pytest.raises(SaveError, match="nothing was changed"):
        store.apply(plan.edits, Stopping())  # type: ignore[arg-type]
    assert len(failed) == 1
    assert store.get([ref])[0].content == "kept"
    apply(store, plan.edits)
    assert store.get([ref])[0].content == "lost"
