"""docs/architecture.md names packages, modules and functions that exist."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import memtui

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\| `([\w/]+)\.py` \| (`[^|]+`) \|", PAGE, re.MULTILINE)


def test_every_package_is_in_the_table() -> None:
    table = PAGE.partition("## The packages")[2].partition("## Two walks")[0]
    named = {
        word
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", row)
    }
    folder = Path(memtui.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__", "toml_file"}
    assert named == packages | modules


@pytest.mark.parametrize(("module", "functions"), STEPS)
def test_every_step_of_the_walks_exists(module: str, functions: str) -> None:
    found = import_module("memtui." + module.replace("/", "."))
    for name in re.findall(r"`([\w.]+)`", functions):
        attrgetter(name)(found)


def test_the_walks_have_steps() -> None:
    assert len(STEPS) > 30
