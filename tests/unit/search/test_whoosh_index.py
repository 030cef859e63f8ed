"""The index on disk: right, kept up with changes, and harmless whatever is in its folder."""

from __future__ import annotations

import os
import pickle
import random
import select
import signal
import stat
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from whoosh.index import open_dir

from memtui.progress import Cancelled
from memtui.query import parse_query
from memtui.sealed_lines import seal, unseal
from memtui.search import cache_files
from memtui.search.documents import IndexedDocument
from memtui.search.index_worker import whoosh_rows
from memtui.search.query_terms import analyze_terms
from memtui.search.whoosh_index import WhooshIndex
from tests.torture.processes import KILLED, fork, wait

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DOCUMENTS = [
    IndexedDocument(f"s:{n}", f"title {n}", text)
    for n, text in enumerate(
        ["deployed on friday", "rolled back on friday", "getUserById is slow", "東京都", "friday"]
    )
]


def ask(index: WhooshIndex, text: str) -> list[str] | None:
    terms = analyze_terms(parse_query(text, NOW).terms)
    found = index.search((*terms.optional, *terms.required)[0])
    return None if found is None else sorted(found)


@pytest.fixture
def index(tmp_path: Path) -> WhooshIndex:
    made = WhooshIndex(tmp_path)
    made.update(DOCUMENTS)
    return made


def test_finds_and_forgets_nothing(index: WhooshIndex) -> None:
    assert ask(index, "friday") == ["s:0", "s:1", "s:4"]
    assert ask(index, '"rolled back"') == ["s:1"]
    assert ask(index, "fryday~") == ["s:0", "s:1", "s:4"]
    assert ask(index, "fri*day") == ["s:0", "s:1", "s:4"]
    assert ask(index, '"nothing"') == []


def test_words_of_two_fields_are_no_phrase(index: WhooshIndex) -> None:
    assert ask(index, '"title 3"') == ["s:3"]
    assert ask(index, '"title 3 東京"') == []
    assert ask(index, '"rolled back on"') == ["s:1"]
    assert ask(index, "京都") == ["s:3"]


def test_private_whatever_the_umask(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        WhooshIndex(tmp_path).update(DOCUMENTS)
    finally:
        os.umask(former)
    folder = tmp_path / "whoosh"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_changes_are_found_at_once_and_by_other_processes(index: WhooshIndex) -> None:
    other = WhooshIndex(index.home)
    assert ask(other, "friday") == ["s:0", "s:1", "s:4"]
    changed = [IndexedDocument("s:0", content="saturday"), IndexedDocument("s:9", content="friday")]
    assert index.update([*DOCUMENTS[1:4], *changed])
    for each in (index, other, WhooshIndex(index.home)):
        assert ask(each, "friday") == ["s:1", "s:9"]
        assert ask(each, "saturday") == ["s:0"]


def test_one_ref_twice_in_a_batch_is_one_document(index: WhooshIndex) -> None:
    twice = [IndexedDocument("s:0", content="first"), IndexedDocument("s:0", content="second")]
    assert index.update([*twice, *DOCUMENTS[1:]])
    assert ask(index, "first") == []
    assert ask(index, "second") == ["s:0"]


def test_nothing_is_written_where_nothing_changed(index: WhooshIndex) -> None:
    before = {path: path.stat().st_mtime_ns for path in index.folder.iterdir()}
    assert index.update(DOCUMENTS, "another name")
    assert {path: path.stat().st_mtime_ns for path in index.folder.iterdir()} == before
    assert whoosh_rows(index.home) == "another name"


@pytest.mark.slow
def test_many_small_updates_stay_right_and_are_merged(tmp_path: Path) -> None:
    index = WhooshIndex(tmp_path)
    documents = [IndexedDocument(f"s:{number}", content="round") for number in range(20)]
    for number in range(30):
        documents[number % 7] = IndexedDocument(f"s:{number % 7}", content=f"round {number}")
        assert index.update(documents)
    assert ask(index, "29") == ["s:1"]
    assert len(ask(index, "round") or ()) == 20
    files = [path for path in index.folder.iterdir() if path.suffix == ".seg"]
    assert len(files) < 15


def test_no_index_is_no_answer(tmp_path: Path) -> None:
    assert ask(WhooshIndex(tmp_path), "x") is None
    assert whoosh_rows(tmp_path) == ""


def test_second_writer_gives_way(index: WhooshIndex) -> None:
    saturday = [IndexedDocument("s:0", content="saturday"), *DOCUMENTS[1:]]
    with cache_files.try_lock(index.home / "whoosh.lock") as alone:
        assert alone
        assert not index.update(saturday)
        assert ask(index, "friday") == ["s:0", "s:1", "s:4"]
    assert index.update(saturday)


def test_called_off_leaves_the_old_index_or_none(index: WhooshIndex) -> None:
    more = [*DOCUMENTS, *(IndexedDocument(f"s:{n}", content="more") for n in range(9, 300))]
    with pytest.raises(Cancelled):
        index.update(more, cancelled=lambda: True)
    assert ask(WhooshIndex(index.home), "friday") in (None, ["s:0", "s:1", "s:4"])
    assert index.update(more)
    assert ask(index, "friday") == ["s:0", "s:1", "s:4"]


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, (str(self.path),))


def _believed(index: WhooshIndex) -> None:
    """Make the stamp agree with the files, as one who can write them all would."""
    stamp = index.home / "whoosh.json"
    told = unseal(stamp.read_bytes())
    told["sums"] = {name: cache_files.checksum(index.home / name) for name in told["sums"]}
    stamp.write_bytes(seal(told))


def _pickles(file: Path) -> list[int]:
    """Where pickles seem to begin in a file."""
    whole = file.read_bytes()
    starts = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
    return [at for at in range(len(whole)) if whole[at : at + 2] in starts]


def test_forged_table_of_contents_runs_nothing(index: WhooshIndex, tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    (toc,) = index.folder.glob("*.toc")
    _, segments = _pickles(toc)
    toc.write_bytes(toc.read_bytes()[:segments] + pickle.dumps(Bomb(pwned), -1))
    _believed(index)
    assert ask(WhooshIndex(index.home), "friday") is None
    assert not pwned.exists()
    assert not index.folder.exists()
    index.update(DOCUMENTS)
    assert ask(index, "friday") == ["s:0", "s:1", "s:4"]


def test_forged_schema_runs_nothing_even_when_asked_for(index: WhooshIndex, tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    (toc,) = index.folder.glob("*.toc")
    start, _ = _pickles(toc)
    whole, bomb = toc.read_bytes(), pickle.dumps(Bomb(pwned), 2)
    toc.write_bytes(whole[:start] + bomb + whole[start + len(bomb) :])
    with pytest.raises(pickle.UnpicklingError):
        open_dir(str(index.folder))
    assert not pwned.exists()


def test_forged_postings_and_stored_fields_run_nothing(index: WhooshIndex, tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    bomb = pickle.dumps(Bomb(pwned), 4)
    (segment,) = index.folder.glob("*.seg")
    starts = _pickles(segment)
    assert len(starts) > 20
    for number in range(0, len(starts), 3):
        if ask(index, "friday") is None:
            index.update(DOCUMENTS)
        index.close()
        (segment,) = index.folder.glob("*.seg")
        whole, at = segment.read_bytes(), _pickles(segment)[number]
        segment.write_bytes(whole[:at] + bomb + whole[at + len(bomb) :])
        _believed(index)
        fresh = WhooshIndex(index.home)
        ask(fresh, "friday")
        fresh.update(DOCUMENTS)
        assert not pwned.exists()
        fresh.discard()


@pytest.mark.slow
def test_damage_of_any_kind_gives_the_right_answer_or_none(index: WhooshIndex) -> None:
    queries = ["friday", '"rolled back"', "fri*", "fr?day", "slow", "都"]
    right = {query: ask(index, query) for query in queries}
    draw = random.Random(7)
    index.close()
    for _ in range(200):
        if ask(index, "friday") is None:
            index.update(DOCUMENTS)
        index.close()
        victims = [*index.folder.iterdir(), index.home / "whoosh.json"]
        file = draw.choice([path for path in victims if path.stat().st_size])
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        damage = draw.randrange(5)
        if damage == 0:
            file.write_bytes(whole[:at])
        elif damage == 1:
            file.unlink()
        elif damage == 2:
            file.write_bytes(whole[:at] + os.urandom(8) + whole[at + 8 :])
        else:
            flipped = bytes([whole[at] ^ 1 << draw.randrange(8)])
            file.write_bytes(whole[:at] + flipped + whole[at + 1 :])
        fresh = WhooshIndex(index.home)
        for query in queries:
            assert ask(fresh, query) in (None, right[query])
        fresh.close()


@pytest.mark.parametrize("fault", ["link", "open", "file link", "loose file"])
def test_a_folder_that_is_not_ours_alone_is_not_opened(
    index: WhooshIndex, tmp_path: Path, fault: str
) -> None:
    folder = index.folder
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
    assert ask(WhooshIndex(index.home), "friday") is None
    assert not folder.exists()
    assert not folder.is_symlink()
    if fault == "link":
        assert (tmp_path / "elsewhere").is_dir()


def test_other_versions_are_not_opened(index: WhooshIndex) -> None:
    stamp = index.home / "whoosh.json"
    stamp.write_bytes(seal({**unseal(stamp.read_bytes()), "python": "2.7"}))
    assert ask(WhooshIndex(index.home), "friday") is None


def updating(folder: Path, ready: int) -> None:
    """In a child: commits without end."""
    index = WhooshIndex(folder)
    documents = [IndexedDocument(f"s:{n}", content=f"number {n}") for n in range(50)]
    index.update(documents)
    os.write(ready, b"!")
    for turn in range(100_000):
        for n in range(turn % 50, 50, 7):
            documents[n] = IndexedDocument(f"s:{n}", content=f"number {n} round {turn}")
        index.update(documents)


@pytest.mark.slow
def test_killed_in_a_commit_again_and_again(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(20):
        told, ready = os.pipe()
        child = fork(partial(updating, tmp_path, ready))
        os.close(ready)
        assert os.read(told, 1) == b"!"
        select.select([told], [], [], draw.random() * 0.05)  # until then, or it ends by itself
        os.kill(child, signal.SIGKILL)
        assert wait(child) == KILLED
        os.close(told)
        index = WhooshIndex(tmp_path)
        found = ask(index, "number")
        assert found is None or found == sorted(f"s:{n}" for n in range(50))
        index.close()
