"""`embed` and `similar` as a person meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.own_folders import own_folders
from tests.printed_rows import printed_rows
from tests.unit.library.stores_for_tests import agent_memory
from tests.unit.search.carrier_for_tests import install

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
PROJECT = str(Path(__file__).parents[3])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    person = tmp_path / "person"
    person.mkdir()

    def call(
        *arguments: object, path: str = PROJECT, config: str = ""
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / "config").mkdir(exist_ok=True)
        (tmp_path / "config" / "config.toml").write_text(config)
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "HOME": str(person),
            **own_folders(tmp_path),
        }
        return subprocess.run(
            [sys.executable, "-m", "memtui", *map(str, arguments)],
            env=environment,
            cwd=person,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "memory", {"things": ["car in the harbour", "automobile", "bread", "login"]}
    )


def test_embed_then_search_and_similar_by_meaning(run: Run, home: Path, tmp_path: Path) -> None:
    path = os.pathsep.join((PROJECT, str(install(tmp_path / "site"))))
    done = run("embed", "--store", home, path=path)
    assert (done.returncode, done.stdout) == (0, "4 texts embedded, 4 in total\n"), done.stderr
    again = printed_rows(run("embed", "--store", home, "--json", path=path).stdout)
    assert again == [{"made": 0, "texts": 4, "model": "sif:tiny_256"}]
    found = run("search", "~automobile", "--store", home, "--json", "--explain", path=path)
    records = printed_rows(found.stdout)
    assert [record["content"] for record in records] == ["automobile", "car in the harbour"]
    assert records[0]["parts"] == {"meaning": records[0]["score"]}
    like = printed_rows(
        run("similar", records[0]["ref"], "--store", home, "--json", path=path).stdout
    )
    assert (like[0]["content"], like[0]["by"]) == ("car in the harbour", "vectors")


def test_switched_off_it_says_what_to_do(run: Run, home: Path) -> None:
    done = run("embed", "--store", home, config='[search.embedding]\nkind = "off"\n')
    assert done.returncode == 1
    assert 'pip install ".[semantic]"' in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_server_that_is_not_there_is_one_line(run: Run, home: Path) -> None:
    config = '[search.embedding]\nkind = "ollama"\nurl = "http://127.0.0.1:1"\nmodel = "m"\n'
    done = run("embed", "--store", home, config=config)
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert run("search", "car", "--store", home, config=config).returncode == 0


def test_similar_without_vectors_goes_by_words(run: Run, tmp_path: Path) -> None:
    home = agent_memory(
        tmp_path / "m", {"t": ["green tea from Uji", "tea of Uji", "coffee", "milk", "honey"]}
    )
    listed = printed_rows(run("search", "green", "--store", home, "--json").stdout)
    done = run("similar", listed[0]["ref"], "--store", home, "--limit", 1)
    assert "tea of Uji" in done.stdout
    assert len(done.stdout.splitlines()) == 1
