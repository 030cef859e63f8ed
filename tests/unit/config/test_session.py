"""The next run begins where the last one ended, and never fails because of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memtui.config.session import FILE, MAX_SETS, Session, key_for, load, update
from memtui.paths import MAX_FILE_BYTES

LEFT = Session(
    query="tea type:decision",
    selected="mine:1",
    focus="list",
    panes={"tree": 30, "detail": 0},
    zoomed="detail",
    theme="paper",
    searches=("tea", "coffee"),
    seen="2026-11-21T10:00:00Z",
)


def test_what_was_left_is_found_again(tmp_path: Path) -> None:
    assert update(tmp_path / "state", "a", lambda _: LEFT)
    assert load(tmp_path / "state", "a") == LEFT
    assert load(tmp_path / "state", "b") == Session()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_each_set_of_stores_has_its_own_and_the_oldest_goes(tmp_path: Path) -> None:
    for number in range(MAX_SETS + 2):
        update(tmp_path, str(number), lambda saved: saved._replace(query="tea"))
    assert load(tmp_path, "0") == Session()
    assert load(tmp_path, "2").query == load(tmp_path, str(MAX_SETS + 1)).query == "tea"


def test_the_order_of_stores_does_not_matter() -> None:
    one, two = Path("/a"), Path("/b")
    assert key_for([one, two]) == key_for([two, one]) != key_for([one])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        b'{"a": 7}',
        b'{"a": {"query": 3, "panes": {"x": "wide", "y": -1}, "searches": [1]}}',
    ],
)
def test_a_spoilt_file_is_forgotten(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    assert load(tmp_path, "a") == Session()
    assert update(tmp_path, "a", lambda _: LEFT)
    assert load(tmp_path, "a") == LEFT


def test_a_place_that_cannot_be_written_is_let_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not update(tmp_path / "file" / "state", "a", lambda _: LEFT)


def test_pasted_texts_do_not_make_the_file_too_large_to_be_read(tmp_path: Path) -> None:
    huge = "a" * MAX_FILE_BYTES
    assert update(tmp_path, "a", lambda _: LEFT._replace(query=huge, searches=("tea", huge)))
    assert load(tmp_path, "a") == LEFT._replace(query="", searches=("tea",))


def test_programs_that_end_at_the_same_moment_lose_nothing(tmp_path: Path) -> None:
    """As when the terminal with several of them is closed."""

    def end(letter: str) -> bool:
        return update(
            tmp_path,
            "a",
            lambda saved: saved._replace(searches=(*saved.searches, letter)),
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(end, "abcdefghijklmnopqrstuvwxyz"))
    assert "".join(sorted(load(tmp_path, "a").searches)) == "abcdefghijklmnopqrstuvwxyz"
