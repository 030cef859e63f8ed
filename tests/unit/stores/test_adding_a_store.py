"""The code of docs/adding-a-store.md, taken from the page and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from tests.long_run import count
from tests.own_folders import own_folders
from tests.printed_rows import printed_rows

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "adding-a-store.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
READ_ONLY, WRITABLE = (text for name, text in BLOCKS if name == "jotter.py")
(LISTS,) = (text for name, text in BLOCKS if name == "pocket.py")
(TEST,) = (text for name, text in BLOCKS if name == "test_jotter.py")
(PROJECT,) = (text for name, text in BLOCKS if name == "pyproject.toml")
COUNT = 66
JOTTINGS = [
    {"id": f"j{n}", "text": f"jotting {n} of ink and nibs", "about": f"desk/{n % 3}"}
    for n in range(COUNT)
]


def jotter_at(place: Path) -> Path:
    place.mkdir(parents=True)
    (place / "jotter.json").write_text(json.dumps(JOTTINGS, indent=1) + "\n")
    return place


def test_a_read_only_store_is_about_sixty_lines() -> None:
    assert len(READ_ONLY.splitlines()) < 75
    assert len([line for line in READ_ONLY.splitlines() if line.strip()]) <= 60


def test_the_test_of_a_format_is_five_lines_and_its_imports() -> None:
    assert len([line for line in TEST.splitlines() if line.strip()]) <= 6


def test_every_act_of_the_writable_store_is_planned(tmp_path: Path) -> None:
    module: dict[str, Any] = {"__name__": "jotter"}
    exec(compile(WRITABLE, "jotter.py", "exec"), module)
    library = Library([module["FORMAT"].open(jotter_at(tmp_path / "store"), "j")])
    library.load()
    for act in (Act.EDIT, Act.DELETE, Act.PIN, Act.RETIRE, Act.SUPERSEDE):
        assert library.plan([Change(act, "j", "j:j3", {"content": "ink"})]).has_edits
    merge = Change(Act.MERGE, "j", "j:j3", {"others": ["j4"], "content": "ink and nibs"})
    assert library.plan([merge]).has_edits
    assert library.plan([Change(Act.ADD, "j", "", {"content": "ink"})]).has_edits
    assert library.refusal(Act.RETYPE, library.get("j:j3"))


IMPORTED = "from memtui.model import Memory, Place\n"
LINED = WRITABLE.replace(IMPORTED, f"from memtui.files.json.locating import LINES\n{IMPORTED}")
LINED = LINED.replace("FILE, self.root)", "FILE, self.root, LINES)").replace(
    "jotter.json", "j.jsonl"
)
LINED = LINED.replace("read_json(path, self.root)", "read_json(path, self.root, LINES)")
"""The store of the page with an object a line in place of an array."""


def lines_at(place: Path) -> Path:
    place.mkdir(parents=True)
    lines = (f"{json.dumps(jotting)}\n" for jotting in JOTTINGS)
    (place / "j.jsonl").write_text("".join(lines))
    return place


def pocket_at(place: Path) -> Path:
    place.mkdir(parents=True)
    lines = (f"desk/{n % 3}: line {n} of ink and nibs\n" for n in range(COUNT))
    (place / "pocket.txt").write_text("".join(lines))
    return place


@pytest.mark.slow
def test_the_stores_of_the_page_pass_the_suite(tmp_path: Path) -> None:
    """The usual run takes of the suite what the store before has not shown."""
    for name, store, suite, sample in (
        ("reading", READ_ONLY, "StoreConformance", jotter_at),
        ("jotter", WRITABLE, "WritableStoreConformance", jotter_at),
        ("lines", LINED, "WritableStoreConformance", lines_at),
        ("pocket", LISTS, "WritableStoreConformance", pocket_at),
    ):
        (tmp_path / f"{name}.py").write_text(store)
        test = TEST.replace("StoreConformance", suite).replace("jotter", name)
        (tmp_path / f"test_{name}.py").write_text(test.replace('"sample"', f'"{name}"'))
        sample(tmp_path / name)
    laws = "test_reading or every_act or refused or kept or is_named"
    chosen = ["-k", laws] if count(1, 0) else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the suite needs none
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


class Environment:
    """A fresh virtual environment: memtui and its dependencies, and packages put into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        (self.site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        paths = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
        (self.site / "memtui.pth").write_text("\n".join(paths) + "\n")

    def install(self, name: str, module: str, code: str, entry_points: str) -> None:
        """What pip makes of a wheel: the module, and the metadata with its entry points."""
        (self.site / f"{module}.py").write_text(code)
        info = self.site / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)

    def memtui(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "venv" / "bin" / "python", "-m", "memtui", *map(str, arguments)],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.folder / "home"),
                **own_folders(self.folder),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def answer(self, *arguments: object) -> Any:
        done = self.memtui(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return printed_rows(done.stdout)


def entry_points() -> str:
    """Those of the page's pyproject.toml, as an installer writes them."""
    import tomllib

    (group, entries), *_ = tomllib.loads(PROJECT)["project"]["entry-points"].items()
    return "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()), ""])


@pytest.mark.slow
def test_an_installed_format_is_found_searched_and_exported(tmp_path: Path) -> None:
    fresh = Environment(tmp_path)
    fresh.install("memtui-jotter", "jotter", READ_ONLY, entry_points())
    place = jotter_at(tmp_path / "home" / ".jotter")
    (found,) = fresh.answer("stores")
    assert (found["format"], found["path"], found["memories"]) == ("jotter", str(place), COUNT)
    assert found["writable"] is False
    done = fresh.memtui("edit", "jotter:j3", "--content", "ink is low")
    assert "memtui can only read jotter" in done.stderr
    first, *_ = fresh.answer("search", "jotting 7")
    assert (first["ref"], first["content"]) == ("jotter:j7", JOTTINGS[7]["text"])
    file = tmp_path / "out.bundle"
    assert fresh.memtui("export", "--format", "bundle", "-o", file).returncode == 0
    assert fresh.memtui("verify", file).returncode == 0
    assert (
        fresh.memtui("import", tmp_path / "out.bundle", "--into", tmp_path / "new").returncode == 0
    )
    assert (tmp_path / "new" / "jotter.json").read_bytes() == (place / "jotter.json").read_bytes()


@pytest.mark.slow
def test_an_installed_format_of_lists_is_changed_and_takes_imports(tmp_path: Path) -> None:
    fresh = Environment(tmp_path)
    code = (Path(__file__).parent / "keepsake" / "keepsake.py").read_text(encoding="utf-8")
    point = "[memtui.stores]\nkeepsake = keepsake:FORMAT\n"
    fresh.install("memtui-keepsake", "keepsake", code, point)
    file = tmp_path / "home" / ".keepsake" / "keepsakes.txt"
    file.parent.mkdir(parents=True)
    file.write_text("[desk]\n* ink is low\n")
    assert fresh.memtui("add", "the lamp hums", "-e", "hall").returncode == 0
    assert file.read_text() == "[desk]\n* ink is low\n\n[hall]\n* the lamp hums\n"
    assert fresh.memtui("undo").returncode == 0
    assert file.read_text() == "[desk]\n* ink is low\n"
    other = tmp_path / "other.jsonl"
    exported = fresh.memtui("export", "--format", "jsonl", "-o", other)
    assert exported.returncode == 0, exported.stderr
    other.write_text(other.read_text().replace("ink is low", "wax is soft").replace("keep", "key"))
    done = fresh.memtui("import", other, "--into", "keepsake")
    assert done.returncode == 0, done.stderr
    assert "* wax is soft\n" in file.read_text()


@pytest.mark.slow
def test_a_fault_in_one_format_stops_nothing(tmp_path: Path) -> None:
    fresh = Environment(tmp_path)
    fresh.install("memtui-jotter", "jotter", READ_ONLY, entry_points())
    point = "[memtui.stores]\n{0} = {0}:FORMAT\n"
    fresh.install("absent", "unrelated", "", point.format("absent"))
    fresh.install("faulty", "faulty", "1 / 0\n", point.format("faulty"))
    fresh.install("other", "other", "FORMAT = 3\n", point.format("other"))
    same = "from memtui.stores.ambient import FORMAT\n"
    fresh.install("taken", "taken", same, point.format("taken"))
    raising = READ_ONLY.replace('"jotter"', '"raising"').replace(
        "return path if", "return 1 // 0 if"
    )
    fresh.install("raising", "raising", raising, point.format("raising"))
    closed = (
        "from memtui.stores.format import Format\n"
        "def fail(*_): raise KeyError('no such thing')\n"
        "FORMAT = Format('closed', 'x', (), lambda p: p if p.name == 'shut' else None, fail)\n"
    )
    fresh.install("closed", "closed", closed, point.format("closed"))
    place, shut = jotter_at(tmp_path / "home" / ".jotter"), tmp_path / "shut"
    shut.mkdir()
    done = fresh.memtui("stores", "--store", place, "--store", shut)
    assert done.returncode == 3, done.stderr
    assert f"{'jotter':<18}  {'Jotter':<16}" in done.stdout
    for name, reason in (
        ("absent", "ModuleNotFoundError: No module named 'absent'"),
        ("faulty", "ZeroDivisionError: division by zero"),
        ("other", "TypeError: it is a int, not a memtui.stores.format.Format"),
        ("taken", "ValueError: there is a format called ambient already"),
    ):
        assert f"the format {name} of {name} 1.0 could not be loaded: {reason}" in done.stdout
    assert "it could not be opened: KeyError('no such thing')" in done.stdout
    assert len(fresh.answer("list", "--all", "--store", place)) == COUNT
