"""An edit changes the bytes of one value and no other byte of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.errors import Refused, UnreadableFile
from memtui.files.json import editing as spans
from memtui.files.json.locating import load, load_records, members
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
