"""No dead ends: what a store allows is offered, what it refuses is explained or not offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui import config
from memtui.tui.change_log import LogPage
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.dialogs.link import LinkScreen
from memtui.tui.dialogs.picker import SavedFilterPicker
from memtui.tui.widgets.entity_tree import NO_PATHS, Target
from memtui.tui.widgets.inputs import ChoiceInput, LineInput

from .sample_stage import changing
from .stage import stage


@pytest.mark.slow
async def test_deleting_by_force_is_explained_first(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram", size=(80, 24)) as on:
        memory = await on.stand(on.first("engram", kind="observation", status="active").ref)
        await on.keys("delete")
        assert isinstance(on.app.screen, DiffScreen)
        shown = on.text()
        assert "removes the row from the database permanently" in " ".join(shown.split())
        assert "enter delete by force" in shown
        await on.keys("escape")
        assert on.memory(memory.ref).content == memory.content
        await on.keys("delete", "enter")
        assert on.toasts[-1].startswith("Deleted")
        await on.keys("u")
        assert on.memory(memory.ref).content == memory.content


@pytest.mark.slow
async def test_a_link_has_a_relation_that_the_store_allows(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram", "simple-memory", size=(80, 24)) as on:
        memory = await on.stand(on.first("engram", kind="observation", status="active").ref)
        await on.keys("L")
        assert isinstance(on.app.screen, LinkScreen)
        await on.type(f"entity:{memory.entity} kind:observation")
        await on.rest()
        assert on.app.screen.query_one(ChoiceInput).raw == "related"
        assert "conflicts_with" in on.text()
        await on.keys("tab")
        assert isinstance(on.app.focused, ChoiceInput), "`tab` goes to the other field"
        assert "←→ relation" in on.text()
        await on.keys("right", "enter")
        assert "Linked" in on.toasts[-1]
        await on.stand(on.first("simple-memory", status="active").ref)
        await on.keys("L")
        assert on.app.screen.query(LineInput), "any word"


@pytest.mark.slow
async def test_saved_filters_are_renamed_and_deleted_in_place(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('# mine\n[saved]\nteas = "tea"\nold = "type:bug"\n')
    settings = config.load(file).settings
    async with stage(root, (80, 24), settings=settings, config_file=file) as on:
        await on.press("f")
        assert isinstance(on.app.screen, SavedFilterPicker)
        await on.sees("f2 rename")
        await on.press("f2")
        await on.press("ctrl+u")
        await on.type("drinks")
        await on.press("enter")
        assert on.app.saved == {"drinks": "tea", "old": "type:bug"}
        await on.press("f2")  # the list is open again, on the same filter
        await on.press("ctrl+u")
        await on.type("old")
        await on.press("enter")
        assert on.app.saved == {"drinks": "tea", "old": "type:bug"}, "no name replaces another"
        await on.press("f", "home")  # a renamed filter is the last one
        await on.press("delete")
        await on.sees("Delete saved filter “old”?")
        await on.press("escape")  # the list is open again, on the same filter
        assert on.app.saved == {"drinks": "tea", "old": "type:bug"}
        await on.press("delete", "y")
        assert on.app.saved == {"drinks": "tea"}
        assert isinstance(on.app.screen, SavedFilterPicker)
        await on.press("enter")
        assert "tea" in on.query
        await on.press("escape", "slash")
        await on.type("sails")
        await on.press("enter", "f", "end", "enter")
        await on.type("drinks")
        await on.press("enter")
        await on.sees("Replace saved filter “drinks”?")
        await on.press("escape")
    assert config.load(file).settings.saved == {"drinks": "tea"}
    assert "# mine" in file.read_text()


@pytest.mark.slow
async def test_clearing_filters_clears_the_order_too(root: Path) -> None:
    async with stage(root) as on:
        before = on.headlines()
        await on.press("b", "down", "enter", "/")
        await on.type("type:decision sort:importance")
        await on.press("enter", "F")
        assert on.headlines() == before
        assert not on.browse.view.chip_list()


async def test_nothing_is_offered_that_a_read_only_store_refuses(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memtui.stores.file_store import FileStore

    reason = "the folder is not writable for you"
    monkeypatch.setattr(FileStore, "read_only", property(lambda _: reason))
    async with stage(root, (120, 35), state=root.parent / "state") as on:
        for action in ("new", "edit", "retire", "pin", "tag", "delete", "link", "supersede"):
            assert on.browse.refusal(action) == reason, action
        footer = on.text().split("\n")[-1]
        for word in ("edit", "retire", "pin", "supersede"):
            assert word not in footer


async def test_the_tree_opens_the_same_way_whatever_was_read_first(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        tree = on.browse.entities
        counts = {f"top{number % 3}/e{number}": 1 for number in range(200)}
        targets = {path: Target("", (path,)) for path in counts}
        many = NO_PATHS._replace(counts=counts, targets=targets)
        first = many._replace(counts=dict(list(counts.items())[:5]))
        tree.show(many, Target(), {})
        at_once = [line.path for line in tree.rows]
        tree._most, tree._unfolded = 0, set()
        tree.show(first, Target(), {})
        tree.show(many, Target(), {})
        assert [line.path for line in tree.rows] == at_once
        tree.show(first, Target(), {})
        tree.show(many, Target(), {})
        assert [line.path for line in tree.rows] == at_once


@pytest.mark.slow
async def test_statistics_have_no_empty_headings_and_can_be_read_to_their_end(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        await on.press("5", "end")
        assert "on disk" in on.text(), "the lines below the last that can be chosen"
        await on.press("z")
        bar = next(line for line in on.text().split("\n") if "active" in line).count("█")
        assert bar > 60, "the room of a wide pane goes to the bars"
        await on.press("z", "/")
        await on.type("nosuchword")
        await on.press("enter")
        shown = on.text()
        assert "Times and sizes" in shown
        assert not any(f" {heading} " in shown for heading in ("Type", "Importance", "Status"))


@pytest.mark.slow
async def test_empty_places_say_what_would_be_there(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        on.app.push_screen(LogPage(()))
        await on.settle()
        assert "What you change with memtui is listed here" in on.text()


@pytest.mark.slow
async def test_enter_is_called_filter_where_it_filters(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        for pane, label in (("1", "filter"), ("2", "open"), ("4", "filter"), ("5", "filter")):
            await on.press(pane)
            assert f"enter {label}" in on.text().split("\n")[-1], pane


async def test_the_age_of_a_memory_stands_once_in_its_detail(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.press("3", "z")
        assert on.text().count(" ago") == 1


async def test_nothing_is_opened_in_a_detail_without_a_memory(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("3")
        assert "enter open" in on.text()
        on.browse.detail.show(None, ())
        on.browse.update_keys()
        await on.settle()
        assert "enter open" not in on.text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "entity", "why"),
    [
        ("agent-memory", "notes", "Notes are files, not facts."),
        ("claude-code", "instructions", "A topic file lies in the memory folder"),
        ("openclaw", "bootstrap", "Memories are added to MEMORY.md or a daily log."),
    ],
)
async def test_no_form_is_opened_for_an_entity_that_takes_no_new_memory(
    tmp_path: Path, store: str, entity: str, why: str
) -> None:
    async with changing(tmp_path, store, size=(80, 24)) as on:
        await on.show(f"entity:{entity}")
        on.browse.settle()
        await on.keys("m")
        assert on.app.screen is on.browse
        assert on.toasts[-1].startswith(why)
        await on.keys("F")
        await on.stand(on.first(store, entity=entity).ref)
        await on.keys("m")
        assert isinstance(on.app.screen, FormScreen)
        assert not on.app.screen.values()["entity"], "it is only where the cursor is"
