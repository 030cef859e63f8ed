"""A graph file: each record, each fault of a line, and every change of its text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memtui.errors import UnreadableFile
from memtui.files.json.graph import ENTITY, RELATION, parse_graph

A = '{"type":"entity","name":"A","entityType":"person","observations":["a1","a2"]}'
B = '{"type":"entity","name":"B","entityType":"place","observations":[]}'
KNOWS = '{"type":"relation","from":"A","to":"B","relationType":"knows"}'
LINES = f"{A}\n{B}\n{KNOWS}"
DOCUMENT = """{
  "entities": [
    {
      "name": "A",
      "entityType": "person",
      "observations": [
        "a1"
      ]
    }
  ],
  "relations": []
}
"""
C = {"name": "C", "entityType": "thing", "observations": ["c"]}
C_LINE = '{"type":"entity","name":"C","entityType":"thing","observations":["c"]}'
LIKES = {"from": "B", "to": "A", "relationType": "likes"}
LIKES_LINE = '{"type":"relation","from":"B","to":"A","relationType":"likes"}'


def test_every_record_has_its_place_and_line() -> None:
    text = f"\n  {A}\r\n\n{KNOWS}\n"
    graph = parse_graph(text)
    found = [*graph.entities, *graph.relations]
    assert [(each.line, text[each.start : each.end], each.raw) for each in found] == [
        (2, A, A),
        (4, KNOWS, KNOWS),
    ]
    assert [each.kind for each in found] == [ENTITY, RELATION]
    assert (found[0].name, list(found[0].observations)) == ("A", ["a1", "a2"])
    assert found[1].triple == ("A", "knows", "B")
    assert not graph.is_document
    document = parse_graph(DOCUMENT)
    (entity,) = document.entities
    assert (entity.line, entity.name, DOCUMENT[entity.start : entity.end]) == (3, "A", entity.raw)
    assert document.is_document


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[1]", "not a whole JSON record"),
        ('{"type":"ent', "not a whole JSON record"),
        ('{"type":"note"}', "its type is neither entity nor relation"),
        ('{"name":"X"}', "its type is neither entity nor relation"),
        ('{"type":"entity","observations":[]}', "the entity has no name"),
        ('{"type":"entity","name":" ","observations":[]}', "the entity has no name"),
        ('{"type":"entity","name":7,"observations":[]}', "the entity has no name"),
        ('{"type":"entity","name":"X","observations":"x"}', "its observations are no list"),
        (
            '{"type":"entity","name":"X","observations":["x",1]}',
            "one of its observations is no text",
        ),
        ('{"type":"relation","from":"A","to":"B"}', "the relation lacks an end or its type"),
        ('{"type":"relation","from":"A","to":1,"relationType":"x"}', "the relation lacks an end"),
    ],
)
def test_a_line_that_the_server_cannot_use_is_named_with_the_reason(line: str, why: str) -> None:
    graph = parse_graph(f"{A}\n\n{line}\n{KNOWS}")
    ((number, said),) = graph.faults
    assert (number, said.startswith(why)) == (3, True)
    assert [len(graph.entities), len(graph.relations)] == [1, 1]
    with pytest.raises(UnreadableFile, match=r"no line .* \(line 2\)"):
        parse_graph(f"\n{line}\n{line}")


def test_an_entity_without_observations_is_none_the_worse() -> None:
    (entity,) = parse_graph('{"type":"entity","name":"X"}').entities
    assert (list(entity.observations), entity.text("entityType")) == ([], "")


def test_faults_of_a_document_have_their_lines_too() -> None:
    text = DOCUMENT.replace('"relations": []', '"relations": [\n    {"from": "A"},\n    3\n  ]')
    assert parse_graph(text).faults == [
        (12, "the relation lacks an end or its type"),
        (13, "it is no object"),
    ]
    assert parse_graph('{"entities": [], "relations": 3}').relations == []


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_a_file_without_anything_is_not_a_graph(text: str) -> None:
    with pytest.raises(UnreadableFile):
        parse_graph(text)


# ---- changes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "value", "result"),
    [
        (LINES, ENTITY, C, f"{A}\n{B}\n{C_LINE}\n{KNOWS}"),
        (LINES, RELATION, LIKES, f"{A}\n{B}\n{KNOWS}\n{LIKES_LINE}"),
        (f"{LINES}\n", RELATION, LIKES, f"{A}\n{B}\n{KNOWS}\n{LIKES_LINE}\n"),
        (A, RELATION, LIKES, f"{A}\n{LIKES_LINE}"),
        (f"{A}\r\n{B}\r\n", ENTITY, C, f"{A}\r\n{B}\r\n{C_LINE}\n"),
        (KNOWS, ENTITY, C, f"{C_LINE}\n{KNOWS}"),
    ],
)
def test_a_new_record_is_a_line_below_those_of_its_kind(
    text: str, kind: str, value: dict[str, Any], result: str
) -> None:
    assert parse_graph(text).with_new(kind, [value]) == result


def test_new_records_of_a_document_are_laid_out_like_the_last_one() -> None:
    indented = json.loads(DOCUMENT)
    indented["entities"].append(C)
    assert parse_graph(DOCUMENT).with_new(ENTITY, [C]) == json.dumps(indented, indent=2) + "\n"
    flat = '{"entities": [{"name": "A"}], "relations": []}'
    assert parse_graph(flat).with_new(RELATION, [LIKES]) == flat.replace(
        '"relations": []', f'"relations": [{json.dumps(LIKES)}]'
    )
    assert parse_graph(flat).with_new(ENTITY, [C, C]) == flat.replace(
        '{"name": "A"}', f'{{"name": "A"}}, {json.dumps(C)}, {json.dumps(C)}'
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (LINES, f"{A}\n{KNOWS}"),
        (f"{A}\n{B}", A),
        (f"{A}\n{B}\n", f"{A}\n"),
        (f"{B}\n{A}", A),
        (B, ""),
        (f"{A}\n\n{B}\n{KNOWS}", f"{A}\n\n{KNOWS}"),
    ],
)
def test_a_record_is_removed_with_its_line(text: str, result: str) -> None:
    graph = parse_graph(text)
    assert graph.without([each for each in graph.entities if each.name == "B"]) == result


def test_records_of_a_document_are_removed_by_kind() -> None:
    value = {
        "entities": [{"name": "A"}, {"name": "B"}],
        "relations": [LIKES, {**LIKES, "to": "B"}],
    }
    graph = parse_graph(json.dumps(value))
    left = graph.without([graph.entities[1], graph.relations[0]])
    assert json.loads(left) == {
        "entities": value["entities"][:1],
        "relations": value["relations"][1:],
    }
    assert json.loads(graph.without(graph.relations)) == {**value, "relations": []}


@pytest.mark.parametrize(
    ("replaced", "removed", "inserted", "observations"),
    [
        ({}, [], {}, ["a", "b", "c"]),
        ({1: "B"}, [], {}, ["a", "B", "c"]),
        ({}, [0, 2], {}, ["b"]),
        ({2: "C"}, [1], {0: ["x", "y"], 1: ["z"], 2: ["end"]}, ["x", "y", "a", "z", "C", "end"]),
        ({}, [0, 1, 2], {0: ["x"], 1: ["y"]}, ["x", "y"]),
        ({}, [0, 1, 2], {}, []),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_observations_are_replaced_removed_and_inserted_in_one_change(
    indent: int | None,
    replaced: dict[int, str],
    removed: list[int],
    inserted: dict[int, list[str]],
    observations: list[str],
) -> None:
    value = {"entities": [{"name": "A", "observations": ["a", "b", "c"], "more": "é"}]}
    graph = parse_graph(json.dumps(value, indent=indent))
    (entity,) = graph.entities
    text = graph.with_record(entity, entity.with_observations(replaced, removed, inserted))
    value["entities"][0]["observations"] = observations
    if observations or indent is None:
        assert text == json.dumps(value, indent=indent)
    assert json.loads(text) == value


def test_an_observation_is_spelled_as_its_entity_is() -> None:
    value = {"type": "entity", "name": "é", "observations": []}
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        (entity,) = parse_graph(text).entities
        expected = json.dumps({**value, "observations": ["ü"]}, ensure_ascii=ascii_only)
        assert entity.with_observations({}, (), {0: ["ü"]}) == expected
