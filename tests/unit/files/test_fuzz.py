"""Whatever a file holds, reading it ends in a value or in a message, and soon (T11)."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import pytest

from memtui.changes import RecordEdit, SidecarEdit
from memtui.errors import MemtuiError
from memtui.files import frontmatter, sidecar_lines
from memtui.files.json_spans import add_member, load_records, set_member
from memtui.files.reading import decode, encode
from memtui.files.rebase import rebase

LONGEST = 2.0
"""Seconds that one input may take."""

JSON_SEEDS = [
    b'[{"id": "1", "content": "caf\xc3\xa9 \\u00e9 \\ud83d", "n": [1, -0.5e3, null, true]}]\n',
    b'\xef\xbb\xbf{"events": [{"id": "2", "content": "x"}], "lastActive": 12}',
    json.dumps(
        [{"id": str(i), "content": "y", "m": {"k": []}} for i in range(3)], indent=2
    ).encode(),
]
TEXT_SEEDS = [
    b"---\nstate: active # x\ntags: [a, 'b']\nlist:\n- one\n- two\n---\n# T\n",
    b"---\r\na: \"q\"\r\nb: 'r'\r\nc: |\r\n  x\r\n---\r\nbody",
    b"---\na: &x [1]\nb: *x\n? k\n: v\n---\n",
]
PIECES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\\u", b"\\ud800", b"\xff", b"\0"]
PIECES += [
    b"\n",
    b"- ",
    b"---\n",
    b"&a ",
    b"*a",
    b"!!",
    b"|",
    b"#",
    b"1e999",
    b"\xe2\x80\xa8",
    b"\t",
]


def mutated(rng: random.Random, seed: bytes) -> bytes:
    data = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0:
                data[at:at] = rng.choice(PIECES)
            case 1:
                del data[at : at + rng.randint(1, 9)]
            case 2 if at < len(data):
                data[at] = rng.randrange(256)
            case _:
                data[at:at] = data[rng.randrange(len(data) + 1) :][:20]
    return bytes(data)


def edit_json(text: str) -> None:
    array = ("events",) if "events" in text[:12] else ()
    for record in load_records(text, array):
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            continue
        raw = add_member(record.raw, "fresh", ["é"])
        raw = set_member(raw, "content", "new") if "content" in value else raw
        after = rebase(text, [RecordEdit("", array, "id", value["id"], record.raw, raw)]) or ""
        assert after.startswith(text[: record.start])
        assert after.endswith(text[record.end :])
        back = rebase(after, [RecordEdit("", array, "id", value["id"], raw, record.raw)])
        assert back == text


def edit_frontmatter(text: str) -> None:
    read = frontmatter.parse(text)
    assert isinstance(read, dict)
    after = frontmatter.set_field(text, "state", "done")
    assert frontmatter.parse(after) == {**read, "state": "done"}


def edit_sidecar(text: str) -> None:
    edit = SidecarEdit("", "m", None, {"pinned": True})
    try:
        after = sidecar_lines.added(text, [edit])
    except MemtuiError:
        return
    assert after.startswith(text)
    assert sidecar_lines.added(after, [edit]) == after


@pytest.mark.parametrize(
    ("parser", "seeds", "count"),
    [
        (edit_json, JSON_SEEDS, 100_000),
        (edit_frontmatter, TEXT_SEEDS, 60_000),
        (edit_sidecar, [b'{"id": "m", "set": {"pinned": true}}\n{"id": "n"}', *JSON_SEEDS], 25_000),
    ],
    ids=["json", "frontmatter", "sidecar"],
)
def test_mutated_files(
    figures: Callable[[str], None],
    parser: Callable[[str], None],
    seeds: list[bytes],
    count: int,
) -> None:
    rng, slowest = random.Random(1), 0.0
    for _ in range(count):
        data = mutated(rng, rng.choice(seeds))
        text = decode(data)
        assert encode(text) == data
        started = time.process_time()
        try:
            parser(text)
        except MemtuiError:
            pass
        except Exception as error:
            raise AssertionError(f"{parser.__name__}: {data!r}") from error
        slowest = max(slowest, time.process_time() - started)
    assert slowest < LONGEST
    name = parser.__name__.removeprefix("edit_")
    figures(f"T11 {name}: {count:,} mutated inputs, 0 uncaught, slowest {slowest * 1000:.0f} ms")
