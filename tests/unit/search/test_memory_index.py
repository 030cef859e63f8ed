"""The index of memories: what is saved is what is read, and nothing damaged is believed."""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from whoosh.index import open_dir
from whoosh.query import Term as WhooshTerm

from memtui.progress import Cancelled
from memtui.query import parse_query
from memtui.sealed_lines import seal, unseal
from memtui.search import analysis, cache_files
from memtui.search.documents import IndexedDocument
from memtui.search.index import memory_index
from memtui.search.index.segments import Segment
from tests.torture.processes import KILLED, fork, wait
from tests.unit.search.finding_for_tests import match
from tests.unit.search.memories_for_tests import NOW

DOCUMENTS = [
    IndexedDocument(
        "s:1", "Title here", "Body of the text, deploying", ("tag",), "people/alice", "goal"
    ),
    IndexedDocument("s:2"),
    IndexedDocument("s:3", "", "東京都 text text \ud800 text"),
    *(IndexedDocument(f"s:{n}", f"title {n}", f"deployed on day {n} text") for n in range(4, 90)),
    IndexedDocument("s:90", "rolled back", "Rolled back on friday"),
]
QUERIES = ("friday", '"rolled back"', "t", "te", "tex", "d?y", "deploy", "都", "fryday~", "title")


def folder_of(generation: Path) -> Path:
    (folder,) = generation.glob("whoosh-*")
    return folder


def ask(segment: Segment, line: str) -> list[int]:
    found = match([segment], segment.count, parse_query(line, NOW, typing=True).terms)
    return sorted(found.slots.tolist())


def read_all(segment: Segment) -> list[object]:
    """Everything that a segment says."""
    words, starts = segment.words, segment.beginnings.words
    return [
        segment.count,
        words.words.joined,
        starts.joined,
        segment.stream.tolist(),
        segment.starts.tolist(),
        words.sizes.tolist(),
        [[part.tolist() for part in words.read(at)] for at in range(len(words.words))],
        [[part.tolist() for part in segment.read_prefix(each)] for each in starts],
        [ask(segment, line) for line in QUERIES],
    ]


def loaded(generation: Path) -> Segment:
    found = memory_index.load(generation)
    assert found is not None
    return found


def test_lists_have_memories_and_weights() -> None:
    segment = memory_index.make(DOCUMENTS[:3])
    word = segment.terms.find("text")
    assert word is not None
    assert [part.tolist() for part in segment.words.read(word)] == [[0, 2], [4, 12]]
    title = segment.terms.find("title")
    assert title is not None
    assert segment.words.read(title)[1].tolist() == [8]
    assert [part.tolist() for part in segment.read_prefix("t")] == [[0, 2], [6.0, 3.0]]
    assert [part.tolist() for part in segment.read_prefix("ti")] == [[0], [2.0]]
    assert [part.tolist() for part in segment.read_prefix("tex")] == [[0, 2], [1.0, 3.0]]
    assert len(segment.read_prefix("q")[0]) == 0


def test_very_frequent_words_do_not_overflow() -> None:
    segment = memory_index.make([IndexedDocument("s:1", content="a " * 100_000)])
    assert segment.words.read(0)[1].tolist() == [255]
    assert segment.read_prefix("a").weights.tolist() == [255 / 4]


def test_slots_may_have_gaps() -> None:
    segment = memory_index.make(DOCUMENTS[:3], [2, 5, 9])
    assert segment.memories_of(np.array([0, 2, 3, 5, 9, 10, 1 << 40])).tolist() == [
        *(-1, 0, -1, 1, 2, -1, -1)
    ]
    assert match([segment], 10, parse_query("text", NOW).terms).slots.tolist() == [2, 9]


@pytest.mark.parametrize("documents", [DOCUMENTS, DOCUMENTS[:3], [], [IndexedDocument("s:1")]])
def test_saved_and_loaded(tmp_path: Path, documents: list[IndexedDocument]) -> None:
    made = memory_index.make(documents)
    assert memory_index.save(documents, tmp_path)
    assert memory_index.is_saved(tmp_path)
    found = loaded(tmp_path)
    assert read_all(found) == read_all(made)
    found.release()
    assert read_all(found) == read_all(made)


def test_whoosh_finds_what_is_read_as_arrays(tmp_path: Path) -> None:
    """In memory and on disk: short lists, long ones, and steps that are no bytes."""
    many = [IndexedDocument(f"s:{n}") for n in range(900)]
    for at in range(0, 900, 300):
        many[at] = IndexedDocument("far", content="far")
    for at in range(100):
        many[at] = DOCUMENTS[at % len(DOCUMENTS)]
    memory_index.save(many, tmp_path)
    segment = loaded(tmp_path)
    with open_dir(
        str(folder_of(tmp_path)), schema=memory_index.make_schema()
    ).searcher() as searcher:
        for number, word in enumerate(segment.terms):
            encoded = word.encode("utf-8", "surrogatepass")
            matcher = searcher.reader().postings(memory_index.WORDS, encoded)
            expected = []
            while matcher.is_active():
                expected.append((matcher.id(), matcher.weight()))
                matcher.next()
            ids, weights = segment.words.read(number)
            assert list(zip(ids.tolist(), weights.tolist(), strict=True)) == expected, word
            asked = WhooshTerm(memory_index.WORDS, encoded)
            assert list(searcher.docs_for_query(asked)) == ids.tolist(), word


@pytest.mark.parametrize("word", ["deploys", "text", "2026", "a", "ab", "nothing", "don"])
def test_forms_are_all_words_with_the_stem(word: str) -> None:
    words = "deploy deployed deploying deploys text texts 2026 20261 a ab about don donning"
    segment = memory_index.make([IndexedDocument("s:1", content=words)])
    stem = analysis.stem(word)
    expected = [each for each in segment.terms if analysis.stem(each) == stem]
    assert [*segment.forms_of(stem)] == expected


def test_private_whatever_the_umask(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        memory_index.save(DOCUMENTS, tmp_path)
    finally:
        os.umask(former)
    folder = folder_of(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_nothing_there(tmp_path: Path) -> None:
    assert memory_index.load(tmp_path) is None
    assert not memory_index.is_saved(tmp_path)


def test_a_second_writer_gives_way(tmp_path: Path) -> None:
    assert memory_index.save(DOCUMENTS, tmp_path)
    before = read_all(loaded(tmp_path))
    with cache_files.try_lock(tmp_path / "index.lock") as alone:
        assert alone
        assert not memory_index.save(DOCUMENTS[:2], tmp_path)
    assert read_all(loaded(tmp_path)) == before
    assert memory_index.save(DOCUMENTS[:2], tmp_path)
    assert loaded(tmp_path).count == 2


def test_one_that_is_open_stays_readable_while_another_is_written(tmp_path: Path) -> None:
    memory_index.save(DOCUMENTS, tmp_path)
    opened = loaded(tmp_path)
    memory_index.save(DOCUMENTS[:2], tmp_path)
    opened.release()
    assert read_all(opened) == read_all(memory_index.make(DOCUMENTS))
    folder_of(tmp_path)  # the former one is gone


def test_called_off_leaves_the_former_one(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        memory_index.save(DOCUMENTS, tmp_path, lambda: True)
    assert memory_index.load(tmp_path) is None
    assert list(tmp_path.glob("whoosh-*")) == []
    memory_index.save(DOCUMENTS, tmp_path)
    with pytest.raises(Cancelled):
        memory_index.save(DOCUMENTS, tmp_path, lambda: True)
    assert loaded(tmp_path).count == len(DOCUMENTS)
    with pytest.raises(Cancelled):
        memory_index.make(DOCUMENTS, cancelled=lambda: True)


def test_damage_of_any_kind_gives_the_right_answer_or_none(tmp_path: Path) -> None:
    memory_index.save(DOCUMENTS, tmp_path)
    right = read_all(loaded(tmp_path))
    draw = random.Random(7)
    files = [*folder_of(tmp_path).iterdir(), tmp_path / "index.json"]
    files = [path for path in files if path.stat().st_size]
    for _ in range(300):
        file = draw.choice(files)
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        flipped = bytes([whole[at] ^ 1 << draw.randrange(8)])
        damaged = draw.choice(
            [
                whole[:at],
                whole[:at] + flipped + whole[at + 1 :],
                whole[:at] + os.urandom(8) + whole[at + 8 :],
                whole + b"x" * draw.randrange(1, 9),
                b"",
                None,
            ]
        )
        if damaged is None:
            file.unlink()
        else:
            file.write_bytes(damaged)
        found = memory_index.load(tmp_path)
        assert found is None or read_all(found) == right
        del found
        file.write_bytes(whole)
        file.chmod(0o600)
    assert read_all(loaded(tmp_path)) == right


@pytest.mark.parametrize("fault", ["link", "open", "file link", "loose file"])
def test_a_folder_that_is_not_ours_alone_is_not_opened(tmp_path: Path, fault: str) -> None:
    generation = tmp_path / "generation"
    generation.mkdir()
    memory_index.save(DOCUMENTS, generation)
    folder = folder_of(generation)
    (toc,) = folder.glob("*.toc")
    match fault:
        case "link":
            folder.symlink_to(folder.rename(tmp_path / "elsewhere"))
        case "open":
            folder.chmod(0o755)
        case "file link":
            toc.symlink_to(toc.rename(tmp_path / "toc"))
        case "loose file":
            toc.chmod(0o666)
    assert memory_index.load(generation) is None
    memory_index.save(DOCUMENTS, generation)
    assert loaded(generation).count == len(DOCUMENTS)
    if fault == "link":
        assert (tmp_path / "elsewhere").is_dir()


def test_another_version_is_not_opened(tmp_path: Path) -> None:
    memory_index.save(DOCUMENTS, tmp_path)
    header = tmp_path / "index.json"
    header.write_bytes(seal({**unseal(header.read_bytes()), "analysis": -1}))
    assert memory_index.load(tmp_path) is None


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (str(self.path),))


def _believed(generation: Path) -> None:
    """Make the header agree with the files, as one who can write them all would."""
    header = generation / "index.json"
    told = unseal(header.read_bytes())
    told["sums"] = {name: cache_files.checksum(generation / name) for name in told["sums"]}
    header.write_bytes(seal(told))


def _pickles(whole: bytes) -> Sequence[int]:
    """Where pickles seem to begin."""
    starts = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
    return [at for at in range(len(whole)) if whole[at : at + 2] in starts]


def test_forged_files_run_nothing(tmp_path: Path) -> None:
    generation, pwned = tmp_path / "generation", tmp_path / "pwned"
    generation.mkdir()
    memory_index.save(DOCUMENTS, generation)
    bomb = pickle.dumps(Bomb(pwned), 4)
    forged = 0
    for file in sorted(folder_of(generation).iterdir()):
        whole = file.read_bytes()
        starts = _pickles(whole)
        for at in starts[:: max(1, len(starts) // 20)]:
            file.write_bytes(whole[:at] + bomb + whole[at + len(bomb) :])
            _believed(generation)
            segment = memory_index.load(generation)
            if segment is not None:
                with suppress(Exception):  # it may fail in any way
                    read_all(segment)
            forged += 1
            assert not pwned.exists()
        file.write_bytes(whole)
    assert forged > 20
    _believed(generation)
    assert loaded(generation).count == len(DOCUMENTS)


def test_a_forged_schema_runs_nothing_even_when_asked_for(tmp_path: Path) -> None:
    generation, pwned = tmp_path / "generation", tmp_path / "pwned"
    generation.mkdir()
    memory_index.save(DOCUMENTS, generation)
    (toc,) = folder_of(generation).glob("*.toc")
    whole, bomb = toc.read_bytes(), pickle.dumps(Bomb(pwned), 2)
    start = _pickles(whole)[0]
    toc.write_bytes(whole[:start] + bomb + whole[start + len(bomb) :])
    with pytest.raises(pickle.UnpicklingError):
        open_dir(str(folder_of(generation)))
    assert not pwned.exists()


def writing(generation: Path, ready: int) -> None:
    """In a child: writes the index without end."""
    memory_index.save(DOCUMENTS, generation)
    os.write(ready, b"!")
    for _ in range(100_000):
        memory_index.save(DOCUMENTS, generation)


@pytest.mark.slow
def test_killed_while_writing_again_and_again(tmp_path: Path) -> None:
    draw = random.Random(3)
    right = read_all(memory_index.make(DOCUMENTS))
    for _ in range(20):
        told, ready = os.pipe()
        child = fork(partial(writing, tmp_path, ready))
        os.close(ready)
        assert os.read(told, 1) == b"!"
        select.select([told], [], [], draw.random() * 0.05)  # until then, or it ends by itself
        os.kill(child, signal.SIGKILL)
        assert wait(child) == KILLED
        os.close(told)
        found = memory_index.load(tmp_path)
        assert found is None or read_all(found) == right
        assert memory_index.save(DOCUMENTS, tmp_path)
        folder_of(tmp_path)  # nothing is left of the killed ones
        assert read_all(loaded(tmp_path)) == right
