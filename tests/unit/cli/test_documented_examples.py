"""Every example of README.md and docs/, run as its page says."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml

from memtui import config, query
from memtui.cli.commands import COMMANDS
from memtui.cli.demo_story import copy_story
from memtui.cli.group import load_command
from memtui.config import session
from memtui.library import Library
from memtui.paths import bundled_folder
from memtui.stores import registry
from tests.forked import Forked
from tests.own_folders import own_folders
from tests.samples import NOW, SAMPLES, open_samples

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md"))))
SETTING = "docs/getting-started.md"
"""Has the block that makes the copy of the sample stores which the other pages use."""

NOT_RUN = {
    "pip install . && .venv/bin/memtui demo": "downloads, and opens the screen",
    '.venv/bin/pytest -n 3 -m "not slow"': "downloads, and runs this test",
}
"""How the blocks end that are not run, and why they are not."""


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def _blocks() -> Iterator[Block]:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page, line, match[1], match[2])


BLOCKS = tuple(_blocks())
OF_TEAM = [b for b in BLOCKS if b.language in ("ini", "sql") or "memtui team " in b.text]
"""These need a server: they are run by `tests/unit/team/test_set_up.py`."""
SHELL = [b for b in BLOCKS if b.language == "sh" and b not in OF_TEAM]
(COPY,) = (b for b in SHELL if b.page == SETTING and "MEMTUI_STORES" in b.text)
LEFT_OUT = [b for b in SHELL if b.text.strip().endswith(tuple(NOT_RUN))]
RUN = [b for b in SHELL if b not in LEFT_OUT and b is not COPY]
UNNAMED = [block for block in BLOCKS if not block.language]
USAGE = [block for block in UNNAMED if block.text.startswith("memtui ")]
QUERIES = [block for block in UNNAMED if block not in USAGE]
OF_DEMO = [block for block in QUERIES if block.page == "README.md"]
STORE_PAGE = "docs/adding-a-store.md"
"""Its code is run by `tests/unit/stores/test_adding_a_store.py`."""
YAML = [block for block in BLOCKS if block.language == "yaml"]
SETTINGS = [b for b in BLOCKS if b.language == "toml" and b.page != STORE_PAGE]


def test_every_block_is_checked() -> None:
    elsewhere = [*OF_TEAM, *(block for block in BLOCKS if block.page == STORE_PAGE)]
    shown = [block for block in BLOCKS if block.language == "text"]  # what a command prints
    checked = {*shown, *SHELL, *USAGE, *QUERIES, *SETTINGS, *YAML, *elsewhere}
    assert [str(block) for block in BLOCKS if block not in checked] == []
    assert len(LEFT_OUT) == 3
    assert len(RUN) > 3
    assert len(USAGE) > 40
    assert len(QUERIES) == 2


@pytest.mark.slow
@pytest.mark.parametrize("block", RUN, ids=str)
def test_commands_succeed_on_the_copy_of_the_sample_data(
    block: Block, tmp_path: Path, forked: Forked
) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    for folder in (checkout, home):
        folder.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MEMTUI_")},
        **own_folders(tmp_path),
        "HOME": str(home),
        "PATH": f"{forked.programs}:{os.environ['PATH']}",
    }
    copied = COPY.text.replace(" tests/data", f" {shlex.quote(str(SAMPLES))}")
    assert copied != COPY.text

    def run(script: str) -> None:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr}"

    run(copied)
    if "--since last" in block.text:  # the screen was open before
        seen = session.Session(seen="2026-11-20T00:00:00+00:00")
        session.update(tmp_path / "state", session.key_for(()), lambda _: seen)
    run(f"{COPY.text.splitlines()[-1]}\n{block.text}")


def _check_command(words: list[str]) -> None:
    """The command and the options of a usage line exist."""
    if not words or words[0].startswith(("[", "-")) or not words[0].islower():
        return
    assert words[0] in COMMANDS, words
    command = load_command(words[0])
    known = {"-h", "--help"} | {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    used = {name for word in words[1:] for name in re.findall(r"^\[?(--?[a-z][a-z-]*)", word)}
    assert used <= known, words


@pytest.mark.parametrize("block", USAGE, ids=str)
def test_a_usage_line_names_what_there_is(block: Block) -> None:
    for line in block.text.splitlines():
        for usage in re.split(r"  +", line)[0].removeprefix("memtui ").split(" | "):
            _check_command(usage.split())


@pytest.mark.parametrize("page", PAGES)
def test_a_command_within_the_text_exists(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    for command in re.findall(r"(?<!`)`memtui ([^`\n]+)`(?!`)", text):
        _check_command(command.split())


@pytest.mark.parametrize("block", YAML, ids=str)
def test_a_pipeline_runs_commands_that_exist_and_hooks_that_memtui_has(block: Block) -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    shown = yaml.safe_load(block.text)
    runs = [step["run"] for step in shown.get("steps", ()) if "run" in step]
    named = [hook["id"] for repo in shown.get("repos", ()) for hook in repo["hooks"]]
    assert runs or named
    assert set(named) <= hooks
    for line in runs:
        if line.startswith("memtui "):
            _check_command(line.split()[1:])


NAMED = re.compile(r"\b(?:docs|tests)/|\bmemtui [a-z]")
"""How the name of a page or a command begins."""


def _texts(module: Path) -> Iterator[str]:
    """The strings of a module that are not docstrings, if it may name anything."""
    source = module.read_text(encoding="utf-8")
    tree = ast.parse(source if NAMED.search(source) else "")
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and not isinstance(node, ast.Expr):
                yield child.value if isinstance(child.value, str) else ""


@pytest.mark.slow
def test_what_the_program_says_names_what_an_installation_has() -> None:
    """The help named a page that only a checkout has."""
    commands = 0
    for module in (ROOT / "memtui").rglob("*.py"):
        for text in _texts(module):
            for page in re.findall(r"\b(?:docs|tests)/[\w/-]+", text):
                raise AssertionError(f"{module}: {page} is not installed")
            for command in re.findall(r"\bmemtui ([a-z-]+(?: --[a-z-]+)*)(?=[ `,.;)]|$)", text):
                if command.split()[0] in COMMANDS or f"`memtui {command}" in text:
                    _check_command(command.split())
                    commands += 1
    assert commands > 20


@pytest.mark.parametrize("block", SETTINGS, ids=str)
def test_settings_are_read_without_a_fault(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block.text, encoding="utf-8")
    loaded = config.load(file)
    assert loaded.problems == ()


def test_the_code_of_the_page_about_formats_is_what_its_tests_run() -> None:
    for block in (block for block in BLOCKS if block.page == STORE_PAGE):
        if block.language == "json":
            assert json.loads(block.text)
            continue
        named = re.match(r"# (\S+)\n", block.text)
        assert named is not None, block
        assert named[1] in ("jotter.py", "test_jotter.py", "pocket.py", "pyproject.toml"), block
        if block.language == "toml":
            assert tomllib.loads(block.text)


# The search page; its tables are checked by tests/unit/search/test_query_page.py


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return open_samples(tmp_path_factory.mktemp("samples") / "samples")


def _search_page(heading: str) -> str:
    text = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


SHOWN = {
    'no "carilon"; showing "carillon"': "carilon",
    "3 more with status:all (superseded, deleted)": "carilon",
}
"""What the page shows of the line under a search -> the search."""
NO_QUERIES = ("memtui search", "o", "--json", "score", "passage")
FOUND = [
    example
    for line in _search_page("What is found").splitlines()
    for example in re.findall(r"`([^`]+)`", line)
    if example not in SHOWN and example not in NO_QUERIES
]


def test_the_search_page_has_its_examples() -> None:
    assert len(FOUND) >= 15


@pytest.mark.parametrize("line", [*(b.text.strip() for b in QUERIES if b not in OF_DEMO), *FOUND])
def test_an_example_of_a_search_finds_something(demo: Library, line: str) -> None:
    parsed = query.parse_query(line, NOW)
    assert not parsed.problems
    assert demo.find(parsed).total > 0


@pytest.mark.slow
@pytest.mark.parametrize("block", OF_DEMO, ids=str)
def test_a_search_of_the_readme_finds_something_in_the_demo(block: Block, tmp_path: Path) -> None:
    copy_story(bundled_folder("sample-data"), tmp_path / "laptop", NOW)
    roots = [root for _, root in registry.detect_within(tmp_path / "laptop")]
    library = Library.open(roots, cache=None, now=lambda: NOW)
    library.load()
    library.index()
    parsed = query.parse_query(block.text.strip(), NOW)
    assert not parsed.problems
    assert library.find(parsed).total > 0


@pytest.mark.parametrize(("said", "line"), SHOWN.items())
def test_the_line_under_a_search_is_as_shown(demo: Library, said: str, line: str) -> None:
    found = demo.find(query.parse_query(line, NOW))
    assert said in (found.hint, *(hidden.advice for hidden in found.hidden))
