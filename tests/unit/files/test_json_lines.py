"""Records of JSON lines: put, removed and inserted, with every other byte of the file in place."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from memtui.changes import Edit, invert_edits
from memtui.errors import Conflict
from memtui.files.json.locating import BYTE_ORDER_MARK, LINES, load_records, record_id
from memtui.files.merging import rebase
from memtui.stores.json_file import JsonFile, NamedRecord

KEY = "id memory/key"


def file_of(text: str) -> JsonFile:
    return JsonFile(Path("/x.jsonl"), text, LINES, tuple(load_records(text, LINES)), {}, KEY)


def named(file: JsonFile, id: str) -> NamedRecord:
    return next(
        NamedRecord(index, record, id)
        for index, record in enumerate(file.records)
        if record_id(record.value, KEY) == id
    )


def done(text: str | None, *edits: Edit) -> str | None:
    return rebase(text, edits, "/x.jsonl")


A, B, C = ('{"id": "a", "n": 1}', '{"id":"b"}', '{"_type":"memory","key":"c","value":"x"}')


def test_a_record_is_named_by_the_first_key_that_it_has() -> None:
    found = [record_id(each.value, KEY) for each in load_records(f"{A}\n{C}", LINES)]
    assert found == ["a", "memory/c"]


def test_what_another_program_does_to_other_lines_stays() -> None:
    file = file_of(f"{A}\n{B}\n{C}\n")
    put = file.put(named(file, "memory/c"), {"value": "y"})
    removed = file.edit(named(file, "a"), None)
    now = f'{A}\n{{"id":"d"}}\n{B}\n\n{C}\n'
    changed = C.replace('"x"', '"y"')
    assert done(now, *put, removed) == f'{{"id":"d"}}\n{B}\n\n{changed}\n'


def test_another_program_changing_the_same_record_is_a_conflict() -> None:
    file = file_of(f"{A}\n{B}\n")
    put = file.put(named(file, "a"), {"n": 2})
    with pytest.raises(Conflict):
        done(f'{{"id": "a", "n": 3}}\n{B}\n', *put)
    spelled = done(f'{{"n":1,"id":"a"}}\n{B}\n', *put)
    assert spelled == f'{{"n":2,"id":"a"}}\n{B}\n'


def test_a_file_without_a_line_is_none() -> None:
    file = file_of(f"{A}\n")
    added = file.insert_raw("a", A)
    assert done(None, *added) == f"{A}\n"
    assert done(f"{A}\n", *invert_edits(added)) is None
    assert done(f"{A}\n{B}\n", file.edit(named(file, "a"), None)) == f"{B}\n"


def test_a_new_line_ends_as_the_last_one_does() -> None:
    for text, after in (
        (A, f"{A}\n{B}"),
        (f"{A}\r\n", f"{A}\r\n{B}\r\n"),
        (f"{A}\n\n", f"{A}\n\n{B}\n"),
    ):
        added = file_of(text).insert_raw("b", B)
        assert done(text, *added) == after
        assert done(after, *invert_edits(added)) == text


@pytest.mark.slow
def test_every_change_is_undone_byte_for_byte() -> None:
    """Between blank lines, lines that are no objects, other line ends and a byte order mark."""
    rng = random.Random(45)
    tried = 0
    for _ in range(3000):
        ids = [f"i{number}" for number in range(rng.randrange(1, 6))]
        lines = []
        for id in ids:
            lines += rng.choices(["", " ", "<<<<<<< HEAD", "[1]", "7"], k=rng.randrange(3))
            lines.append(
                rng.choice(["", "  "]) + json.dumps({"id": id, "n": 1}) + rng.choice(["", " "])
            )
        end = rng.choice(["\n", "\r\n"])
        text = (
            rng.choice(["", BYTE_ORDER_MARK]) + end.join(lines) + rng.choice(["", end, end + end])
        )
        file = file_of(text)
        edits: list[Edit] = []
        for id in rng.sample(ids, rng.randrange(1, len(ids) + 1)):
            if len(ids) > 1 and rng.random() < 0.5:
                edits.append(file.edit(named(file, id), None))
            else:
                edits += file.put(named(file, id), {"n": rng.randrange(9), "new": "é"})
        if all(edit.after is None for edit in edits) and len(edits) == len(ids):
            continue  # the file goes, and comes back with one line feed
        after = done(text, *edits)
        assert after is not None
        left = {record_id(each.value, KEY) for each in load_records(after, LINES)} - {None}
        assert left == set(ids) - {edit.id for edit in edits if edit.after is None}
        assert done(after, *invert_edits(tuple(edits))) == text
        tried += 1
    assert tried > 2000
