"""The commands of a team's memory in docs/stores.md, run on an empty database."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.cli.main import run
from memtui.team.store import TeamStore
from tests.postgres import Server
from tests.team_fixtures import add, do

PAGE = (Path(__file__).parents[3] / "docs" / "stores.md").read_text()
PAGE = PAGE[PAGE.index("## A team's memory") :]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"MEMTUI_{name}", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run(list(arguments))


def block(language: str, number: int = 0) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [line for line in found[number].split("\n") if line]


def test_the_set_up_of_the_page_is_three_commands_that_work(
    server: Server, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    server.execute("postgres", "create database documented")
    server.add_service("our-memory", "documented", "postgres")
    install, init, begin = block("sh")
    assert install.split("  ")[0] == "pip install '.[team]'"
    assert call(*init.split()[1:]) == 0
    assert begin == "memtui postgres:our-memory"
    assert call("list", *begin.split()[1:]) == 0
    people = "\n".join(block("sql")).replace("anna", "emma")  # the other tests have an anna
    server.execute("documented", "drop role if exists emma", people)
    server.add_service("emmas-memory", "documented", "emma")
    store = TeamStore(Path("postgres:emmas-memory"), "our-memory")
    ref = add(store, "We deploy on Fridays")
    do(store, Act.EDIT, ref, content="We deploy on Mondays")
    store.close()
    capsys.readouterr()
    log, undo = block("sh", 1)
    assert call(*log.split()[1:], "--json") == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert change["who"] == "emma"
    assert call(*undo.split()[1:-1], str(change["number"])) == 0
    assert "+content: We deploy on Fridays" in capsys.readouterr().out
    store = TeamStore(Path("postgres:emmas-memory"), "our-memory")
    assert store.get([ref])[0].content == "We deploy on Fridays"
    store.close()
    assert call("list", "postgres:emmas-memory") == 0
    assert "We deploy on Fridays" in capsys.readouterr().out
    assert call("list", "postgres://emma:geheim@host/our-memory") == 1
    assert "geheim" not in "".join(capsys.readouterr())
    assert call("team", "undo", "our-memory", "99999") == 1
    assert call("team", "log") == 1


def test_init_prints_the_sql_without_touching_anything(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("team", "init") == 0
    assert "enable row level security" in capsys.readouterr().out
    assert call("team", "init", "--one-team") == 0
    printed = capsys.readouterr().out
    assert "create table if not exists memtui.versions" in printed
    assert "row level security" not in printed


@pytest.mark.slow
def test_without_psycopg_only_a_team_s_memory_is_missing() -> None:
    code = (
        "import sys\n"
        "sys.modules['psycopg'] = None\n"
        "import memtui.cli.main, memtui.cli.team_commands, memtui.library\n"
        "from pathlib import Path\n"
        "from memtui.errors import StoreError\n"
        "from memtui.stores import registry\n"
        "try:\n"
        "    registry.format_of('team').open(Path('postgres:x'), 'x')\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install ".[team]" in a checkout of memtui' in done.stdout
