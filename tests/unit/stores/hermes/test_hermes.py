"""What Hermes itself read, wrote and refused beside memtui, and lists of entries at random.

`hermes_agent_0_19_0.json` records a run of the released program's memory tool beside memtui: the
file before, memtui's changes, what Hermes read, wrote and refused to write.
"""

from __future__ import annotations

import fcntl
import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.files.text_items import entries_in
from memtui.library import Library
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.base import StoreView
from memtui.stores.hermes import detect
from memtui.stores.hermes.pending import why_refused
from memtui.stores.hermes.store import (
    EntryFile,
    HermesStore,
    parse_limits,
)
from memtui.stores.sidecar import Sidecar
from tests.samples import SAMPLES

pytestmark = pytest.mark.usefixtures("own_places")  # else a home like one that went is that one

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("hermes_agent_0_19_0.json").read_text(encoding="utf-8")
)


def home(folder: Path, memory: str, user: str = "") -> Path:
    (folder / ".hermes" / "memories").mkdir(parents=True)
    for name, text in (("MEMORY.md", memory), ("USER.md", user)):
        if text:
            (folder / ".hermes" / "memories" / name).write_text(text, encoding="utf-8")
    return folder / ".hermes"


def load(root: Path, state: Path) -> Library:
    library = Library.open([root], state=state)
    library.load()
    return library


def by_text(library: Library) -> dict[str, Memory]:
    return {m.content: m for m in library.memories(library.stores[0].label)}


def changed(root: Path, state: Path) -> Library:
    library = load(root, state)
    for act, text, fields in RECORDED["changes"]:
        ref = by_text(library)[text].ref if text else ""
        change = Change(Act(act), library.stores[0].label, ref, fields)
        library.apply(library.plan([change]))
    return library


def recorded_home(folder: Path) -> Path:
    return home(folder, RECORDED["written_by_hermes"], "Marit reads at 6:45")


def test_memtui_writes_what_hermes_was_given(tmp_path: Path) -> None:
    root = recorded_home(tmp_path)
    library = changed(root, tmp_path / "state")
    text = (root / "memories" / "MEMORY.md").read_text(encoding="utf-8")
    assert text == RECORDED["written_by_memtui"]
    assert entries_in(text) == RECORDED["entries_read_by_hermes"]
    names = sorted(path.name for path in (root / "memories").iterdir())
    assert names == [name for name in RECORDED["files"] if name != "USER.md.lock"]
    assert by_text(library)["A § alone is no delimiter: §"].status == "retired"


def test_a_session_is_given_what_hermes_gives(tmp_path: Path) -> None:
    library = changed(recorded_home(tmp_path), tmp_path / "state")
    store = HermesStore(tmp_path / ".hermes", library.stores[0].label)
    memory, user = store.session_start(_view(library), "", datetime.now(UTC))
    assert {"memory": memory.text, "user": user.text} == RECORDED["prompt"]
    for each in (*memory.entries, *user.entries):
        whole = memory.text if each in memory.entries else user.text
        assert whole[each.start : each.end] == library.get(each.ref).content


def _view(library: Library) -> StoreView:
    return library


def test_a_write_of_hermes_loses_nothing_of_ours(tmp_path: Path) -> None:
    library = changed(recorded_home(tmp_path), tmp_path / "state")
    before = by_text(library)
    (tmp_path / ".hermes/memories/MEMORY.md").write_text(RECORDED["after_replace"], "utf-8")
    library.refresh()
    after = by_text(library)
    same = before.keys() & after.keys()
    assert len(same) == len(before) - 1
    assert {before[text].id for text in same} == {after[text].id for text in same}
    assert after["Marit reads at 6:45"].tags == ("times",)


@pytest.mark.parametrize("name", RECORDED["refused"])
def test_what_hermes_refuses_to_write_is_named(name: str) -> None:
    good = RECORDED["after_replace"]
    text = {
        "clean": good,
        "entry over the limit": good + "y" * 2300,
        "blank before the delimiter": good.replace("\n§\n", " \n§\n", 1),
        "empty entry": good.replace("\n§\n", "\n§\n\n§\n", 1),
        "newline at the end": good + "\n",
        "carriage returns": good.replace("\n", "\r\n"),
    }[name]
    assert bool(why_refused(text, 2200)) is RECORDED["refused"][name]


def test_what_is_too_long_is_refused_with_the_count(tmp_path: Path) -> None:
    root = recorded_home(tmp_path)
    library = load(root, tmp_path / "state")
    label = library.stores[0].label
    add = Change(Act.ADD, label, "", {"content": "x" * 2200, "entity": "memory"})
    with pytest.raises(Refused, match=r"would hold 2,\d{3} of 2,200 characters"):
        library.plan([add])
    (root / "config.yaml").write_text("memory:\n  memory_char_limit: 5000\n")
    assert library.plan([add]).has_edits


def test_a_write_waits_for_the_lock_of_hermes(tmp_path: Path) -> None:
    root = recorded_home(tmp_path)
    library = load(root, tmp_path / "state")
    label, file = library.stores[0].label, root / "memories" / "MEMORY.md"
    planned = library.plan([Change(Act.ADD, label, "", {"content": "new", "entity": "memory"})])
    order: list[str] = []
    with open(f"{file}.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writing = threading.Thread(target=lambda: (library.apply(planned), order.append("written")))
        writing.start()
        time.sleep(0.2)
        assert file.read_text(encoding="utf-8") == RECORDED["written_by_hermes"]
        order.append("unlocked")
        fcntl.flock(lock, fcntl.LOCK_UN)
        writing.join()
    assert order == ["unlocked", "written"]
    assert file.read_text(encoding="utf-8").endswith("\n§\nnew")


def test_copies_are_shown_and_not_given_to_sessions(tmp_path: Path) -> None:
    library = load(home(tmp_path, "a\n§\nb\n§\na"), tmp_path / "state")
    found = list(library.memories(library.stores[0].label))
    assert [m.extra.get("duplicate", False) for m in found] == [False, False, True]
    assert len({m.id for m in found}) == 3


def test_other_folders_called_memories_are_left_alone(tmp_path: Path) -> None:
    assert detect(home(tmp_path, "one entry")) == tmp_path / ".hermes"
    other = tmp_path / "codex" / "memories"
    other.mkdir(parents=True)
    (other / "MEMORY.md").write_text("# Task Group: a\n")
    assert detect(other.parent) is None
    (other / "MEMORY.md").write_text("a\n§\nb")
    assert detect(other) == other.parent
    (other / "memory_summary.md").write_text("v1\n")
    assert detect(other.parent) is None
    for name in ("claude-code", "workspace", "agent-memory", "markdown-folder"):
        assert detect(SAMPLES / name) is None


def test_limits_that_are_no_numbers_are_the_usual_ones() -> None:
    for text in ("", "memory: 3", "memory: {memory_char_limit: many}", "a: [", "- x"):
        assert parse_limits(text)["MEMORY.md"] == 2200


# ---- at random ----------------------------------------------------------------------------------

ENTRY = st.text(st.sampled_from("ab§ \n\r\té漢🙂\x85"), min_size=1, max_size=8).filter(str.strip)
GLUE = st.sampled_from(["\n§\n", "\r\n§\r\n", " \n§\n", "\n§\n\n§\n"])
WANTED = ENTRY.map(str.strip)


@st.composite
def files(draw: st.DrawFn) -> EntryFile:
    parts = draw(st.lists(ENTRY, min_size=1, max_size=5))
    text = draw(st.sampled_from(["", "\n", " "])) + parts[0]
    for part in parts[1:]:
        text += draw(GLUE) + part
    whole = text + draw(st.sampled_from(["", "\n"]))
    file = EntryFile("MEMORY.md", Path("/x/MEMORY.md"), whole, Sidecar())
    file.limit = 500
    return file


def texts(text: str) -> list[str]:
    return entries_in(text)


@given(files(), WANTED, st.data())
def test_one_entry_is_changed_and_every_other_byte_stays(
    file: EntryFile, wanted: str, data: st.DataObject
) -> None:
    if not file.items:
        return
    item = data.draw(st.sampled_from(list(file.items)))
    try:
        after = file.replace(item, wanted)
    except Refused:
        return  # it would have been read as something else
    assert file.before is not None
    assert after == file.before[: item.start] + wanted + file.before[item.end :]
    now = [each.text for each in file.items]
    now[file.items.index(item)] = wanted
    assert texts(after) == now


@given(files(), WANTED, st.data())
def test_entries_are_added_and_removed(file: EntryFile, wanted: str, data: st.DataObject) -> None:
    if not file.items:
        return
    now = [each.text for each in file.items]
    gone = data.draw(st.lists(st.sampled_from(list(file.items)), unique=True))
    try:
        left = texts(file.remove(gone))
    except Refused:
        left = None
    if left is not None:
        dropped = {file.items.index(item) for item in gone}
        assert left == [text for number, text in enumerate(now) if number not in dropped]
    try:
        assert texts(file.insert("", wanted)) == [*now, wanted]
    except Refused:
        return


def test_bytes_that_are_no_text_are_named_and_the_limits_are_told(tmp_path: Path) -> None:
    root = home(tmp_path, "The tower has nine bells\n§\nRing softly", "Ann")
    (root / "memories" / "USER.md").write_bytes(b"Ann \xff")
    library = load(root, tmp_path / "state")
    assert [each.reason for each in library.unreadable(library.stores[0].label)] == [
        "Hermes cannot load it: it is not UTF-8"
    ]
    (store,) = library.stores
    uses = store.limit_uses(_view(library), datetime(2026, 11, 20, tzinfo=UTC))
    assert [(use.title, use.measures) for use in uses] == [
        ("MEMORY.md", (("characters", 38, 2200),)),
        ("USER.md", (("characters", 5, 1375),)),
    ]
    record = uses[0].as_record()
    assert record["characters"] == {"used": 38, "limit": 2200}
    assert record["title"] == "MEMORY.md"
    assert record["file"].endswith("MEMORY.md")


def test_what_hermes_would_not_write_is_read_and_remarked_on(tmp_path: Path) -> None:
    root = home(tmp_path, "The tower has nine bells \n§\n  Ring softly", "Ann")
    (root / "memories" / "old").mkdir()
    (root / "memories" / "old" / "MEMORY.md").write_text("Ten bells")
    library = load(root, tmp_path / "state")
    (store,) = library.stores
    assert library.unreadable(store.label) == ()
    assert len(library.snapshot.rows) == 3
    assert [remark.text for remark in store.remarks()] == [
        "Hermes refuses to write it: it is not a clean list of entries",
        "1 note below memories/ is no program's memory: old/MEMORY.md",
    ]


def test_a_memory_folder_behind_a_link_is_a_store_of_its_own(tmp_path: Path) -> None:
    """People keep it in a synchronised folder; its limits stay those of the home."""
    root = home(tmp_path, "The tower is locked", "Name: Gil")
    (root / "config.yaml").write_text("memory:\n  memory_char_limit: 60\n")
    (tmp_path / "synced").mkdir()
    (root / "memories").rename(tmp_path / "synced" / "h")
    (root / "memories").symlink_to("../synced/h")
    found = [path for _, path in registry.detect_within(tmp_path)]
    assert found == [root, root / "memories"]
    library = Library.open(found, state=tmp_path / ".state")
    library.load()
    assert not any(state.unreadable for state in library.snapshot.stores)
    label = library.stores[1].label
    fact, _ = library.memories(label)
    library.apply(library.plan([Change(Act.EDIT, label, fact.ref, {"content": "It is open"})]))
    assert (tmp_path / "synced" / "h" / "MEMORY.md").read_text() == "It is open"
    with pytest.raises(Refused, match="of 60 characters"):
        library.plan([Change(Act.EDIT, label, fact.ref, {"content": "wide " * 20})])
