"""Whatever $EDITOR does, the text that a person wrote is in the store or in a draft (T22)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memtui.cli.main import run
from tests.unit.library.stores_for_tests import agent_memory

BEFORE = "Alice sails on the first ferry"
WRITTEN = "Alice sails on the last ferry"
BYTES = WRITTEN.encode()


@dataclass(frozen=True)
class Editor:
    """A program as $EDITOR, and what must have become of what was written in it."""

    script: str
    """For sh; `$1` is the draft, `$STORE` the file that the memory lies in."""
    saved: str = ""
    """What the store says afterwards; empty: what it said before."""
    kept: bytes | None = None
    """What the draft holds afterwards; None: there is none any more."""
    told: str = ""
    """What is said of it when it fails."""


SAVE = f'printf "{WRITTEN}" > "$1"'
WAYS_TO_END = "T22 $EDITOR: {count} ways to end, every text in the store or in a draft"
EDITORS = {
    "saves once": Editor(SAVE, WRITTEN),
    "saves twice": Editor(f'printf "half" > "$1"; sleep 0.05; {SAVE}', WRITTEN),
    "saves by renaming": Editor(f'{SAVE}; cp "$1" "$1.new"; rm "$1"; mv "$1.new" "$1"', WRITTEN),
    "changes nothing": Editor("true"),
    "ends with 1": Editor("exit 1", kept=BEFORE.encode(), told="status 1"),
    "saves and ends with 1": Editor(f"{SAVE}; exit 1", kept=BYTES, told="status 1"),
    "deletes the file": Editor('rm "$1"', told="removed the draft"),
    "puts a folder there": Editor('rm "$1"; mkdir "$1"', told="removed the draft"),
    "writes bad UTF-8": Editor(
        'printf "Alice \\377\\351 sails" > "$1"', kept=b"Alice \xff\xe9 sails", told="not UTF-8"
    ),
    "empties the file": Editor(': > "$1"', kept=b"", told="draft is kept"),
    "is killed": Editor(f"{SAVE}; kill -9 $$", kept=BYTES, told="status -9"),
    "hangs and is killed": Editor(
        f"{SAVE}; (sleep 0.1; kill -9 $$) & exec sleep 600", kept=BYTES, told="status -9"
    ),
    "is overtaken by an agent": Editor(
        f'{SAVE}; sed -i "s/first ferry/second ferry/" "$STORE"',
        "Alice sails on the second ferry",
        kept=BYTES,
        told="draft is kept",
    ),
}


@dataclass(frozen=True)
class Desk:
    """A store with one memory, and memtui's own folder."""

    folder: Path
    file: Path

    @property
    def said(self) -> str:
        (fact,) = json.loads(self.file.read_text())
        return str(fact["content"])

    @property
    def drafts(self) -> list[Path]:
        folder = self.folder / "state" / "drafts"
        return sorted(folder.iterdir()) if folder.exists() else []

    def script(self, text: str, name: str = "editor") -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path


@pytest.fixture
def desk(own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    home = agent_memory(tmp_path / "here", {"alice": [BEFORE]})
    monkeypatch.setenv("MEMTUI_STORES", str(home))
    monkeypatch.delenv("VISUAL", raising=False)
    file = home / "entities" / "alice" / "items.json"
    monkeypatch.setenv("STORE", str(file))
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return Desk(tmp_path, file)


def edit() -> int:
    return run(["edit", "00000001"])


@pytest.mark.parametrize("name", EDITORS)
def test_an_editor(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    tally: Callable[[str], None],
) -> None:
    editor = EDITORS[name]
    monkeypatch.setenv("EDITOR", f"'{desk.script(editor.script)}'")
    before = desk.file.read_bytes()
    code = edit()
    said = capfd.readouterr().err
    assert (code, said == "") == ((1, False) if editor.told else (0, True)), said
    assert editor.told in said
    assert desk.said == (editor.saved or BEFORE)
    assert editor.saved or desk.file.read_bytes() == before, "something else of it has changed"
    held = [path.read_bytes() for path in desk.drafts if path.is_file()]
    assert held == ([] if editor.kept is None else [editor.kept])
    if editor.kept is not None:
        assert str(desk.drafts[0]) in said, "the person is not told where it is"
    tally(WAYS_TO_END)


@pytest.mark.slow
def test_memtui_itself_is_killed_while_the_editor_is_open(
    desk: Desk, tally: Callable[[str], None]
) -> None:
    editor = desk.script(f"{SAVE}; kill -9 $PPID")
    command = [sys.executable, "-m", "memtui", "edit", "00000001"]
    paths = os.pathsep.join(sys.path)
    surroundings = {**os.environ, "EDITOR": str(editor), "PYTHONPATH": paths}
    done = subprocess.run(command, env=surroundings, check=False)
    assert done.returncode == -signal.SIGKILL
    assert desk.said == BEFORE
    assert [path.read_bytes() for path in desk.drafts] == [BYTES]
    tally(WAYS_TO_END)


def test_no_editor(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tally: Callable[[str], None],
) -> None:
    for missing in ("/no/such/editor", str(desk.folder), "'open quote"):
        monkeypatch.setenv("EDITOR", missing)
        assert edit() == 1
        assert "editor" in capfd.readouterr().err
        assert (desk.said, desk.drafts) == (BEFORE, [])
    tally(WAYS_TO_END)


def test_no_shell_takes_part(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tally: Callable[[str], None]
) -> None:
    """What is in $EDITOR is a program and its arguments, and the draft is the last of them."""
    editor = desk.script('printf "%s\\n" "$@" > "$0.said"', "my editor")
    asked = ["--wait", "two words", ";", "touch", "pwned", "$(touch pwned)", "`touch pwned`", "|"]
    words = " ".join(f"'{word}'" for word in asked[:3]) + " touch pwned $(touch pwned) | x"
    monkeypatch.setenv("EDITOR", f"'{editor}' {words} > pwned")
    assert edit() == 0
    *given, draft = Path(f"{editor}.said").read_text().splitlines()
    assert given == [*asked[:3], "touch", "pwned", "$(touch", "pwned)", "|", "x", ">", "pwned"]
    assert re.fullmatch(r"draft-[0-9a-f]{16}\.md", Path(draft).name)
    assert Path(draft).is_absolute()
    assert not list(Path.cwd().iterdir())
    tally(WAYS_TO_END)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_draft_is_private_whatever_the_umask(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, umask: int, tally: Callable[[str], None]
) -> None:
    editor = desk.script('stat -c %a "$(dirname "$1")" "$1" > "$0.said"')
    monkeypatch.setenv("EDITOR", str(editor))
    old = os.umask(umask)
    try:
        assert edit() == 0
    finally:
        os.umask(old)
    assert Path(f"{editor}.said").read_text().split() == ["700", "600"]
    tally(WAYS_TO_END)
