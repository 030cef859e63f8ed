"""An export that is stopped leaves nothing; one that is not holds every memory."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from memtui import paths
from memtui.bundle import exporting
from memtui.files.staging import write_file
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import Cancelled


@pytest.fixture
def library(tmp_path: Path) -> Library:
    root = tmp_path / "agent-memory"
    shutil.copytree(paths.bundled_folder("sample-data") / "agent-memory", root)
    opened = Library.open([root])
    opened.load()
    return opened


def _write(library: Library, form: str, target: Path, stop: Callable[[], bool]) -> None:
    made = exporting.export_memories(library, form, None, cancelled=stop)
    write_file(target, made.pieces)


@pytest.mark.parametrize("form", ["bundle", "jsonl", "csv", "markdown"])
def test_stopped_at_any_look_it_leaves_no_file(library: Library, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    for looks in range(3):
        answers = iter([False] * looks)
        try:
            _write(library, form, target, partial(next, answers, True))
        except Cancelled:
            assert not list(tmp_path.glob("*out*"))
        else:
            target.unlink()  # it had been written before the stop was asked for
    with pytest.raises(Cancelled):
        _write(library, form, target, lambda: True)


def test_what_is_written_holds_every_memory(library: Library, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    write_file(target, exporting.export_memories(library, "jsonl", None).pieces)
    assert target.read_bytes().count(b"\n") == library.snapshot.count


FORMULA = '=HYPERLINK("http://x.example","y")'


@pytest.mark.parametrize(
    "begin", ["", " ", "\n", "\r", "\t", "\x00", "\ufeff", "\u200b", "\u00a0", "\u3000\u200b "]
)
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_is_taken_for_a_formula(begin: str, sign: str) -> None:
    memory = Memory("a:1", "1", "a", "fact", content=f"{begin}{sign}{FORMULA[1:]}")
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([memory])), newline=""))
    assert row["content"] == f"'{memory.content}"
    plain = Memory("a:1", "1", "a", "fact", content=f"{begin}1 = 1")
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([plain])), newline=""))
    assert row["content"].removeprefix("'") == plain.content


def test_a_table_has_the_values_of_a_list_as_a_person_types_them() -> None:
    memory = Memory("a:1", "1", "a", "fact", tags=("tea", "early morning"))
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([memory])), newline=""))
    assert row["tags"] == "tea, early morning"
    assert row["supersedes"] == ""
