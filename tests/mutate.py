"""Mutation testing: change one small thing in the source and see whether a test notices.

    python -m tests.mutate --area files --count 200 [--seed 1] [--jobs 2] [--at files/merging.py:40]

The tests of the area run once under coverage, which says which of them execute each line (also in
processes that they start). Each mutant is then written into a copy of the repository, where the
tests of its lines run until one fails. Survivors are listed as differences. Needs the extra
`mutate`. Takes a few seconds a mutant; not part of the gate.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]

AREAS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "files": (
        ["files"],
        [
            "tests/unit/files",
            "tests/unit/trust/test_fuzz.py",
            "tests/unit/trust/test_hostile_repositories.py",
            "tests/unit/library/test_git_history.py",
            "tests/unit/library/test_source_line.py",
            "tests/unit/stores/test_sidecar.py",
            "tests/unit/stores/mcp_memory/test_graph.py",
            "tests/unit/stores/markdown_folder/test_commits.py",
            "tests/unit/bundle/test_export_files.py",
            "tests/unit/cli/test_editor.py",
        ],
    ),
    "journal": (
        ["journal"],
        [
            "tests/unit/journal",
            "tests/unit/library/test_history.py",
            "tests/unit/library/test_reverted_edits.py",
            "tests/unit/library/test_undo_moved.py",
            "tests/unit/files/test_save_transaction.py",
            "-m not slow",
        ],
    ),
    "stores": (
        ["stores"],
        [
            "tests/unit/stores",
            "tests/conformance",
            "tests/unit/bundle",
            "tests/unit/context/test_accesses.py",
            "tests/unit/context/test_sessions.py",
            "tests/unit/library/test_reverted_edits.py",
        ],
    ),
    "bundle": (
        ["bundle"],
        [
            *("tests/unit/bundle", "tests/unit/cli/test_transfer.py"),
            *("tests/unit/stores/engram/test_transfer.py", "tests/unit/files/test_staging.py"),
        ],
    ),
    "query": (
        ["query"],
        ["tests/unit/model", "tests/unit/search", "tests/unit/trust/test_fuzz.py"],
    ),
}
"""Area -> packages below `memtui`, and the arguments of pytest for the tests that ought to notice a
fault in them."""

TESTS_ARE_NOT = "tests/unit/files/test_mutants.py"
"""Runs mutants of its own, each in a copy of the source."""
LEFT_OUT = {".git", ".venv", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache"}
SECONDS = 60.0
"""A mutant's tests may take this long and five times as long as without it; then it is killed."""

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


@dataclass(frozen=True)
class Mutant:
    """A part of a module, replaced. Columns are those of `ast`: bytes of UTF-8, from 0."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    lines: tuple[int, int]
    """First and last line of the statement: a test that runs none of them cannot notice."""

    def applied(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        offsets = [0]
        for line in lines:
            offsets.append(offsets[-1] + len(line))
        first = offsets[self.start[0] - 1] + self.start[1]
        last = offsets[self.end[0] - 1] + self.end[1]
        data = source.encode()
        return (data[:first] + self.text.encode() + data[last:]).decode()


# ---- mutants of a module ---------------------------------------------------------------------


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, one operator or statement each."""

    def of(node: ast.AST, text: str) -> Mutant:
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Mutant(path, start, end, text, lines)

    for statement in _statements(ast.parse(source)):
        lines = (statement.lineno, _last_line(statement))
        if isinstance(statement, ast.Expr | ast.AugAssign | ast.Continue | ast.Break | ast.Raise):
            yield of(statement, "pass")
        if isinstance(statement, ast.Return) and not _is_none(statement.value):
            yield of(statement, "return None")
        for node in _expressions(statement):
            text = _replacement(node)
            if text is not None:
                yield of(node, text)


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Statements inside functions, without docstrings, annotations alone and imports."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    seen = set()
    for function in functions:
        if any("overload" in ast.unparse(item) for item in function.decorator_list):
            continue
        for node in ast.walk(function):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            passed = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.Assert | ast.Nonlocal
            if isinstance(node, ast.stmt) and node is not function and id(node) not in seen:
                seen.add(id(node))
                if not is_text and not isinstance(node, passed):
                    yield node


def _last_line(statement: ast.stmt) -> int:
    """That of its head, for a statement with a body."""
    body = getattr(statement, "body", None)
    return body[0].lineno - 1 if body else statement.end_lineno or statement.lineno


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Expressions of the statement itself, not of statements inside it, and no annotations."""
    waiting: list[ast.AST] = [
        child
        for name, value in ast.iter_fields(statement)
        if name not in {"annotation", "returns", "type_comment", "decorator_list"}
        for child in (value if isinstance(value, list) else [value])
        if isinstance(child, ast.expr | ast.withitem | ast.match_case)
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.JoinedStr):
            waiting += [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.stmt)]


def _replacement(node: ast.expr) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"{_text(left)} {COMPARISONS[type(op)]} {_text(right)}"
        case ast.BoolOp(op=op, values=values):
            return (" or " if isinstance(op, ast.And) else " and ").join(map(_text, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _text(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return f"{_text(left)} {OPERATORS[type(op)]} {_text(right)}"
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int(value)):
            return str(value + 1)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({_text(orelse)} if {_text(test)} else {_text(body)})"
    return None


def _text(node: ast.expr) -> str:
    simple = ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript
    text = ast.unparse(node)
    return text if isinstance(node, simple) else f"({text})"


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


# ---- which tests run a line ------------------------------------------------------------------

PLUGIN = """
import coverage, pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    return (yield)
"""
"""Coverage of this process by test; processes that a test starts take its name from pytest."""

SETTINGS = """
[run]
source = memtui
parallel = true
context = ${PYTEST_CURRENT_TEST-}
disable_warnings = no-data-collected
patch = subprocess
    _exit
data_file = %s
"""


@dataclass(frozen=True)
class Coverage:
    """Which tests execute a line, and how many seconds each test takes."""

    tests: Mapping[tuple[str, int], frozenset[str]]
    seconds: Mapping[str, float]

    def running(self, mutant: Mutant) -> list[str]:
        """The tests that execute its statement, the quick ones first."""
        lines = range(mutant.lines[0], mutant.lines[1] + 1)
        tests = set().union(*(self.tests.get((mutant.path, n), frozenset()) for n in lines))
        return sorted(tests & self.seconds.keys(), key=lambda test: self.seconds[test])


def measure(copy: Path, tests: Sequence[str], jobs: int) -> Coverage:
    """Run the tests of an area once, under coverage."""
    data = copy / ".measured" / "coverage"
    data.parent.mkdir()
    (copy / "coverage.ini").write_text(SETTINGS % data)
    (copy / "mutation_coverage.py").write_text(PLUGIN)
    report = copy / "junit.xml"
    command = [sys.executable, "-m", "coverage", "run", "--rcfile=coverage.ini", "-m", "pytest"]
    command += ["-p", "mutation_coverage", f"-n{jobs}", f"--junitxml={report}", *tests]
    command += ["-o", "junit_family=xunit1", f"--ignore={TESTS_ARE_NOT}"]
    finished = subprocess.run(command, cwd=copy, env=_environment(copy), stdout=subprocess.PIPE)
    if finished.returncode:
        sys.stdout.buffer.write(finished.stdout[-4000:])
        raise SystemExit("the tests fail without a mutant")
    combine = [sys.executable, "-m", "coverage", "combine", "--rcfile=coverage.ini", "--quiet"]
    subprocess.run(combine, cwd=copy, check=True, env=_environment(copy))
    return Coverage(_contexts(data, copy), _durations(report))


def _contexts(data: Path, copy: Path) -> Mapping[tuple[str, int], frozenset[str]]:
    from coverage.numbits import numbits_to_nums

    found: dict[tuple[str, int], set[str]] = {}
    with closing(sqlite3.connect(data)) as database:
        rows = database.execute(
            "SELECT f.path, c.context, b.numbits FROM line_bits b"
            " JOIN file f ON f.id = b.file_id JOIN context c ON c.id = b.context_id"
        )
        for path, context, bits in rows:
            test = context.rpartition(" (")[0] if context.endswith(")") else context
            name = Path(path).resolve().relative_to(copy.resolve() / "memtui").as_posix()
            for number in numbits_to_nums(bits):
                found.setdefault((name, number), set()).add(test.partition("|")[0])
    return {place: frozenset(tests) for place, tests in found.items()}


def _durations(report: Path) -> Mapping[str, float]:
    from xml.etree import ElementTree

    return {
        f"{case.get('file')}::{case.get('name')}": float(case.get("time") or 0)
        for case in ElementTree.parse(report).iter("testcase")
    }


# ---- running ---------------------------------------------------------------------------------


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy)}


def copy_repository(folder: Path) -> Path:
    """Copy what the tests need into a folder of its own."""
    target = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(ROOT, target, dirs_exist_ok=True, ignore=lambda _, names: LEFT_OUT & {*names})
    return target


def survives(mutant: Mutant, copy: Path, coverage: Coverage, number: int) -> bool:
    """Whether no test that executes the mutant fails."""
    tests = coverage.running(mutant)
    path = copy / "memtui" / mutant.path
    source = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(source), encoding="utf-8")
    # Compiled modules are known by size and seconds: each mutant has a second of its own.
    os.utime(path, (time.time(), 1_000_000_000 + number))
    try:
        return not tests or _pass(
            tests, copy, SECONDS + 5 * sum(coverage.seconds[t] for t in tests)
        )
    finally:
        path.write_text(source, encoding="utf-8")


def _pass(tests: Sequence[str], copy: Path, seconds: float) -> bool:
    names = copy / "tests_to_run"
    names.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", f"@{names}"]
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=_environment(copy),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def show(mutant: Mutant, is_run: bool) -> str:
    source = (ROOT / "memtui" / mutant.path).read_text(encoding="utf-8")
    before, after = source.splitlines(), mutant.applied(source).splitlines()
    changed = list(unified_diff(before, after, n=0, lineterm=""))[3:]
    place = f"memtui/{mutant.path}:{mutant.start[0]}" + ("" if is_run else " (no test runs it)")
    return "\n".join([place, *(f"    {line}" for line in changed)])


def choose(packages: Sequence[str], place: str, count: int, seed: int) -> list[Mutant]:
    """A random choice of mutants, or all of one line or module.

    Args:
        packages: Folders below `memtui`.
        place: `module.py` or `module.py:line` below `memtui`, or empty.
        count: How many at most.
        seed: Of the choice.
    """
    module, _, line = place.partition(":")
    paths = sorted(path for name in packages for path in (ROOT / "memtui" / name).rglob("*.py"))
    found = [
        mutant
        for path in paths
        for mutant in mutants_of(
            path.relative_to(ROOT / "memtui").as_posix(), path.read_text(encoding="utf-8")
        )
        if mutant.path.endswith(module) and (not line or mutant.start[0] == int(line))
    ]
    return random.Random(seed).sample(found, min(count, len(found)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    parser.add_argument("--area", choices=sorted(AREAS), required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--at", default="", help="mutants of this module, or module:line, only")
    asked = parser.parse_args()
    packages, tests = AREAS[asked.area]
    mutants = choose(packages, asked.at, asked.count, asked.seed)
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="memtui-mutate-") as folder:
        coverage = measure(copy_repository(Path(folder)), tests, asked.jobs)
        copies: Queue[Path] = Queue()
        for _ in range(asked.jobs):
            copies.put(copy_repository(Path(folder)))

        def examine(number: int) -> bool:
            copy = copies.get()
            try:
                return survives(mutants[number], copy, coverage, number)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(asked.jobs) as pool:
            for mutant, survived in zip(
                mutants, pool.map(examine, range(len(mutants))), strict=True
            ):
                if survived:
                    survivors += 1
                    print(show(mutant, bool(coverage.running(mutant))), flush=True)
    print(f"{asked.area}: {len(mutants) - survivors} of {len(mutants)} mutants noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
