"""An edit that an agent takes back by writing from an older reading is noticed, and only that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Edit, Kind, record_edit, sidecar_edit, text_edit, value_edit
from memtui.files import revert_detection
from memtui.files.json.editing import set_member
from memtui.files.json.locating import load_records
from memtui.files.revert_detection import (
    EditState,
    EditStatus,
    PassageComparison,
    append_text,
    compare_passages,
    find_statuses,
    is_all_gone,
)
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit

HELD, UNDONE, CHANGED = EditState.HELD, EditState.REVERTED, EditState.CHANGED

NOTE = """---
type: feedback
---
# How to write

- Keep it short.
- Name the file.
- No jokes.

The end.
"""


@pytest.fixture
def recorder(tmp_path: Path) -> NullRecorder:
    return NullRecorder(tmp_path / "state")


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.json"
    records = [{"id": f"r{i}", "content": f"fact {i}", "status": "active", "n": 1} for i in (0, 1)]
    path.write_text(json.dumps(records, indent=2) + "\n")
    return path


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text(NOTE)
    return path


def edit_of(path: Path, index: int, content: str | None) -> Edit:
    record = load_records(path.read_text())[index]
    after = None if content is None else set_member(record.raw, "content", content)
    return record_edit(str(path), (), "id", record.value["id"], record.raw, after, index)


def stand_of(*trail: Edit) -> EditStatus:
    ((asked, stand),) = find_statuses([trail])
    assert asked == trail
    return stand


def now_is(trail: tuple[Edit, ...], recorder: NullRecorder) -> EditState:
    """How it stands; what was taken back is made again, and must hold then."""
    stand = stand_of(*trail)
    if stand.state is UNDONE:
        assert stand.reapply is not None
        commit([stand.reapply], recorder)
        assert stand_of(stand.reapply).state is HELD
    else:
        assert stand.reapply is None
    return stand.state


# ---- records --------------------------------------------------------------------------------


def test_a_record_that_an_agent_puts_back_is_noticed(items: Path) -> None:
    agent_has_read = items.read_text()
    edits = [edit_of(items, 0, "mine"), edit_of(items, 1, None)]
    commit(edits, NullRecorder(items.parent / "state"))
    trails = [(edit,) for edit in edits]
    assert [stand.state for _, stand in find_statuses(trails)] == [HELD, HELD]
    items.write_text(agent_has_read)
    assert [stand.state for _, stand in find_statuses(trails)] == [UNDONE, UNDONE]
    items.write_text(agent_has_read.replace("fact 0", "else"))
    assert [stand.state for _, stand in find_statuses(trails)] == [CHANGED, UNDONE]
    items.write_text("")
    assert find_statuses(trails) == []


def test_a_count_that_the_agent_moved_besides_hides_nothing_and_is_kept(
    items: Path, recorder: NullRecorder
) -> None:
    agent_has_read = items.read_text()
    mine = edit_of(items, 0, "mine")
    commit([mine], recorder)
    items.write_text(agent_has_read.replace('"n": 1', '"n": 2'))
    assert now_is((mine,), recorder) is UNDONE
    assert json.loads(items.read_text())[0] == {
        "id": "r0",
        "content": "mine",
        "status": "active",
        "n": 2,
    }


def test_two_edits_that_one_old_reading_takes_back_are_one_to_make_again(
    items: Path, recorder: NullRecorder
) -> None:
    agent_has_read = items.read_text()
    first = edit_of(items, 0, "first")
    commit([first], recorder)
    second = edit_of(items, 0, "second")
    commit([second], recorder)
    items.write_text(agent_has_read)
    assert now_is((second, first), recorder) is UNDONE
    assert json.loads(items.read_text())[0]["content"] == "second"


def test_a_record_that_is_worked_on_further_is_not_told(
    items: Path, recorder: NullRecorder
) -> None:
    mine = edit_of(items, 0, "mine")
    commit([mine], recorder)
    items.write_text(items.read_text().replace('"mine"', '"mine, and more"'))
    assert stand_of(mine).state is CHANGED
    items.write_text(items.read_text().replace('"mine, and more"', '"mine"').replace("1", "5"))
    assert stand_of(mine).state is CHANGED


# ---- values ---------------------------------------------------------------------------------


def test_an_entry_of_a_map_that_is_put_back_is_noticed(
    tmp_path: Path, recorder: NullRecorder
) -> None:
    path = tmp_path / "types.json"
    path.write_text('{"types": {"a.md": "note"}, "n": 1}\n')
    changed = value_edit(str(path), ("types", "a.md"), '"note"', '"rule"')
    made = value_edit(str(path), ("types", "b.md"), "", '"rule"')
    commit([changed, made], recorder)
    assert [s.state for _, s in find_statuses([(changed,), (made,)])] == [HELD, HELD]
    path.write_text('{"types":{"a.md":"note"},"n":2}')
    assert now_is((changed,), recorder) is UNDONE
    assert now_is((made,), recorder) is UNDONE
    assert json.loads(path.read_text()) == {"types": {"a.md": "rule", "b.md": "rule"}, "n": 2}
    path.write_text('{"types": {"a.md": "story"}}')
    assert [s.state for _, s in find_statuses([(changed,), (made,)])] == [CHANGED, UNDONE]
    path.write_text('{"n": 3}')
    assert find_statuses([(changed,), (made,)]) == []


def test_what_programs_move_all_the_time_is_never_told(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"lastActive": 1}')
    moved = value_edit(str(path), ("lastActive",), "1", "2", kind=Kind.COUNTER)
    noted = sidecar_edit(str(tmp_path), "m", None, {"pinned": True})
    assert find_statuses([(moved,), (noted,)]) == []


# ---- whole texts ----------------------------------------------------------------------------

MINE = {
    "a line changed": NOTE.replace("- Name the file.", "- Name the file and the line."),
    "a line added": NOTE.replace("- No jokes.\n", "- No jokes.\n- Say why.\n"),
    "a line taken out": NOTE.replace("- Name the file.\n", ""),
    "a line appended": NOTE + "One more.\n",
    "a passage rewritten": NOTE.replace("- Keep it short.\n- Name", "- Be brief.\n- Call"),
    "the head changed": NOTE.replace("type: feedback", "type: rule"),
    "two places": NOTE.replace("short", "very short").replace("The end.", "The true end."),
}
THEIRS = {
    "nothing else": lambda text: text,
    "a line appended": lambda text: text + "- What the agent learnt.\n",
    "a line on top": lambda text: text.replace("# How", "Seen today.\n\n# How"),
    "another line changed": lambda text: text.replace("- No jokes.", "- Few jokes."),
}


@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("mine", MINE)
def test_a_text_written_from_an_older_reading_is_noticed_and_mended(
    note: Path, recorder: NullRecorder, mine: str, theirs: str
) -> None:
    edit = text_edit(str(note), NOTE, MINE[mine])
    commit([edit], recorder)
    assert stand_of(edit).state is HELD
    note.write_text(THEIRS[theirs](NOTE))
    stand = stand_of(edit)
    assert stand.state is UNDONE
    assert stand.reapply is not None
    commit([stand.reapply], recorder)
    if mine == theirs == "a line appended":  # at one place: either order is right
        lines = [*NOTE.split("\n"), "One more.", "- What the agent learnt."]
        assert sorted(note.read_text().split("\n")) == sorted(lines)
    else:
        assert note.read_text() == THEIRS[theirs](MINE[mine])


@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("mine", MINE)
def test_a_text_in_which_the_agent_kept_the_change_is_not_told(
    note: Path, recorder: NullRecorder, mine: str, theirs: str
) -> None:
    edit = text_edit(str(note), NOTE, MINE[mine])
    commit([edit], recorder)
    note.write_text(THEIRS[theirs](MINE[mine]))
    assert stand_of(edit) == EditStatus(HELD)


def test_a_line_of_mine_that_is_worked_on_is_not_put_in_twice(
    note: Path, recorder: NullRecorder
) -> None:
    edit = text_edit(str(note), NOTE, NOTE.replace("- No jokes.\n", "- No jokes.\n- Say why.\n"))
    commit([edit], recorder)
    note.write_text(note.read_text().replace("- Say why.", "- Say why, always."))
    assert stand_of(edit) == EditStatus(CHANGED)
    note.write_text("# Written anew\n\nNothing of it is left.\n")
    assert stand_of(edit) == EditStatus(CHANGED)


def test_of_two_edits_the_one_the_agent_had_not_read_is_made_again(
    note: Path, recorder: NullRecorder
) -> None:
    one = NOTE.replace("short", "very short")
    two = one.replace("The end.", "The true end.")
    first, second = text_edit(str(note), NOTE, one), text_edit(str(note), one, two)
    commit([first], recorder)
    commit([second], recorder)
    note.write_text(one + "Theirs.\n")
    assert now_is((second, first), recorder) is UNDONE
    assert note.read_text() == two + "Theirs.\n"
    note.write_text(NOTE + "Theirs.\n")
    assert now_is((second, first), recorder) is UNDONE
    assert note.read_text() == two + "Theirs.\n"


def test_a_file_i_removed_and_a_program_made_anew_is_noticed(
    note: Path, recorder: NullRecorder
) -> None:
    edit = text_edit(str(note), NOTE, None)
    commit([edit], recorder)
    assert stand_of(edit).state is HELD
    note.write_text("Something new under the old name.\n")
    assert stand_of(edit) == EditStatus(CHANGED)
    note.write_text(NOTE + "\n")
    assert now_is((edit,), recorder) is UNDONE
    assert not note.exists()


def test_a_file_i_made_and_a_program_took_away_is_noticed(
    tmp_path: Path, recorder: NullRecorder
) -> None:
    items = tmp_path / "deep" / "items.json"
    made = text_edit(str(items), None, "[]\n")
    added = record_edit(str(items), (), "id", "r", None, '{"id": "r", "content": "mine"}')
    commit([made, added], recorder)
    content = items.read_text()
    items.unlink()
    found = find_statuses([(added,), (made,)])
    assert {stand.state for _, stand in found} == {UNDONE}
    commit([stand.reapply for _, stand in found if stand.reapply], recorder)
    assert items.read_text() == content


MADE = "---\ntype: feedback\n---\n# Today\n\nWe keep bees on the roof.\n"


@pytest.mark.parametrize(
    ("now", "standing"),
    [
        ("# Today\n\nThe harbour was closed.\n", UNDONE),
        ("---\ntype: feedback\n---\n# Today\n\nThe harbour was closed.\n", UNDONE),
        ("", UNDONE),
        ("We keep bees on the roof.\n\nThe harbour was closed.\n", CHANGED),
        ("# Today\n\nWe keep two bees on the roof.\n", CHANGED),
    ],
)
def test_a_file_i_made_and_a_program_made_too_is_noticed_when_nothing_of_mine_is_left(
    tmp_path: Path, recorder: NullRecorder, now: str, standing: EditState
) -> None:
    path = tmp_path / "2026-11-20.md"
    made = text_edit(str(path), None, MADE)
    commit([made], recorder)
    assert stand_of(made) == EditStatus(HELD)
    path.write_text(now)
    assert now_is((made,), recorder) is standing
    if standing is UNDONE:
        assert path.read_text().startswith(now)
        assert path.read_text().count("We keep bees on the roof.") == 1
        assert path.read_text().count("---") in (0, 2)


def test_an_edited_file_that_was_deleted_is_left_deleted(
    note: Path, recorder: NullRecorder
) -> None:
    edit = text_edit(str(note), NOTE, MINE["two places"])
    commit([edit], recorder)
    note.unlink()
    assert stand_of(edit) == EditStatus(CHANGED)


def test_a_long_text_is_looked_at_fast(note: Path, recorder: NullRecorder) -> None:
    long = "".join(f"- line {i}\n\n" for i in range(40_000))
    mine = long.replace("- line 7\n", "- line seven\n").replace("- line 39000\n", "")
    edit = text_edit(str(note), long, mine)
    note.write_text(mine)
    assert stand_of(edit) == EditStatus(HELD)
    note.write_text(long)
    assert stand_of(edit).state is UNDONE
    note.write_text("An agent's line.\n" + long)
    assert stand_of(edit) == EditStatus(CHANGED)


def test_applied_again_is_only_what_was_reverted(items: Path, recorder: NullRecorder) -> None:
    """A member that the agent has set to something else since is its own."""
    (record, _) = load_records(items.read_text())
    after = set_member(set_member(record.raw, "content", "mine"), "status", "retired")
    edit = record_edit(str(items), (), "id", "r0", record.raw, after)
    commit([edit], recorder)
    records = json.loads(items.read_text())
    records[0] |= {"content": "fact 0", "status": "superseded"}
    items.write_text(json.dumps(records))
    stand = stand_of(edit)
    assert stand.state is UNDONE
    assert stand.reapply is not None
    commit([stand.reapply], recorder)
    assert json.loads(items.read_text())[0] == records[0] | {"content": "mine"}


# ---- members of a record --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "now", "reapplied"),
    [
        ({"a": 1, "n": 1}, {"a": 2, "n": 1}, {"a": 1, "n": 5}, {"a": 2, "n": 5}),
        ({"a": 1, "n": 1}, {"n": 1}, {"a": 1, "n": 5}, {"n": 5}),
        ({"n": 1}, {"a": 2, "n": 1}, {"n": 5}, {"n": 5, "a": 2}),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "b": 1, "n": 1}, {"a": 2, "b": 2, "n": 1}, {"a": 1, "b": 2, "n": 1}, None),
        ({"a": 1, "n": 1}, {"a": 2, "n": 1}, {"a": 3, "n": 1}, None),
        ({"a": 1, "n": 1}, {"a": True, "n": 1}, {"a": 1, "n": 2}, {"a": True, "n": 2}),
    ],
)
def test_only_members_that_are_as_before_are_applied_again(
    tmp_path: Path,
    before: dict[str, object],
    after: dict[str, object],
    now: dict[str, object],
    reapplied: dict[str, object] | None,
) -> None:
    path = tmp_path / "items.json"
    raws = [json.dumps({"id": "r", **fields}) for fields in (before, after)]
    edit = record_edit(str(path), (), "id", "r", *raws)
    path.write_text(json.dumps([{"id": "r", **now}]))
    found = stand_of(edit)
    if reapplied is None:
        assert found == EditStatus(CHANGED)
    else:
        assert found.reapply.kind is Kind.RECORD
        assert json.loads(found.reapply.after or "") == {"id": "r", **reapplied}
        assert found.state is UNDONE


def test_a_record_that_was_added_and_is_gone_is_added_again_but_not_one_that_is_edited(
    items: Path, recorder: NullRecorder
) -> None:
    added = record_edit(str(items), (), "id", "new", None, '{"id": "new", "content": "mine"}')
    assert stand_of(added) == EditStatus(UNDONE, added)
    commit([added], recorder)
    assert stand_of(added) == EditStatus(HELD)
    edited = edit_of(items, 2, "more")
    commit([edited], recorder)
    items.write_text(json.dumps(json.loads(items.read_text())[:2]))
    assert stand_of(edited) == EditStatus(CHANGED)
    assert now_is((edited, added), recorder) is UNDONE
    assert json.loads(items.read_text())[2]["content"] == "more"


# ---- passages of a text ---------------------------------------------------------------------


def compared(before: str, after: str, now: str) -> tuple[bool, bool, str]:
    found = compare_passages(*(text.replace(" ", "\n") for text in (before, after, now)))
    return found.is_reverted, found.is_complete, found.reapplied.replace("\n", " ")


@pytest.mark.parametrize(
    ("before", "after", "now", "expected"),
    [
        ("a b c", "a B c", "a b c", (True, False, "a B c")),
        ("a b c", "a B c", "a B c", (False, True, "a B c")),
        ("a b c", "a B c", "a x c", (False, False, "a x c")),
        ("a b c", "a B c", "x a b c y", (True, False, "x a B c y")),
        ("a b c d", "A b c D", "a b c D", (True, False, "A b c D")),
        # a passage that was removed
        ("a b c", "a c", "a b c", (True, False, "a c")),
        ("a b c", "a c", "a c x", (False, True, "a c x")),
        ("a b b c", "a b c", "a b b c", (True, False, "a b c")),
        # a passage that was added: above, between and below neighbours that are still there
        ("a c", "a b c", "a c", (True, False, "a b c")),
        ("a c", "a b c", "a x", (True, False, "a b x")),
        ("a c", "a b c", "x c", (True, False, "x b c")),
        ("a c", "a b c", "x y", (False, False, "x y")),
        ("a c d", "a b c D", "c d", (True, False, "b c D")),
        ("a c", "b a c", "a x c", (True, False, "b a x c")),
        ("a c", "a c b", "a x c", (True, False, "a x c b")),
        ("a c", "a b c", "a c b", (False, True, "a c b")),
        # two lines that belong together are only one passage while they do
        ("a b c d", "a B C d", "a b c d x", (True, False, "a B C d x")),
        ("a b c d", "a B C d", "a b x c d", (False, False, "a b x c d")),
        ("a b c d", "a B C d", "a b C d", (False, False, "a b C d")),
    ],
)
def test_each_passage_is_looked_for_by_itself(
    before: str, after: str, now: str, expected: tuple[bool, bool, str]
) -> None:
    assert compared(before, after, now) == expected


def test_blank_lines_are_no_change_but_go_with_the_passage_beside_them() -> None:
    before, after = "a\n\nb\n\nc", "a\n\nc"
    assert compare_passages("a\nb", "a\n\nb", "a\nb") == PassageComparison(
        is_reverted=False, is_complete=True, reapplied="a\nb"
    )
    assert compare_passages(before, after, before).reapplied == after
    assert compare_passages(before, after, f"{before}\nx").reapplied == f"{after}\nx"
    assert compare_passages(before, after, "a\nb\nc\nx").reapplied in ("a\nc\nx", "a\n\nc\nx")


def test_a_line_like_the_added_one_is_not_doubled() -> None:
    before, after = "a\nz", "a\nWe keep bees here.\nz"
    for now in ("a\nWe keep two bees here.\nz", "a\n\nWe keep bees.\nz"):
        assert compare_passages(before, after, now).reapplied == now
    now = "a\nThe harbour was closed.\nz"
    assert sorted(compare_passages(before, after, now).reapplied.split("\n")) == sorted(
        [*now.split("\n"), "We keep bees here."]
    )


@pytest.mark.parametrize(("extra", "is_reverted"), [(0, True), (1, False)])
def test_texts_are_compared_by_passages_up_to_a_number_of_lines(
    monkeypatch: pytest.MonkeyPatch, extra: int, is_reverted: bool
) -> None:
    monkeypatch.setattr(revert_detection, "MAX_LINES", 6)
    before = "head\n" + "\n".join(f"line {n}" for n in range(6 + extra)) + "\ntail"
    after = before.replace("line 0", "line zero").replace(f"line {5 + extra}", "the last")
    assert compare_passages(before, after, before).is_reverted is is_reverted
    assert compare_passages(before, after, after).is_complete


@pytest.mark.parametrize(
    ("ours", "now", "is_gone"),
    [
        ("# H\nbees", "# H\nharbour", True),
        ("# H\nbees", "# H\n  bees  \n", False),
        ("# H\nbees on the roof", "# H\nbees on a roof", False),
        ("# H\n", "# H\nharbour", False),  # a text of headings only has nothing else
        ("# H\n", "harbour", True),
        ("---\na: 1\n---\nbees", "---\na: 1\n---\nharbour", True),
        ("bees", "", True),
    ],
)
def test_a_text_is_gone_when_no_line_of_it_is_left(ours: str, now: str, is_gone: bool) -> None:
    assert is_all_gone(ours, now) is is_gone


@pytest.mark.parametrize(("extra", "is_gone"), [(0, False), (1, True)])
def test_similar_lines_are_searched_for_up_to_a_number_of_pairs(
    monkeypatch: pytest.MonkeyPatch, extra: int, is_gone: bool
) -> None:
    monkeypatch.setattr(revert_detection, "MAX_PAIRS", 6)
    now = "bees on a roof\nharbour" + "\nquay" * extra
    assert is_all_gone("bees on the roof\none\ntwo", now) is is_gone
    assert not is_all_gone("bees on a roof\none\ntwo", now)


@pytest.mark.parametrize(
    ("now", "ours", "result"),
    [
        ("", "bees\n", "bees\n"),
        (" \n", "bees\n", "bees\n"),
        ("harbour\n\n\n", "\nbees\n\n", "harbour\n\nbees\n"),
        ("harbour", "---\na: 1\n---\nbees", "harbour\n\nbees\n"),
        ("one\r\ntwo\r\n", "bees\nmore\n", "one\r\ntwo\r\n\r\nbees\r\nmore\r\n"),
        ("harbour\n", "bees\r\nmore\r\n", "harbour\n\nbees\nmore\n"),
    ],
)
def test_what_was_written_over_is_put_below(now: str, ours: str, result: str) -> None:
    assert append_text(now, ours) == result


# ---- several edits of one file --------------------------------------------------------------


def test_a_text_that_is_edited_again_later_is_not_put_back(note: Path) -> None:
    one = NOTE.replace("- No jokes.\n", "- No jokes.\n- Say why.\n")
    first = text_edit(str(note), NOTE, one)
    later = text_edit(str(note), one, NOTE.replace("short", "brief"))  # memtui took the line out
    note.write_text(NOTE.replace("short", "brief"))
    assert [status for _, status in find_statuses([(later,), (first,)])] == [
        EditStatus(CHANGED),
        EditStatus(HELD),
    ]


def test_two_runs_of_edits_that_one_old_reading_drops_are_both_put_back(
    note: Path, recorder: NullRecorder
) -> None:
    one = NOTE.replace("- Name the file.", "- Name the file and the line.")
    agents = one.replace("The end.", "The agent's end.")
    two = agents.replace("- No jokes.", "- Few jokes.")
    first, second = text_edit(str(note), NOTE, one), text_edit(str(note), agents, two)
    note.write_text(NOTE)
    found = find_statuses([(second,), (first,)])
    assert [(edits[0], status.state) for edits, status in found] == [
        (first, UNDONE),
        (second, UNDONE),
    ]
    for _, status in found:
        assert status.reapply is not None
        commit([status.reapply], recorder)
    assert note.read_text() == two.replace("The agent's end.", "The end.")


def test_a_text_that_is_still_being_written_is_left_for_the_next_time(
    note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = text_edit(str(note), NOTE, MINE["two places"])
    note.write_text(NOTE + "Half a li")
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        note.write_text(NOTE + "Half a line, and the rest.\n")

    monkeypatch.setattr(revert_detection.time, "sleep", sleep)
    assert find_statuses([(edit,)]) == []
    assert waited == [revert_detection.SETTLE_SECONDS]
    note.write_text(NOTE)  # exactly as before: nobody is writing
    assert stand_of(edit).state is UNDONE
    assert len(waited) == 1


def test_a_file_that_cannot_be_read_is_left_out_and_the_others_are_not(
    tmp_path: Path, note: Path
) -> None:
    folder = tmp_path / "folder.md"
    folder.mkdir()
    texts = text_edit(str(folder), "a", "b"), text_edit(str(note), NOTE, NOTE + "x\n")
    broken = record_edit(str(folder), (), "id", "r", None, "{}")
    items_of = text_edit(str(folder), "a", "b", Kind.ENTRIES)
    found = find_statuses([(texts[0],), (broken,), (items_of,), (texts[1],)])
    assert [(edits, status.state) for edits, status in found] == [((texts[1],), UNDONE)]


def test_a_note_of_a_heading_that_a_program_goes_on_with_is_not_put_below_it_again(
    tmp_path: Path, recorder: NullRecorder
) -> None:
    path = tmp_path / "note.md"
    made = text_edit(str(path), None, "# Harbour\n")
    commit([made], recorder)
    path.write_text("# Harbour\n\nIt was closed.\n")
    assert stand_of(made) == EditStatus(CHANGED)
