"""No code outside `memtui/stores/` knows a format by name; docstrings and comments may.

`memtui/sessions/` has the programs' transcripts, which are no formats of stores.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from tests.formats import EVERY_FORMAT
from tests.source_trees import PACKAGE

NAMES = re.compile(
    "|".join(re.escape(form) for n in EVERY_FORMAT for form in {n.name, n.name.replace("-", "_")})
    + "|Simple Memory|gptme",
    re.IGNORECASE,
)
WORDS_OF_THE_SCREEN = {"workspace"}
"""Also a plain English word, so it counts only as a whole name."""
OF_CARGO = {"files/project_index.py"}
"""Cargo.toml has a table `workspace`."""
INSTRUCTIONS = re.compile(r"[A-Z]+\.md")
"""Files that people write for agents have the names of programs too."""
EXAMPLES = {
    "config/settings.py",
    "context/recipes.py",
    "mcp/reading.py",
    "tui/dialogs/everywhere.py",
    "upkeep/proposals.py",
}
"""Show what a person or an agent may type, as an example; cite the document that a rule comes
from."""
OF_PROGRAMS = {
    "cli/demo_story.py",
    "cli/mcp_commands.py",
    "mcp/client_configs.py",
    "paths.py",
    "team/mem0.py",
    "upkeep/checks.py",
    "upkeep/planted_text.py",
}
"""Name programs and no formats: whose sessions the demo has, in whose settings a line is pasted,
how an address on a server begins, whose table is asked there, whom a planted sentence addresses."""


def _code(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every name and every text of the code, but for docstrings."""
    docs = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.alias):
            yield node.lineno, node.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


@cache
def _named(text: str) -> str:
    """The format that this text names, as it stands there."""
    found = None if INSTRUCTIONS.fullmatch(text) else NAMES.search(text)
    return found[0] if found else ""


@pytest.mark.slow
def test_no_format_is_named_outside_the_stores() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("stores/", "sessions/")):
            continue
        if name in EXAMPLES | OF_CARGO | OF_PROGRAMS:
            continue
        source = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(source))] if NAMES.search(source) else []
        for line, text in _code(nodes):
            named = _named(text)
            if named and (named.lower() not in WORDS_OF_THE_SCREEN or text == named):
                found.append(f"{name}:{line}: {text!r}")
    assert found == []
