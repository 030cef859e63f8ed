"""The list gives its room to the text; panes are resized by key and mouse, and stay so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.tui.dialogs.help import MARKS
from memtui.tui.dialogs.history import VersionList
from memtui.tui.layout import SMALLEST, Pane, Shape, arrange, measure, resized, row_columns
from memtui.tui.widgets.inputs import TextInput
from tests.long_run import share

from .gallery import gallery, resize
from .sample_stage import changing
from .stage import Stage, fact, stage, write_store

MIN_TEXT = {200: 52, 160: 48, 120: 40, 80: 45, 60: 45, 40: 26}
"""Columns of the terminal -> columns of text that a row of the list shows at least."""
STORES = ("agent-memory", "ambient", "engram", "simple-memory", "workspace")


@pytest.mark.slow
@pytest.mark.parametrize("store", share(STORES, 0, 2))
async def test_the_text_has_the_room_on_the_sample_data(tmp_path: Path, store: str) -> None:
    async with changing(tmp_path, store, size=(200, 60)) as on:
        for width, least in MIN_TEXT.items():
            await on.resize(width, {200: 60, 80: 24, 60: 20, 40: 12}.get(width, 40))
            await on.settle()
            drawn = on.text().split("\n")[on.browse.memories.content_region.y]
            memories = on.browse.memories
            body = memories.size.width - 1
            assert memories._columns(body).text >= least, f"{width} columns"
            text = memories._texts(memories._rows[memories.slots[0]], 400)[0]
            assert text[: least - 1] in drawn, "and the text is there"


@pytest.mark.slow
async def test_the_kind_of_what_has_no_type_is_not_cut(tmp_path: Path) -> None:
    """The column was as wide as the longest type, so that a search showed `docume…`."""
    async with changing(tmp_path, "workspace", size=(200, 60)) as on:
        await on.show("kind:document status:all")
        assert "document" in on.browse.found.facets.type
        memories = on.browse.memories
        assert memories._columns(memories.size.width - 1).type >= len("document")


@pytest.mark.slow
async def test_a_filter_takes_its_column_away(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory", size=(118, 40)) as on:
        everything = on.browse.memories._columns(on.browse.memories.size.width - 1)
        assert everything.type
        assert everything.entity
        await on.show("type:decision entity:shop-api")
        filtered = on.browse.memories._columns(on.browse.memories.size.width - 1)
        assert not filtered.type
        assert not filtered.entity
        assert filtered.text > everything.text


@given(width=st.integers(1, 400), time=st.sampled_from([4, 10]), types=st.integers(0, 60))
def test_columns_fit_their_row(width: int, time: int, types: int) -> None:
    for entities in (0, 24):
        columns = row_columns(width, time, types, entities)
        gaps = (2 if columns.type else 0) + (2 if columns.entity else 0)
        used = 6 + time + columns.type + columns.entity + columns.text + gaps
        assert used <= max(width, 7 + time)
        assert columns.text >= 1


def _width(on: Stage, pane: Pane) -> int:
    return on.browse.pane_widget(pane).outer_size.width


async def test_the_focused_pane_is_resized(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        for pane, other in (
            (Pane.MEMORIES, Pane.DETAIL),
            (Pane.DETAIL, Pane.MEMORIES),
            (Pane.ENTITIES, Pane.DETAIL),
        ):
            await on.press(str(list(Pane).index(pane) + 1))
            before = _width(on, pane), _width(on, other)
            await on.act("pane.larger")
            assert _width(on, pane) > before[0]
            assert _width(on, other) < before[1]
            await on.act("pane.smaller")
            assert (_width(on, pane), _width(on, other)) == before
        await on.press("4")
        height = on.browse.timeline.outer_size.height
        await on.act("pane.larger")
        assert on.browse.timeline.outer_size.height == height + 1


async def test_panes_are_resized_that_stand_above_each_other(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        height = on.browse.memories.outer_size.height
        await on.act("pane.larger")
        assert on.browse.memories.outer_size.height == height + 1
        await on.press("3")
        await on.act("pane.larger", "pane.larger")
        assert on.browse.memories.outer_size.height == height - 1


@pytest.mark.slow
async def test_the_detail_takes_half_of_the_screen_then_all_of_it(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        normal = on.browse.shown_panes
        await on.press("Z")
        assert on.browse.shown_panes == {Pane.MEMORIES, Pane.DETAIL}
        assert _width(on, Pane.DETAIL) == 60
        await on.press("Z")
        assert on.browse.shown_panes == {Pane.DETAIL}
        await on.press("Z")
        assert on.browse.shown_panes == normal
        await on.press("Z", "escape")
        assert on.browse.shown_panes == normal
    async with stage(root, (80, 24)) as on:
        await on.press("Z")
        assert on.browse.shown_panes == {Pane.DETAIL}


@pytest.mark.slow
async def test_sizes_are_remembered(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with stage(root, (120, 35), state=state) as on:
        await on.act("pane.larger", "pane.larger")
        wanted = _width(on, Pane.MEMORIES)
        await on.press("q")
    async with stage(root, (120, 35), state=state) as on:
        assert _width(on, Pane.MEMORIES) == wanted


@given(
    width=st.integers(40, 300),
    height=st.integers(12, 100),
    focus=st.sampled_from(list(Pane)),
    half=st.booleans(),
    steps=st.lists(st.sampled_from([1, -1]), max_size=40),
)
def test_no_pane_is_pushed_off_the_screen(
    width: int, height: int, focus: Pane, half: bool, steps: list[int]
) -> None:
    layout = arrange(width, height, focus, zoomed=False, half=half)
    wanted: dict[str, int] = {}
    for step in steps:
        wanted = resized(measure(width, height, layout, wanted), layout, focus, step, wanted)
    sizes = measure(width, height, layout, wanted, half=half)
    side = sizes.side if layout.panes & {Pane.ENTITIES, Pane.STATISTICS} else 0
    if layout.shape is Shape.WIDE:
        assert sizes.list >= SMALLEST["list"]
        assert side + sizes.list + SMALLEST["detail"] <= width
    assert sizes.rows + SMALLEST["rows"] <= height - 3
    assert sizes.timeline <= max(4, (height - 3) // 2)


@pytest.mark.slow
async def test_jumps_lead_back_and_forward_over_all_moves(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        refs: list[str] = []

        def shown() -> str:
            assert on.browse.detail.memory is not None
            return on.browse.detail.memory.ref

        await on.press("j", "j")
        refs.append(shown())
        await on.press("G")
        refs.append(shown())
        await on.press("/")
        await on.type("lisbon")
        await on.press("enter", "3")
        refs.append(shown())
        await on.press("enter")
        refs.append(shown())
        assert "‹ Alice lives in Lisbon" in on.text(), "the breadcrumb"
        for ref in reversed(refs[:-1]):
            await on.press("backspace")
            assert shown() == ref
        assert "‹ Alice" not in on.text()
        for ref in refs[1:]:
            await on.act("forward")
            assert shown() == ref
        await on.act("forward")
        assert shown() == refs[-1]


async def test_raw_text_and_raw_fields_have_keys(tmp_path: Path) -> None:
    facts = {"shop": [fact(1, "# Plan\n\nUse **Postgres**", "2026-11-18")]}
    async with stage(write_store(tmp_path, facts), (120, 35)) as on:
        assert "Use Postgres" in on.text()
        await on.press("=")
        assert "# Plan" in on.text()
        assert "**Postgres**" in on.text()
        await on.press("=")
        assert "sourceRef" not in on.text()
        await on.press(".")
        assert "sourceRef" in on.text()
        await on.press("3", "enter")
        assert "sourceRef" not in on.text(), "the line folds too"


async def test_the_detail_says_where_a_memory_lies_from_the_store(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        assert "items.json" in on.text()
        assert str(root) not in on.text()
        lines = on.text().splitlines()
        at = {
            word: n
            for word in ("Entity", "File", "Raw fields")
            for n, line in enumerate(lines)
            if word in line
        }
        assert at["Entity"] < at["File"] < at["Raw fields"]


@pytest.mark.slow
async def test_a_markdown_text_outlives_a_small_window() -> None:
    """Its table takes fewer lines in a wide window than are counted before it is drawn."""
    async with gallery((160, 45)) as on:
        whole = on.text()
        for size in ((80, 24), (40, 12), (80, 24), (160, 45)):
            await resize(on, size)
        assert on.text() == whole


async def test_a_resize_keeps_what_is_read_in_view(tmp_path: Path) -> None:
    words = "\n\n".join(f"Number{n}. " + "goes on for some lines " * 12 for n in range(60))
    async with stage(write_store(tmp_path, {"a": [fact(1, words, "2026-11-20")]}), (160, 45)) as on:
        await on.press("enter", *["pagedown"] * 4)
        detail = on.browse.detail

        def paragraphs() -> set[str]:
            lines = (detail._line_text(detail.top + y) for y in range(detail.page))
            return {word for line in lines for word in line.split() if word.startswith("Number")}

        before = paragraphs()
        for size in ((120, 40), (200, 50), (160, 45)):
            await on.resize(*size)
            assert before & paragraphs(), size


async def test_a_window_made_small_says_how_to_leave_the_pane(root: Path) -> None:
    """The keys were those of the wide window until the next key."""
    async with stage(root) as on:
        await on.press("enter")
        await on.resize(40, 12)
        assert "esc back" in on.text().splitlines()[-1]
        await on.resize(120, 35)
        assert "esc back" not in on.text().splitlines()[-1]


@pytest.mark.slow
async def test_a_text_in_a_form_is_whole_after_a_resize(tmp_path: Path) -> None:
    """Lines that are as many as before, but wrap at other words, were not drawn anew."""
    words = (
        "The foundry casts the third bell on the first Tuesday after the frost has left the ground"
    )
    async with changing(tmp_path, "agent-memory", size=(80, 24)) as on:
        await on.stand(on.first("agent-memory", kind="fact", status="active").ref)
        await on.keys("e")
        on.app.screen.query_one(TextInput).set_raw(words)
        for size in ((60, 20), (80, 24), (58, 20)):
            await on.resize(*size)
            await on.settle()
            shown = " ".join(line.strip("│▐ ") for line in on.text().splitlines()[1:4])
            assert shown.strip() == words, size


@pytest.mark.slow
async def test_a_detail_at_its_beginning_stays_there_after_a_resize(tmp_path: Path) -> None:
    """A text that was expected to fit, and did not by a line, lost its first line."""
    async with changing(tmp_path, "agent-memory", size=(80, 24)) as on:
        await on.stand(on.first("agent-memory", title="2026-11-20").ref)
        await on.keys("enter")
        for size in ((60, 20), (40, 12), (60, 20), (80, 24)):
            await on.resize(*size)
            await on.settle()
            assert on.browse.detail.top == 0, size


@pytest.mark.slow
async def test_the_history_stays_at_its_version_after_a_resize(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        await on.press("/")
        await on.type("lisbon")
        await on.press("enter", "H")
        versions = on.app.screen.query_one(VersionList)
        assert versions.cursor == 0
        await on.press("down")
        assert versions.cursor == 1
        await on.resize(60, 20)
        await on.settle()
        assert versions.cursor == 1, "and not at the memory's own"


async def test_the_signs_of_the_help_are_wrapped_between_its_pieces(root: Path) -> None:
    async with stage(root, (160, 40)) as on:
        await on.press("?")
        for width, height in ((160, 40), (80, 30), (60, 30)):
            await on.resize(width, height)
            shown = on.text()
            assert all(f"{sign} {words}" in shown for sign, words in MARKS)
