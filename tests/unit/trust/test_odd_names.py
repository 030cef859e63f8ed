"""A folder full of what is no file: nothing hangs, nothing outside is read or written (T14)."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from memtui.stores.format import Format
from memtui.testing.fixtures import fingerprint, memories, open_library, root_of, sample, time_limit
from tests.formats import FORMATS, ONE_OF_EACH_ENGINE

SECONDS = 60.0
"""What hangs would do so for ever; a busy machine needs some of them."""
IN_FILES = [format for format in ONE_OF_EACH_ENGINE if format.database is None]
SECRET = "wheelbarrow"
"""Stands outside the store only."""


def odd_things(folder: Path, suffix: str, outside: Path) -> None:
    """One of each kind under a name that the store would read."""
    here = os.open(folder, os.O_RDONLY)
    try:
        os.mkfifo(f"pipe{suffix}", dir_fd=here)
        os.symlink("/dev/zero", f"endless{suffix}", dir_fd=here)
        os.symlink(f"circle{suffix}", f"circle{suffix}", dir_fd=here)
        os.symlink("nothing", f"dangling{suffix}", dir_fd=here)
        os.symlink(outside / f"secret{suffix}", f"out{suffix}", dir_fd=here)
        os.symlink(outside, "linked-folder", dir_fd=here)
        os.symlink("..", "up", dir_fd=here)
        os.mkdir(f"folder{suffix}", dir_fd=here)
    finally:
        os.close(here)
    _socket(folder, f"s{suffix}")
    for name in (b"bad\xff\xfe", b"new\nline", b"x" * (255 - len(suffix)), b"\x1b[2J", b"-rf *"):
        path = os.fsencode(folder) + b"/" + name + suffix.encode()
        with open(path, "wb") as file:
            file.write(b"[]\n" if suffix == ".json" else b"words\n")


def _socket(folder: Path, name: str) -> None:
    """By the short way: the path of a socket may have 108 bytes only."""
    former = os.getcwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    finally:
        os.chdir(former)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    for suffix in (".json", ".md"):
        (folder / f"secret{suffix}").write_text(f'[{{"id": "1", "content": "{SECRET}"}}]')
    (folder / "items.json").symlink_to("secret.json")
    return folder


@pytest.mark.parametrize("known", IN_FILES, ids=lambda known: known.name)
def test_odd_things_in_every_folder(
    known: Format,
    tmp_path: Path,
    outside: Path,
) -> None:
    place = sample(known, tmp_path / known.name)
    honest = {ref: m.content for ref, m in memories(open_library(place)).items()}
    files = {m.origin.file for m in memories(open_library(place)).values()}
    root = root_of(known, place)
    folders = {Path(file).parent for file in files} | {root if root.is_dir() else root.parent}
    suffixes = {Path(file).suffix for file in files}
    for folder in sorted(folders):
        for suffix in sorted(suffixes):
            kept = folder / "odd" / suffix.strip(".")
            kept.mkdir(parents=True)
            odd_things(kept, suffix, outside)
            if not (folder / "linked-folder").is_symlink():
                odd_things(folder, suffix, outside)
    before, beyond = fingerprint(place), fingerprint(outside)
    with time_limit(SECONDS):
        library = open_library(place, tmp_path / "state")
        library.refresh()
        library.check()
    now = {ref: memory.content for ref, memory in memories(library).items()}
    assert honest.items() <= now.items()
    assert not any(SECRET in text for text in now.values()), "a link out of the store was read"
    assert (fingerprint(place), fingerprint(outside)) == (before, beyond)


@pytest.mark.slow
@pytest.mark.parametrize("known", IN_FILES, ids=lambda known: known.name)
def test_a_folder_that_comes_and_goes(known: Format, tmp_path: Path) -> None:
    """Between listing and reading, as often as it takes."""
    place = sample(known, tmp_path / known.name)
    library = open_library(place)
    files = [Path(memory.origin.file) for memory in memories(library).values()]
    moved = max(
        {file.parent for file in files} - {root_of(known, place)}, default=files[0], key=str
    )
    stays = {m.ref for m in memories(library).values() if str(moved) not in str(m)}
    ended = threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            moved.rename(tmp_path / "away")
            (tmp_path / "away").rename(moved)

    going = threading.Thread(target=come_and_go)
    going.start()
    try:
        with time_limit(SECONDS):
            for _ in range(25):
                library.refresh()
                assert stays <= memories(library).keys()
    finally:
        ended.set()
        going.join()
    library.refresh()
    assert memories(library).keys() == memories(open_library(place)).keys()


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_a_store_that_is_taken_away(known: Format, tmp_path: Path) -> None:
    place = sample(known, tmp_path / known.name)
    library = open_library(place)
    scan = library.stores[0].scan()
    shutil.rmtree(place)
    with time_limit(SECONDS):
        for shard in scan.shards:
            assert library.stores[0].read(shard).memories == ()
        library.refresh()
        library.check()
    assert not place.exists(), "nothing of it is made again"
