"""`memtui watch`, and what `memtui restore` gives back of what it saw."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.own_folders import own_folders
from tests.samples import SAMPLES

LONGEST = 120.0
"""Seconds to wait for what takes one on a machine with nothing else to do."""


class Program:
    """The program with folders of its own."""

    def __init__(self, place: Path) -> None:
        self._environ = {**os.environ, **own_folders(place), "HOME": str(place)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "memtui", *words],
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> str:
        process = self.start(*words)
        printed, _ = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, printed
        return printed


@pytest.mark.slow
def test_what_is_written_and_deleted_while_it_watches_comes_back(tmp_path: Path) -> None:
    """A text that no other look would have seen: it is there for some seconds only."""
    program, root = Program(tmp_path), tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", root)
    file, store = root / "memories" / "MEMORY.md", ("--store", str(root))
    former = file.read_text()
    watching = program.start("watch", *store)
    assert watching.stdout is not None
    try:
        assert "watching 1 store" in watching.stdout.readline()
        file.write_text(f"{former.rstrip()}\n§\nThe tower of Brekke is painted green.\n")
        assert "1 text kept" in watching.stdout.readline()
        written = time.time()
        time.sleep(1.1)  # times are given in seconds
        file.write_text(former)
        assert "1 text kept" in watching.stdout.readline()
    finally:
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(LONGEST) == 0
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(written + 1))
    assert "Brekke" in program.run("restore", "--since", at, "--deleted", "--dry-run", *store)
    assert file.read_text() == former
    program.run("restore", "--since", at, "--deleted", *store)
    assert "The tower of Brekke is painted green." in file.read_text()
    program.run("undo")
    assert file.read_text() == former


def test_a_memory_is_given_back_by_its_time(
    tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", root)
    store = ("--store", str(root))
    file = root / "memories" / "USER.md"
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert call("list", "--json", "--all", *store) == 0
    listed = json.loads(capsys.readouterr().out)["memories"]
    memory = next(each for each in listed if each["ref"].startswith("hermes:USER.md#"))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    time.sleep(1.1)
    file.write_text("Nothing else.\n")
    assert call("restore", f"{memory['ref']}@{at}", *store) == 0
    assert memory["content"] in file.read_text()
    assert "Nothing else." in file.read_text()
    assert call("restore", f"{memory['ref']}@{at}", *store) == 0  # it is there already
    assert "nothing to restore" in capsys.readouterr().err
    assert call("restore", "--deleted", memory["ref"], *store) == 1
    assert "--deleted is for --since" in capsys.readouterr().err


def test_units_and_hooks_name_the_program_and_the_stores(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    place = '/tmp/a "store" with 100 % $HOME'
    assert call("watch", "--print-unit", "launchd", "--store", place) == 0
    tree = xml.etree.ElementTree.fromstring(capsys.readouterr().out)
    words = [each.text for each in tree.iterfind("dict/array/string")]
    assert words[1:] == ["-m", "memtui", "watch", "--store", place]
    assert call("watch", "--print-unit", "systemd", "--store", place) == 0
    (line,) = [x for x in capsys.readouterr().out.split("\n") if x.startswith("ExecStart=")]
    assert line.endswith('"--store" "/tmp/a \\"store\\" with 100 %% $$HOME"')
    assert call("watch", "--print-hook", "--store", place) == 0
    hooks = json.loads(capsys.readouterr().out)["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["command"].endswith(f"--store '{place}' --once")


def test_a_damaged_history_is_told_and_begun_anew(
    tmp_path: Path, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", root)
    store = ("--store", str(root))
    assert call("list", *store) == 0
    (kept,) = tmp_path.rglob("history.sqlite")
    kept.write_bytes(b"no database at all" * 100)
    capsys.readouterr()
    assert call("list", *store) == 0
    assert "the history of texts was damaged and is now history.sqlite." in capsys.readouterr().err
    assert call("list", *store) == 0
    assert "damaged" not in capsys.readouterr().err
    assert call("history", "--forget", *store) == 0
