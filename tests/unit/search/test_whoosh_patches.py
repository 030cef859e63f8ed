"""What is replaced in Whoosh does what it is replaced for."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from whoosh import legacy
from whoosh.filedb import structfile
from whoosh.query import Term
from whoosh.util import loading

from memtui.search.documents import IndexedDocument
from memtui.search.index import memory_index
from memtui.search.index.session_segments import (
    FILE,
    PLACE,
    SESSION,
    TEXT,
    Stored,
    make_schema,
    pack,
)
from memtui.search.index.whoosh_patches import (
    SATURATION,
    ListShape,
    Weighting,
    columns,
    counting_writer,
    formats,
    index,
    whoosh3,
)


@pytest.mark.parametrize(
    "read",
    [
        lambda data: structfile.load_pickle(BytesIO(data)),
        whoosh3.loads,
        columns.loads,
        formats.loads,
        index.pickle.loads,
    ],
)
def test_what_reads_a_pickle_makes_only_objects_of_an_index(read: Callable[[bytes], Any]) -> None:
    assert read(pickle.dumps({"a": (1, b"b")}, 4)) == {"a": (1, b"b")}
    with pytest.raises(pickle.UnpicklingError):
        read(pickle.dumps(Fraction(1, 2), 4))


def test_an_index_of_an_older_whoosh_is_not_read() -> None:
    assert not index.toc_loaders
    for unpickler in (legacy.RenamingUnpickler, loading.RenamingUnpickler):
        with pytest.raises(pickle.UnpicklingError):
            unpickler(BytesIO(), {})


def _postings(folder: Path, write: Callable[[Any], Any]) -> dict[Any, list[tuple[int, float]]]:
    """What Whoosh reads of 60 messages, of which some words are in all and some in one."""
    folder.mkdir()
    made = index.create_in(str(folder), make_schema())
    writer = write(made)
    for number in range(60):
        text = f"every word{number} {'even even' if number % 2 else 'odd'}"
        place = pack(Stored(True, number, 1, 0, number, 0, 0))
        writer.add_document(**{FILE: "f", SESSION: f"s{number // 9}", PLACE: place, TEXT: text})
    writer.commit()
    with made.reader() as reader:
        return {
            (field, word): list(_iter_matches(reader.postings(field, word)))
            for field, word in reader.all_terms()
        }


def _iter_matches(matcher: Any) -> Any:
    while matcher.is_active():
        yield matcher.id(), matcher.weight()
        matcher.next()


@pytest.mark.parametrize("short_list", [1, 17, 100])
def test_the_counting_writer_writes_what_the_writer_of_whoosh_writes(
    tmp_path: Path, short_list: int
) -> None:
    usual = _postings(tmp_path / "usual", lambda made: made.writer())
    fast = _postings(
        tmp_path / "lists", lambda made: counting_writer(made, ListShape(16, 9, short_list))
    )
    assert len(usual) > 60
    assert fast == usual


def test_the_score_is_saturated_and_knows_no_lengths(tmp_path: Path) -> None:
    made = index.create_in(str(tmp_path), make_schema())
    writer = counting_writer(made, ListShape(16, 0, 17))
    for number, text in enumerate(("tea", "tea " * 9, "tea " + "milk " * 90, "milk")):
        place = pack(Stored(True, number, 1, 0, number, 0, 0))
        writer.add_document(**{FILE: "f", SESSION: "s", PLACE: place, TEXT: text})
    writer.commit()
    with made.searcher(weighting=Weighting()) as searcher:
        scores = {hit.docnum: hit.score for hit in searcher.search(Term(TEXT, "tea"))}
    assert scores.keys() == {0, 1, 2}
    assert scores[0] == pytest.approx(scores[2])
    assert scores[0] < scores[1] < (SATURATION + 1) * scores[0]


def test_what_is_in_memory_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    long = [IndexedDocument(f"s:{n}", content=f"password {n} " * 200) for n in range(200)]
    before = tmp_path.stat().st_mtime_ns
    memory_index.make(long)
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == before
