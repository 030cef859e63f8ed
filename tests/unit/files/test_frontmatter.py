"""Frontmatter: read whatever is there, change one line, keep every other byte."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memtui.errors import Refused
from memtui.files import frontmatter
from memtui.files.reading import decode, encode
from memtui.testing.fixtures import time_limit
from tests.growth import assert_straight

SECONDS = 60.0
"""For documents that would take hours where each was unfolded."""

TASK = """---
state: active   # since monday
created: '2025-05-05T17:22:26+02:00'
due: 2026-01-01
priority: "high"
tags: [a, 'b c']
related:
- x.md
- "y z"
notes: |
  state: not this one
blank:
---
# Title

state: nor this
---
"""

CORPUS: dict[str, bytes] = {
    "plain": TASK.encode(),
    "crlf": TASK.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + TASK.encode(),
    "stray byte in the body": TASK.encode() + b"\xff\xfe",
    "no body": TASK.encode()[: TASK.index("# Title")],
    "no final newline": TASK.encode()[: TASK.index("# Title") - 1],
    "tabs and template": TASK.replace("blank:", "blank: '{{ x }}'\ntab:\t 'a'").encode(),
    "emoji": TASK.replace("blank:", "mood: \U0001f600 ok\nlong: " + "w " * 200).encode(),
    "spaces after": TASK.replace("active ", "active    ").encode(),
    "unix seconds": TASK.replace("blank:", "at: 12:30:45\nyes: no").encode(),
}


@pytest.mark.parametrize("name", CORPUS)
def test_one_line_changes_and_no_other_byte(name: str) -> None:
    text = decode(CORPUS[name])
    before = frontmatter.parse(text)
    edits: list[tuple[str, Any, str, str]] = [
        ("state", "done", "state: active", "state: done"),
        ("created", "it's", "'2025-05-05T17:22:26+02:00'", "'it''s'"),
        ("due", "2027-02-03", "2026-01-01", "2027-02-03"),
        ("due", "soon: #1", "2026-01-01", '"soon: #1"'),
        ("priority", "low", '"high"', '"low"'),
        ("priority", None, '"high"', "null"),
        ("state", "2026-01-01", "state: active", 'state: "2026-01-01"'),
        ("state", "yes", "state: active", 'state: "yes"'),
        ("state", "a\tb = \u2028", "state: active", 'state: "a\\tb = \\u2028"'),
        ("state", 3, "state: active", "state: 3"),
        ("tags", ["a", "c: d"], "[a, 'b c']", '[a, "c: d"]'),
    ]
    for key, value, old, new in edits:
        after = frontmatter.set_field(text, key, value)
        assert encode(after) == CORPUS[name].replace(old.encode(), new.encode(), 1)
        assert frontmatter.parse(after) == {**before, key: value}
        assert frontmatter.set_field(after, key, before[key]).count("\n") == text.count("\n")


@pytest.mark.parametrize("name", CORPUS)
def test_a_new_field_is_the_last_line(name: str) -> None:
    text = decode(CORPUS[name])
    for value in ("x", "2026-01-01", ["a", "b"], True):
        after = frontmatter.set_field(text, "fresh", value)
        assert frontmatter.parse(after) == {**frontmatter.parse(text), "fresh": value}
        assert frontmatter.split(after).body == frontmatter.split(text).body


def test_a_block_list_keeps_its_lines() -> None:
    after = frontmatter.set_field(TASK, "related", ["y z", "new: one"])
    assert after == TASK.replace('- x.md\n- "y z"\n', '- "y z"\n- "new: one"\n')


def test_frontmatter_is_made_where_there_is_none() -> None:
    for text in ("# T\n", "", "\ufeff# T\r\nx\r\n", "--- not\n---\n"):
        after = frontmatter.set_field(text, "state", "todo")
        assert frontmatter.parse(after) == {"state": "todo"}
        assert frontmatter.split(after).body == text.lstrip("\ufeff")
    with pytest.raises(Refused, match="not closed"):
        frontmatter.set_field("---\nstate: x\n", "state", "y")


@pytest.mark.parametrize(
    ("front", "key"),
    [
        ("a: |\n  text\n", "a"),
        ("a: >-\n  text\n", "a"),
        ("a: &x 1\nb: *x\n", "a"),
        ("a: &x 1\nb: *x\n", "b"),
        ("a: one\n  two\n", "a"),
        ("a:\n  b: 1\n", "a"),
        ("a: {b: 1}\n", "a"),
        ("a: [1,\n  2]\n", "a"),
        ("a: [x, y]\n", "a"),
        ("a: 1\na: 2\n", "a"),
        ("? a\n: 1\n", "a"),
        ("{a: 1}\n", "a"),
        ("a: !!str 1\n", "a"),
        ("a: [1\n", "a"),
        ('a: "x\n  y"\n', "a"),
        ("- a\n", "a"),
        ("b: 1\n# a: 1\nc: [\n", "a"),
    ],
)
def test_what_cannot_be_edited_on_its_line_is_refused(front: str, key: str) -> None:
    with pytest.raises(Refused):
        frontmatter.set_field(f"---\n{front}---\nbody", key, "new")


def test_half_characters_are_refused() -> None:
    for value in ("\ud83d", "x\udcff"):
        with pytest.raises(Refused, match="half"):
            frontmatter.set_field(TASK, "state", value)


def test_reading_fails_open() -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("no frontmatter", {}),
        ("---\na: 1\n", {}),
        ("---\n---\n", {}),
        ("---\na: 1\n---", {"a": 1}),
        ("---\r\na: 1\r\n---\r\nb", {"a": 1}),
        ("---\na: [1\nb: 'x'\n---\n", {"a": "[1", "b": "x"}),
        ("---\na: caf\udce9\n---\n", {"a": "caf\ufffd"}),
        ("---\n- a\n---\n", {}),
        ("---\ndate: 2026-99-99\n---\n", {"date": "2026-99-99"}),
        ("---\ndate: 2026-11-21 10:00:00\n---\n", {"date": "2026-11-21 10:00:00"}),
        ("---\n1: a\nnull: b\n---\n", {"1": "a", "None": "b"}),
        (
            "---\na: !!python/object/apply:os.system ['x']\n---\n",
            {"a": "!!python/object/apply:os.system ['x']"},
        ),
    ]
    for text, expected in cases:
        assert frontmatter.parse(text) == expected


@pytest.mark.slow
def test_bombs_are_refused() -> None:
    nines = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for name, before in zip("bcdef", "abcde", strict=True):
        nines += f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    bombs = [nines, "[" * 60_000, "{" * 2_000, "- " * 30_000, "? " * 30_000, "-\t" * 30_000]
    bombs += ['["]"' * 10_000, "a: &a [*a]\n", "a: " + "9" * 5_000, "x: " + "y" * 70_000]
    bombs += ["\n".join(" " * depth + "a:" for depth in range(350))]
    merged = "a0: &a0 {k: v}\n"
    for number in range(1, 12):
        names = ", ".join([f"*a{number - 1}"] * 9)
        merged += f"a{number}: &a{number} {{<<: [{names}]}}\n"
    wide = "a: &a\n" + "".join(f"  k{at}: 1\n" for at in range(2000))
    bombs += [merged, wide + "".join(f"b{at}:\n  <<: *a\n" for at in range(2500))]
    bombs += ["a: &a [" + ",".join(["*a"] * 20_000) + "]", "a: &a {<<: *a}"]
    bombs += ["a: [\nb: x" + " " * 300_000 + "y"]
    with time_limit(SECONDS):
        for bomb in bombs:
            assert isinstance(frontmatter.parse(f"---\n{bomb}\n---\n"), dict)


def test_an_integer_of_any_length_is_kept_as_it_is_written() -> None:
    """Python prints none of more than 4,300 digits: that would end whatever shows the document."""
    longest = "0x" + "f" * 800
    assert frontmatter.parse(f"---\na: {longest}\n---\n") == {"a": int(longest, 16)}
    for number in ("0x" + "f" * 5000, "0b" + "1" * 15_000, "9" * 5000, ":".join(["59"] * 4000)):
        text = f"---\na: {number}\n? {number}\n: [{number}]\n---\n"
        assert frontmatter.parse(text) == {"a": number, number: [number]}


@pytest.mark.parametrize(
    ("front", "key", "value", "after"),
    [
        ("a: x{0}y", "a", "z", "a: z"),
        ("a: x{0}# y", "a", "z", "a: z{0}# y"),
        ("a:\n- x{0}y\n- b", "a", ["b"], "a:\n- b"),
        ('c: "\na{0}x"\nd: 1', "d", 2, 'c: "\na{0}x"\nd: 2'),
    ],
)
def test_a_long_line_is_edited_as_fast_as_a_short_one(
    front: str, key: str, value: object, after: str
) -> None:
    def edit(size: int) -> None:
        before, wanted = (f"---\n{text.format(' ' * size)}\n---\n" for text in (front, after))
        assert frontmatter.set_field(before, key, value) == wanted

    assert_straight(edit, 50_000)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(WORDS, st.sampled_from(["state", "created", "due", "priority", "blank", "fresh"]))
def test_any_text_reads_back_as_itself_in_any_yaml_program(value: str, key: str) -> None:
    after = frontmatter.set_field(TASK, key, value)
    assert frontmatter.parse(after)[key] == value
    other = yaml.safe_load(frontmatter.split(after).front or "")[key]
    assert other == value or (key == "due" and str(other).startswith(value[:4]))
    assert frontmatter.split(after).body == frontmatter.split(TASK).body


@given(st.lists(WORDS, min_size=1, max_size=4, unique=True), st.sampled_from(["tags", "related"]))
def test_any_list_reads_back_as_itself(value: list[str], key: str) -> None:
    after = frontmatter.set_field(TASK, key, value)
    read = yaml.safe_load(frontmatter.split(after).front or "")[key]
    assert sorted(read) == sorted(value)


def _reads(text: str) -> bool:
    try:
        frontmatter.read_yaml(text)
    except frontmatter.BadYaml:
        return False
    return True


def test_values_inside_values_are_read_up_to_the_limit() -> None:
    def nested(levels: int) -> str:  # the mapping, the lists, and the number in the innermost
        return "a: " + "[" * (levels - 2) + "1" + "]" * (levels - 2)

    assert _reads(nested(frontmatter.MAX_LEVELS))
    assert not _reads(nested(frontmatter.MAX_LEVELS + 1))


def test_as_many_values_are_read_as_the_limit_says() -> None:
    def listed(values: int) -> str:  # the mapping, its key and the list count too
        return "a:\n" + "- 1\n" * (values - 3)

    assert _reads(listed(frontmatter.MAX_VALUES))
    assert not _reads(listed(frontmatter.MAX_VALUES + 1))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "---\na: b\n---\n"),
        ("x\ny", "---\na: b\n---\nx\ny"),
        ("x\r\ny", "---\r\na: b\r\n---\r\nx\r\ny"),
        ("\ufeffx\r\n", "\ufeff---\r\na: b\r\n---\r\nx\r\n"),
        ("---\n---\n", "---\na: b\n---\n"),
        ("---\r\nc: 1\r\n---\r\n", "---\r\nc: 1\r\na: b\r\n---\r\n"),
        ("---\nc: 1\n---", "---\nc: 1\na: b\n---"),
    ],
)
def test_a_field_is_written_with_the_line_ends_of_the_text(text: str, result: str) -> None:
    assert frontmatter.set_field(text, "a", "b") == result


@pytest.mark.parametrize(
    ("front", "value", "result"),
    [
        ("a: 'x'  # c", "it's", "a: 'it''s'  # c"),
        ("a: 'x'", "a\tb", 'a: "a\\tb"'),
        ("a:", "x", "a: x"),
        ("a:   x", "y", "a:   y"),
        ("a:\t", "x", "a:\tx"),
        ("a: # c", "x", "a: x # c"),
        ('"a": x', "y", '"a": y'),
        ("'a' : x", "y", "'a' : y"),
        ("a: 2026-01-01", "2027-01-01", "a: 2027-01-01"),
        ("a: word", "2027-01-01", 'a: "2027-01-01"'),
        ("a: x", True, "a: true"),
        ("a: [x]", ["y", "1", "p, q", ""], 'a: [y, "1", "p, q", ""]'),
        ("a: [x] # c", [], "a: [] # c"),
        ("a: x", ["y"], "a: [y]"),
        ("a:\n  - x  \n  - y  ", ["y", "z"], "a:\n  - y  \n  - z  "),
        ("a:\n- x\n- x", ["x"], "a:\n- x"),
        ("a:\n- x\n\n# c\nb: 1", ["x", "y"], "a:\n- x\n- y\n\n# c\nb: 1"),
    ],
)
def test_a_value_is_written_in_the_style_of_the_old_one(
    front: str, value: Any, result: str
) -> None:
    text = frontmatter.set_field(f"---\n{front}\n---\nbody", "a", value)
    assert text == f"---\n{result}\n---\nbody"


@pytest.mark.parametrize(
    ("front", "value", "why"),
    [
        ("a: 1\na: 2", "x", "the field 'a' occurs twice"),
        ("{a: 1}", "x", "not on a line of its own"),
        ("a: 5", "6", "the field cannot be changed on its line"),  # it would be a number
        ("a:\n- x\n- y", ["y", "x"], "the field cannot be changed on its line"),
        ("a: [1", "x", "the frontmatter is not valid YAML: line 2: "),
        ("b: 1\nc: ]", "x", "the frontmatter is not valid YAML: line 2: "),
        ("- a", "x", "it is not a list of fields"),
        ("a: |\n  x", "y", "the field is not a value on one line"),
        ("a:\n- x", "y", "the field is not a value on one line"),
        ("a: [x]", "y", "the field is a list"),
        ("a:\n- x", [], "the list would be empty"),
        ("a:\n- {x: 1}", ["y"], "the list holds more than plain words"),
        ("a:\n- 1", ["y"], "the list holds more than plain words"),
        ("a: &x 1\nb: *x", "y", "the field is not a value on one line"),
        ("b: " + "y" * 70_000, "x", "it is too long"),
        ("b: " + "[" * 201 + "]" * 201, "x", "it is nested too deeply"),
    ],
)
def test_a_refusal_says_why(front: str, value: Any, why: str) -> None:
    with pytest.raises(Refused) as caught:
        frontmatter.set_field(f"---\n{front}\n---\n", "a", value)
    assert why in str(caught.value)
    assert caught.value.do


def test_as_many_brackets_and_characters_are_read_as_the_limits_say() -> None:
    limit = frontmatter.MAX_BRACKETS
    assert _reads("a: [" + "[], " * (limit - 1) + "]")
    assert not _reads("a: [" + "[], " * limit + "]")
    assert _reads("a: x #" + "y" * (frontmatter.LARGEST_BLOCK - 6))
    assert not _reads("a: x #" + "y" * (frontmatter.LARGEST_BLOCK - 5))
    assert _reads("a: '" + "- " * frontmatter.MAX_MARKS + "'")
    assert not _reads("a: '" + "- " * (frontmatter.MAX_MARKS + 1) + "'")
    for digits, kind in ((frontmatter.LONGEST_NUMBER, int), (frontmatter.LONGEST_NUMBER + 1, str)):
        assert isinstance(frontmatter.read_yaml("a: " + "9" * digits)["a"], kind)


@given(st.text("-\n\r\ufeffa: ", max_size=30))
def test_both_parts_are_where_the_split_says(text: str) -> None:
    cut = frontmatter.split(text)
    assert (cut.front or "", cut.body) == (text[cut.start : cut.end], text[cut.body_start :])
    if cut.front is None:
        assert (cut.start, cut.end, cut.body_start) == (0, 0, 0)


@pytest.mark.parametrize("value", ["x", ["a", "b"], ("a", "b"), 7, True])
def test_a_field_that_has_the_value_already_stays_as_it_is_spelled(value: Any) -> None:
    spelled = (
        {"x": "'x'", 7: "0x7", True: "yes"}.get(value)
        if not isinstance(value, list | tuple)
        else "[ a,b ]"
    )
    text = f"---\na:  {spelled}  # why\nb: 1\n---\nBody\n"
    assert frontmatter.set_field(text, "a", value) == text
