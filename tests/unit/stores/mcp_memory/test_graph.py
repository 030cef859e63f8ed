"""One record of a graph is changed, and every other byte stays, whatever wrote the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused
from memtui.files.json.graph import parse_graph
from memtui.library import Library
from memtui.stores import registry
from memtui.stores.mcp_memory import detect
from memtui.stores.mcp_memory.store import SHARD, GraphFile
from memtui.stores.sidecar import Sidecar

TEXT = st.text(st.sampled_from('ab "\\/\u2028é漢🙂\ud83d\n\r\t{}[]'), min_size=1, max_size=12)
NAME = TEXT.filter(str.strip)
ENTITY = st.fixed_dictionaries(
    {
        "type": st.just("entity"),
        "name": NAME,
        "entityType": TEXT,
        "observations": st.lists(TEXT, max_size=3),
    },
    optional={"x_unknown": st.sampled_from([None, {"deep": [1.5]}])},
)
RELATION = st.fixed_dictionaries(
    {"type": st.just("relation"), "from": NAME, "to": NAME, "relationType": TEXT}
)
SPACING = st.sampled_from([(",", ":"), (", ", ": ")])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file as the server, another tool or a person may have written it."""
    records = draw(st.lists(st.one_of(ENTITY, RELATION), min_size=1, max_size=5))
    spacing, plain = draw(SPACING), draw(st.booleans())
    if draw(st.booleans()):
        lines = [json.dumps(each, ensure_ascii=plain, separators=spacing) for each in records]
        lines = [_escaped(line) for line in lines]
        broken = draw(st.sampled_from([None, '{"type":"entity","name":"cut', "not json", "[]"]))
        if broken is not None:
            lines.insert(draw(st.integers(1, len(lines))), broken)
        end = draw(st.sampled_from(["", "\n"]))
        return draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines) + end
    document = {
        "entities": [each for each in records if each["type"] == "entity"],
        "x": 1,
        "relations": [each for each in records if each["type"] == "relation"],
    }
    indent = draw(st.sampled_from([None, 2]))
    return _escaped(json.dumps(document, ensure_ascii=plain, indent=indent))


def _escaped(text: str) -> str:
    return text.replace("\ud83d", "\\ud83d")


def values(text: str) -> tuple[list[Any], list[Any]]:
    graph = parse_graph(text)
    return [dict(e.value) for e in graph.entities], [dict(r.value) for r in graph.relations]


def opened(text: str) -> GraphFile:
    return GraphFile(SHARD, Path("/x/memory.jsonl"), text, Sidecar())


@pytest.mark.slow
@given(files(), TEXT, st.data())
def test_one_observation_is_replaced(text: str, wanted: str, data: st.DataObject) -> None:
    file = opened(text)
    if not file.items:
        return
    item = data.draw(st.sampled_from(list(file.items)))
    after = file.replace(item, wanted)
    entities, relations = values(text)
    entities[item.native[0]]["observations"][item.native[1]] = wanted
    assert values(after) == (entities, relations)
    record = file.graph.entities[item.native[0]]
    assert after.startswith(text[: record.start])
    assert after.endswith(text[record.end :])
    back = opened(after)
    again = next(each for each in back.items if each.native == item.native)
    assert values(back.replace(again, item.text)) == values(text)


@given(files(), st.data())
def test_observations_are_removed(text: str, data: st.DataObject) -> None:
    file = opened(text)
    gone = data.draw(st.lists(st.sampled_from(list(file.items)), unique=True)) if file.items else []
    entities, relations = values(text)
    for item in sorted(gone, key=lambda each: each.native, reverse=True):
        del entities[item.native[0]]["observations"][item.native[1]]
    after = file.remove(gone)
    assert values(after) == (entities, relations)
    assert parse_graph(after).faults == parse_graph(text).faults


@given(files(), NAME, TEXT)
def test_an_observation_is_added(text: str, entity: str, wanted: str) -> None:
    file = opened(text)
    after = file.insert(entity, wanted, "person")
    entities, relations = values(text)
    known = next((each for each in entities if each["name"] == entity), None)
    if known is None:
        new = {"name": entity, "entityType": "person", "observations": [wanted]}
        shown = [{k: v for k, v in each.items() if k != "type"} for each in values(after)[0]]
        assert new in shown
        assert len(shown) == len(entities) + 1
    else:
        known["observations"].append(wanted)
        assert values(after) == (entities, relations)
    assert len(parse_graph(after).faults) == len(parse_graph(text).faults)


@given(files(), st.data())
def test_records_are_removed_with_their_lines(text: str, data: st.DataObject) -> None:
    graph = parse_graph(text)
    every = [*graph.entities, *graph.relations]
    gone = data.draw(st.lists(st.sampled_from(every), unique_by=id)) if every else []
    after = graph.without(gone)
    if not after.strip():
        return
    starts = {record.start for record in gone}
    left = [record for record in every if record.start not in starts]
    if left:
        now = parse_graph(after)
        assert [r.raw for r in (*now.entities, *now.relations)] == [r.raw for r in left]


def graph(folder: Path, *lines: str, name: str = "memory.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder / name


ALICE = '{"type":"entity","name":"Alice","entityType":"person","observations":["likes tea"]}'
BROKEN = '{"type":"entity","name":"Bo'


def load(file: Path, state: Path) -> Library:
    library = Library.open([file], state=state)
    library.load()
    return library


def test_a_broken_line_is_named_and_kept(tmp_path: Path) -> None:
    file = graph(tmp_path, ALICE, BROKEN, ALICE.replace("Alice", "Zoë"))
    library = load(file, tmp_path / "state")
    state = library.snapshot.stores[0]
    assert [fault.reason for fault in state.unreadable] == ["line 2: not a whole JSON record"]
    assert state.count == 2
    label = library.stores[0].label
    first = next(iter(library.memories(label)))
    library.apply(library.plan([Change(Act.EDIT, label, first.ref, {"content": "likes coffee"})]))
    lines = file.read_text(encoding="utf-8").split("\n")
    assert lines[1] == BROKEN
    assert "likes coffee" in lines[0]


def test_what_holds_nothing_readable_is_not_written(tmp_path: Path) -> None:
    file = graph(tmp_path, "")
    library = load(file, tmp_path / "state")
    add = Change(Act.ADD, library.stores[0].label, "", {"content": "x", "entity": "Alice"})
    with pytest.raises(Refused):
        library.plan([add])


def test_the_same_observation_is_not_added_twice(tmp_path: Path) -> None:
    library = load(graph(tmp_path, ALICE), tmp_path / "state")
    label = library.stores[0].label
    add = Change(Act.ADD, label, "", {"content": "likes tea", "entity": "Alice"})
    assert library.plan([add]).outcome == "DEDUPE"


def test_the_type_is_that_of_the_whole_entity(tmp_path: Path) -> None:
    line = ALICE.replace('["likes tea"]', '["likes tea","likes rain"]')
    file = graph(tmp_path, line)
    library = load(file, tmp_path / "state")
    label = library.stores[0].label
    one, other = library.memories(label)
    planned = library.plan([Change(Act.RETYPE, label, one.ref, {"type": "friend"})])
    assert set(planned.refs) == {one.ref, other.ref}
    library.apply(planned)
    assert file.read_text() == line.replace("person", "friend")


def test_files_are_found_through_the_settings_of_clients(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    places = {
        ".claude.json": {"projects": {str(work): {"mcpServers": {"memory": 1}}}},
        ".cursor/mcp.json": {"mcpServers": {"m": {"env": {"MEMORY_FILE_PATH": "${HOME}/a.jsonl"}}}},
        ".claude/settings.json": ["no table"],
    }
    project = {"env": {"MEMORY_FILE_PATH": str(home / "deep" / "b.jsonl")}}
    places[".claude.json"]["projects"][str(work)]["mcpServers"] = {"m": project}  # type: ignore[call-overload, index]
    for name, value in places.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(value))
    vscode = {"servers": {"m": {"env": {"MEMORY_FILE_PATH": "relative.jsonl"}}}}
    (work / ".vscode").mkdir()
    (work / ".vscode" / "mcp.json").write_text(json.dumps(vscode))
    wanted = [graph(home / "deep", ALICE, name="b.jsonl"), graph(home, ALICE, name="a.jsonl")]
    assert [root for _, root in registry.discover(work, home, {})] == wanted


def test_a_path_from_home_and_settings_with_comments_name_a_file(tmp_path: Path) -> None:
    """The server expands `~` (modelcontextprotocol/servers#4447)."""
    (tmp_path / ".cursor").mkdir()
    text = (
        '{"mcpServers": {"m": {"env": {"MEMORY_FILE_PATH": "~/notes/a.jsonl", /* mine, */ }}, } }'
    )
    (tmp_path / ".cursor" / "mcp.json").write_text(text)
    file = graph(tmp_path / "notes", ALICE, name="a.jsonl")
    assert registry.discover(tmp_path / "none", tmp_path, {})[0][1] == file


@pytest.mark.parametrize(
    ("name", "text", "is_graph"),
    [
        ("memory.jsonl", ALICE, True),
        ("brain.jsonl", ALICE, True),
        ("memory.json", '{"entities":[],"relations":[]}', True),
        ("memory.jsonl", "", True),
        ("memory.jsonl", f"\ufeff{ALICE}", True),
        ("memory.jsonl", f"<<<<<<< HEAD\n{ALICE}", True),
        ("other.jsonl", "", False),
        ("memory.jsonl", '{"role":"user","type":"message"}', False),
        ("memory.json", '{"memory": []}', False),
        ("notes.json", '{"entities":[],"relations":[]}', False),
    ],
)
def test_a_graph_is_told_from_other_files(
    tmp_path: Path, name: str, text: str, is_graph: bool
) -> None:
    file = graph(tmp_path, text, name=name)
    assert detect(file) == (file if is_graph else None)


def test_an_entity_is_deleted_with_its_relations(tmp_path: Path) -> None:
    relation = '{"type":"relation","from":"Bo","to":"Alice","relationType":"knows"}'
    file = graph(tmp_path, ALICE, ALICE.replace("Alice", "Bo").replace('"likes tea"', ""), relation)
    library = load(file, tmp_path / "state")
    label = library.stores[0].label
    note = next(memory for memory in library.memories(label) if memory.kind == "note")
    assert [(link.relation, link.target) for link in note.links] == [("knows", "Alice")]
    with pytest.raises(MemtuiError):
        library.plan([Change(Act.EDIT, label, note.ref, {"content": "x"})])
    library.apply(library.plan([Change(Act.DELETE, label, note.ref)]))
    assert file.read_text() == ALICE


def test_relations_with_the_keys_of_servers_in_python(tmp_path: Path) -> None:
    names = ("mill", "rye", "oats")
    lines = [
        f'{{"name": "{name}", "entityType": "t", "observations": ["a {name}"], "type": "entity"}}'
        for name in names
    ]
    relation = (
        '{"from_entity": "mill", "to_entity": "rye", "relationType": "r", "type": "relation"}'
    )
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([*lines, relation, ""]))
    assert detect(tmp_path) == file
    library = Library.open([file], state=tmp_path / "state")
    library.load()
    assert library.snapshot.stores[0].unreadable == ()
    mill = next(each for each in library.snapshot.rows if each.entity == "mill")
    assert [(link.relation, link.target) for link in mill.links] == [("r", "rye")]
    fields = {"relation": "r", "target": "oats"}
    library.apply(library.plan([Change(Act.LINK, mill.store, mill.ref, fields)]))
    added = json.loads(file.read_text().splitlines()[-1])
    assert added == {
        "type": "relation",
        "from_entity": "mill",
        "to_entity": "oats",
        "relationType": "r",
    }
