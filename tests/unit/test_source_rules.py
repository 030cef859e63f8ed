"""What must not stand in the source (T24)."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import memtui
from tests.source_trees import parse_sources, walk_sources

PACKAGE = Path(memtui.__file__).parent

MAY_WRITE = {
    "child_processes.py",  # the weight of its session, in /proc
    "files/atomic_replace.py",
    "files/backups.py",  # copies, in the state folder
    "files/locking.py",  # lock files, in the state folder
    "files/drafts.py",  # what a person is writing, in the state folder
    "journal/database.py",  # the journal, in the state folder
    "journal/recovery.py",  # takes away what a killed save left
    "paths.py",  # `write_private`: memtui's own small files
    "cli/store_commands.py",  # the temporary folder of the demo
    "bundle/exporting.py",  # a line of CSV in memory
    "bundle/restoring.py",  # a store that an import makes where there was none
    "files/staging.py",  # a file that a person names; a folder, put in its place or thrown away
    "stores/ambient/backup.py",  # a temporary folder of its own
    "library/former_versions.py",  # the same
    "search/cache_files.py",  # from here on: the cache
    "search/catalog.py",
    "search/segment_files.py",
    "search/vectors.py",
    "search/whoosh_index.py",
}
"""The modules that may open a file for writing; the others must save through them."""
MAY_CUT_LINES = {
    "bundle/bundle_reader.py",  # lines of ASCII that are JSON each
    "config/loading.py",  # what tomli-w has just written
}
MAY_UNPICKLE = {"search/whoosh_format.py"}
"""Its unpickler knows three classes (see `memtui.search.whoosh_format`)."""
MAY_COMPILE = {"dataclass.py"}
"""`__init__` from the names of fields, as the standard library does."""
WRITING = {"write_text", "write_bytes", "rmtree", "truncate"}
WRITING_CALLS = {"os.rename", "os.replace", "os.remove", "os.unlink", "shutil.move", "shutil.copy"}
BANNED_NAMES = {"pickle", "marshal", "shelve", "extractall", "splitlines", "eval", "exec"}


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    for name, node in nodes():
        if isinstance(node, ast.Call):
            yield name, node, ast.unparse(node.func)


@cache
def nodes() -> Sequence[tuple[str, ast.AST]]:
    """Imports and calls; nothing else is looked at."""
    looked_at = ast.Import | ast.ImportFrom | ast.Call
    return [
        (name, node)
        for name, found in walk_sources().items()
        for node in found
        if isinstance(node, looked_at)
    ]


@pytest.mark.slow
def test_what_can_run_a_forged_file_is_not_even_imported() -> None:
    hits = []
    for name, node in nodes():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.partition(".")[0] for alias in node.names}
            names.add((getattr(node, "module", "") or "").partition(".")[0])
            hits += [f"{name}:{node.lineno}"] if names & {"pickle", "marshal", "shelve"} else []
    assert {hit.partition(":")[0] for hit in hits} <= MAY_UNPICKLE, hits


def test_nothing_that_can_run_code_or_cut_lines_is_called() -> None:
    hits = [
        f"{name}:{node.lineno} {called}"
        for name, node, called in calls()
        if (called.rpartition(".")[2] in BANNED_NAMES and not may_call(name, called))
        or called in {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system"}
        or any(word.arg == "shell" for word in node.keywords)
    ]
    assert "\n".join(hits) == ""


def may_call(name: str, called: str) -> bool:
    cuts = called.endswith("splitlines") and name in MAY_CUT_LINES
    return cuts or (called == "exec" and name in MAY_COMPILE)


def test_files_are_written_in_the_save_modules_only() -> None:
    hits = []
    for name, node, called in calls():
        last = called.rpartition(".")[2]
        opens = last in {"open", "fdopen"} and called != "os.open"
        mode = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
        to_write = opens and any(set(str(m)) & set("wax+") for m in mode)
        writes = last in WRITING or called in WRITING_CALLS or opens_to_write(called, node)
        may_write = name in MAY_WRITE or name.startswith("testing/")  # tests that stores import
        if (to_write or writes) and not may_write:
            hits.append(f"{name}:{node.lineno} {called}")
    assert "\n".join(hits) == ""


def opens_to_write(called: str, node: ast.Call) -> bool:
    arguments = ast.unparse(node) if called == "os.open" else ""
    return any(f in arguments for f in ("O_WRONLY", "O_CREAT")) and "os.devnull" not in arguments


MAX_LINES = 400
MAX_MODULES = 8
IN_A_DATABASE = {"engram"}
"""Formats that are no files; their packages are larger."""
MESSAGES = {"Moved", "Opened", "Changed", "Chosen", "Accepted"}
"""Classes inside widgets, named by their widget: `ReviewList.Moved`."""


def test_no_module_is_long() -> None:
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_a_format_of_files_has_few_modules() -> None:
    counts = Counter(
        path.parent.name
        for path in (PACKAGE / "stores").glob("*/*.py")
        if path.name != "__init__.py" and path.parent.name not in IN_A_DATABASE
    )
    assert len(counts) > 9
    assert {name: count for name, count in counts.items() if count > MAX_MODULES} == {}


def test_the_name_of_a_class_is_unique() -> None:
    names = Counter(
        node.name
        for found in walk_sources().values()
        for node in found
        if isinstance(node, ast.ClassDef) and node.name not in MESSAGES
    )
    assert [name for name, count in names.items() if count > 1] == []


FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
SAYS_NOTHING = {"said", "told", "asked", "kept", "held", "gone", "seen", "given", "mine"}
SAYS_NOTHING |= {"stood", "here", "there", "wanted"}
"""Names of locals and parameters that do not say what the value is."""


def test_a_local_name_says_what_the_value_is() -> None:
    hits, inner = set(), set()
    for path, found in walk_sources().items():
        for function in found:
            if isinstance(function, FUNCTION) and function not in inner:
                for node in ast.walk(function):
                    if isinstance(node, FUNCTION):
                        inner.add(node)  # and need not be walked again
                    is_new = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                    name = node.id if is_new else getattr(node, "arg", "")
                    if name in SAYS_NOTHING and isinstance(node, ast.Name | ast.arg):
                        hits.add(f"{path}:{node.lineno} {name}")
    assert hits == set()


INTERFACES = (
    "stores/base.py",
    "library/library.py",
    "library/reader.py",
    "query/",
    "changes.py",
    "model.py",
    "bundle/",
    "search/",
)
"""Modules whose public functions say what they take, give and raise."""
DEFINED_ELSEWHERE = {"self", "cls", "report", "cancelled"}
"""Parameters that mean the same everywhere; the last two are those of `memtui.progress`."""
SAYS_THE_RESULT = re.compile(
    r"(Return|Yield|Whether|As|The|All|Every|Each|How|Names? of)\b|[\w ]+->"
)
"""First words of a summary that is about the result, so that no `Returns:` need follow."""


def interface_functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in parse_sources().items():
        if path.startswith(INTERFACES):
            for scope in (tree, *tree.body):
                private = isinstance(scope, ast.ClassDef) and scope.name.startswith("_")
                if isinstance(scope, ast.Module | ast.ClassDef) and not private:
                    for node in scope.body:
                        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
                            yield f"{path}:{node.lineno} {node.name}", node


def unsaid(function: ast.FunctionDef) -> list[str]:
    """What the docstring of a public function leaves out."""
    if any("overload" in ast.unparse(item) for item in function.decorator_list):
        return []
    text = ast.get_docstring(function) or ""
    is_property = any(ast.unparse(item) == "property" for item in function.decorator_list)
    listed = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [item.arg for item in listed if item.arg not in DEFINED_ELSEWHERE]
    found = [] if text or is_property else ["a docstring"]
    if len(names) > 1:
        named = set(re.findall(r"`(\w+)`", text))
        for line in re.findall(r"^ +([\w, ]+):", text.partition("Args:")[2], re.MULTILINE):
            named.update(line.split(", "))
        found += [name for name in names if name not in named]
    nothing = ("None", "NoReturn")
    gives = function.returns is not None and ast.unparse(function.returns) not in nothing
    if (
        gives
        and not is_property
        and not SAYS_THE_RESULT.match(text)
        and not re.search(r"\b[Rr]eturns?\b", text)
    ):
        found.append("Returns")
    raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc]
    errors = {ast.unparse(e.func if isinstance(e, ast.Call) else e) for e in raised}
    return found + [
        e for e in errors if e[0].isupper() and not hasattr(builtins, e) and e not in text
    ]


def test_an_interface_says_what_it_takes_gives_and_raises() -> None:
    functions = list(interface_functions())
    assert len(functions) > 100
    left_out = {name: found for name, node in functions if (found := unsaid(node))}
    assert left_out == {}


def test_what_a_docstring_leaves_out_is_found() -> None:
    source = 'def plan(a: int, b: int) -> int:\n    """Plan `a`."""\n    raise Refused("")'
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert unsaid(function) == ["b", "Returns", "Refused"]
