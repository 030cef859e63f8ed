"""The link index and following links: names, directions, validity, circles, changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from memtui.insight.link_statements import find_text_links
from memtui.insight.links import Edge, LinkIndex, Node, NodeKind
from memtui.insight.traversal import Direction, Neighbourhood, paths, traverse
from memtui.model import Link, Memory


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def memory(name: str, *links: Link, store: str = "a", entity: str = "", **values: object) -> Memory:
    values = {"kind": "fact", "content": f"text of {name}", **values}
    return Memory(f"{store}:{name}", name, store, entity=entity, links=links, **values)  # type: ignore[arg-type]


def index_of(*memories: Memory) -> LinkIndex:
    return LinkIndex({one.ref: slot for slot, one in enumerate(memories)}, memories)


def mem(ref: str) -> Node:
    return Node(NodeKind.MEMORY, ref)


def ent(path: str) -> Node:
    return Node(NodeKind.ENTITY, path)


def shown(edges: Iterable[Edge]) -> list[str]:
    return [f"{edge.source.name} {edge.relation} {edge.target.name}" for edge in edges]


def walk(index: LinkIndex, start: Node, **options: object) -> Neighbourhood:
    return traverse(index, start, **options)  # type: ignore[arg-type]


def names(found: Neighbourhood) -> list[tuple[int, str]]:
    return [(each.distance, each.node.name) for each in found.reached]


def test_a_link_is_found_from_both_ends() -> None:
    index = index_of(memory("1", Link("caused_by", "2")), memory("2"))
    assert shown(index.outgoing(mem("a:1"))) == ["a:1 caused_by a:2"]
    assert shown(index.incoming(mem("a:2"))) == ["a:1 caused_by a:2"]


def test_ids_of_two_stores_are_not_confused_and_a_label_leads_across() -> None:
    index = index_of(
        memory("1", Link("relates_to", "2"), Link("relates_to", "b:2")),
        memory("2"),
        memory("2", store="b"),
    )
    assert shown(index.incoming(mem("a:2"))) == ["a:1 relates_to a:2"]
    assert shown(index.incoming(mem("b:2"))) == ["a:1 relates_to b:2"]


@pytest.mark.parametrize("named", ["people/alice", "alice", "b:people/alice"])
def test_an_entity_is_named_by_its_path_or_last_part(named: str) -> None:
    index = index_of(
        memory("1", Link("knows", named)), memory("2", store="b", entity="people/alice")
    )
    assert shown(index.incoming(ent("people/alice"))) == ["a:1 knows people/alice"]


def test_a_last_part_of_two_entities_means_the_one_of_the_same_store() -> None:
    index = index_of(
        memory("1", Link("at", "bell"), entity="works/bell"),
        memory("2", store="b", entity="towers/bell"),
        memory("3", Link("at", "bell"), store="b"),
        memory("4", Link("at", "bell"), store="c"),
    )
    assert index.resolve("a", "bell") == ent("works/bell")
    assert index.resolve("b", "bell") == ent("towers/bell")
    assert index.resolve("c", "bell") == Node(NodeKind.UNKNOWN, "bell")


def test_a_name_means_the_entity_of_its_own_store_before_a_path_of_another() -> None:
    index = index_of(
        memory("1", Link("runs", "towerd"), entity="people/mei"),
        memory("2", entity="projects/towerd"),
        memory("3", store="b", entity="towerd"),
        memory("4", Link("runs", "towerd"), store="b", entity="teams"),
    )
    assert shown(index.incoming(ent("projects/towerd"))) == ["a:1 runs projects/towerd"]
    assert shown(index.incoming(ent("towerd"))) == ["b:4 runs towerd"]
    assert index.also_in(ent("projects/towerd")) == [("b", "towerd")]


def test_a_walk_back_from_an_entity_reaches_entities_to_any_depth() -> None:
    index = index_of(
        memory("1", Link("works_on", "projects/bell"), entity="people/ann"),
        memory("2", Link("manages", "people/ann"), entity="people/bob"),
        memory("3", Link("knows", "people/bob")),
        memory("4", entity="projects/bell"),
    )
    found = walk(index, ent("projects/bell"), depth=4, direction=Direction.IN)
    assert names(found)[1:] == [(1, "people/ann"), (2, "people/bob"), (3, "a:3")]
    assert [each.step.edge.stated_by for each in found.reached[1:] if each.step] == [
        "a:1",
        "a:2",
        "a:3",
    ]
    forth = walk(index, ent("people/bob"), depth=4, direction=Direction.OUT)
    assert names(forth)[1:] == [(1, "people/ann"), (2, "projects/bell")]


def test_nothing_is_reached_through_mere_company_unless_it_is_asked_for() -> None:
    index = index_of(
        memory("1", Link("caused_by", "2"), source="s-9"),
        memory("2", source="s-8"),
        memory("3", source="s-9"),
        memory("sessions/s-9", kind="episode"),
        memory("sessions/s-8", kind="episode"),
    )
    found = walk(index, mem("a:1"), depth=3)
    assert names(found)[1:] == [(1, "a:2"), (1, "a:sessions/s-9")]
    asked = walk(index, mem("a:1"), depth=2, relations=["from"])
    assert names(asked)[1:] == [(1, "a:sessions/s-9"), (2, "a:3")]
    members = walk(index, mem("a:sessions/s-9"), depth=2)
    assert names(members)[1:] == [(1, "a:1"), (1, "a:3"), (2, "a:2")]


def test_links_that_the_memories_of_an_entity_state_start_at_the_entity() -> None:
    index = index_of(
        memory("1", Link("works_at", "harbour"), entity="people/alice"),
        memory("2", entity="places/harbour"),
    )
    (edge,) = index.outgoing(ent("people/alice"))
    assert (edge.relation, edge.target, edge.stated_by) == (
        "works_at",
        ent("places/harbour"),
        "a:1",
    )


def test_a_replacement_written_on_either_side_or_both_is_one_link() -> None:
    for new, old in (
        (memory("2", supersedes=("1",)), memory("1")),
        (memory("2"), memory("1", superseded_by=("2",))),
        (memory("2", supersedes=("1",)), memory("1", superseded_by=("2",))),
    ):
        index = index_of(new, old)
        assert shown(index.outgoing(mem("a:2"))) == ["a:2 supersedes a:1"]
        assert shown(index.incoming(mem("a:1"))) == ["a:2 supersedes a:1"]


def test_names_in_texts_and_sources_are_links_if_they_lead_somewhere() -> None:
    index = index_of(
        memory(
            "1", content="see [[plan]] and [[ -f x ]], [this](notes/plan.md) [web](https://x.y)"
        ),
        memory("notes/plan.md", kind="document"),
        memory("2", source="ep_1, ep_2"),
        memory("ep_1", kind="episode"),
        memory("3", source="conversation session-1"),
        memory("4", source="s-9"),
        memory("sessions/s-9", kind="episode"),
    )
    assert shown(index.outgoing(mem("a:1"))) == [
        "a:1 mentions a:notes/plan.md",
        "a:1 links_to a:notes/plan.md",
    ]
    assert len(index.incoming(mem("a:notes/plan.md"))) == 2
    assert shown(index.incoming(mem("a:ep_1"))) == ["a:2 from a:ep_1"]
    assert shown(index.incoming(mem("a:sessions/s-9"))) == ["a:4 from a:sessions/s-9"]
    assert index.outgoing(mem("a:3")) == ()


def test_an_end_that_is_nothing_is_unknown_and_dangles() -> None:
    index = index_of(memory("1", Link("knows", "nobody"), supersedes=("0",)))
    assert [edge.target for edge in index.outgoing(mem("a:1"))] == [
        Node(NodeKind.UNKNOWN, "nobody"),
        Node(NodeKind.UNKNOWN, "0"),
    ]
    assert shown(index.incoming(Node(NodeKind.UNKNOWN, "nobody"))) == ["a:1 knows nobody"]


def test_walking_is_breadth_first_and_tells_the_path() -> None:
    index = index_of(
        memory("1", Link("to", "2"), Link("to", "3")),
        memory("2", Link("to", "4")),
        memory("3", Link("to", "4")),
        memory("4", Link("to", "1")),
    )
    found = walk(index, mem("a:1"), depth=9, direction=Direction.OUT)
    assert names(found) == [(0, "a:1"), (1, "a:2"), (1, "a:3"), (2, "a:4")]
    assert [step.end.name for step in paths(found)[mem("a:4")]] == ["a:2", "a:4"]
    assert len(found.edges) == 5  # the circle and the second way are edges too
    assert names(walk(index, mem("a:1"), depth=1, direction=Direction.IN)) == [
        (0, "a:1"),
        (1, "a:4"),
    ]
    assert len(names(walk(index, mem("a:1"), depth=1))) == 4
    assert names(walk(index, mem("a:1"), depth=3, relations=["from"])) == [(0, "a:1")]


def test_only_links_that_hold_at_a_time_are_walked() -> None:
    index = index_of(
        memory("1", Link("at", "2", day(2), day(5)), Link("at", "3", day(5)), created=day(1)),
        memory("2"),
        memory("3"),
        memory("4", Link("at", "1"), created=day(9)),
    )
    reached = {
        number: names(walk(index, mem("a:1"), at=day(number)))[1:] for number in (1, 2, 5, 9)
    }
    assert reached == {
        1: [],
        2: [(1, "a:2")],
        5: [(1, "a:3")],
        9: [(1, "a:3"), (1, "a:4")],
    }


ENDED = [
    ({"status": "retired", "extra": {"retired_at": "2026-03-10T00:00:00Z"}}, 10),
    ({"status": "deleted", "extra": {"deleted_at": "2026-03-11"}}, 11),
    ({"status": "retired", "updated": day(12)}, 12),
    ({"status": "superseded", "superseded_by": ("new",), "updated": day(20)}, 15),
    ({"status": "superseded", "superseded_by": ("gone",), "updated": day(20)}, 20),
    (
        {
            "status": "deleted",
            "superseded_by": ("new",),
            "extra": {"deleted_at": "2026-03-20T00:00:00Z"},
        },
        15,
    ),
    ({"status": "retired"}, None),
]


@pytest.mark.parametrize(("values", "end"), ENDED)
def test_what_a_memory_says_of_others_ends_with_it(
    values: dict[str, object], end: int | None
) -> None:
    """At the time that as-of ends the memory at; what it replaced and where it is from stays."""
    stating = memory(
        "1",
        Link("works_at", "shop"),
        Link("led", "shop", None, day(9)),
        content="see [[note]]",
        source="talk",
        supersedes=("0",),
        entity="people/ann",
        created=day(5),
        **values,
    )
    others = [memory(name) for name in ("0", "shop", "note", "talk")]
    index = index_of(memory("new", created=day(15)), stating, *others)

    def relations(at: datetime, start: Node | None = None) -> list[str]:
        start = start or mem("a:1")
        found = walk(index, start, at=at, direction=Direction.OUT)
        assert set(found.edges) == {e for e in index.outgoing(start) if e.is_valid(at)}
        return [edge.relation for edge in found.edges if edge.target.name != "a:1"]

    last = ["supersedes", "from"]
    if end is None:
        assert relations(day(6)) == relations(day(28)) == last
        return
    begun = ["works_at", *last[:1], "mentions", *last[1:]]
    assert relations(day(6)) == ["works_at", "led", *begun[1:]]
    assert relations(day(end - 1), ent("people/ann")) == ["works_at"]
    assert relations(day(end) - timedelta(seconds=1)) == begun
    assert relations(day(end)) == last
    assert relations(day(28), ent("people/ann")) == []
    assert (
        [
            edge.valid_to and edge.valid_to.replace(microsecond=0)  # one where the hour was written
            for edge in index.outgoing(mem("a:1"))
        ][:2]
        == [day(end), day(9)]
    )
    assert [edge.relation for edge in index.last_links(mem("a:1"), day(28))] == [
        "works_at",
        "mentions",
    ]


def test_of_one_link_that_two_memories_state_the_one_that_holds_is_listed() -> None:
    old = memory(
        "1", Link("works_at", "shop", day(1)), entity="ann", status="retired", updated=day(9),
        created=day(1),
    )  # fmt: skip
    index = index_of(old, memory("2", Link("works_at", "shop"), entity="ann"), memory("shop"))
    (edge,) = index.outgoing(ent("ann"))
    assert (edge.stated_by, edge.valid_to) == ("a:2", None)


def test_too_many_neighbours_are_counted() -> None:
    hub = memory("hub", *(Link("to", str(n)) for n in range(50)))
    found = walk(index_of(hub, *(memory(str(n)) for n in range(50))), mem("a:hub"), most=11)
    assert (len(found.reached), found.left_out) == (11, 40)


def test_text_links_are_wikilinks_and_relative_links() -> None:
    text = "[[Plan|the plan]] [[a#b]] [x](./c.md#top) [y](<d.md>) [w](mailto:a@b) [z](https://e)"
    assert find_text_links(text) == [
        ("mentions", "Plan"),
        ("mentions", "a"),
        ("links_to", "c.md"),
        ("links_to", "d.md"),
    ]
