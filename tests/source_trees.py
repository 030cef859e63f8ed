"""The source of memtui, parsed once for all tests that hold rules about it."""

from __future__ import annotations

import ast
import gc
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import memtui

PACKAGE = Path(memtui.__file__).parent


@cache
def parse_sources() -> Mapping[str, ast.Module]:
    """Path below the package -> its tree. Nobody may change one."""
    trees = {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    gc.freeze()  # a million objects that stay: no later collection need look at them
    return trees


@cache
def walk_sources() -> Mapping[str, Sequence[ast.AST]]:
    """Path below the package -> all nodes of its tree, the outer ones first."""
    return {path: list(ast.walk(tree)) for path, tree in parse_sources().items()}
