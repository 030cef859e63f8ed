"""The graph screen: a tree at every size, walked with the arrow keys, filtered, exported."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from memtui.changes import Act, Change
from memtui.insight.links import Node, NodeKind
from memtui.library import Library
from memtui.tui.dialogs.graph import GraphScreen
from memtui.tui.widgets.detail import Detail

from .stage import NOW, Stage, compare, fact, stage, write_store

SPOKES = 200
NOTES: Mapping[str, str] = {
    "harbour": "# Harbour\n\nHas [[pier]] and [[lighthouse]].\n",
    "pier": "# Pier of oak\n\nHas [[crane]] and [[ropes]].\n",
    "lighthouse": "# Lighthouse, white\n",
    "crane": "# Crane that lifts boats\n",
    "ropes": "# Ropes and their knots\n",
    "ring1": "# First of the ring\n\nThen [[ring2]].\n",
    "ring2": "# Second of the ring\n\nThen [[ring3]].\n",
    "ring3": "# Third of the ring\n\nThen [[ring1]].\n",
    "hub": "# Hub\n\n" + " ".join(f"[[spoke{n:03}]]" for n in range(SPOKES)) + "\n",
    **{f"spoke{n:03}": f"# Spoke {n}\n" for n in range(SPOKES)},
}
SIZES = ((80, 24), (40, 12))


def write_notes(folder: Path, notes: Mapping[str, str]) -> Path:
    """Markdown files with a fixed time, which the screen shows."""
    folder.mkdir()
    for name, words in notes.items():
        path = folder / f"{name}.md"
        path.write_text(words)
        os.utime(path, (NOW.timestamp() - 3600, NOW.timestamp() - 3600))
    return folder


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_notes(tmp_path_factory.mktemp("graphs") / "notes", NOTES)


async def show_links(on: Stage, title: str) -> GraphScreen:
    """Open the graph screen on the memory with this headline."""
    on.browse.set_text(f'"{title}"')
    await on.settle()
    on.browse.memories.go(on.headlines().index(title))
    await on.press("O")
    screen = on.app.screen
    assert isinstance(screen, GraphScreen)
    await on.settle()
    return screen


def selected(screen: GraphScreen) -> str:
    row = screen.links.current
    assert row is not None
    return screen.links.name_of(row.reached.node)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title"), [("tree", "Harbour"), ("cycle", "First of the ring"), ("hub", "Hub")]
)
async def test_what_is_drawn(notes: Path, name: str, title: str) -> None:
    async with stage(notes, SIZES[0]) as on:
        await show_links(on, title)
        for width, height in SIZES:
            await on.resize(width, height)
            compare(f"graph-{name}-{width}x{height}", await on.still())


@pytest.mark.slow
async def test_the_arrow_keys_walk_along_the_edges_and_the_detail_follows(notes: Path) -> None:
    async with stage(notes) as on:
        screen = await show_links(on, "Harbour")
        assert "Harbour" in selected(screen)
        await on.press("right", "right")
        assert "Crane" in selected(screen)
        assert "─mentions▶ ● Crane that lifts boats" in on.text()
        await on.press("down")
        assert "Ropes" in selected(screen)
        assert "linked from: mentions" in on.text().casefold()
        await on.press("left", "left")
        assert "Harbour" in selected(screen)
        await on.press("right", "enter")
        assert on.app.screen is on.browse
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.headline == "Pier of oak"


@pytest.mark.slow
async def test_depth_direction_and_relations_say_what_is_followed(notes: Path) -> None:
    async with stage(notes) as on:
        screen = await show_links(on, "Harbour")
        assert "4 linked · depth 2" in on.text()
        await on.press("-")
        assert "2 linked · depth 1" in on.text()
        assert "Crane" not in on.text()
        await on.press("d", "d")
        assert "in only" in on.text()
        assert "no links in this direction" in on.text()
        await on.press("d", "right", "space", "+")
        assert "Pier" in selected(screen)
        assert "Links of Pier of oak" in on.text()
        await on.press("backspace")
        assert "Links of Harbour" in on.text()
        assert "Pier" in selected(screen)
        await on.press("r", "enter")
        assert "depth 2 · mentions" in on.text()


@pytest.mark.slow
async def test_what_does_not_fit_is_counted_and_reached(notes: Path) -> None:
    async with stage(notes, (80, 24)) as on:
        screen = await show_links(on, "Hub")
        assert f"{SPOKES} linked" in on.text()
        await on.press("G")
        assert selected(screen) == "Spoke 199"
        await on.press("space")
        assert "Links of Spoke 199" in on.text()
        assert "◀mentions" in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES[:1], ids="{0[0]}x{0[1]}".format)
async def test_a_link_leads_to_another_store(tmp_path: Path, size: tuple[int, int]) -> None:
    garden = write_notes(tmp_path / "garden", {"bed": "# Bed of beans\n", "seat": "# Seat\n"})
    shed = write_notes(tmp_path / "shed", {"spade": "# Spade for the bed\n"})

    def open_library() -> Library:
        return Library.open([garden, shed], cache=None, state=tmp_path / "state", now=lambda: NOW)

    library = open_library()
    library.load()
    here, there = (store.label for store in library.stores)
    link = {"relation": "caused_by", "target": f"{there}:spade.md"}
    library.apply(library.plan([Change(Act.LINK, here, f"{here}:bed.md", link)]))
    library.close()
    async with stage(garden, size, open_library=open_library) as on:
        await on.ready()
        await show_links(on, "Bed of beans")
        assert "─caused_by▶ ●" in on.text()
        compare(f"graph-two-stores-{size[0]}x{size[1]}", await on.still())
        await on.press("right", "enter")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == f"{there}:spade.md"


@pytest.mark.slow
async def test_an_entity_holds_its_memories(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path), (160, 45)) as on:
        await on.press("1", "G", "O")
        assert "Links of preference/people-alice" in on.text()
        assert "─holds▶ ● Alice lives in" in on.text()
        assert "◀supersedes" in on.text() or "─supersedes▶" in on.text()
        await on.press("@")
        await on.type("2026-04")
        assert "2026-04-30" in on.text()
        await on.press("enter")
        assert "as of 2026-04-30" in on.text()
        assert "Lisbon" not in on.text()
        assert "tea in the morning" in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mmd", ".dot"])
async def test_what_is_shown_is_exported(notes: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"links{suffix}"
    async with stage(notes, (80, 24)) as on:
        await show_links(on, "Harbour")
        await on.press("x")
        on.app.screen.query_one(Input).value = str(path)
        await on.press("enter")
        assert "Crane" in path.read_text()
        assert "Spoke 199" not in path.read_text()


EMPLOYED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "bo": [
        {
            **fact(1, "Bo works at the mill", "2026-03-02", status="historical"),
            "edge": {"subject": "bo", "predicate": "works_at", "object": "mill"},
        },
        {
            **fact(2, "Bo works at the yard", "2026-06-12", supersedes=1),
            "edge": {"subject": "bo", "predicate": "works_at", "object": "yard"},
        },
    ],
    "mill": [fact(3, "The mill grinds rye", "2026-03-01")],
    "yard": [fact(4, "The yard builds boats", "2026-03-01")],
}


@pytest.fixture
def employed(tmp_path: Path) -> Path:
    """Two edges, of which one replaced the other, and a summary of their entity."""
    store = write_store(tmp_path, EMPLOYED)
    (store / "entities" / "bo" / "summary.md").write_text("# Bo\n\nBuilds boats.\n")
    return store


async def test_the_summary_of_an_entity_leads_to_the_links_of_the_entity(employed: Path) -> None:
    async with stage(employed) as on:
        await show_links(on, "Bo")
        assert "─about▶ □ fact/bo" in on.text()
        assert "─works_at▶ □ fact/yard" in on.text()
        assert "fact/mill" not in on.text()


async def test_what_a_superseded_memory_was_linked_to_is_drawn_from_it_only(
    employed: Path,
) -> None:
    async with stage(employed) as on:
        screen = await show_links(on, "Bo works at the yard")
        assert "fact/mill" not in on.text()
        assert "fact/yard" in on.text()
        names = [screen.links.name_of(row.reached.node) for row in screen.links.rows]
        screen.links.go(names.index("Bo works at the mill"))
        await on.press("space")
        assert "Links of Bo works at the mill" in on.text()
        await on.settle()
        assert "─works_at▶ □ fact/mill · until 2026-06-12" in on.text()


async def test_an_entity_is_linked_by_a_fact_which_is_shown(employed: Path) -> None:
    async with stage(employed) as on:
        screen = await show_links(on, "Bo")
        nodes = [row.reached.node for row in screen.links.rows]
        screen.links.go(nodes.index(Node(NodeKind.ENTITY, "fact/yard")))
        await on.settle()
        assert "□ fact/yard · Bo works at the yard" in on.text()
        detail = screen.query_one(Detail)
        assert detail.memory is not None
        assert detail.memory.headline == "Bo works at the yard"


async def test_an_entity_that_another_store_has_too_is_said_to_be_there(employed: Path) -> None:
    other = write_store(employed.parent / "other", {"yard": [fact(9, "It is old", "2026-03-01")]})
    file = other / "entities" / "yard" / "items.json"
    file.write_text(file.read_text().replace('"entityType": "fact"', '"entityType": "place"'))
    open_library = lambda: Library.open([employed, other], now=lambda: NOW)  # noqa: E731
    async with stage(employed, (160, 30), open_library=open_library) as on:
        await on.settle()
        await show_links(on, "Bo")
        assert "fact/yard · Bo works at the yard · also in agent-memory" in on.text()
        assert "fact/bo · also in" not in on.text()
