"""Mutation testing: change one small thing in the source and see whether a test notices.

    python -m tests.mutate --area files --count 200 [--seed 1] [--jobs 2] [--at files/merging.py:40]

The tests of the area run once under coverage, which says which of them execute each line (also in
processes that they start); `.mutate` keeps that for as long as a test file and what it tests stay
as they are. Each mutant is then written into a copy of the repository, where the tests of its lines
run until one fails twice. Every mutant is listed: survivors as differences, the others with the
test that failed. A time limit is listed as such, for it may only mean that the machine was busy.
Needs the extra `mutate`. Takes a few seconds a mutant; not part of the gate.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
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
            "tests/unit/context",
            "tests/unit/cli/test_review_commands.py",
            "tests/unit/cli/test_status.py",
            "tests/unit/cli/test_transfer.py",
            "tests/unit/library/test_links_between_formats.py",
            "tests/unit/library/test_reverted_edits.py",
            "tests/unit/library/test_store_links.py",
            "tests/unit/library/test_store_names.py",
            "tests/unit/upkeep/test_accept_and_undo.py",
            "tests/unit/upkeep/test_precision.py",
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
    "planning": (
        ["library/planning.py"],
        [
            "tests/conformance",
            "tests/tui/test_changing_values.py",
            "tests/tui/test_editing_several.py",
            "tests/unit/bundle/test_import_plan.py",
            "tests/unit/cli/test_deciding.py",
            "tests/unit/cli/test_masked_output.py",
            "tests/unit/library/test_large_changes.py",
            "tests/unit/library/test_library.py",
            "tests/unit/library/test_links_between_formats.py",
            "tests/unit/library/test_reverted_edits.py",
            "tests/unit/library/test_store_links.py",
            "tests/unit/mcp/test_tools.py",
            "tests/unit/stores/engram/test_sidecar_and_rows.py",
            "tests/unit/stores/engram/test_written_refs.py",
            "tests/unit/stores/test_batch_view.py",
            "tests/unit/stores/test_merged_references.py",
        ],
    ),
}
"""Area -> packages and modules below `memtui`, and the arguments of pytest for the tests that ought
to notice a fault in them."""

MEASURED = ROOT / ".mutate"
"""What is known of each test file, by a hash of it and of all that it may import."""
LEFT_OUT = {".git", ".venv", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache", ".mutate"}
SECONDS = 300.0
"""A mutant's tests may take this long and ten times as long as without it; then they are ended."""
TIME_LIMIT = "a time limit"

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
        """The tests that execute its statement, the quick ones first.

        If none is known, all that execute its module: processes that were killed tell nothing.
        """
        lines = range(mutant.lines[0], mutant.lines[1] + 1)
        tests = set().union(*(self.tests.get((mutant.path, n), frozenset()) for n in lines))
        if not tests:
            tests = set().union(*(v for (path, _), v in self.tests.items() if path == mutant.path))
        return sorted(tests & self.seconds.keys(), key=lambda test: self.seconds[test])


def measure(tests: Sequence[str], folder: Path, jobs: int) -> Coverage:
    """What is known of the tests of an area; those that have changed run once, under coverage."""
    options = [text for text in tests if text.startswith("-")]
    paths = [ROOT / text for text in tests if not text.startswith("-")]
    files = {
        file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    }
    names = {file.relative_to(ROOT).as_posix() for file in files}
    state = _state(options)
    known = {
        name: MEASURED
        / hashlib.sha256(state + name.encode() + (ROOT / name).read_bytes()).hexdigest()
        for name in sorted(names)
    }
    for _ in range(2):
        unknown = [name for name, path in known.items() if not path.exists()]
        if unknown:
            print(f"measuring {len(unknown)} of {len(known)} test files", flush=True)
            _measure_files(copy_repository(folder), unknown, options, known, jobs)
    if unknown := [name for name, path in known.items() if not path.exists()]:
        raise SystemExit(f"these fail without a mutant: {' '.join(unknown)}")
    found: dict[tuple[str, int], set[str]] = {}
    seconds: dict[str, float] = {}
    for path in known.values():
        of_file = json.loads(path.read_text())
        seconds |= of_file["seconds"]
        for test, modules in of_file["lines"].items():
            for module, numbers in modules.items():
                for number in numbers:
                    found.setdefault((module, number), set()).add(test)
    return Coverage({place: frozenset(tests) for place, tests in found.items()}, seconds)


def _state(options: Sequence[str]) -> bytes:
    """A hash of all that a test file may import or read."""
    state = hashlib.sha256(repr(options).encode())
    for path in sorted(file for name in ("memtui", "tests") for file in (ROOT / name).rglob("*")):
        is_test = path.name.startswith("test_") or "__pycache__" in path.parts
        if path.is_file() and not is_test and path != Path(__file__):
            state.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return state.digest()


def _measure_files(
    copy: Path, names: Sequence[str], options: Sequence[str], known: Mapping[str, Path], jobs: int
) -> None:
    """Run test files under coverage and keep what is known of those that pass."""
    from xml.etree import ElementTree

    data = copy / ".measured" / "coverage"
    data.parent.mkdir()
    (copy / "coverage.ini").write_text(SETTINGS % data)
    (copy / "mutation_coverage.py").write_text(PLUGIN)
    report = copy / "junit.xml"
    command = [sys.executable, "-m", "coverage", "run", "--rcfile=coverage.ini", "-m", "pytest"]
    command += ["-p", "mutation_coverage", f"-n{jobs if jobs > 1 else 0}", f"--junitxml={report}"]
    command += ["-o", "junit_family=xunit1", *options, *names]
    finished = subprocess.run(command, cwd=copy, env=_environment(copy), stdout=subprocess.PIPE)
    if finished.returncode:
        sys.stdout.buffer.write(finished.stdout[-4000:])
    combine = [sys.executable, "-m", "coverage", "combine", "--rcfile=coverage.ini", "--quiet"]
    subprocess.run(combine, cwd=copy, check=True, env=_environment(copy), stderr=subprocess.DEVNULL)
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {
        case.get("file")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    if finished.returncode and not failed:
        raise SystemExit("the tests cannot run")
    lines = _contexts(data, copy)
    MEASURED.mkdir(exist_ok=True)
    for name in set(names) - failed:
        seconds = {
            f"{name}::{case.get('name')}": float(case.get("time") or 0)
            for case in cases
            if case.get("file") == name
        }
        of_tests = {test: lines[test] for test in seconds.keys() & lines.keys()}
        known[name].write_text(json.dumps({"seconds": seconds, "lines": of_tests}))


def _contexts(data: Path, copy: Path) -> Mapping[str, Mapping[str, list[int]]]:
    """The lines that each test executes, by module."""
    from coverage.numbits import numbits_to_nums

    found: dict[str, dict[str, set[int]]] = {}
    with closing(sqlite3.connect(data)) as database:
        rows = database.execute(
            "SELECT f.path, c.context, b.numbits FROM line_bits b"
            " JOIN file f ON f.id = b.file_id JOIN context c ON c.id = b.context_id"
        )
        for path, context, bits in rows:
            test = context.rpartition(" (")[0] if context.endswith(")") else context
            name = Path(path).resolve().relative_to(copy.resolve() / "memtui").as_posix()
            modules = found.setdefault(test.partition("|")[0], {})
            modules.setdefault(name, set()).update(numbits_to_nums(bits))
    return {
        test: {name: sorted(numbers) for name, numbers in modules.items()}
        for test, modules in found.items()
    }


# ---- running ---------------------------------------------------------------------------------


def _environment(copy: Path) -> dict[str, str]:
    own = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy), "PYTEST_TIMEOUT": "100"}
    return {**os.environ, **own}


def copy_repository(folder: Path) -> Path:
    """Copy what the tests need into a folder of its own."""
    target = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(ROOT, target, dirs_exist_ok=True, ignore=lambda _, names: LEFT_OUT & {*names})
    return target


def noticed_by(mutant: Mutant, copy: Path, coverage: Coverage, number: int) -> str | None:
    """The test that fails with the mutant, each time; None if those that execute it pass."""
    tests = coverage.running(mutant)
    path = copy / "memtui" / mutant.path
    source = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(source), encoding="utf-8")
    # Compiled modules are known by size and seconds: each mutant has a second of its own.
    os.utime(path, (time.time(), 1_000_000_000 + number))
    try:
        while tests:
            failed = _failing(tests, copy, coverage)
            if failed is None or failed not in tests or _failing([failed], copy, coverage):
                return failed
            tests = tests[tests.index(failed) + 1 :]
        return None
    finally:
        path.write_text(source, encoding="utf-8")


def _failing(tests: Sequence[str], copy: Path, coverage: Coverage) -> str | None:
    """The first test that fails, or what else has ended the run without success."""
    names = copy / "tests_to_run"
    names.write_text("\n".join(tests))
    output = copy / "output"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", "-rfE", f"@{names}"]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env=_environment(copy),
            stdout=file,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        code = process.wait(SECONDS + 10 * sum(coverage.seconds[test] for test in tests))
    except subprocess.TimeoutExpired:
        return TIME_LIMIT
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code == 0:
        return None
    found = re.search(
        r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output.read_text(errors="replace"), re.M
    )
    return found[1] if found else f"pytest ended with {code}"


def show(mutant: Mutant) -> str:
    source = (ROOT / "memtui" / mutant.path).read_text(encoding="utf-8")
    before, after = source.splitlines(), mutant.applied(source).splitlines()
    changed = list(unified_diff(before, after, n=0, lineterm=""))[3:]
    return "\n".join(
        [f"memtui/{mutant.path}:{mutant.start[0]}", *(f"    {line}" for line in changed)]
    )


def choose(packages: Sequence[str], place: str, count: int, seed: int) -> list[Mutant]:
    """A random choice of mutants, or all of one line or module.

    Args:
        packages: Folders and modules below `memtui`.
        place: `module.py` or `module.py:line` below `memtui`, or empty.
        count: How many at most.
        seed: Of the choice.
    """
    module, _, line = place.partition(":")
    named = [ROOT / "memtui" / name for name in packages]
    paths = sorted(path for at in named for path in (at.rglob("*.py") if at.is_dir() else [at]))
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
    parser.add_argument("--tests", nargs="+", help="these arguments of pytest, not the area's")
    asked = parser.parse_args()
    packages, tests = AREAS[asked.area]
    mutants = choose(packages, asked.at, asked.count, asked.seed)
    survivors = limits = 0
    with tempfile.TemporaryDirectory(prefix="memtui-mutate-") as folder:
        coverage = measure(asked.tests or tests, Path(folder), asked.jobs)
        copies: Queue[Path] = Queue()
        for _ in range(asked.jobs):
            copies.put(copy_repository(Path(folder)))

        def examine(number: int) -> str | None:
            copy = copies.get()
            try:
                return noticed_by(mutants[number], copy, coverage, number)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(asked.jobs) as pool:
            for mutant, test in zip(mutants, pool.map(examine, range(len(mutants))), strict=True):
                survivors += test is None
                limits += test == TIME_LIMIT
                if test is None:
                    print(show(mutant), flush=True)
                else:
                    print(f"memtui/{mutant.path}:{mutant.start[0]} noticed by {test}", flush=True)
    noticed = f"{len(mutants) - survivors} of {len(mutants)} mutants noticed"
    print(f"{asked.area}, seed {asked.seed}: {noticed}, {limits} of them by a time limit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
