"""Texts of items: each change is merged, and found again, by the item that it changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Edit, Kind, invert_edits, record_edit, text_edit
from memtui.errors import Conflict, Refused
from memtui.files import save_hooks
from memtui.files.json.graph import parse_graph
from memtui.files.merging import rebase
from memtui.files.revert_detection import EditState, find_statuses
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.files.text_items import (
    DELIMITER,
    changed_items,
    entry_spans,
    insert_entry,
    is_complete,
    is_similar,
    remove_entry,
)

Lists = dict[str, list[str]]
"""Entity -> its observations, and relations under an empty name."""


def graph(lists: Lists, types: dict[str, str] | None = None) -> str:
    """The file as the server writes it."""
    lines = [
        {
            "type": "entity",
            "name": name,
            "entityType": (types or {}).get(name, "thing"),
            "observations": texts,
        }
        for name, texts in lists.items()
        if name
    ]
    ends = [text.split(">") for text in lists.get("", [])]
    lines += [{"type": "relation", "from": a, "to": b, "relationType": "knows"} for a, b in ends]
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)


def lists_of(text: str) -> Lists:
    parsed = parse_graph(text)
    found = {each.name: [str(o) for o in each.observations] for each in parsed.entities}
    relations = [f"{each.text('from')}>{each.text('to')}" for each in parsed.relations]
    return {**found, "": relations} if relations else found


def entries(*texts: str) -> str:
    return DELIMITER.join(texts)


def made(before: str, after: str, now: str, form: Kind) -> str | None:
    return rebase(now, [text_edit("f", before, after, kind=form)])


# ---- merging -------------------------------------------------------------------------------------


def test_one_observation_is_edited_beside_those_that_the_server_adds() -> None:
    before, after = graph({"A": ["a", "b"]}), graph({"A": ["a2", "b"]})
    now = graph({"A": ["a", "b", "theirs"]})
    merged = made(before, after, now, Kind.GRAPH)
    assert merged == graph({"A": ["a2", "b", "theirs"]})
    assert made(after, before, merged, Kind.GRAPH) == now


def test_an_observation_goes_where_it_was_added() -> None:
    before, after = graph({"A": ["a", "c"]}), graph({"A": ["a", "b", "c"]})
    assert made(before, after, graph({"A": ["0", "a", "d"]}), Kind.GRAPH) == graph(
        {"A": ["0", "a", "b", "d"]}
    )


def test_an_entity_whose_undo_finds_an_observation_of_the_server_stays() -> None:
    before, after = graph({"A": ["a"]}), graph({"A": ["a"], "B": ["b"]})
    now = graph({"A": ["a"], "B": ["b", "theirs"]})
    assert made(after, before, now, Kind.GRAPH) == graph({"A": ["a"], "B": ["theirs"]})
    assert made(after, before, graph({"B": ["b"], "A": ["a"]}), Kind.GRAPH) == before


def test_an_entity_that_is_gone_is_made_anew_with_its_type() -> None:
    types = {"B": "person"}
    before, after = (
        graph({"A": ["a"], "B": ["b"]}, types),
        graph({"A": ["a"], "B": ["b", "c"]}, types),
    )
    merged = made(before, after, graph({"A": ["a", "x"]}), Kind.GRAPH)
    assert merged == graph({"A": ["a", "x"], "B": ["c"]}, types)


def test_types_and_relations_are_merged_too() -> None:
    before = graph({"A": ["a"], "B": ["b"], "": ["A>B"]})
    after = graph({"A": ["a"], "B": ["b"], "": ["B>A"]}, {"A": "person"})
    now = graph({"A": ["a", "x"], "B": ["b"], "": ["A>B", "A>C"]})
    assert made(before, after, now, Kind.GRAPH) == graph(
        {"A": ["a", "x"], "B": ["b"], "": ["A>C", "B>A"]}, {"A": "person"}
    )


def test_one_of_two_equal_relations_is_removed() -> None:
    before, after = (graph({"A": ["a"], "": ["A>B"] * number}) for number in (2, 1))
    now = graph({"A": ["a"], "": ["A>B", "A>C", "A>B"]})
    assert made(before, after, now, Kind.GRAPH) == graph({"A": ["a"], "": ["A>B", "A>C"]})


@pytest.mark.parametrize(
    ("form", "before", "after", "now"),
    [
        (Kind.GRAPH, graph({"A": ["a"]}), graph({"A": ["b"]}), graph({"A": ["theirs"]})),
        (Kind.GRAPH, graph({"A": []}, {"A": "x"}), graph({"A": []}), graph({"A": []}, {"A": "y"})),
        (Kind.ENTRIES, entries("a", "b"), entries("a", "c"), entries("a", "theirs")),
    ],
)
def test_the_same_item_changed_on_both_sides_is_a_conflict(
    form: str, before: str, after: str, now: str
) -> None:
    with pytest.raises(Conflict):
        made(before, after, now, form)


def test_entries_added_on_both_sides_stay_and_none_is_doubled() -> None:
    before = entries("a", "b")
    assert made(
        before, entries("a", "b", "ours"), entries("a", "b", "theirs"), Kind.ENTRIES
    ) == entries("a", "b", "ours", "theirs")
    assert made(before, entries("b"), entries("a", "b", "theirs"), Kind.ENTRIES) == entries(
        "b", "theirs"
    )
    both = entries("a", "b", "x")
    assert made(before, both, entries("a", "b", "x", "y"), Kind.ENTRIES) == entries(
        "a", "b", "x", "y"
    )
    first, second = entries("a", "b", "1"), entries("a", "b", "1", "2")
    edits = [
        text_edit("f", before, first, Kind.ENTRIES),
        text_edit("f", first, second, Kind.ENTRIES),
    ]
    assert rebase(entries("b", "t"), edits) == entries("b", "1", "2", "t")


NAMES = st.sampled_from("ABC")
TEXTS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=4)
LISTS = st.dictionaries(NAMES, TEXTS, min_size=1)


@st.composite
def versions(draw: st.DrawFn) -> tuple[Lists, Lists, Lists]:
    """A graph, and two changed versions of it that change no item in common."""
    base = draw(LISTS)
    sides: list[Lists] = []
    for own in ("ours", "theirs"):
        side = {name: list(texts) for name, texts in base.items()}
        for name in side:
            for number in range(draw(st.integers(0, 2))):
                place = draw(st.integers(0, len(side[name])))
                side[name].insert(place, f"{own} {name} {number}")
        if draw(st.booleans()):
            side[own] = [own]
        sides.append(side)
    removed = draw(
        st.sampled_from(["", *(f"{name} {text}" for name in base for text in base[name])])
    )
    if removed:
        name, text = removed.split()
        sides[draw(st.integers(0, 1))][name].remove(text)
    return base, sides[0], sides[1]


@given(versions())
def test_changes_of_different_items_are_all_kept(found: tuple[Lists, Lists, Lists]) -> None:
    base, ours, theirs = found
    merged = made(graph(base), graph(ours), graph(theirs), Kind.GRAPH)
    assert merged is not None
    for name, texts in lists_of(merged).items():
        was = set(base.get(name, []))
        mine, other = (set(side.get(name, [])) for side in (ours, theirs))
        assert set(texts) == (was & mine & other) | (mine - was) | (other - was)
        assert len(texts) == len(set(texts))
    undone = lists_of(made(graph(ours), graph(base), merged, Kind.GRAPH) or "")
    assert {name: set(texts) for name, texts in undone.items()} == {
        name: set(texts) for name, texts in theirs.items()
    }


# ---- saving beside a program ---------------------------------------------------------------------

Steps = dict[tuple[str, int], Callable[[], None]]


@pytest.fixture
def at() -> Iterator[Callable[[Steps], None]]:
    """Do something at the n-th pass of a point of the save."""

    def install(steps: Steps) -> None:
        passed: dict[str, int] = {}

        def hook(point: str) -> None:
            passed[point] = passed.get(point, 0) + 1
            steps.get((point, passed[point]), lambda: None)()

        save_hooks.install(hook)

    yield install
    save_hooks.install(None)


def rename(path: Path, text: str) -> None:
    path.with_name("theirs.tmp").write_text(text)
    os.replace(path.with_name("theirs.tmp"), path)


def records(*ids: str) -> str:
    return json.dumps([{"id": each} for each in ids])


def our_record(path: Path) -> Edit:
    return record_edit(str(path), (), "id", "ours", None, '{"id": "ours"}')


def graph_edit(path: Path) -> Edit:
    before, after = graph({"A": ["start"]}), graph({"A": ["start", "ours"]})
    return text_edit(str(path), before, after, Kind.GRAPH)


@pytest.mark.parametrize(
    ("text_of", "edit_of"),
    [
        (lambda *ids: records(*ids), our_record),
        (lambda *ids: graph({"A": list(ids)}), graph_edit),
    ],
    ids=["records", "graph"],
)
def test_a_write_is_kept_that_the_same_program_drops_right_after(
    tmp_path: Path,
    at: Callable[[Steps], None],
    text_of: Callable[..., str],
    edit_of: Callable[[Path], Edit],
) -> None:
    """It reads the file in the moment in which its own last write is not merged yet."""
    path = tmp_path / "memory.jsonl"
    path.write_text(text_of("start"))
    read: list[str] = []
    at(
        {
            ("exchange", 1): lambda: rename(path, text_of("start", "theirs 1")),
            ("look", 1): lambda: read.append(path.read_text()),
            ("look", 2): lambda: rename(path, text_of("start", "ours", "theirs 2")),
        }
    )
    commit([edit_of(path)], NullRecorder(tmp_path / "state"))
    assert read == [text_of("start", "ours")]
    now = path.read_text()
    assert all(text in now for text in ("start", "ours", "theirs 1", "theirs 2")), now


def test_a_file_caught_while_it_is_written_in_place_is_waited_for(
    tmp_path: Path, at: Callable[[Steps], None]
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(graph({"A": ["start"]}))
    theirs = graph({"A": ["start", "theirs"], "B": ["more"]})
    handles: list[int] = []

    def truncate() -> None:
        handles.append(os.open(path, os.O_WRONLY | os.O_TRUNC))
        os.write(handles[0], theirs[:70].encode())

    def finish() -> None:
        os.write(handles[0], theirs[70:].encode())
        os.close(handles[0])

    later = {("exchange", 1): truncate, ("look", 1): finish}
    at(later)
    commit([graph_edit(path)], NullRecorder(tmp_path / "state"))
    assert lists_of(path.read_text()) == {"A": ["start", "ours", "theirs"], "B": ["more"]}


# ---- reverted changes ----------------------------------------------------------------------------


def states(*edits: Edit) -> list[EditState]:
    """Of each edit, newest first."""
    return [status.state for _, status in find_statuses([(edit,) for edit in edits])]


def test_each_of_several_adds_is_found_that_one_write_has_dropped(tmp_path: Path) -> None:
    path, recorder = tmp_path / "memory.jsonl", NullRecorder(tmp_path / "state")
    path.write_text(graph({"A": ["start"], "B": ["more"]}))
    edits: list[Edit] = []
    for number in range(6):
        now = lists_of(path.read_text())
        before = graph(now)
        now["AB"[number % 2]].append(f"ours {number}")
        edits.insert(0, text_edit(str(path), before, graph(now), Kind.GRAPH))
        commit(edits[:1], recorder)
        now["A"].append(f"theirs {number}")  # between any two of ours the server writes
        path.write_text(graph(now))
    assert states(*edits) == [EditState.HELD] * 6
    now = lists_of(path.read_text())
    now["A"] = [text for text in now["A"] if not text.startswith("ours")]
    now["B"] = ["more", "ours 5"]
    path.write_text(graph(now))
    found = find_statuses([(edit,) for edit in edits])
    assert [status.state for _, status in found] == [EditState.HELD] + [EditState.REVERTED] * 5
    for _, status in found[:0:-1]:
        assert status.reapply is not None
        commit([status.reapply], recorder)
    assert states(*edits) == [EditState.HELD] * 6
    assert sum("theirs" in text for text in lists_of(path.read_text())["A"]) == 6


def test_edits_and_deletes_that_are_put_back_are_found_by_their_item(tmp_path: Path) -> None:
    path, recorder = tmp_path / "memory.jsonl", NullRecorder(tmp_path / "state")
    stages = [["a", "b", "c"], ["a2", "b", "c"], ["a2", "c"], ["a3", "c"]]
    texts = [graph({"A": stage}) for stage in stages]
    edits = [text_edit(str(path), before, after, Kind.GRAPH) for before, after in pairwise(texts)][
        ::-1
    ]
    path.write_text(texts[0])
    for edit in reversed(edits):
        commit([edit], recorder)
    path.write_text(graph({"A": ["a", "b", "c", "theirs"]}))  # from its oldest reading
    held, reverted = EditState.HELD, EditState.REVERTED
    assert states(*edits) == [reverted, reverted, held]  # a3, and that b is deleted
    for _, status in find_statuses([(edit,) for edit in edits]):
        if status.reapply is not None:
            commit([status.reapply], recorder)
    assert path.read_text() == graph({"A": ["a3", "c", "theirs"]})
    path.write_text(graph({"A": ["changed by the agent", "c", "theirs"]}))
    assert states(*edits) == [held, held, held]
    commit(invert_edits((edits[1],)), recorder)
    assert lists_of(path.read_text())["A"] == ["changed by the agent", "c", "theirs", "b"]


@pytest.mark.parametrize("spaced", [False, True])
def test_a_graph_is_complete_with_its_last_line(spaced: bool) -> None:
    text = graph({"A": ["a"], "B": ["b"]})
    text = text.replace("{", "{ ") if spaced else text
    assert is_complete(text, Kind.GRAPH)
    assert not is_complete("", Kind.GRAPH)
    assert not any(
        is_complete(text[:end], Kind.GRAPH) for end in range(text.index("\n") + 2, len(text))
    )
    document = json.dumps({"entities": [], "relations": []}, indent=2)
    assert is_complete(document, Kind.GRAPH)
    assert not any(is_complete(document[:end], Kind.GRAPH) for end in range(len(document)))


# ---- Hermes's entries ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n", []),
        ("a", ["a"]),
        (" a \n", ["a"]),
        ("a\n§\nb", ["a", "b"]),
        ("a\n§\n\n§\nb\n", ["a", "b"]),
        ("a\r\n§\r\nb\rc\r§\rd", ["a", "b\rc", "d"]),
        ("a § b\n§", ["a § b\n§"]),
        ("\n§\na\n\nb", ["a\n\nb"]),
    ],
)
def test_entries_are_found_as_hermes_finds_them(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in entry_spans(text)] == found


@pytest.mark.parametrize(
    ("text", "place", "result"),
    [
        ("", 0, "n"),
        (" \n", 3, "n"),
        ("a\n", 0, "n\n§\na\n"),
        ("a\n", 1, "a\n§\nn\n"),
        ("a\n§\nb\n", 1, "a\n§\nn\n§\nb\n"),
        ("a\n§\nb\n", 9, "a\n§\nb\n§\nn\n"),
    ],
)
def test_an_entry_is_inserted_at_its_place(text: str, place: int, result: str) -> None:
    assert insert_entry(text, place, "n") == result


@pytest.mark.parametrize(
    ("text", "place", "result"),
    [
        (" a \n", 0, ""),
        (" a\n§\nb\n", 0, " b\n"),
        ("a\n§\nb\n", 1, "a\n"),
        ("a\n§\nb\n§\nc", 1, "a\n§\nc"),
    ],
)
def test_an_entry_is_removed_with_one_delimiter(text: str, place: int, result: str) -> None:
    assert remove_entry(text, place) == result


@pytest.mark.parametrize(
    ("before", "after", "now", "result"),
    [
        (["a"], None, ["a"], None),
        (["a"], None, ["a", "t"], ["t"]),
        (["a", "b"], ["a"], ["b", "t"], ["t"]),
        (["a", "b"], ["b2", "a"], ["t", "a", "b"], ["b2", "t", "a"]),
        (["a", "a"], ["a"], ["a", "a", "t"], ["a", "t"]),
        (["a", "b", "c"], ["a", "n", "b", "c"], ["t", "c"], ["t", "c", "n"]),
        (["a", "b", "c"], ["n", "a", "b", "c"], ["t", "c"], ["n", "t", "c"]),
        (["a", "b"], ["a", "b2"], ["a", "b2", "b"], ["a", "b2"]),
        (["a", "b"], ["a", "b2"], ["a", "b2", "t"], ["a", "b2", "t"]),
    ],
)
def test_entries_are_merged_by_example(
    before: list[str], after: list[str] | None, now: list[str], result: list[str] | None
) -> None:
    ours = None if after is None else entries(*after)
    merged = rebase(entries(*now), [text_edit("f", entries(*before), ours, Kind.ENTRIES)])
    assert merged == (None if result is None else entries(*result))


def test_an_entry_that_would_be_read_as_two_is_refused() -> None:
    with pytest.raises(Refused, match="the same entries"):
        made("x", "x\n§\nn", "y\n§", Kind.ENTRIES)
    assert made("x", "x\n§\nn", "y", Kind.ENTRIES) == "y\n§\nn"


def test_a_conflict_of_entries_shows_all_three() -> None:
    edit = text_edit("f", entries("a"), entries("b"), Kind.ENTRIES)
    with pytest.raises(Conflict, match="changed or removed this memory") as caught:
        rebase(entries("t"), [edit], "there")
    error = caught.value
    assert (error.where, error.base, error.theirs, error.yours) == ("there", "a", "t", "b")


def test_changed_items_are_those_before_and_after() -> None:
    edit = text_edit("f", entries("a", "b", "c"), entries("a", "b2"), Kind.ENTRIES)
    assert {item.text for item in changed_items(edit)} == {"b", "b2", "c"}
    assert changed_items(text_edit("f", "[broken", "x", Kind.GRAPH)) == set()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("abcde", "abcde", True),
        ("abcde", "abcxy", True),
        ("abcde", "abxyz", False),
        ("abcde", "edcba", False),
        ("", "", True),
        ("a", "", False),
    ],
)
def test_a_text_is_ours_edited_from_a_certain_similarity(
    first: str, second: str, expected: bool
) -> None:
    assert is_similar(first, second) is expected


def test_a_long_text_is_similar_to_itself_edited() -> None:
    text = "".join(
        f"The {place} is closed on day {number}. "
        for number, place in enumerate(["harbour", "quay"] * 9)
    )
    assert is_similar(text, text.replace("quay", "pier"))


# ---- which changes of entries were reverted ------------------------------------------------------

HELD, REVERTED = EditState.HELD, EditState.REVERTED


@pytest.mark.parametrize(
    ("before", "after", "now", "state", "reapplied"),
    [
        (["a"], ["a", "bees on the roof"], ["a"], REVERTED, ["a", "bees on the roof"]),
        (["a"], ["a", "bees on the roof"], ["a", "bees on a roof"], HELD, None),
        (
            ["a"],
            ["a", "bees on the roof"],
            ["a", "harbour"],
            REVERTED,
            ["a", "bees on the roof", "harbour"],
        ),
        (["a", "b"], ["a"], ["a", "b"], REVERTED, ["a"]),
        (["a", "b"], ["a"], ["a", "t"], HELD, None),
        (["a", "b"], ["a", "c"], ["a", "b"], REVERTED, ["a", "c"]),
        (["a", "b"], ["a", "c"], ["a", "t"], HELD, None),
        (["a", "b"], ["a", "c"], ["a", "b", "c"], HELD, None),
        (["a", "b"], ["a", "c"], [], HELD, None),
    ],
)
def test_a_change_of_an_entry_is_reverted_or_held(
    tmp_path: Path,
    before: list[str],
    after: list[str],
    now: list[str],
    state: EditState,
    reapplied: list[str] | None,
) -> None:
    path = tmp_path / "MEMORY.md"
    edit = text_edit(str(path), entries(*before), entries(*after), Kind.ENTRIES)
    path.write_text(entries(*now))
    ((_, status),) = find_statuses([(edit,)])
    assert status.state is state
    assert status.is_added == (state is REVERTED and len(after) > len(before))
    if reapplied is None:
        assert status.reapply is None
    else:
        assert status.reapply is not None
        assert (status.reapply.before, status.reapply.after) == (entries(*now), entries(*reapplied))


def test_an_entity_that_is_gone_with_its_first_observation_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    before, after = graph({"A": ["a"]}), graph({"A": ["a"], "B": ["b"]}, {"B": "person"})
    edit = text_edit(str(path), before, after, Kind.GRAPH)
    path.write_text(graph({"A": ["a", "t"]}))
    ((_, status),) = find_statuses([(edit,)])
    assert (status.state, status.is_added) == (REVERTED, True)
    assert status.reapply is not None
    assert status.reapply.after == graph({"A": ["a", "t"], "B": ["b"]}, {"B": "person"})
    path.write_text(after)
    assert states(edit) == [HELD]


def test_an_entity_without_observations_that_is_dropped_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    before, after = graph({"A": ["a"]}), graph({"A": ["a"], "B": []}, {"B": "person"})
    edit = text_edit(str(path), before, after, Kind.GRAPH)
    path.write_text(graph({"A": ["a", "t"]}))
    ((_, status),) = find_statuses([(edit,)])
    assert (status.state, status.is_added) == (REVERTED, True)
    assert status.reapply is not None
    assert status.reapply.after == graph({"A": ["a", "t"], "B": []}, {"B": "person"})
