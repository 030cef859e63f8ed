"""Segments: what is saved is what is loaded, and nothing damaged is believed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.progress import Cancelled
from memtui.sealed_lines import seal, unseal
from memtui.search import cache_files, postings, segment_files
from memtui.search.array_types import sort_unique
from memtui.search.documents import IndexedDocument
from memtui.search.postings import Segment

DOCUMENTS = [
    IndexedDocument(
        "s:1", "Title here", "Body of the text, deploying", ("tag",), "people/alice", "goal"
    ),
    IndexedDocument("s:2"),
    IndexedDocument("s:3", "", "東京都 text text \ud800 text"),
]


def same(one: Segment, other: Segment) -> bool:
    lists = one.terms == other.terms and one.stems == other.stems and one.count == other.count
    arrays = (
        "indptr",
        "ids",
        "weights",
        "stream",
        "starts",
        "first_words",
        "stem_ptr",
        "stem_terms",
    )
    return lists and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


def test_postings_hold_memories_and_weights() -> None:
    segment = postings.build(DOCUMENTS)
    term = segment.find_word("text")
    assert term is not None
    held = slice(segment.indptr[term], segment.indptr[term + 1])
    assert segment.ids[held].tolist() == [0, 2]
    assert segment.weights[held].tolist() == [4, 12]
    title = segment.find_word("title")
    assert title is not None
    assert segment.weights[segment.indptr[title]] == 8


def test_very_frequent_words_do_not_overflow() -> None:
    segment = postings.build([IndexedDocument("s:1", content="a " * 100_000)])
    assert segment.weights.tolist() == [255]


@pytest.mark.parametrize("documents", [DOCUMENTS, [], [IndexedDocument("s:1")]])
def test_saved_and_loaded(tmp_path: Path, documents: list[IndexedDocument]) -> None:
    segment = postings.build(documents)
    segment_files.save_segment(segment, tmp_path)
    loaded = segment_files.load_segment(tmp_path)
    assert loaded is not None
    assert same(segment, loaded)
    assert loaded.first == 0
    loaded.release()
    assert same(segment, loaded)


def test_another_version_is_not_loaded(tmp_path: Path) -> None:
    segment_files.save_segment(postings.build(DOCUMENTS), tmp_path)
    head = tmp_path / "segment.json"
    head.write_bytes(seal({**unseal(head.read_bytes()), "analysis": -1}))
    assert segment_files.load_segment(tmp_path) is None


def test_nothing_there(tmp_path: Path) -> None:
    assert segment_files.load_segment(tmp_path) is None


@pytest.mark.slow
def test_damage_is_noticed(tmp_path: Path) -> None:
    segment = postings.build(DOCUMENTS)
    segment_files.save_segment(segment, tmp_path)
    draw = random.Random(5)
    files = sorted(tmp_path.iterdir())
    for _ in range(200):
        file = draw.choice(files)
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        damaged = draw.choice(
            [
                whole[:at],
                whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :],
                whole + b"x" * draw.randrange(1, 9),
                b"",
            ]
        )
        file.write_bytes(damaged)
        loaded = segment_files.load_segment(tmp_path)
        assert loaded is None or same(segment, loaded)
        file.write_bytes(whole)


def test_pickled_array_runs_nothing(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (os.mkdir, (str(tmp_path / "pwned"),))

    segment_files.save_segment(postings.build(DOCUMENTS), tmp_path)
    np.save(tmp_path / "segment.npy", np.array([Bomb()], object), allow_pickle=True)
    header = unseal((tmp_path / "segment.json").read_bytes())
    header["sums"]["segment.npy"] = cache_files.checksum(tmp_path / "segment.npy")
    (tmp_path / "segment.json").write_bytes(seal(header))
    assert segment_files.load_segment(tmp_path) is None
    assert not (tmp_path / "pwned").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    segment_files.save_segment(postings.build(DOCUMENTS), tmp_path)
    moved = (tmp_path / "segment.npy").rename(tmp_path / "elsewhere.npy")
    (tmp_path / "segment.npy").symlink_to(moved)
    assert segment_files.load_segment(tmp_path) is None


def test_building_can_be_called_off() -> None:
    with pytest.raises(Cancelled):
        postings.build(DOCUMENTS, cancelled=lambda: True)


@given(st.lists(st.integers(-3, 5)))
def test_values_are_sorted_and_kept_once_as_by_numpy(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert sort_unique(array).tolist() == np.unique(array).tolist()
