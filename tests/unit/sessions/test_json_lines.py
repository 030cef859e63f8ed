"""Lines of a file that grows, is cut, or was never text."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memtui.sessions import Reading, base
from memtui.sessions.base import read_line, read_lines


def values(path: Path, reading: Reading | None = None, start: int = 0) -> list[dict[str, object]]:
    return [line.value for line in read_lines(path, reading or Reading(), start)]


def test_a_torn_last_line_is_left_for_the_next_reading(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": ')
    reading = Reading()
    assert values(path, reading) == [{"a": 1}]
    path.write_bytes(b'{"a": 1}\n{"b": 2}\n')
    assert values(path, Reading(), reading.end) == [{"b": 2}]


@given(st.lists(st.binary(max_size=40)), st.binary(max_size=20))
def test_every_line_is_read_counted_or_left(lines: list[bytes], rest: bytes) -> None:
    pieces = [each.replace(b"\n", b"") for each in lines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(b"".join(each + b"\n" for each in pieces) + rest.replace(b"\n", b""))
        reading = Reading()
        found = list(read_lines(path, reading))
        full = [each for each in pieces if each and not each.isspace()]
        assert len(found) + reading.skipped == len(full)
        assert reading.end == sum(len(each) + 1 for each in pieces)
        for line in found:
            assert json.loads(read_line(path, line.offset, line.length)) == line.value


def test_a_line_past_the_limit_is_counted_and_the_next_one_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    long = b'{"image": "' + b"A" * base.LONGEST_LINE + b'"}\n'
    path.write_bytes(b'{"a": 1}\n' + long + b'{"b": 2}\n')
    reading = Reading()
    assert values(path, reading) == [{"a": 1}, {"b": 2}]
    assert reading.too_long == 1


def test_broken_utf_8_does_not_lose_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"text": "caf\xe9"}\n')
    assert values(path) == [{"text": "caf\ufffd"}]


def test_depth_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"[" * 100_000 + b"\n" + b'{"a":' * 100_000 + b"\n")
    reading = Reading()
    assert values(path, reading) == []
    assert reading.damaged == 2
