"""`export`, `import`, `verify` as a person or a script meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.long_run import share
from tests.own_folders import own_folders
from tests.printed_rows import printed_rows
from tests.samples import SAMPLES
from tests.unit.bundle.hostile import HOSTILE, ONLY_WHOLE, good
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts


@dataclass(frozen=True)
class Said:
    """What a command printed and how it ended."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return printed_rows(self.out)


Call = Callable[..., Said]


@pytest.fixture(name="call")
def call_and_read(call: Callable[..., int], capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    """Runs a command as `call` does; returns what it printed too."""

    def command(*arguments: object) -> Said:
        capfdbinary.readouterr()
        code = call(*arguments)
        out, err = capfdbinary.readouterr()
        return Said(code, out, err.decode())

    return command


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "here", {"alice": ["Alice sails"], "bob": ["=1+1 says Bob"]})


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_there_and_back(call: Call, home: Path, tmp_path: Path) -> None:
    assert call("export", "--store", home, "-o", tmp_path / "a.zip").code == 0
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600
    assert call("verify", tmp_path / "a.zip").code == 0
    done = call("import", tmp_path / "a.zip", "--into", tmp_path / "there")
    assert b"2 memories" in done.out
    assert everything(tmp_path / "there") == everything(home)
    printed = call("export", "--store", tmp_path / "there")
    assert printed.out == (tmp_path / "a.zip").read_bytes()
    assert f"to take it back, delete {tmp_path / 'there'}" in done.err
    assert call("undo", "--store", tmp_path / "there").code == 1, "it is no action of the journal"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_an_import_where_no_store_is_open_names_into(
    call: Call, home: Path, tmp_path: Path
) -> None:
    assert call("export", "--store", home, "-o", tmp_path / "a.zip").code == 0
    done = call("import", tmp_path / "a.zip")
    assert done.code == 1
    assert "--into" in done.err


@pytest.mark.slow
def test_several_stores_brought_into_a_folder_are_opened_by_its_path(
    call: Call, home: Path, tmp_path: Path
) -> None:
    bundle, there = tmp_path / "a.zip", tmp_path / "there"
    call("export", "--store", home, "--store", SAMPLES / "simple-memory", "-o", bundle)
    there.mkdir()
    assert call("import", bundle, "--into", there).code == 0
    found = {
        store["label"]: store["path"] for store in call("stores", "--store", there, "--json").json
    }
    assert found == {name: str(there / name) for name in ("agent-memory", "simple-memory")}
    again = call("import", bundle, "--into", there, "--json").json
    assert (again["new"], again["conflicts"], again["done"]) == (0, 0, False)


@pytest.mark.slow
@pytest.mark.parametrize("is_used", [False, True])
def test_stores_of_a_home_lie_where_their_programs_look_in_another_one(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_used: bool
) -> None:
    """They lay in folders of their labels, where no program found them."""
    old, new, bundle = tmp_path / "old", tmp_path / "new", tmp_path / "a.zip"
    shutil.copytree(SAMPLES / "codex", old / ".codex")
    shutil.copytree(SAMPLES / "hermes", old / ".hermes")
    monkeypatch.setenv("HOME", str(old))
    before = everything(old)
    assert call("export", "-o", bundle).code == 0
    new.mkdir()
    if is_used:
        (new / ".profile").write_text("x")
    monkeypatch.setenv("HOME", str(new))
    assert call("import", bundle, "--into", new).code == 0
    restored = everything(new)
    assert restored.pop(".profile", b"x") == b"x"
    assert {name: before[name] for name in restored if "/.memtui/" not in name} == {
        name: data for name, data in restored.items() if "/.memtui/" not in name
    }
    found = {store["format"] for store in call("stores", "--json").json}
    assert found == {"codex", "hermes"}
    again = call("import", bundle, "--into", new, "--json").json
    assert (again["new"], again["conflicts"]) == (0, 0)


def test_a_part_goes_into_a_store_by_its_label(
    call: Call, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("export", "--store", home, "--entity", "alice", "-o", tmp_path / "part.zip")
    there = agent_memory(tmp_path / "there", {})
    write_facts(there, "carol", [fact(40, "Carol winds the clocks")])
    monkeypatch.setenv("MEMTUI_STORES", str(there))
    planned = call("import", tmp_path / "part.zip", "--into", "agent-memory", "--dry-run", "--json")
    assert (planned.json["new"], planned.json["done"]) == (1, False)
    assert not (there / "entities" / "alice").exists()
    done = call("import", tmp_path / "part.zip", "--into", "agent-memory", "--json")
    assert (done.json["new"], done.json["done"]) == (1, True)
    assert (there / "entities" / "alice" / "items.json").exists()
    again = call("import", tmp_path / "part.zip", "--json")
    assert (again.json["new"], again.json["same"], again.json["done"]) == (0, 1, False)


def test_a_part_cannot_be_a_whole_store(call: Call, home: Path, tmp_path: Path) -> None:
    call("export", "--store", home, "--type", "person", "-o", tmp_path / "part.zip")
    done = call("import", tmp_path / "part.zip", "--into", tmp_path / "new")
    assert done.code == 1
    assert "not the whole store" in done.err
    assert not (tmp_path / "new").exists()


def test_tables_are_plain_and_safe(call: Call, home: Path) -> None:
    rows = list(
        csv.DictReader(io.StringIO(call("export", "--store", home, "--format", "csv").out.decode()))
    )
    assert {row["content"] for row in rows} == {"Alice sails", "'=1+1 says Bob"}
    lines = call("export", "--store", home, "--format", "jsonl").out.splitlines()
    assert {json.loads(line)["content"] for line in lines} == {"Alice sails", "=1+1 says Bob"}
    assert b"Alice sails" in call("export", "--store", home, "--format", "markdown").out
    backup = call("export", "--store", home, "--format", "ambient", "--pretty")
    assert backup.json["version"] == 1


def test_an_ambient_export_holds_expired_events_only_with_status_all(
    call: Call, tmp_path: Path
) -> None:
    project = tmp_path / "ambient" / "memory" / "projects" / ("a" * 16)
    (project / "tasks").mkdir(parents=True)
    for name, last in (("project", time.time() * 1000), ("tasks/old", 0)):
        events = [{"id": name, "type": "decision", "content": name, "importance": "high"}]
        text = json.dumps({"lastActive": last, "events": events})
        (project / f"{name}.json").write_text(text)
    export = ("export", "--store", project.parents[1], "--format", "ambient")
    done = call(*export)
    assert list(done.json["projects"]["a" * 16]["tasks"]) == []
    assert "left out: 1 in files idle for 90 days" in done.err
    done = call(*export, "--status", "all")
    assert list(done.json["projects"]["a" * 16]["tasks"]) == ["old"]
    assert done.err == ""


@pytest.mark.slow
def test_engrams_own_format(call: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "engram", tmp_path / "e")
    done = call("export", "--store", tmp_path / "e", "--format", "engram", "--type", "decision")
    assert {row["type"] for row in done.json["observations"]} == {"decision"}
    assert call("export", "--store", SAMPLES / "ambient", "--format", "engram").code == 1


@pytest.mark.slow
def test_engrams_own_export_goes_into_an_empty_place(call: Call, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "engram", tmp_path / "e")
    every = ("--format", "engram", "--status", "all")
    assert call("export", "--store", tmp_path / "e", *every, "-o", tmp_path / "e.json").code == 0
    made = call("import", tmp_path / "e.json", "--into", tmp_path / "new")
    assert made.code == 0, made.err
    again = call("export", "--store", tmp_path / "new", *every).json
    first = json.loads((tmp_path / "e.json").read_text())
    assert first["prompts"]
    for name in ("sessions", "observations", "prompts", "relations"):
        assert again.get(name) == first.get(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["bundle", "jsonl", "csv", "markdown", "html", "ambient", "engram"]
)
def test_every_export_says_what_it_leaves_out_and_why(
    call: Call, tmp_path: Path, form: str
) -> None:
    shutil.copytree(SAMPLES / "engram", tmp_path / "e")
    to = ("--store", tmp_path / "e", "--format", form, "-o", tmp_path / "out")
    some = call("export", "--type", "decision", *to)
    assert "by the filters" in some.err
    every = call("export", "--status", "all", *to)
    assert ("the filters" in every.err, "not current" in every.err) == (False, False)
    assert ("has no place for them" in every.err) == (
        form in ("csv", "markdown", "html", "ambient")
    )
    if form != "bundle":
        chosen = ("--store", tmp_path / "e", "--status", "deleted,superseded")
        retired = call("list", *chosen, "--all", "--json").json
        assert f"{len(retired)} memories, not current" in call("export", *to).err


@pytest.mark.slow
def test_an_export_counts_what_is_not_current_in_the_stores_that_it_takes_from(
    call: Call, tmp_path: Path
) -> None:
    for name in ("agent-memory", "engram"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
    alone = ("--store", tmp_path / "agent-memory", "--kind", "fact", "-o", tmp_path / "out")
    both = ("--store", tmp_path / "engram", *alone)
    (line,) = (row for row in call("export", *alone).err.splitlines() if "not current" in row)
    assert line in call("export", *both).err


@pytest.mark.parametrize("form", ["bundle", "jsonl", "html", "ambient"])
def test_a_full_disk_is_an_error(call: Call, home: Path, form: str) -> None:
    done = call("export", "--store", home, "--format", form, "-o", "/dev/full")
    assert done.code == 1
    assert done.err == "memtui: /dev/full: not written: the disk is full\n"


@pytest.mark.parametrize("form", ["bundle", "jsonl", "csv", "markdown", "ambient"])
def test_an_export_names_what_it_could_not_read(
    call: Call, home: Path, tmp_path: Path, form: str
) -> None:
    """A broken file is in a bundle as it is; of a broken database nothing can be."""
    broken = home / "entities" / "bob" / "items.json"
    broken.write_text('{"cut')
    engram = tmp_path / "engram"
    shutil.copytree(SAMPLES / "engram", engram)
    database = bytearray((engram / "engram.db").read_bytes())
    database[4096 * 3 : 4096 * 12] = b"\xff" * 4096 * 9
    (engram / "engram.db").write_bytes(database)
    stores = ("--store", home, "--store", engram)
    done = call("export", *stores, "--format", form, "-o", tmp_path / "x")
    assert done.code == 3
    assert f"memtui: left out, unreadable: {engram}/engram.db: " in done.err
    why = "unreadable, included as a file only" if form == "bundle" else "left out, unreadable"
    assert f"memtui: {why}: {broken}: not valid JSON" in done.err
    if form == "bundle":
        done = call("export", "--store", home, "-o", tmp_path / "x")
        assert (done.code, "included as a file only" in done.err) == (0, True)
        call("import", tmp_path / "x", "--into", tmp_path / "there")
        assert everything(tmp_path / "there") == everything(home)
        done = call("export", "--store", engram, "-o", tmp_path / "none")
        assert (done.code, (tmp_path / "none").exists()) == (1, False)


def test_a_file_that_cannot_be_written_keeps_the_old_one(
    call: Call, guarded: Path, tmp_path: Path
) -> None:
    file = tmp_path / "no-such-folder" / "a.zip"
    done = call("export", "--store", guarded, "-o", file)
    assert (done.code, done.err) == (1, f"memtui: {file}: not written: its folder does not exist\n")
    assert not file.parent.exists()


REFUSED_ARCHIVES = "T15 hostile archives: {count} refused whole, no file made or changed"


@pytest.mark.parametrize("name", share(sorted(HOSTILE), 0, 6))
def test_hostile_archives_change_nothing(
    call: Call, home: Path, tmp_path: Path, name: str, tally: Callable[[str], None]
) -> None:
    evil = tmp_path / "evil.zip"
    evil.write_bytes(HOSTILE[name]())
    before = everything(tmp_path / "here")
    places = {path.name for path in tmp_path.iterdir()}
    places_to_be = [tmp_path / "new"] if name in ONLY_WHOLE else [home, tmp_path / "new"]
    for place in places_to_be:
        done = call("import", evil, "--into", place)
        assert done.code == 1
        assert "Traceback" not in done.err
        assert done.out == b""
    assert everything(tmp_path / "here") == before
    left = {path.name for path in tmp_path.iterdir()} - places - {"state", "cache", "config"}
    assert not left, f"it left {left}"
    assert not everything(tmp_path / "person")
    tally(REFUSED_ARCHIVES)


def test_the_hostile_archives_are_made_from_one_that_is_taken(
    call: Call, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "good.zip").write_bytes(good())
    assert call("import", tmp_path / "good.zip", "--into", tmp_path / "new").code == 0
    assert everything(tmp_path / "new") == {"entities/a/items.json": b"[]\n"}


def test_what_is_no_file_is_not_waited_for(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing", Path("/dev/zero")):
        done = call("import", path, "--into", tmp_path / "new")
        assert done.code == 1
        assert len(done.err.splitlines()) == 1


def test_verify_says_what_it_checked(call: Call, home: Path, tmp_path: Path) -> None:
    call("export", "--store", home, "-o", tmp_path / "a.zip")
    said = call("verify", tmp_path / "a.zip", "--json").json
    assert said["kind"] == "bundle"
    assert any("SHA-256" in line for line in said["checked"])
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "a.zip").write_bytes(data)
    assert call("verify", tmp_path / "a.zip").code == 1


# ---- secrets -------------------------------------------------------------------------------------

SECRET = "Zq8-vLk2"
"""In one of the three memories of `guarded`."""


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    text = f"The database is at postgres://app:{SECRET}@db.example.net/shop since May"
    return agent_memory(tmp_path / "here", {"alice": ["Alice sails"], "shop": [text, "It is red"]})


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    (tmp_path / "clone" / "backup").mkdir()
    return tmp_path / "clone"


def text_of(file: Path) -> str:
    """What an export holds, also in an archive."""
    if file.suffix != ".zip":
        return file.read_text()
    with ZipFile(file) as archive:
        return "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())


FORMS = {"bundle": "zip", "jsonl": "jsonl", "csv": "csv", "markdown": "md", "ambient": "json"}


@pytest.mark.parametrize("form", FORMS)
def test_secrets_are_counted_and_stay_out_of_a_git_work_tree(
    call: Call, guarded: Path, work_tree: Path, tmp_path: Path, form: str
) -> None:
    store = ("--store", guarded, "--format", form)
    count = "1 memory with a secret"
    out = tmp_path / f"a.{FORMS[form]}"
    done = call("export", *store, "-o", out)
    assert (
        f"memtui: {count} is written in clear to {out}; --without-secrets leaves it out\n"
        in done.err
    )
    assert SECRET in text_of(out)
    asked = call("export", *store, "-o", out, "--without-secrets")
    assert f"left out: {count}" in asked.err
    assert SECRET not in text_of(out)
    assert "It is red" in text_of(out)

    kept = work_tree / "backup" / out.name
    done = call("export", *store, "-o", kept)
    where = f"{kept}, in the git work tree {work_tree}"
    assert f"memtui: {count} is not written to {where}; --with-secrets includes it\n" in done.err
    assert SECRET not in text_of(kept)
    assert "It is red" in text_of(kept)
    carried = call("export", *store, "-o", kept, "--with-secrets")
    assert f"memtui: {count} is written in clear to {where}\n" in carried.err
    assert SECRET in text_of(kept)


def test_a_bundle_without_secrets_can_be_imported(
    call: Call, guarded: Path, work_tree: Path
) -> None:
    bundle = work_tree / "a.zip"
    assert "holds memories, not the files of the stores" in (
        call("export", "--store", guarded, "-o", bundle).err
    )
    assert call("verify", bundle).code == 0
    assert b"added 0, identical 2" in call("import", bundle, "--into", guarded).out


def test_a_page_masks_secrets_and_says_nothing(call: Call, guarded: Path, work_tree: Path) -> None:
    done = call("export", "--store", guarded, "--format", "html", "-o", work_tree / "a.html")
    assert "secret" not in done.err
    assert SECRET not in (work_tree / "a.html").read_text()


def test_without_secrets_nothing_is_said(call: Call, home: Path, work_tree: Path) -> None:
    assert "secret" not in call("export", "--store", home, "-o", work_tree / "a.zip").err


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_file_that_the_shell_writes_is_in_the_work_tree_too(
    guarded: Path, work_tree: Path, tmp_path: Path
) -> None:
    out = work_tree / "a.jsonl"
    command = [sys.executable, "-m", "memtui", "export", "--store", guarded, "--format", "jsonl"]
    with out.open("wb") as file:
        done = subprocess.run(
            command,
            stdout=file,
            stderr=subprocess.PIPE,
            env={**os.environ, **own_folders(tmp_path)},
            check=True,
        )
    assert f"not written to {out}, in the git work tree" in done.stderr.decode()
    assert SECRET not in out.read_text()
