"""What two programs did to one file is merged whole, or not at all."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Edit, Kind, record_edit, text_edit, value_edit
from memtui.errors import Conflict
from memtui.files.merging import apply_record_change, rebase
from tests.long_run import count

Texts = tuple[str, str, str]
"""The base, ours and theirs."""


def merged(base: str, ours: str, theirs: str, *, by_lines: bool = True) -> str | None:
    """Our merge; None for a conflict."""
    try:
        return rebase(
            theirs, [text_edit("f", base, ours, kind=Kind.LINES if by_lines else Kind.FILE)]
        )
    except Conflict:
        return None


# ---- lines, beside other programs' merges --------------------------------------------------------


def lines_of(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{line}\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def git_merge(folder: Path, texts: Texts) -> str | None:
    for name, text in zip(("base", "ours", "theirs"), texts, strict=True):
        (folder / name).write_bytes(text.encode())
    command = ["git", "merge-file", "-p", "-q", "ours", "base", "theirs"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return ran.stdout.decode() if ran.returncode == 0 else None


def merge3_merge(texts: Texts) -> str | None:
    from merge3 import Merge3  # type: ignore[import-not-found, unused-ignore]

    result = ""
    for kind, *lines in Merge3(*map(lines_of, texts)).merge_groups():
        if kind == "conflict":
            return None
        result += "".join(lines[0])
    return result


def random_texts(rng: random.Random) -> Texts:
    """A text of few different lines, so that they repeat, and two changes of it."""
    newline = rng.choice(["\n", "\n", "\r\n"])
    known = [letter + newline for letter in "abcdefghijklmnopqrst"[: rng.choice([2, 3, 4, 6, 20])]]
    base = rng.choices(known, k=rng.choice([0, 1, 3, 6, 10, 16]))
    texts = [
        "".join(lines) for lines in (base, changed(base, known, rng), changed(base, known, rng))
    ]
    if rng.random() < 0.3:
        texts = [text.removesuffix(newline) if rng.random() < 0.6 else text for text in texts]
    first, second, third = texts
    return first, second, third


def changed(lines: Sequence[str], known: list[str], rng: random.Random) -> list[str]:
    result = list(lines)
    for _ in range(rng.randint(0, 2)):
        start = rng.randint(0, len(result))
        result[start : start + rng.randint(0, 3)] = rng.choices(known, k=rng.randint(0, 3))
    return result


def holds(theirs: list[str], ours: list[str]) -> bool:
    """Whether theirs is ours with one run of lines inserted."""
    added = len(theirs) - len(ours)
    return added >= 0 and any(
        theirs[:at] == ours[:at] and theirs[at + added :] == ours[at:]
        for at in range(len(ours) + 1)
    )


@pytest.mark.slow
def test_lines_are_merged_as_git_or_merge3_merges_them(
    tmp_path: Path, figures: Callable[[str], None]
) -> None:
    """The two do not agree on every text whose lines repeat; what neither of them makes, and what
    both call a conflict, memtui must not make. The exception: our change is in theirs already."""
    rng, found = random.Random(27), Counter[str]()
    has_merge3 = find_spec("merge3") is not None
    number = count(5000 if has_merge3 else 1000, 100_000)
    for _ in range(number):
        texts = random_texts(rng)
        ours = merged(*texts)
        if ours is None:
            found["conflict"] += 1
        elif (has_merge3 and ours == merge3_merge(texts)) or ours == git_merge(tmp_path, texts):
            found["merged"] += 1
        else:
            assert ours == texts[2], texts
            assert holds(lines_of(texts[2]), lines_of(texts[1])), texts
            found["there already"] += 1
    assert found["merged"] > 0.6 * number  # git merges two thirds of these
    figures(f"three-way merges of {number:,} random texts: {dict(found)}, none of its own making")


# ---- lines, by example ---------------------------------------------------------------------------

BULLET = "- a\n  one\n  two\n  three\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (f"{BULLET}- z\n", "- z\n", "- a\n  one\n  new\n  two\n  three\n- z\n"),
        (f"{BULLET}- z\n", "- z\n", f"{BULLET}  four\n- z\n"),
        (BULLET, "", f"{BULLET}  four\n"),
        (
            f"{BULLET}- z\n",
            "- A\n  one\n  two\n  three\n- z\n",
            "- a\n  One\n  two\n  three\n- z\n",
        ),
        ("- a\n- z\n", "- a\n  ours\n- z\n", "- a\n  theirs\n- z\n"),
        ("# H\n- a\n# K\n", "# K\n", "# H\n- a\n- new\n# K\n"),
        ("- a\n- z\n", "- a\n- same\n- ours\n- z\n", "- a\n- theirs\n- same\n- z\n"),
        ("x\na\na\ny\n", "x\ny\na\na\n", "x\ny\n"),
    ],
    ids=[
        "a line inserted in what we remove",
        "a line continues what we remove",
        "the same at the end",
        "two lines of one item",
        "both continue an item",
        "an item of a section that we remove",
        "a line that both insert, among others",
        "lines that we move and they remove",
    ],
)
def test_a_change_that_touches_ours_is_a_conflict(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) is None
    assert merged(base, theirs, ours) is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (BULLET, "", f"{BULLET}- new\n", "- new\n"),
        (f"{BULLET}- z\n", "- z\n", f"{BULLET}- new\n- z\n", "- new\n- z\n"),
        ("- a\n", "- a\n- ours\n", "- a\n- theirs\n", "- a\n- theirs\n- ours\n"),
        ("- a\n", "- a\n  ours\n", "- a\n- theirs\n", "- a\n  ours\n- theirs\n"),
        ("- a\n", "- A\n", "- a\n# K\n", "- A\n# K\n"),
        ('{"a": 1}\n', '{"a": 2}\n', '{"a": 1}\n{"b": 1}\n', '{"a": 2}\n{"b": 1}\n'),
        ("a\n\nb\n", "A\n\nb\n", "a\n\nnew\n\nb\n", "A\n\nnew\n\nb\n"),
        ("- a\n- b\n", "- a\n- c\n- b\n", "- a\n- c\n- b\n- d\n", "- a\n- c\n- b\n- d\n"),
        ("- a\n", "- a\n- c\n", "- a\n- c\n- d\n", "- a\n- c\n- d\n"),
        ("- a\n- b\n- c\n", "- a\n- c\n", "- a\n- c\n", "- a\n- c\n"),
    ],
)
def test_a_record_of_its_own_beside_our_change_is_kept(
    base: str, ours: str, theirs: str, result: str
) -> None:
    assert merged(base, ours, theirs) == result


def test_of_a_text_that_is_one_memory_only_appended_lines_are_merged() -> None:
    assert merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc\n- d\n", by_lines=False) == "A\nb\nc\n- d\n"
    assert merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", by_lines=False) is None
    assert merged("a\nb\nc\n", "a\nb\n", "a\nb\nc\nand more\n", by_lines=False) is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("x\n", "x\n- a\n", "x\n- b", None),  # it would join the two lines
        ("x\n", "x\n- a", "x\n- b\n", "x\n- b\n- a"),
        ("x\n", "x\n- a\n", "x\n- b\n", "x\n- b\n- a\n"),
        ("x", "y", "x\n- b\n", None),
        (
            "- a\n- b\n- c\n- d\n",
            "- A\n- b\n- c\n- d\n",
            "- a\n- b\n- C\n- d\n",
            "- A\n- b\n- C\n- d\n",
        ),
        ("- a\n- b\n- c\n", "- A\n- b\n- c\n", "- a\n- B\n- c\n", "- A\n- B\n- c\n"),
        ("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", None),
        ("# H\n- a\n", "- a\n", "# H\n- new\n- a\n", None),  # it would leave its section
        ("1. a\n", "1. A\n", "1. a\n2. b\n", "1. A\n2. b\n"),
        ("- a\n", "- A\n", "- a\n1234567890. b\n", None),
        ("- a\n", "- A\n", "- a\n####### b\n", None),
        ("- a\n", "- A\n", "- a\n###### b\n", "- A\n###### b\n"),
        ("- a\n- z\n", "- z\n- a\n", "- a\n- n\n- z\n", None),
    ],
)
def test_lines_are_merged_by_example(base: str, ours: str, theirs: str, result: str | None) -> None:
    assert merged(base, ours, theirs) == result


@pytest.mark.parametrize(
    ("before", "after", "now", "why"),
    [
        ("a\n", "b\n", None, "the file is gone"),
        (None, "b\n", "c\n", "a file of this name already exists"),
        ("a\n", "b\n", "c\n", "the file was changed by another program"),
        ("a\n", None, "c\n", "the file was changed by another program"),
    ],
)
def test_a_conflict_of_texts_says_why(
    before: str | None, after: str | None, now: str | None, why: str
) -> None:
    with pytest.raises(Conflict, match=why) as caught:
        rebase(now, [text_edit("f", before, after)], "there")
    error = caught.value
    assert (error.where, error.base, error.theirs, error.yours) == ("there", before, now, after)


# ---- records and values --------------------------------------------------------------------------

VERSIONS = (None, '{"id": "r", "a": 1}', '{"id": "r", "a": 2}', '{"id": "r", "a": 3}')


def three_way(base: Any, ours: Any, theirs: Any) -> Any:
    """What a merge of one value must give; Conflict where it cannot."""
    if ours == theirs or base == theirs:
        return ours
    if ours == base:
        return theirs
    return Conflict


@pytest.mark.parametrize("other", ["", '{"id": "x"}'], ids=["alone", "beside another"])
def test_every_combination_of_a_record_absent_equal_or_changed(other: str) -> None:
    seen = 0
    for base in VERSIONS:
        for ours in VERSIONS:
            for theirs in VERSIONS:
                if base == ours:  # no edit
                    continue
                edit = record_edit("f", (), "id", "r", base, ours)
                text = "[" + ", ".join(filter(None, (other, theirs))) + "]"
                expected = three_way(base, ours, theirs)
                if expected is Conflict:
                    with pytest.raises(Conflict):
                        rebase(text, [edit])
                else:
                    found = json.loads(rebase(text, [edit]) or "")
                    kept = [json.loads(raw) for raw in (other, expected) if raw]
                    assert found == kept, (base, ours, theirs)
                seen += 1
    assert seen == 48


def test_every_combination_of_a_value_absent_equal_or_changed() -> None:
    for base in ("", "1", "2", "3"):
        for ours in ("", "1", "2", "3"):
            for theirs in ("", "1", "2", "3"):
                if base == ours:
                    continue
                member = f'"v": {theirs}, ' if theirs else ""
                text = f'{{{member}"w": 0}}'
                edit = value_edit("f", ("v",), base, ours)
                expected = three_way(base, ours, theirs)
                if expected is Conflict:
                    with pytest.raises(Conflict):
                        rebase(text, [edit])
                else:
                    found = json.loads(rebase(text, [edit]) or "")
                    assert found == ({"w": 0, "v": int(expected)} if expected else {"w": 0})


def edits_of(*changes: tuple[str | None, str | None]) -> list[Edit]:
    return [record_edit("f", (), "id", "7", before, after) for before, after in changes]


def test_edits_of_two_records_with_one_id_are_both_made() -> None:
    first, second = '{"id": 7, "t": "a"}', '{"id": 7, "t": "b"}'
    text = f"[{first}, {second}]"
    assert rebase(text, edits_of((first, None), (second, None))) == "[]"
    new = [raw.replace('"}', '!"}') for raw in (first, second)]
    both = edits_of((first, new[0]), (second, new[1]))
    assert rebase(text, both) == f"[{new[0]}, {new[1]}]"
    assert rebase(f"[{first}, {first}]", edits_of((first, None), (first, None))) == "[]"


def test_edits_of_one_record_follow_each_other() -> None:
    one, two, three = (f'{{"id": 7, "t": {number}}}' for number in (1, 2, 3))
    assert rebase(f"[{one}]", edits_of((one, two), (two, three))) == f"[{three}]"
    assert rebase(f"[{one}]", edits_of((one, two), (one, two))) == f"[{two}]"
    with pytest.raises(Conflict):
        rebase(f"[{one}]", edits_of((one, two), (one, three)))


def test_edits_of_a_file_that_is_gone() -> None:
    raw = '{"id": 7, "t": 1}'
    assert rebase(None, edits_of((raw, None))) is None
    with pytest.raises(Conflict, match="the file is gone") as caught:
        rebase(None, edits_of((raw, None), (raw, '{"id": 7, "t": 2}')), "there")
    assert (caught.value.where, caught.value.yours) == ("there", '{"id": 7, "t": 2}')
    with pytest.raises(Conflict, match="the file is gone"):
        rebase(None, [value_edit("f", ("v",), "1", "2")])
    assert rebase(None, [value_edit("f", ("v",), "1", "2", kind=Kind.COUNTER)]) is None


@pytest.mark.parametrize(
    ("index", "result"),
    [(0, "n, 1, 2"), (1, "1, n, 2"), (2, "1, 2, n"), (9, "1, 2, n"), (None, "1, 2, n")],
)
def test_a_record_is_added_at_its_place(index: int | None, result: str) -> None:
    raws = {name: f'{{"id": "{name}"}}' for name in "12n"}
    text = f"[{raws['1']}, {raws['2']}]"
    edit = record_edit("f", (), "id", "n", None, raws["n"], index)
    expected = ", ".join(raws[name] for name in result.split(", "))
    assert rebase(text, [edit]) == f"[{expected}]"


def test_several_records_are_added_in_the_order_of_their_places() -> None:
    raws = {name: f'{{"id": "{name}"}}' for name in "1abc"}
    edits: list[Edit] = [
        record_edit("f", (), "id", name, None, raws[name], index)
        for name, index in (("c", None), ("b", 1), ("a", 0))
    ]
    assert (
        rebase(f"[{raws['1']}]", edits) == f"[{raws['a']}, {raws['b']}, {raws['1']}, {raws['c']}]"
    )


def test_ids_are_texts_or_numbers_but_not_truths() -> None:
    text = '[{"id": true}, {"id": 1}, {"id": "1"}, {"id": 1.0}, {"id": null}, 5]'
    edit = record_edit("f", (), "id", "1", '{"id": 1}', None)
    assert rebase(text, [edit]) == text.replace(' {"id": 1},', "")
    for name in ("True", "1.0", "None"):
        with pytest.raises(Conflict, match="is gone"):
            rebase(text, [record_edit("f", (), "id", name, "{}", '{"id": 2}')])


def test_a_record_in_another_spelling_is_changed_member_by_member() -> None:
    before, after = '{"id": 7, "a": 1, "b": 2}', '{"id": 7, "a": 5, "c": true}'
    now = '[{"b":2,"a":1,"id":7}]'
    assert rebase(now, edits_of((before, after))) == '[{"a":5,"id":7,"c":true}]'
    assert rebase(now, edits_of((before, None))) == "[]"
    assert (
        rebase('[{"c":true,"a":5,"id":7}]', edits_of((before, after)))
        == '[{"c":true,"a":5,"id":7}]'
    )


def test_a_new_value_keeps_its_own_spelling_and_its_place() -> None:
    text = '{"m": {"a": 1}}'
    edit = value_edit("f", ("m", "b"), "", '{"x":1}', at=0)
    assert rebase(text, [edit]) == '{"m": {"b": {"x":1}, "a": 1}}'
    many = value_edit("f", ("m", "b"), "", '{\n "x":1\n}')
    assert json.loads(rebase(text, [many]) or "") == {"m": {"a": 1, "b": {"x": 1}}}
    with pytest.raises(Conflict, match="the entry 'a' was changed") as caught:
        rebase(text, [value_edit("f", ("m", "a"), "2", "3")], "there")
    error = caught.value
    assert (error.where, error.base, error.theirs, error.yours) == ("there", "2", "1", "3")
    with pytest.raises(Conflict) as caught:
        rebase(text, [value_edit("f", ("m", "a"), "", "3")])
    assert (caught.value.base, caught.value.theirs, caught.value.yours) == (None, "1", "3")
    with pytest.raises(Conflict) as caught:
        rebase(text, [value_edit("f", ("m", "a"), "2", "")])
    assert (caught.value.base, caught.value.theirs, caught.value.yours) == ("2", "1", None)
    kept = value_edit("f", ("m", "a"), "2", "3", kind=Kind.COUNTER)
    assert rebase(text, [kept]) == text


def test_a_record_that_is_no_object_is_replaced_whole() -> None:
    assert apply_record_change(' "as it is spelled"', '"as it is spelled"', "[1]") == "[1]"
    assert apply_record_change("{}", "{}", "7") == "7"
    assert apply_record_change("[]", "[]", '{"a": 1}') == '{"a": 1}'
