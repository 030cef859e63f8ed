"""What goes through other places: $EDITOR, export, import, other stores, broken files."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import ZipFile

import pytest

from memtui.bundle import exporting
from memtui.changes import Act, Change
from memtui.library import Library
from memtui.stores.ambient.records import task_key
from memtui.tui import library_worker, previews, transfer
from memtui.tui.dialogs import edit_form
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.jobs import Job
from memtui.tui.previews import Preview
from memtui.tui.transfer import CopyScreen, ExportScreen, ImportScreen
from memtui.tui.unreadable import UnreadablePage
from memtui.tui.widgets.inputs import LineInput, TextInput
from tests.secrets_for_tests import TOKEN

from .sample_stage import ChangingStage, changing, touched

AGENT = "agent-memory"


def script(tmp_path: Path, body: str) -> str:
    """An editor that does this to the file it is given."""
    path = tmp_path / "editor.py"
    path.write_text(f"import sys\nfrom pathlib import Path\nfile = Path(sys.argv[-1])\n{body}\n")
    return f"{sys.executable} {path}"


def lent(on: ChangingStage) -> None:
    """The pilot has no terminal that could be lent to an editor: there is nothing to suspend."""
    on.app.suspend = contextlib.nullcontext  # type: ignore[method-assign,assignment]


def exported(library: Library, file: Path) -> None:
    file.write_bytes(b"".join(exporting.export_memories(library, "bundle", None).pieces))


def drafts(tmp_path: Path) -> list[Path]:
    """The texts that an editor was given; the form they end in keeps one of its own."""
    return sorted((tmp_path / "state" / "drafts").glob("draft-*"))


@pytest.mark.slow
async def test_an_editor_changes_the_text_and_leaves_no_draft(tmp_path: Path) -> None:
    body = "Path(sys.argv[-1] + '.mode').write_text(oct(file.stat().st_mode & 0o777))\n"
    body += "file.write_text(file.read_text() + ' Written outside.')"
    async with changing(tmp_path, AGENT, editor=script(tmp_path, body)) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        lent(on)
        await on.keys("E")
        assert on.memory(fact.ref).content == fact.content + " Written outside."
        (mode,) = drafts(tmp_path)
        assert mode.read_text() == "0o600"
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_an_editor_that_fails_leaves_the_text_in_the_form(tmp_path: Path) -> None:
    body = "file.write_text('Written, then it crashed.')\nsys.exit(3)"
    async with changing(tmp_path, AGENT, editor=script(tmp_path, body)) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        lent(on)
        await on.keys("E")
        assert isinstance(on.app.screen, FormScreen)
        assert on.app.screen.query_one(TextInput).raw == "Written, then it crashed."
        assert len(drafts(tmp_path)) == 1
        assert on.files() == before
        await on.keys("ctrl+s")
        assert on.memory(fact.ref).content == "Written, then it crashed."
        assert not drafts(tmp_path)


@pytest.mark.slow
async def test_what_is_saved_while_it_is_still_to_be_judged_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged, judge = Event(), FormScreen._update_preview

    def told(form: FormScreen) -> None:
        judge(form)
        judged.set()

    def preview(library: Library, changes: Sequence[Change], job: Job) -> Preview:
        judged.wait(5)  # until the typing comes to be judged
        return previews.preview(library, changes, job)

    monkeypatch.setattr(FormScreen, "_update_preview", told)
    monkeypatch.setattr(edit_form, "preview", preview)
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        judged.clear()
        on.app.screen.query_one(TextInput).set_raw("Saved at once.")
        await on.keys("ctrl+s")
        assert not isinstance(on.app.screen, FormScreen)
        assert on.memory(fact.ref).content == "Saved at once."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "told", "kept"),
    [
        ("file.write_bytes(b'Alice \\xff\\xe9')", "not UTF-8", [b"Alice \xff\xe9"]),
        ("file.unlink()", "removed the draft", []),
        ("file.write_text('Half')\nimport os\nos.kill(os.getpid(), 9)", "status -9", [b"Half"]),
    ],
    ids=["bad bytes", "deleted", "killed"],
)
async def test_an_editor_that_leaves_no_good_text_changes_nothing(
    tmp_path: Path, body: str, told: str, kept: list[bytes]
) -> None:
    async with changing(tmp_path, AGENT, editor=script(tmp_path, body)) as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        lent(on)
        await on.keys("E")
        assert told in on.toasts[-1]
        assert [path.read_bytes() for path in drafts(tmp_path)] == kept
        assert on.files() == before


@pytest.mark.slow
async def test_a_change_underneath_the_editor_loses_neither_text(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        target = fact.origin.file
        old = json.dumps(fact.content, ensure_ascii=False)[1:-1]
        body = "file.write_text('What I wrote outside.')\n"
        body += f"target, old = Path({target!r}), {old!r}\n"
        body += "target.write_text(target.read_text().replace(old, 'What they wrote.'))"
        on.app.settings = type(on.app.settings)(editor=script(tmp_path, body))
        lent(on)
        await on.keys("E")
        assert isinstance(on.app.screen, FormScreen)
        assert on.app.screen.query_one(TextInput).raw == "What I wrote outside."
        assert "What they wrote." in Path(target).read_text()
        await on.keys("escape", "y")
        assert len(drafts(tmp_path)) == 1, "the draft is kept"


@pytest.mark.slow
async def test_a_memory_superseded_while_the_editor_was_open_is_not_changed_without_a_word(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        body = "file.write_text('What I wrote outside.')\n"
        body += "from memtui.changes import Act, Change\nfrom memtui.library import Library\n"
        body += f"other = Library.open([Path({str(on.folder / AGENT)!r})], cache=None,"
        body += f" state=Path({str(tmp_path / 'other')!r}))\n"
        body += "other.load()\n"
        body += "fields = {'content': 'What they wrote.'}\n"
        body += f"change = Change(Act.SUPERSEDE, {AGENT!r}, {fact.ref!r}, fields)\n"
        body += "other.apply(other.plan([change]))"
        on.app.settings = type(on.app.settings)(editor=script(tmp_path, body))
        lent(on)
        await on.keys("E")
        assert on.memory(fact.ref).content == fact.content
        assert on.app.screen.query_one(TextInput).raw == "What I wrote outside."
        assert "superseded meanwhile" in on.text()


@pytest.mark.slow
async def test_an_editor_that_changes_nothing_or_is_missing(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, editor="/no/such/editor") as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        lent(on)
        await on.keys("E")
        assert "Cannot start /no/such/editor" in on.toasts[-1]
        assert "the setting editor" in on.toasts[-1], "it comes before $EDITOR"
        on.app.settings = type(on.app.settings)(editor=script(tmp_path, "pass"))
        await on.keys("E")
        assert "No changes" in on.toasts[-1]
        assert not drafts(tmp_path)
        assert on.files() == before


@pytest.mark.slow
async def test_an_export_comes_back_by_import_and_one_undo_takes_it_all(tmp_path: Path) -> None:
    bundle = tmp_path / "out.zip"
    async with changing(tmp_path, AGENT, "simple-memory") as on:
        await on.show("kind:fact entity:companies/quarterbell")
        await on.keys("space", "space", "x")
        assert isinstance(on.app.screen, ExportScreen)
        assert "2 marked" in on.text()
        on.app.screen._file.value = str(bundle)
        await on.keys("enter")
        assert bundle.stat().st_size > 500
        gone = on.browse.marked_memories()
        await on.keys("delete", "enter")
        before = on.files()
        await on.keys("I")
        assert isinstance(on.app.screen, ImportScreen)
        on.app.screen._file.value = str(bundle)
        await on.keys("enter")
        assert "2 new" in on.text()
        assert on.files() == before, "the plan comes first"
        await on.keys("enter")
        for memory in gone:
            assert on.memory(memory.ref).content == memory.content
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
@pytest.mark.parametrize("store", ["engram", "workspace"])
async def test_a_bundle_makes_its_store_in_an_empty_folder_and_says_how_to_take_it_back(
    tmp_path: Path, store: str
) -> None:
    async with changing(tmp_path, store) as on:
        bundle, place = tmp_path / "out.zip", tmp_path / "new" / "place"
        before = on.files()
        exported(on.library, bundle)
        await on.keys("I")
        screen = on.app.screen
        assert isinstance(screen, ImportScreen)
        screen._file.value = str(bundle)
        await on.keys("tab", "left")
        assert "new folder" in on.text()
        await on.keys("enter")
        assert "enter a new or empty folder" in on.text()
        screen._folder.value = str(on.folder)
        await on.keys("enter")
        assert "holds" in on.text()  # one word: where a line is broken, the path decides
        screen._folder.value = str(place)
        await on.keys("enter")
        assert f"creates {store}" in on.text()
        assert not place.exists(), "the plan comes first"
        await on.keys("enter")
        assert "delete it to take it back" in on.toasts[-1]
        assert "undo" not in on.toasts[-1]
        assert Library.open([place]).stores[0].format == store
        assert on.files() == before


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ambient", "jsonl", "csv", "markdown"])
async def test_other_forms_are_written_and_nothing_is_replaced_unasked(
    tmp_path: Path, form: str
) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.show("kind:fact entity:companies/quarterbell")
        await on.keys("x", "tab")
        presses = ["bundle", "ambient", "jsonl", "csv", "markdown", "html"].index(form)
        await on.keys(*["right"] * presses)
        screen = on.app.screen
        assert isinstance(screen, ExportScreen)
        proposed = screen._file.raw
        target = tmp_path / f"out{Path(proposed).suffix}"
        await on.keys("tab")
        await on.type("~")
        assert screen._file.raw == f"{proposed}~", "the cursor is behind the new suffix"
        target.write_text("precious")
        screen._file.value = str(target)
        await on.keys("enter", "escape")
        assert target.read_text() == "precious"
        await on.keys("enter", "y")
        assert "Quarterbell" in target.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["x", "I"])
async def test_tab_visits_the_fields_and_no_message_that_fits(tmp_path: Path, key: str) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.keys(key)
        first, fields = on.app.focused, {"x": 3, "I": 2}[key]
        await on.keys(*["tab"] * (fields - 1))
        assert on.app.focused is not first
        await on.keys("tab")
        assert on.app.focused is first


@pytest.mark.slow
async def test_an_export_says_before_and_after_what_is_unreadable(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        broken = on.library.store(AGENT).root / "entities" / "quarterbell" / "items.json"
        broken.write_text('{"cut')
        for _ in range(2):  # what two looks see is no program that is just writing
            await on.press("f5")
        await on.keys("x")
        assert "1 unreadable file, whose memories are left out" in on.text()
        on.app.screen.query_one(LineInput).value = str(tmp_path / "out.zip")
        await on.keys("enter")
        assert "left out, unreadable: " in on.toasts[-1]
        assert "quarterbell/items.json: not valid JSON" in on.toasts[-1]


@pytest.mark.slow
async def test_what_an_import_rejects_is_listed_before_what_it_adds(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "simple-memory") as on:
        document = exporting.export_memories(on.library, "jsonl", None)
        records = [json.loads(line) for line in b"".join(document.pieces).splitlines()]
        wanted = [record for record in records if record["store"] == "simple-memory"][:12]
        wanted[3]["content"] = ""
        wanted[3]["id"] = "no-text"
        file = tmp_path / "in.jsonl"
        file.write_text("".join(f"{json.dumps(record)}\n" for record in wanted))
        await on.keys("I")
        assert isinstance(on.app.screen, ImportScreen)
        on.app.screen._file.value = str(file)
        await on.keys("tab", "right", "enter")
        assert "11 new, 1 rejected" in on.text()
        assert "Rejected (1)" in on.text(), "without scrolling"
        assert "no-text: " in on.text(), "a memory without a text has its id as a name"


@pytest.mark.slow
async def test_an_import_of_conflicts_alone_says_what_differs(tmp_path: Path) -> None:
    async with changing(tmp_path, "simple-memory") as on:
        document = exporting.export_memories(on.library, "jsonl", None)
        record = json.loads(b"".join(document.pieces).splitlines()[0])
        record["content"] += " Told otherwise."
        file = tmp_path / "in.jsonl"
        file.write_text(f"{json.dumps(record)}\n")
        await on.keys("I")
        assert isinstance(on.app.screen, ImportScreen)
        on.app.screen._file.value = str(file)
        await on.keys("enter")
        assert "No changes: nothing to add" in on.text()
        assert "differs in content" in on.text()


@pytest.mark.slow
async def test_an_import_without_a_place_leads_to_the_field_that_chooses_one(
    tmp_path: Path,
) -> None:
    bundle = tmp_path / "out.zip"
    async with changing(tmp_path, AGENT) as on:
        exported(on.library, bundle)
    async with changing(tmp_path / "other", "ambient") as on:
        await on.keys("I")
        on.app.screen.query_one(LineInput).value = str(bundle)
        await on.keys("enter")
        assert "no open store has the format of agent-memory" in on.text()
        assert "choose the store to import into" in on.text()
        assert "--into" not in on.text()


@pytest.mark.slow
async def test_a_plan_for_another_file_than_the_field_names_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file is read for seconds: `enter` would import it under the name of another."""
    bundle, may_read, read = tmp_path / "out.zip", Event(), transfer.read_document

    def slow_read(path: Path) -> Any:
        may_read.wait(60)
        return read(path)

    monkeypatch.setattr(transfer, "read_document", slow_read)
    async with changing(tmp_path, AGENT) as on:
        exported(on.library, bundle)
        await on.keys("I")
        assert isinstance(on.app.screen, ImportScreen)
        on.app.screen._file.value = str(bundle)
        await on.handle()
        await on.handle("enter", "x")
        may_read.set()
        await on.rest()
        assert "enter shows a preview first" in on.text()
        await on.keys("enter")
        await on.sees("error:")  # what follows is long, and may be broken anywhere


@pytest.mark.slow
async def test_a_hostile_bundle_is_refused_whole(tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"PK\x03\x04 this is nothing \x1b]0;x\x07")
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.keys("I")
        assert isinstance(on.app.screen, ImportScreen)
        on.app.screen._file.value = str(bad)
        await on.keys("enter")
        assert "invalid bundle" in on.app.screen._outcome_lines[0].words
        on.app.screen._file.value = str(tmp_path / "missing.zip")
        await on.keys("enter")
        assert "No such file" in on.app.screen._outcome_lines[0].words
        assert on.files() == before


@pytest.mark.slow
async def test_copying_to_another_store_names_what_is_lost(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "simple-memory") as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("c")
        assert isinstance(on.app.screen, CopyScreen)
        assert "Fields lost" in on.text()
        assert f"{AGENT} → Simple Memory" in on.text()
        await on.keys("enter")
        copies = [m for m in on.library.memories("simple-memory") if fact.content in m.content]
        assert copies
        assert on.memory(fact.ref) == fact
        await on.keys("c", "enter", "escape")
        again = [m for m in on.library.memories("simple-memory") if fact.content in m.content]
        assert again == copies, "what is there is not added twice"
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
@pytest.mark.slow
async def test_on_a_small_screen_a_key_scrolls_what_a_transfer_would_do(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "simple-memory") as on:
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.resize(40, 12)
        await on.keys("c")
        assert "New (1)" not in on.text()
        assert "pgdn more" in on.text()
        await on.keys(*["pagedown"] * 4)
        assert "New (1)" in on.text()
        await on.resize(120, 40)
        assert "pgdn more" not in on.text()


@pytest.mark.slow
async def test_a_format_changes_the_suffix_and_the_name_can_be_deleted_at_once(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.keys("x", "tab", "right", "right", "right", "right", "tab", "ctrl+u")
        assert on.app.screen.query_one(LineInput).value == ""


@pytest.mark.slow
async def test_an_export_is_named_after_its_format_and_says_what_is_lost_before(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT, "engram") as on:
        await on.keys("x", "tab", "right", "right", "right", "right", "right")
        name = on.app.screen.query_one(LineInput)
        assert name.value.endswith("-ambient.json")
        assert "no place for them" in on.text()
        await on.keys("right")
        assert name.value.endswith("-engram.json")
        assert "no embeddings or former versions" in on.text()
        assert "-ambient" not in name.value
        assert "filter by that store first" in on.text()
        assert "--store" not in on.text()
        name.value = "mine.json"
        await on.keys("left", "left", "left", "left")
        assert name.value == "mine.csv"
        assert "csv has no place" in on.text()


@pytest.mark.slow
async def test_an_export_says_how_many_secrets_go_where_and_leaves_them_out_of_a_work_tree(
    tmp_path: Path,
) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        secret = f"The CI reads the packages with {TOKEN}"
        change = Change(Act.EDIT, AGENT, fact.ref, {"content": secret})
        on.library.apply(on.library.plan([change]))
        await on.show("packages")
        await on.keys("x")
        screen = on.app.screen
        assert isinstance(screen, ExportScreen)
        outside, inside = tmp_path / "a.zip", clone / "a.zip"
        screen._file.value = str(outside)
        await on.rest()
        said = " ".join(on.text().split())
        assert "1 memory with a secret is written in clear to" in said
        assert "● written in clear" in said
        screen._file.value = str(inside)
        await on.rest()
        said = " ".join(on.text().split())
        assert "1 memory with a secret is left out, because the file is" in said
        assert "in the git work tree" in said
        assert "● left out" in said
        await on.keys("enter")
        assert TOKEN not in _texts_in(inside)
        assert "left out: 1 memory with a secret" in on.toasts[-1]
        await on.keys("x")
        screen = on.app.screen
        assert isinstance(screen, ExportScreen)
        screen._file.value = str(inside)
        await on.rest()
        await on.keys("tab", "tab", "tab", "right")
        assert "● written in clear" in on.text()
        await on.keys("enter", "y")
        assert TOKEN in _texts_in(inside)


def _texts_in(bundle: Path) -> str:
    with ZipFile(bundle) as archive:
        return "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())


@pytest.mark.slow
async def test_a_copy_into_one_of_several_projects_asks_which(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "claude-code") as on:
        before = on.files()
        known = {memory.ref for memory in on.library.memories("claude-code")}
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("c")
        screen = on.app.screen
        assert isinstance(screen, CopyScreen)
        assert "choose the project that gets them" in on.text()
        await on.keys("enter")
        assert on.app.screen is screen, "nothing is picked"
        assert on.files() == before
        await on.keys("tab", "right", "right")
        project = screen._place.project.raw
        assert project == list(on.library.store("claude-code").projects)[1]
        assert f"1 memory to {project}" in " ".join(on.text().split())
        await on.keys("enter")
        (new,) = [m for m in on.library.memories("claude-code") if m.ref not in known]
        assert new.entity == project
        assert "(created" not in str(new.extra["description"])
        assert "(created" not in new.title


@pytest.mark.slow
async def test_an_import_into_one_of_several_projects_asks_which(tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    async with changing(tmp_path / "from", AGENT) as on:
        made = exporting.export_memories(on.library, "jsonl", on.library.memories(AGENT)[:2])
        facts.write_bytes(b"".join(made.pieces))
    async with changing(tmp_path, "claude-code") as on:
        before = on.files()
        await on.keys("I")
        screen = on.app.screen
        assert isinstance(screen, ImportScreen)
        screen._file.value = str(facts)
        await on.keys("tab", "right", "enter")
        assert "choose the project that gets them" in on.text()
        await on.keys("tab", "right", "enter")
        project = screen._place.project.raw
        assert project == next(iter(on.library.store("claude-code").projects))
        assert "2 new" in on.text()
        assert on.files() == before, "the plan comes first"
        await on.keys("enter")
        assert len(on.files()) == len(before) + 2
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_copy_into_a_branch_asks_for_the_project_and_the_branch(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "ambient") as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("c")
        screen = on.app.screen
        assert isinstance(screen, CopyScreen)
        projects = on.library.store("ambient").projects
        project = next(name for name, branches in projects.items() if len(branches) > 1)
        await on.keys("tab", *["right"] * (1 + list(projects).index(project)))
        assert screen._place.project.raw == project
        assert "choose the branch that gets them" in on.text()
        await on.keys("enter")
        assert on.files() == before
        await on.keys("tab", "right", "right")
        branch = projects[project][1]
        assert f"1 memory to {project}/{branch}" in " ".join(on.text().split())
        await on.keys("enter")
        (written,) = touched(before, on.files())
        assert written.endswith(f"/{task_key(branch)}.json")
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_moving_retires_the_original_in_the_same_action(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "simple-memory") as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("c", "tab", "right")
        assert f"retires 1 memory in {AGENT}" in on.text()
        await on.keys("enter")
        assert on.memory(fact.ref).status == "retired"
        assert any(fact.content in m.content for m in on.library.memories("simple-memory"))
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_file_that_an_agent_emptied_gets_its_last_good_copy_back(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("p")
        before = on.files()
        file = Path(fact.origin.file)
        broken = file.read_bytes()[:-40]
        file.write_bytes(broken)
        await on.keys("f5", "U", "enter")
        assert isinstance(on.app.screen, UnreadablePage)
        assert "▶" in on.text()
        assert "last good copy" in on.text()
        await on.keys("r")
        assert isinstance(on.app.screen, DiffScreen)
        assert file.read_bytes() == broken
        await on.keys("enter")
        assert on.files() == before
        assert on.memory(fact.ref).content == fact.content
        await on.keys("escape", "u")
        assert file.read_bytes() == broken


@pytest.mark.slow
async def test_what_an_agent_added_a_moment_ago_is_in_the_last_good_copy(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = on.first(AGENT, kind="fact", status="active")
        file = Path(fact.origin.file)
        facts = json.loads(file.read_bytes())
        facts.append({**facts[0], "id": "0f6fa27c-a", "fact": "Noted a moment ago."})
        file.write_text(json.dumps(facts, indent=2) + "\n")
        whole = file.read_bytes()
        await on.keys("f5")
        file.write_bytes(b"")
        await on.keys("f5", "U", "r", "enter")
        assert file.read_bytes() == whole


@pytest.mark.slow
async def test_the_last_good_copy_is_not_what_was_undone(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        file = Path(fact.origin.file)
        before = file.read_bytes()
        await on.keys("e")
        on.app.screen.query_one(TextInput).set_raw("What a person undoes.")
        await on.rest()
        await on.keys("ctrl+s", "u")
        assert file.read_bytes() == before
        file.write_bytes(before + b"{")
        await on.keys("f5", "U", "enter")
        assert isinstance(on.app.screen, UnreadablePage)
        await on.keys("r")
        assert "What a person undoes" not in on.text()
        await on.keys("enter")
        assert file.read_bytes() == before


@pytest.mark.slow
async def test_a_broken_file_is_edited_where_its_error_is_shown(tmp_path: Path) -> None:
    editor = script(tmp_path, "file.write_text(file.read_text().replace('BROKEN', ''))")
    async with changing(tmp_path, AGENT, editor=editor) as on:
        lent(on)
        file = Path(on.first(AGENT, kind="fact", status="active").origin.file)
        whole = file.read_text()
        file.write_text("BROKEN" + whole)
        await on.keys("f5", "U", "enter")
        assert isinstance(on.app.screen, UnreadablePage)
        assert "e edit" in on.text()
        await on.keys("e")
        assert file.read_text() == whole
        await on.sees("No unreadable files")
        print(on.text())
        assert "No unreadable files" in on.text()


@pytest.mark.slow
async def test_what_another_program_writes_while_memtui_writes_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the system has told of it before memtui's own write ended."""
    async with changing(tmp_path, AGENT) as on:
        monkeypatch.setattr(library_worker, "SHORTEST_PAUSE", float("inf"))
        begun, may_end, worker = Event(), Event(), on.browse.worker
        worker.end_watching()  # the test tells of it

        def write(*_: object) -> None:
            begun.set()
            may_end.wait()

        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        file = Path(fact.origin.file)
        try:
            on.browse.acts.start(on.browse.acts.write(write))
            await on.until(begun.is_set, "it writes", is_working=True)
            file.write_text(file.read_text().replace(fact.content, "Theirs"))
            worker.refresh()
            await on.until(lambda: not worker._is_refresh_due, "it was told", is_working=True)
        finally:
            may_end.set()
        await on.until(lambda: "Theirs" in on.headlines(), "it is shown")


@pytest.mark.slow
async def test_what_was_just_saved_is_in_the_last_good_copy(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        on.app.screen.query_one(TextInput).set_raw("Saved a moment ago.")
        await on.rest()
        await on.keys("ctrl+s")
        file = Path(fact.origin.file)
        saved = file.read_bytes()
        assert b"Saved a moment ago." in saved
        await on.keys("f5")
        file.write_bytes(saved[:-40])
        await on.keys("f5", "U", "r", "enter")
        assert file.read_bytes() == saved


@pytest.mark.slow
async def test_the_cursor_stands_on_what_was_written_when_another_program_was_faster(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, "engram") as on:
        seen = await on.stand(on.first("engram", kind="observation", status="active").ref)
        await on.keys("S")
        assert isinstance(on.app.screen, FormScreen)
        on.app.screen.query_one(TextInput).set_raw(seen.content + " Newly said.")
        await on.rest()
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        with contextlib.closing(sqlite3.connect(on.folder / "engram" / "engram.db")) as theirs:
            theirs.execute(
                "INSERT INTO observations (sync_id, session_id, type, title, content)"
                " SELECT 'obs-theirs', session_id, type, title, 'Theirs' FROM observations LIMIT 1"
            )
            theirs.commit()
        await on.keys("enter")
        written = on.first("engram", content=seen.content + " Newly said.")
        assert on.memory(f"engram:{int(written.id) - 1}").content == "Theirs"
        current = on.browse.memories.memory
        assert current is not None
        assert current.ref == written.ref


@pytest.mark.slow
async def test_an_engram_memory_is_edited_pinned_and_given_back(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram") as on:
        seen = await on.stand(
            on.first("engram", kind="observation", status="active", pinned=False).ref
        )
        await on.keys("e")
        assert isinstance(on.app.screen, FormScreen)
        on.app.screen.query_one(TextInput).set_raw(seen.content + " And more.")
        await on.rest()
        await on.keys("ctrl+s")
        assert on.memory(seen.ref).content == seen.content + " And more."
        await on.keys("p", "d", "enter")
        assert on.memory(seen.ref).status == "deleted"
        await on.keys("D")
        assert on.memory(seen.ref).status == "active"
        await on.keys("u", "u", "u", "u")
        now = on.memory(seen.ref)
        assert (now.content, now.pinned, now.status) == (seen.content, False, "active")


@pytest.mark.slow
async def test_an_ambient_event_changes_in_every_file_that_holds_it(tmp_path: Path) -> None:
    async with changing(tmp_path, "ambient") as on:
        before = on.files()
        event = next(
            m
            for m in on.library.memories("ambient")
            if m.also and m.status == "active" and m.content.isascii() and '"' not in m.content
        )
        await on.stand(event.ref)
        await on.keys("e")
        assert isinstance(on.app.screen, FormScreen)
        on.app.screen.query_one(TextInput).set_raw("Said otherwise from now on")
        await on.rest()
        await on.keys("ctrl+s")
        assert len(touched(before, on.files())) == 1 + len(event.also)
        assert not any(event.content.encode() in data for data in on.files().values())
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_new_memory_of_a_whole_project_begins_as_its_store_takes_it(tmp_path: Path) -> None:
    """Ambient keeps only high events for a whole project: the form began with medium, refused."""
    async with changing(tmp_path, "ambient") as on:
        await on.stand(on.first("ambient", entity="towerd", status="active").ref)
        await on.keys("m")
        assert isinstance(on.app.screen, FormScreen)
        on.app.screen.query_one(TextInput).set_raw("Zebra stripes are painted at dawn")
        await on.rest()
        await on.keys("ctrl+s")
        assert on.first("ambient", content="Zebra stripes are painted at dawn").entity == "towerd"


@pytest.mark.slow
async def test_marks_stay_on_memories_of_a_file_that_a_program_writes_again(tmp_path: Path) -> None:
    """The file's memories have other rows from then on: a mark that stayed with the row was counted
    and no longer shown; what is gone is no longer marked."""
    async with changing(tmp_path, AGENT) as on:
        library, memories = on.library, on.browse.memories
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        file = Path(fact.origin.file)
        facts = json.loads(file.read_text())
        assert len(facts) > 1
        other = next(item for item in facts if item["id"] != fact.id)
        for id in (fact.id, other["id"]):
            await on.stand(f"{AGENT}:{id}")
            await on.keys("space")
        other["content"] = "Said anew."
        file.write_text(json.dumps(facts))
        await on.sees("Said anew.")
        assert {m.id for m in on.browse.marked_memories()} == {fact.id, other["id"]}
        assert all(library.get(m.ref) == m for m in on.browse.marked_memories())
        assert memories.marked <= set(memories.slots)
        file.write_text(json.dumps([item for item in facts if item is not other]))
        await on.until(lambda: len(memories.marked) == 1, "the mark of what is gone goes")
        assert [m.id for m in on.browse.marked_memories()] == [fact.id]
