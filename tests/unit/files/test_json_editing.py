"""An edit changes the bytes of one value and no other byte of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.errors import Refused, UnreadableFile
from memtui.files.json import editing as spans
from memtui.files.json.locating import load, load_records, locate, members, parts_of
from memtui.files.reading import decode, encode
from tests.long_run import count

AGENT = b"""[
  {
    "id": "a1",
    "content": "caf\xc3\xa9 / \\u0007",
    "supersedes": null
  },
  {
    "id": "a2",
    "content": "two"
  }
]
"""
AMBIENT = b"""{
  "projectKey": "4d3a",
  "events": [
    {
      "id": "e1",
      "timestamp": 1795119600000,
      "content": "x",
      "metadata": {
        "file": "a.py"
      }
    }
  ]
}"""

HOSTILE = {
    "plain": AGENT,
    "bom": b"\xef\xbb\xbf" + AGENT,
    "crlf": AGENT.replace(b"\n", b"\r\n"),
    "tabs": AGENT.replace(b"  ", b"\t"),
    "no final newline": AGENT.rstrip(b"\n"),
    "invalid utf-8": AGENT.replace(b"\xc3\xa9", b"\xe9\xff"),
    "escapes": AGENT.replace(b"\xc3\xa9", b"\\u00e9"),
    "lone surrogate": AGENT.replace(b"\xc3\xa9", b"\\ud83d"),
    "numbers": AGENT.replace(b"null", b'1234567890123456789012, "n": [1e400, 1.50, -0]'),
    "nan": AGENT.replace(b"null", b'NaN, "n": -Infinity'),
    "u2028": AGENT.replace(b"\xc3\xa9", b"\xe2\x80\xa8"),
    "nul escape": AGENT.replace(b"\xc3\xa9", b"\\u0000"),
    "deep": AGENT.replace(b"null", b"[" * 400 + b"]" * 400),
    "duplicate key elsewhere": AGENT.replace(b'"id": "a2"', b'"x": 1, "x": 2, "id": "a2"'),
    "compact": b'[{"id":"a1","content":"\xc3\xa9","supersedes":null},{"id":"a2","content":"2"}]',
    "odd spacing": b'\n [ {"id" :"a1" ,\n"content":\t"x"  , "s":null}\t,\n\n {"id":"a2"} ]\n\n',
    "long line": AGENT.replace(b"caf", b"x" * 2_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_the_value_changes(name: str) -> None:
    text = decode(HOSTILE[name])
    record = load_records(text)[0]
    old = spans.raw_value(record.raw, ("content",))
    new_raw = spans.set_member(record.raw, "content", 'new "text" \U0001f600 \ud83d\n')
    after = encode(spans.replace_records(text, (), {0: new_raw}))
    new = spans.raw_value(new_raw, ("content",))
    assert after == HOSTILE[name].replace(encode(old), encode(new), 1)
    assert load_records(decode(after))[0].value["content"] == 'new "text" \U0001f600 \ud83d\n'
    back = spans.set_member(new_raw, "content", record.value["content"])
    if name != "odd spacing":
        assert load(back) == load(record.raw) or name == "nan"


@pytest.mark.parametrize("name", HOSTILE)
def test_insert_then_remove_gives_the_same_bytes(name: str) -> None:
    text = decode(HOSTILE[name])
    neighbour = load_records(text)[0].raw
    raw = spans.new_record(neighbour, {"id": "n", "content": "c", "tags": ["a", "b"], "m": {}})
    for index in (0, 1, 2, None, 99):
        with_it = spans.insert_records(text, (), [raw], index)
        where = 2 if index in (None, 99) else index
        records = load_records(with_it)
        assert (len(records), records[where].raw) == (3, raw)
        assert spans.remove_records(with_it, (), [where]) == text


def test_a_new_record_looks_as_the_real_programs_write_it() -> None:
    values = {"id": "n", "content": "é", "metadata": {"file": "b"}, "tags": ["x", "y"]}
    for data, array in ((AGENT, ()), (AMBIENT, ("events",))):
        whole = json.loads(data)
        (whole if not array else whole["events"]).append(values)
        final = "\n" if data is AGENT else ""
        text = decode(data).replace("\\u0007", "")
        neighbour = load_records(text, array)[-1].raw
        got = spans.insert_records(text, array, [spans.new_record(neighbour, values)])
        expected = json.dumps(whole, indent=2, ensure_ascii=False).replace("\\u0007", "") + final
        assert got == expected


def test_the_last_record_out_and_the_first_one_in() -> None:
    for text, array, indent in (
        ("[]\n", (), "  "),
        ('{\n  "events": []\n}', ("events",), "    "),
        ('\ufeff{\r\n  "events": []\r\n}', ("events",), "    "),
    ):
        raw = spans.new_record(None, {"id": "1", "tags": ["t"]}, indent)
        if "\r" in text:
            raw = raw.replace("\n", "\r\n")
        full = spans.insert_records(text, array, [raw])
        assert spans.remove_records(full, array, [0]) == text
        whole = json.loads(full.lstrip("\ufeff"))
        newline = "\r\n" if "\r" in text else "\n"
        written = json.dumps(whole, indent=2).replace("\n", newline)
        assert full.lstrip("\ufeff").rstrip("\n") == written


def test_the_style_of_the_old_value_is_kept() -> None:
    cases = [
        ('{"a": "caf\\u00e9"}', "né", '{"a": "n\\u00e9"}'),
        ('{"a": "caf\\u00E9"}', "né", '{"a": "n\\u00E9"}'),
        ('{"a": "x", "b": "\\u00e9"}', "é", '{"a": "\\u00e9", "b": "\\u00e9"}'),
        ('{"a": "x \\u001b\\u007f"}', "é", '{"a": "é"}'),
        ('{"a": "half \\ud83d"}', "é \ud83d", '{"a": "é \\ud83d"}'),
        ('{"a": "http:\\/\\/x"}', "a/b", '{"a": "a\\/b"}'),
        ('{"a": "\\\\u00e9"}', "é", '{"a": "é"}'),
        ('{"a":["x"],"b":1}', ["x", "y"], '{"a":["x","y"],"b":1}'),
        ('{\n  "a": ["x", "y"]\n}', ["z", "y", "w"], '{\n  "a": ["z", "y", "w"]\n}'),
        ('{\n  "a": []\n}', ["z", 1], '{\n  "a": [\n    "z",\n    1\n  ]\n}'),
        ('{\n\t"a": null\n}', {"k": [True]}, '{\n\t"a": {\n\t\t"k": [\n\t\t\ttrue\n\t\t]\n\t}\n}'),
        ('{"a": "caf\udce9"}', "th\udce9", '{"a": "th\udce9"}'),
    ]
    for raw, value, expected in cases:
        assert spans.set_member(raw, "a", value) == expected


def test_an_equal_value_changes_nothing_and_types_are_told_apart() -> None:
    raw = '{"a": 1.50, "b": "\\u0041", "c": 1, "d": [1E2]}'
    assert spans.set_member(raw, "a", 1.5) == raw
    assert spans.set_member(raw, "b", "A") == raw
    assert spans.set_member(raw, "d", [100.0]) == raw
    assert spans.set_member(raw, "c", True) == raw.replace('"c": 1', '"c": true')
    assert spans.set_member(raw, "c", 1.0) == raw.replace('"c": 1', '"c": 1.0')


def test_members_come_and_go_without_a_trace() -> None:
    for raw in ('{"a": 1}', '{\n    "a": 1,\n    "b": {}\n  }', '{"a":1,"b":2}', '{ "a" : 1 }'):
        with_it = spans.add_member(raw, "pinned", True)
        assert load(with_it) == {**load(raw), "pinned": True}
        assert spans.remove_member(with_it, "pinned") == raw
        assert spans.put_member(with_it, "pinned", True) == with_it
    assert spans.add_member("{}", "a", 1) == '{"a": 1}'
    assert spans.remove_member('{"a": 1, "b": 2}', "a") == '{"b": 2}'


def test_a_doubled_key_is_never_edited() -> None:
    raw = '{"id": "1", "content": "a", "content": "b"}'
    with pytest.raises(Refused, match="twice"):
        spans.set_member(raw, "content", "c")
    with pytest.raises(Refused, match="twice"):
        spans.remove_member(raw, "content")
    assert load_records(f"[{raw}]")[0].value["content"] == "b"
    assert '"content": "a", "content": "b"' in spans.set_member(raw, "id", "2")
    doubled = '{"events": [], "events": [{"id": "1"}]}'
    assert len(load_records(doubled, ("events",))) == 1
    with pytest.raises(Refused, match="twice"):
        spans.remove_records(doubled, ("events",), [0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\ufeff \n", "empty"),
        ("\0\0\0\0", "NUL"),
        ('[{"id": 1}, {"id": ', "line 1"),
        ('[\n{"a": 1},\n]', "line 3, column 1"),
        ('[{"a": 1}] [', "follows"),
        ('[{"a": 1}\n// x\n]', "line 2"),
        ('[{"a": "\t"}]', "control"),
        ("[" * 100_000, "deeply"),
        ('{"a": 1}', "no list"),
        ("[1, 2", "line 1"),
        ("\ufffe[]", "line 1"),
    ],
)
def test_a_broken_file_says_where(text: str, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why) as caught:
        load_records(text, where="f.json")
    assert caught.value.where == "f.json"


def test_values_are_set_by_pointer() -> None:
    text = decode(AMBIENT)
    after = spans.set_value(text, ("events", "0", "timestamp"), "7")
    assert after == text.replace("1795119600000", "7")
    for pointer in (("nope",), ("events", "1"), ("projectKey", "x")):
        with pytest.raises(UnreadableFile):
            spans.set_value(text, pointer, "1")
    with pytest.raises(UnreadableFile):
        spans.set_value(text, ("events",), "[")


def test_lines_count_newlines_only() -> None:
    text = '[{"a": "\u2028\u0085"},\n\n{"a": 2}, {"a": 3}]'
    assert [record.line for record in load_records(text)] == [1, 3, 3]


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A file as any JSON writer may write it."""
    records = draw(st.lists(OBJECTS, min_size=1, max_size=4))
    text = json.dumps(
        records,
        indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " :\t")])),
    )
    if draw(st.booleans()):
        text = "\ufeff" + text
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text + draw(st.sampled_from(["", "\n", "\r\n\r\n"])), records


@pytest.mark.slow
@settings(max_examples=count(100, 400))
@given(documents(), st.data(), VALUES)
def test_any_document_keeps_every_other_byte(
    document: tuple[str, list[dict[str, Any]]], data: st.DataObject, value: Any
) -> None:
    text, expected = document
    index = data.draw(st.integers(0, len(expected) - 1))
    key = data.draw(st.sampled_from(sorted(expected[index])))
    record = load_records(text)[index]
    member = next(m for m in members(record.raw) if m.key == key)
    after = spans.replace_records(text, (), {index: spans.set_member(record.raw, key, value)})
    assert after.startswith(text[: record.start + member.start])
    assert after.endswith(text[record.start + member.end :])
    expected[index][key] = value
    assert load(after) == expected


@pytest.mark.slow
@given(documents(), OBJECTS, st.integers(0, 5))
def test_any_insertion_is_undone_by_its_removal(
    document: tuple[str, list[dict[str, Any]]], value: dict[str, Any], index: int
) -> None:
    text, expected = document
    raw = spans.new_record(load_records(text)[0].raw, value)
    after = spans.insert_records(text, (), [raw], index)
    index = min(index, len(expected))
    expected.insert(index, value)
    assert load(after) == expected
    assert spans.remove_records(after, (), [index]) == text


@pytest.mark.slow
@given(documents(), st.sets(st.integers(0, 3)))
def test_any_removal_leaves_the_others_as_they_were(
    document: tuple[str, list[dict[str, Any]]], gone: set[int]
) -> None:
    text, _ = document
    raws = [record.raw for record in load_records(text)]
    after = spans.remove_records(text, (), gone & set(range(len(raws))))
    assert [record.raw for record in load_records(after)] == [
        raw for i, raw in enumerate(raws) if i not in gone
    ]


# ---- styles and places, by example ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "index", "result"),
    [
        ("[]", None, "[R]"),
        ("[ ]", 0, "[R]"),
        ("[1]", None, "[1,R]"),
        ("[ 1 ]", None, "[ 1, R ]"),
        ("[1, 2]", 0, "[R, 1, 2]"),
        ("[1, 2]", 1, "[1, R, 2]"),
        ("[1, 2]", 2, "[1, 2, R]"),
        ("[1, 2]", None, "[1, 2, R]"),
        ("[1, 2,3]", 1, "[1, R, 2,3]"),
        ("[1, 2,3]", 2, "[1, 2,R,3]"),
        ("[1,2, 3]", 3, "[1,2, 3, R]"),
        ('[{"a": 1}]', None, '[{"a": 1}, R]'),
        ('[{"a":1}]', 0, '[R,{"a":1}]'),
        ('[{\n"a": 1,\n"b": 2\n}]', None, '[{\n"a": 1,\n"b": 2\n},R]'),
        ('[{"a": 1, "b": 2}]', None, '[{"a": 1, "b": 2}, R]'),
        ("[\n  1\n]", None, "[\n  1,\n  R\n]"),
    ],
)
def test_an_item_is_spaced_as_its_neighbours_are(text: str, index: int | None, result: str) -> None:
    assert spans.insert_records(text, (), ["9"], index) == result.replace("R", "9")
    assert spans.insert_records(text, (), [], index) == text


@pytest.mark.parametrize(
    ("text", "gone", "result"),
    [
        ("[1, 2, 3]", [], "[1, 2, 3]"),
        ("[1, 2, 3]", [0], "[2, 3]"),
        ("[1, 2, 3]", [1], "[1, 3]"),
        ("[1, 2, 3]", [2], "[1, 2]"),
        ("[1, 2, 3]", [0, 1], "[3]"),
        ("[1, 2, 3]", [0, 2], "[2]"),
        ("[ 1, 2 ,3 ]", [1, 2], "[ 1 ]"),
        ("[ 1, 2 ]", [0, 1], "[]"),
    ],
)
def test_an_item_goes_with_one_comma(text: str, gone: list[int], result: str) -> None:
    assert spans.remove_records(text, (), gone) == result


@pytest.mark.parametrize(
    ("raw", "index", "result"),
    [
        ('{"a": 1, "b": 2}', 0, '{N, "a": 1, "b": 2}'),
        ('{"a": 1, "b": 2}', 1, '{"a": 1, N, "b": 2}'),
        ('{"a": 1, "b": 2}', 2, '{"a": 1, "b": 2, N}'),
        ('{"a": 1, "b": 2}', None, '{"a": 1, "b": 2, N}'),
        ('{"a":1}', None, '{"a":1,N}'),
        ('{"a": 1}', None, '{"a": 1, N}'),
        ('{\n  "a": 1\n}', None, '{\n  "a": 1,\n  N\n}'),
        ('{\n  "a":1\n}', None, '{\n  "a":1,\n  N\n}'),
    ],
)
def test_a_member_is_spaced_as_its_neighbours_are(raw: str, index: int | None, result: str) -> None:
    colon = '"n":0' if '":1' in raw else '"n": 0'
    assert spans.add_member(raw, "n", 0, index) == result.replace("N", colon)


def test_what_is_not_there_or_is_there_already_is_refused() -> None:
    for act in (
        lambda: spans.set_member('{"a": 1}', "b", 1),
        lambda: spans.remove_member('{"a": 1}', "b"),
    ):
        with pytest.raises(Refused, match="the record has no 'b'"):
            act()
    with pytest.raises(Refused, match="has a 'a' already"):
        spans.add_member('{"a": 1}', "a", 1)
    for raw in ("[1]", "", "7"):
        with pytest.raises(Refused, match="not a JSON object"):
            members(raw)
    for raw in ('{"a": 1} x', '{"a": }', '{"a"', "{a: 1}", '{"a": 1;}', '{"a" 1}'):
        with pytest.raises(Refused):
            members(raw)
    with pytest.raises(Refused, match="two edits touch"):
        spans.splice("abcd", [(0, 2, "x"), (1, 3, "y")])
    assert spans.splice("abcd", [(2, 3, "y"), (0, 2, "x")]) == "xyd"
    for value in ({1, 2}, float("nan"), object()):
        with pytest.raises(Refused, match="cannot be written"):
            spans.set_member('{"a": 1}', "a", value)


@pytest.mark.parametrize(
    ("raw", "value", "result"),
    [
        ('{"a":{"x":1}}', {"y": 2}, '{"a":{"y":2}}'),
        ('{"a": {"x":1}}', {"y": 2, "z": 3}, '{"a": {"y":2,"z":3}}'),
        ('{"a":[1, 2]}', [3, 4, 5], '{"a":[3, 4, 5]}'),
        ('{"a":[1,2]}', [], '{"a":[]}'),
        ('{"a":[1,2]}', {}, '{"a":{}}'),
        ('{"a": 1}', ("x", "y"), '{"a": ["x", "y"]}'),
        ('{\r\n  "a": 1\r\n}', ["x"], '{\r\n  "a": [\r\n    "x"\r\n  ]\r\n}'),
        (
            '{\n  "a": [\n    1\n  ]\n}',
            [1, [2]],
            '{\n  "a": [\n    1,\n    [\n      2\n    ]\n  ]\n}',
        ),
        ('{ "a": [\n1\n] }', [2, 3], '{ "a": [\n2,\n3\n] }'),
        ('{"a": "\\ud83d\\ude00"}', "\U0001f600é", '{"a": "\\ud83d\\ude00\\u00e9"}'),
        ('{"a": "\\u00e9", "b": "é"}', "ü", '{"a": "\\u00fc", "b": "é"}'),
        ('{"a": "é", "b": "\\u00e9"}', "ü", '{"a": "ü", "b": "\\u00e9"}'),
        ('{"a": "\\u00AB"}', "\\ü", '{"a": "\\\\\\u00FC"}'),
        ('{"a": "x\udcff"}', "\udcfe", '{"a": "\\udcfe"}'),
    ],
)
def test_a_value_is_laid_out_and_spelled_like_the_one_it_replaces(
    raw: str, value: Any, result: str
) -> None:
    assert spans.set_member(raw, "a", value) == result


def test_records_are_laid_out_like_their_neighbour_or_like_jq() -> None:
    value = {"id": 1, "tags": ["a"]}
    assert spans.new_record(None, value) == json.dumps(value, indent=2)
    assert spans.new_record("{}", value) == json.dumps(value, indent=2)
    assert spans.new_record('{"x":1}', value) == json.dumps(value, separators=(",", ":"))
    assert spans.new_record('{"x": 1}', value) == json.dumps(value)
    assert spans.new_record('{"x": "\\u00e9"}', {"a": "ü"}) == '{"a": "\\u00fc"}'


@pytest.mark.parametrize(
    ("pointer", "raw"),
    [
        ((), ' {"a": [1, {"b": "x"}], "0": 2}'.strip()),
        (("a",), '[1, {"b": "x"}]'),
        (("a", "0"), "1"),
        (("a", "1", "b"), '"x"'),
        (("0",), "2"),
    ],
)
def test_a_value_is_found_by_its_pointer(pointer: tuple[str, ...], raw: str) -> None:
    text = '\ufeff {"a": [1, {"b": "x"}], "0": 2}\n'
    start, end = locate(text, pointer)
    assert (text[start:end], spans.raw_value(text, pointer)) == (raw, raw)


@pytest.mark.parametrize(
    "pointer", [("b",), ("a", "2"), ("a", "x"), ("a", "-1"), ("0", "0"), ("1", "x"), ("1",)]
)
def test_a_pointer_that_leads_nowhere_is_said_to(pointer: tuple[str, ...]) -> None:
    with pytest.raises(UnreadableFile, match=f"there is no {pointer[-1]!r} where one belongs"):
        locate('{"a": [1, 2], "0": [], "1": {}}' if pointer != ("1",) else "[5]", pointer)


def test_the_list_of_a_file_is_found_with_what_is_beside_it() -> None:
    text = '\n{"v": 1, "d": {"items": [\n1, 2], "n": 3},\n"w": 2}'
    others: dict[str, Any] = {}
    found = load_records(text, ("d", "items"), others=others)
    assert [(each.value, each.line, each.raw) for each in found] == [(1, 3, "1"), (2, 3, "2")]
    assert others == {"v": 1, "w": 2}
    for broken, array, why in [
        ("[1]", ("a",), "it does not hold a JSON object"),
        ('{"a": 1}', (), "the file has no list of records"),
        ('{"a": 1}', ("a",), "the file has no list named 'a'"),
        ('{"b": {"a": {}}}', ("b", "a"), "the file has no list named 'a'"),
        ("7", (), "the file has no list of records"),
    ]:
        with pytest.raises(UnreadableFile, match=why) as caught:
            load_records(broken, array, "f.json")
        assert caught.value.where == "f.json"


def test_a_fault_is_said_with_its_place() -> None:
    for text, why in [
        ('{"a": 1,}', "line 1, column [89]: "),  # Python 3.13 names the comma
        ('{"a": [1, 2}', "line 1, column 12: "),
        ('\n\n {"a" 1}', "line 3, column 7: "),
        ('"x', "line 1, column 1: "),
        ("{} {}", "line 1, column 4: something follows the end"),
        ("[" * 99_999, "the JSON is nested too deeply"),
        (" \r\n\t", "the file is empty"),
        ("\0\0", "the file holds nothing but NUL bytes"),
    ]:
        with pytest.raises(UnreadableFile, match=why) as caught:
            load(text, "f.json")
        assert caught.value.where == "f.json"


def test_an_integer_longer_than_python_reads_is_kept_as_text() -> None:
    number = "9" * 5000
    assert load(f'{{"a": {number}, "b": -12}}') == {"a": number, "b": -12}
    assert (
        spans.set_value(f'{{"a": {number}, "b": 1}}', ("b",), "2") == f'{{"a": {number}, "b": 2}}'
    )


VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "a", '"', ",", "]", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab:"), inner),
    max_leaves=6,
)


@given(st.lists(VALUES) | st.dictionaries(st.sampled_from("ab:"), VALUES), st.data())
def test_what_is_no_json_has_no_parts(value: Any, data: st.DataObject) -> None:
    """With one character gone, doubled or replaced."""
    text = json.dumps(value, separators=data.draw(st.sampled_from([(",", ":"), (", ", ": ")])))
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.sampled_from(["", text[at] * 2, *'[]{},:" 1a']))
    text = text[:at] + new + text[at + 1 :]
    try:
        json.loads(text)
        is_sound = True
    except ValueError:
        is_sound = False
    try:
        parts = parts_of(text)
    except Refused:
        assert not is_sound
    else:
        assert is_sound
        assert [json.loads(text[part.start : part.end]) for part in parts] == [
            part.value for part in parts
        ]


def test_the_only_member_of_a_record_leaves_an_empty_one() -> None:
    assert spans.remove_member('{ "a" : [1, {}] }', "a") == "{}"
