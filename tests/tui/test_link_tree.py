"""The links as a tree at every size, opened node by node with the arrow keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import StoreError
from memtui.insight.links import Node, NodeKind
from memtui.library import Library
from memtui.model import Memory
from memtui.tui.dialogs.link_tree import MAX_LINKED, LinkTreeScreen, name_of
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


async def show_links(on: Stage, title: str) -> LinkTreeScreen:
    """Open the links of the memory with this headline."""
    on.browse.set_text(f'"{title}"')
    await on.settle()
    on.browse.memories.go(on.headlines().index(title))
    await on.press("O")
    screen = on.app.screen
    assert isinstance(screen, LinkTreeScreen)
    await on.settle()
    return screen


def selected(screen: LinkTreeScreen) -> str:
    row = screen.rows.current
    assert row is not None
    return name_of(row.end)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title"), [("tree", "Harbour"), ("cycle", "First of the ring"), ("hub", "Hub")]
)
async def test_what_is_drawn(notes: Path, name: str, title: str) -> None:
    async with stage(notes, SIZES[0]) as on:
        await show_links(on, title)
        await on.press("right", "right")
        for width, height in SIZES:
            await on.resize(width, height)
            compare(f"links-{name}-{width}x{height}", await on.still())


@pytest.mark.slow
async def test_the_arrow_keys_open_and_close_and_the_detail_follows(notes: Path) -> None:
    async with stage(notes) as on:
        screen = await show_links(on, "Harbour")
        assert "2 linked" in on.text()
        assert "Crane" not in on.text(), "nobody has asked the pier yet"
        await on.press("right")
        assert selected(screen) == "Pier of oak"
        await on.press("right", "right")
        assert selected(screen) == "Crane that lifts boats"
        assert "─mentions▶ ▸ ● Crane that lifts boats" in on.text()
        assert "Crane that lifts boats" in screen.query_one(Detail).memory.content  # type: ignore[union-attr]
        await on.press("right", "down")
        assert selected(screen) == "Ropes and their knots"
        assert len(screen.below) == 3, "the crane was asked, and leads back only"
        assert "─mentions▶   ● Crane that lifts boats" in on.text()
        await on.press("left", "left")
        assert selected(screen) == "Pier of oak"
        assert "Crane" not in on.text()
        await on.press("enter")
        assert on.app.screen is on.browse
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.headline == "Pier of oak"


@pytest.mark.slow
async def test_a_node_that_leads_to_itself_is_not_opened_again(notes: Path) -> None:
    async with stage(notes) as on:
        screen = await show_links(on, "First of the ring")
        await on.press(*["right"] * 12)
        assert selected(screen) == "First of the ring"
        assert len(screen.rows.rows[screen.rows.cursor].path) == 4


@pytest.mark.slow
async def test_what_a_store_does_not_answer_is_a_row(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(notes) as on:
        screen = await show_links(on, "Harbour")
        threads = []

        def get(*_: object) -> Memory:
            threads.append(threading.current_thread())
            raise StoreError("the server does not answer", where="team")

        monkeypatch.setattr(Library, "get", get)
        await on.press("right", "right")
        assert "team: the server does not answer" in on.text()
        await on.press("down", "left")
        assert selected(screen) == "Pier of oak"
        assert threads
        assert threading.main_thread() not in threads, "the screen never waits for a store"


@pytest.mark.slow
async def test_what_does_not_fit_is_counted_and_reached(tmp_path: Path) -> None:
    many = [fact(n, f"Ship {n}", "2026-11-20") for n in range(MAX_LINKED + 9)]
    async with stage(write_store(tmp_path, {"port": many}), (80, 24)) as on:
        await on.press("1", "G", "O")
        assert f"{MAX_LINKED + 9} linked" in on.text()
        assert "9 more links, see `memtui links`" in on.text()
        await on.press("G")
        assert "─holds▶ ▸ ● Ship" in on.text()


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
        assert "─caused_by▶ ▸ ●" in on.text()
        compare(f"links-two-stores-{size[0]}x{size[1]}", await on.still())
        await on.press("right", "enter")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == f"{there}:spade.md"


async def test_an_entity_holds_its_memories(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path), (160, 45)) as on:
        await on.press("1", "G", "O")
        assert "Links of preference/people-alice" in on.text()
        assert "─holds▶ ▸ ● Alice lives in" in on.text()


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
        assert "─about▶ ▸ □ fact/bo" in on.text()
        await on.press("right", "right")
        assert "─works_at▶ ▸ □ fact/yard" in on.text()
        assert "fact/mill" not in on.text()


@pytest.mark.slow
async def test_what_a_superseded_memory_was_linked_to_is_drawn_from_it_only(
    employed: Path,
) -> None:
    async with stage(employed) as on:
        screen = await show_links(on, "Bo works at the yard")
        assert "fact/mill" not in on.text()
        assert "fact/yard" in on.text()
        names = [name_of(row.end) for row in screen.rows.rows]
        screen.rows.go(names.index("Bo works at the mill"))
        await on.press("right")
        assert "─works_at▶ ▸ □ fact/mill · until 2026-06-12" in on.text()


async def test_an_entity_is_linked_by_a_fact_which_is_shown(employed: Path) -> None:
    async with stage(employed) as on:
        screen = await show_links(on, "Bo")
        await on.press("right", "right")
        nodes = [row.end.node for row in screen.rows.rows]
        screen.rows.go(nodes.index(Node(NodeKind.ENTITY, "fact/yard")))
        await on.settle()
        assert "□ fact/yard · Bo works at the yard" in on.text()
        detail = screen.query_one(Detail)
        assert detail.memory is not None
        assert detail.memory.headline == "Bo works at the yard"


@pytest.mark.slow
async def test_an_entity_that_another_store_has_too_is_said_to_be_there(employed: Path) -> None:
    other = write_store(employed.parent / "other", {"yard": [fact(9, "It is old", "2026-03-01")]})
    file = other / "entities" / "yard" / "items.json"
    file.write_text(file.read_text().replace('"entityType": "fact"', '"entityType": "place"'))
    open_library = lambda: Library.open([employed, other], now=lambda: NOW)  # noqa: E731
    async with stage(employed, (160, 30), open_library=open_library) as on:
        await on.settle()
        await show_links(on, "Bo")
        await on.press("right", "right")
        assert "fact/yard · Bo works at the yard · also in agent-memory" in on.text()
        assert "fact/bo · also in" not in on.text()
