"""No circle between modules, and no import upward (import-linter holds the layers)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePath

import pytest

from tests.source_trees import parse_sources

FOR_TYPES_ONLY = frozenset(
    {
        "memtui.stores.file_store",
        *(
            f"memtui.stores.{name}.store"
            for name in ("agent_memory", "ambient", "claude_code", "simple_memory")
        ),
        "memtui.tui.screens.browse",
    }
)
"""What is below them may name them for type checkers, where a protocol would be worse."""


def _modules() -> dict[str, ast.Module]:
    names = {}
    for path, tree in parse_sources().items():
        parts = ("memtui", *PurePath(path).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = tree
    return names


def _imports(node: ast.AST, *, types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement below, those inside functions too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        if isinstance(child, ast.expr):
            continue  # no import in it
        for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if types or not for_types:
            yield from _imports(child, types=types)


def _graph(modules: dict[str, ast.Module], *, types: bool) -> dict[str, set[str]]:
    """Module -> the modules it imports, at run time or, with `types`, for type checkers too."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for name, tree in modules.items():
        for found in _imports(tree, types=types):
            if isinstance(found, ast.Import):
                targets = [alias.name for alias in found.names]
            else:
                source = found.module or ""
                targets = [f"{source}.{alias.name}" for alias in found.names]
                targets = [target if target in modules else source for target in targets]
            if name.startswith("memtui.stores.") and found.col_offset:
                # The declaration of a format loads its own parts on first use.
                targets = [target for target in targets if not target.startswith(f"{name}.")]
            graph[name].update(t for t in targets if t in modules and t != name)
    return graph


def _circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.slow
def test_no_circle_at_run_time() -> None:
    modules = _modules()
    assert len(modules) > 200
    assert _circle(_graph(modules, types=False)) == []


@pytest.mark.slow
def test_no_circle_for_type_checkers_either() -> None:
    graph = _graph(_modules(), types=True)
    at_run_time = _graph(_modules(), types=False)
    for name in graph:
        graph[name] -= FOR_TYPES_ONLY - at_run_time[name]
    assert _circle(graph) == []


def test_a_circle_would_be_found() -> None:
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
