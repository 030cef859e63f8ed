"""Whatever a file or a search line holds, reading it ends in a value or a message, and soon (T11).

Many inputs for each parser (a hundred thousand in the long run). Reading is tried on every one of
them; an edit, which reads several times to prove itself, on every eighth. Where a line is read by
itself, as in the files of JSON lines, each line is an input, and eight of them make a file.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from memtui import query
from memtui.bundle import archive, bundle_reader
from memtui.bundle.archive import Archive
from memtui.changes import record_edit, sidecar_edit
from memtui.config import loading as config
from memtui.errors import MemtuiError
from memtui.files import frontmatter, sidecar_lines
from memtui.files.json.editing import add_member, set_member
from memtui.files.json.locating import load_records
from memtui.files.merging import rebase
from memtui.files.reading import decode, encode
from memtui.model import Memory, to_record
from memtui.stores import sidecar, workspace
from memtui.stores.agent_memory import records as notes
from tests.long_run import count

pytestmark = pytest.mark.slow

COUNT = count(4_000, 100_000)
"""Inputs for each parser."""
EDITED = 8
"""Every so many of them are edited too."""
LINES = 8
"""Lines of a file of lines."""

Parser = Callable[[bytes, int], None]
"""Reads one input; the number says which of them it is."""


# ---- inputs ---------------------------------------------------------------------------------


JSON_SEEDS = [
    b'[{"id": "1", "content": "caf\xc3\xa9 \\u00e9 \\ud83d", "n": [1, -0.5e3, null, true]}]\n',
    b'\xef\xbb\xbf{"events": [{"id": "2", "content": "x"}], "lastActive": 12}',
    json.dumps(
        [{"id": str(i), "content": "y", "m": {"k": []}} for i in range(3)], indent=2
    ).encode(),
]
YAML_SEEDS = [
    b"---\nstate: active # x\ntags: [a, 'b']\nlist:\n- one\n- two\n---\n# T\n",
    b"---\r\na: \"q\"\r\nb: 'r'\r\nc: |\r\n  x\r\n---\r\nbody",
    b"---\na: &x [1]\nb: *x\n? k\n: v\n---\n",
]
LINE_SEEDS = [
    b'{"id": "m", "set": {"pinned": true, "shard": "s"}, "at": "2026-11-21T09:00:00Z"}',
    b'{"id": "n", "set": null}',
    b'{"ts": "2026", "query": "q", "num_injected": 1, "hits": [{"path": "a.md"}, {"path": "b"}]}',
]
NOTE_SEEDS = [
    b"\xef\xbb\xbf# Alice\r\n\r\n**Type:** person\r\n**Last updated:** 2026-11-21\r\n- x\r\n",
    b"## Day ##\n- [[alice]] said **Type:** x\n**Last updated:** 2026-02-30\n",
]
QUERY_SEEDS = [
    b'auth type:decision,bug -redis "exact words"',
    b"until:2026-03-01T10:00 ~x begin* sort:new",
    b'since:7d importance:high -tag:"a b" wrng~2 w?rd',
]
CONFIG_SEEDS = [
    b'theme = "dusk"\n',
    b'[list]\nsort = "new"',
    b'saved."a b" = "type:bug"\r\n',
    b"editor = 'vi' # x\nstores = []",
    b"[keys]\nquit = ['q']",
]

JSON = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\\u", b"\\ud800", b"\xff", b"\0"]
JSON += [b"\n", b"1e999", b"\xe2\x80\xa8", b"\t", b"NaN", b"9" * 40, b"null"]
YAML = [b'"', b"\\", b"{", b"[", b"]", b",", b": ", b"\xff", b"\0", b"\n", b"- ", b"---\n", b"'"]
YAML += [b"&a ", b"*a", b"!!", b"|", b"#", b"1e999", b"\xe2\x80\xa8", b"\t", b"2026-13-45", b"<<: "]
WORDS = [b'"', b"-", b":", b"~", b"*", b"?", b",", b" ", b"type:", b"since:", b"9999999y", b"\0"]
WORDS += [b"sort:", b"\xff", b"\xe2\x80\xae", b"0001-01-01T00:00+23:59", b"pinned:", b"\n", b"(["]
TOML = [b'"', b"'", b'"""', b"[", b"]", b"[[", b"{", b"}", b"=", b".", b"\n", b"#", b"\xff", b"\0"]
TOML += [b"1979-05-27", b"inf", b"true", b"0x", b"theme", b"list", b"[]", b"\xef\xbb\xbf", b"9" * 9]


def mutated(seeds: list[bytes], pieces: list[bytes]) -> Iterator[bytes]:
    """Endless inputs: a seed with one to four places broken, the same ones each time."""
    chance = random.Random(1).random  # much cheaper than its randrange and choice
    while True:
        data = bytearray(seeds[int(chance() * len(seeds))])
        for _ in range(1 + int(chance() * chance() * 4)):
            at, how = int(chance() * (len(data) + 1)), chance()
            if how < 0.25:
                data[at:at] = pieces[int(chance() * len(pieces))]
            elif how < 0.5:
                del data[at : at + 1 + int(chance() * 9)]
            elif how < 0.75:
                data[at : at + 1] = bytes([int(chance() * 256)])
            else:
                start = int(chance() * (len(data) + 1))
                data[at:at] = data[start : start + 20]
        yield bytes(data)


# ---- parsers --------------------------------------------------------------------------------


def json_file(data: bytes, number: int) -> None:
    text = decode(data)
    assert encode(text) == data
    array = ("events",) if "events" in text[:12] else ()
    for record in load_records(text, array):
        value = record.value
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            continue
        raw = add_member(record.raw, "fresh", ["é"])
        raw = set_member(raw, "content", "new") if "content" in value else raw
        after = rebase(text, [record_edit("", array, "id", value["id"], record.raw, raw)]) or ""
        assert after.startswith(text[: record.start])
        assert after.endswith(text[record.end :])
        back = rebase(after, [record_edit("", array, "id", value["id"], raw, record.raw)])
        assert back == text


def front_matter(data: bytes, number: int) -> None:
    text = decode(data)
    read = frontmatter.parse(text)
    assert isinstance(read, dict)
    if number % EDITED == 0:
        after = frontmatter.set_field(text, "state", "done")
        assert frontmatter.parse(after) == {**read, "state": "done"}


def json_lines(data: bytes, number: int) -> None:
    """The sidecar and the log of injections: one bad line costs no other line anything."""
    text = decode(data)
    lines = [line for line in text.split("\n") if line.strip()]
    found = sidecar.parse_sidecar(text)
    assert len(found.entries) + found.damaged <= len(lines)
    assert all(each <= 1 + text.count("\n") for each in workspace.parse_log(text).bad_lines)
    if number % EDITED == 0:
        edit = sidecar_edit("", "fresh", None, {"pinned": True})
        after = sidecar_lines.write_entries(text, [edit]) or ""
        assert after.startswith(text)
        assert sidecar_lines.write_entries(after, [edit]) == after
        entries = {**found.entries, "fresh": {"pinned": True}}
        assert sidecar.parse_sidecar(after).entries == entries


DAY = Path("/store/memory/2026-11-21.md")


def daily_note(data: bytes, number: int) -> None:
    text = decode(data)
    prose = notes.parse_note(DAY, text)
    assert prose.text_of(prose.body) == text
    if number % 2:
        assert notes.daily(prose, "s", DAY.name).title
    else:
        assert notes.summary(prose, "s", "alice", "alice", "alice").title


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def query_language(data: bytes, number: int) -> None:
    """A line never fails; what was understood is understood again when it is written out."""
    line = data.decode("utf-8", "replace")
    asked = query.parse_query(line, NOW, typing=bool(number % 2))
    if number % EDITED == 0 and not asked.hint:
        written = query.parse_query(query.format_query(asked), NOW)
        for said in ("conditions", "terms", "since", "until", "sort"):
            assert getattr(written, said) == getattr(asked, said), query.format_query(asked)


class InAFile:
    """Each input is the whole of one file, which a parser opens by its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb", buffering=0)

    def put(self, data: bytes) -> Path:
        os.pwrite(self._file.fileno(), data, 0)
        os.ftruncate(self._file.fileno(), len(data))
        return self.path


def settings(file: InAFile) -> Parser:
    def parser(data: bytes, number: int) -> None:
        loaded = config.load(file.put(data))
        assert all(str(problem).startswith(str(file.path)) for problem in loaded.problems)

    return parser


MEMORY = to_record(Memory("a:1", "1", "a", "fact", "x", entity="e", tags=("t",), created=NOW))
BUNDLE = Archive(
    ({"label": "a", "format": "agent-memory", "whole": True, "memories": 1, "root": "",
      "files": {"entities/e/items.json": {"mtime_ns": 1}}},),
    {
        "files/a/entities/e/items.json": b"[]\n",
        "memories/a.jsonl": json.dumps(MEMORY).encode() + b"\n",
    },
)  # fmt: skip
VALUES = [None, True, -1, 1.5, "", "..", "/a", "a/b", "\ud800", "x" * 300, [], {}, [[]], {"": {}}]
VALUES += [10**40, "1e99", "2026-02-30", "-0001-01-01T00:00", {"mtime_ns": "1"}, ["a", 1]]


def sealed_again() -> Iterator[bytes]:
    """Bundles whose every checksum is right, with a wrong value somewhere in what they say."""
    rng = random.Random(1)
    while True:
        store = copy.deepcopy(dict(BUNDLE.stores[0]))
        record = copy.deepcopy(MEMORY)
        for _ in range(rng.randint(1, 2)):
            spoil(rng, rng.choice([store, record]))
        entries = {**BUNDLE.entries, "memories/a.jsonl": json.dumps(record).encode() + b"\n"}
        yield b"".join(archive.encode_archive(Archive((store,), entries)))


def spoil(rng: random.Random, value: Any) -> None:
    """Change one value somewhere inside, or take it out."""
    while True:
        keys: list[Any] = [*value] if isinstance(value, dict) else [*range(len(value))]
        if not keys:
            return
        key = rng.choice(keys)
        if not isinstance(value[key], dict | list) or rng.random() < 0.4:
            break
        value = value[key]
    if rng.random() < 0.2:
        del value[key]
    else:
        value[key] = rng.choice(VALUES)


# ---- the tests ------------------------------------------------------------------------------


def survive(parser: Parser, inputs: Iterable[bytes]) -> int:
    """How many inputs were read to a value."""
    read = 0
    for number, data in enumerate(inputs):
        try:
            parser(data, number)
            read += 1
        except MemtuiError:
            pass
        except Exception as error:
            raise AssertionError(f"input {number}: {data!r}") from error
    return read


def said(name: str, count: int, read: int) -> str:
    return f"T11 {name}: {count:,} mutated inputs, 0 uncaught ({read:,} read)"


@pytest.mark.parametrize(
    ("parser", "seeds", "pieces"),
    [
        (json_file, JSON_SEEDS, JSON),
        (front_matter, YAML_SEEDS, YAML),
        (daily_note, NOTE_SEEDS, YAML),
        (query_language, QUERY_SEEDS, WORDS),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_mutated_texts(
    figures: Callable[[str], None], parser: Parser, seeds: list[bytes], pieces: list[bytes]
) -> None:
    found = survive(parser, islice(mutated(seeds, pieces), COUNT))
    figures(said(parser.__name__.replace("_", " "), COUNT, found))


def test_mutated_files_of_lines(figures: Callable[[str], None]) -> None:
    lines = mutated(LINE_SEEDS, JSON)
    files = (b"\n".join(islice(lines, LINES)) for _ in range(COUNT // LINES))
    figures(said("json lines", COUNT, survive(json_lines, files) * LINES))


def test_mutated_settings(figures: Callable[[str], None], tmp_path: Path) -> None:
    parser = settings(InAFile(tmp_path / "config.toml"))
    figures(said("config", COUNT, survive(parser, islice(mutated(CONFIG_SEEDS, TOML), COUNT))))


def test_mutated_bundles(figures: Callable[[str], None], tmp_path: Path) -> None:
    file, sealed = InAFile(tmp_path / "b.zip"), COUNT // 50

    def framed(data: bytes, number: int) -> None:
        archive.read_archive(file.put(data))

    def whole(data: bytes, number: int) -> None:
        bundle_reader.read_document(file.put(data))

    broken = mutated(
        [b"".join(archive.encode_archive(BUNDLE))], [b"PK\1\2", b"\0", b"\xff\xff", b"../", b'"']
    )
    survive(framed, islice(broken, COUNT - sealed))
    read = survive(whole, islice(sealed_again(), sealed))
    assert read, "each was refused: nothing behind the seal was tried"
    figures(said("archive", COUNT, read))
