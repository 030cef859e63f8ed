"""What the next format costs: this file up to FORMAT is all that it would take.

The store below has no word for a pin, a tag, a link or a rating, and yet has them all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Act, Change, Plan, record_edit
from memtui.errors import Refused, UnreadableFile
from memtui.files.json.editing import put_member
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Shard
from memtui.stores.file_store import FileStore
from memtui.stores.format import Format, FormatSupport
from memtui.stores.json_file import named_records, read_json
from memtui.stores.plans import ActionSupport, PlanContext, plan_one
from memtui.stores.scanning import FoundShard, as_unreadable
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import changed_values, check_unchanged, content_of, text_of

from .json_stores.opened import LABEL, Opened

FILE = "jotter.json"


def _edit(change: Change, memory: Memory, context: PlanContext) -> Plan:
    asked = changed_values(change, memory, {"content"})
    path = context.root / FILE
    records, _ = named_records(read_json(path, context.root), FILE)
    named = next(record for record in records if record.id == memory.id)
    check_unchanged(memory, text_of(named.value.get("text")), str(path), asked.get("content"))
    raw = put_member(named.record.raw, "text", content_of(change))
    return plan_one(
        change, memory, (record_edit(str(path), (), "id", named.id, named.record.raw, raw),)
    )


def _add(_change: Change, context: PlanContext) -> Plan:
    raise Refused("a jotter is written by its own program", where=str(context.root))


class Jotter(FileStore):
    """Jottings: one JSON file of `{"id", "text"}`."""

    format = "jotter"
    acts = ActionSupport(
        editable=frozenset({"content"}),
        add=_add,
        handlers={Act.EDIT: _edit},
        unsupported={Act.DELETE: "a jotter forgets nothing"},
        shard_of=lambda _: FILE,
    )

    def find_shards(self) -> list[FoundShard]:
        return [FoundShard(FILE, (str(self.root / FILE),))]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        path = Path(shard.files[0])
        try:
            file = read_json(path, self.root)
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))
        records, faults = named_records(file, FILE)
        return Reading(
            tuple(
                Memory(
                    ref=f"{self.label}:{record.id}",
                    id=record.id,
                    store=self.label,
                    kind="note",
                    content=text_of(record.value.get("text")),
                    origin=Place(str(path), record.record.line, file.key(record.index)),
                )
                for record in records
            ),
            tuple(faults),
        )


FORMAT = Format(
    name="jotter",
    title="Jotter: one file of jottings",
    places=(),
    detect=lambda path: path if (path / FILE).is_file() else None,
    load=lambda: FormatSupport(Jotter),
)


@pytest.fixture
def jotter(tmp_path: Path) -> Opened:
    root = tmp_path / "store"
    root.mkdir()
    jottings = [{"id": "a", "text": "ink is low"}, {"id": "b", "text": "nib is bent", "odd": 1}]
    (root / FILE).write_text(json.dumps(jottings, indent=1))
    found = FORMAT.detect(root)
    assert found is not None
    return Opened(FORMAT.open(found, LABEL), tmp_path / "state")


def test_the_text_is_edited_in_place_and_taken_back(jotter: Opened) -> None:
    file = jotter.store.root / FILE
    before = file.read_bytes()
    plan = jotter.do(Act.EDIT, "b", content="nib is new")
    assert file.read_bytes() == before.replace(b"nib is bent", b"nib is new")
    jotter.undo(plan)
    assert file.read_bytes() == before


def test_what_the_format_cannot_hold_lies_beside_it(jotter: Opened) -> None:
    before = (jotter.store.root / FILE).read_bytes()
    jotter.do(Act.PIN, "a")
    jotter.do(Act.TAG, "a", tags=["context"])
    jotter.do(Act.LINK, "a", relation="near", target="b")
    jotter.do(Act.RATE, "a", rating=4)
    memory = jotter.by_id("a")
    assert (memory.pinned, memory.tags, memory.extra["rating"]) == (True, ("context",), 4)
    assert [(link.relation, link.target) for link in memory.links] == [("near", "b")]
    assert (jotter.store.root / FILE).read_bytes() == before


def test_what_it_cannot_do_says_why(jotter: Opened) -> None:
    memory = jotter.by_id("a")
    assert jotter.store.refusal(Act.DELETE, memory) == "a jotter forgets nothing"
    assert jotter.store.refusal(Act.MERGE, memory) == "this format has no way to do it"
    assert jotter.store.refusal(Act.EDIT, memory) == ""
    with pytest.raises(Refused, match="forgets nothing"):
        jotter.plan(Act.DELETE, "a")


def test_a_broken_file_is_named_and_never_empty(jotter: Opened) -> None:
    file = jotter.store.root / FILE
    file.write_text("[{")
    jotter.reload()
    assert [fault.file for fault in jotter.unreadable] == [str(file)]
    assert jotter.memories == []
