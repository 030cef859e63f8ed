"""What must not stand in the source (T24)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from tests.source_trees import walk_sources

MAY_WRITE = {
    "child_processes.py",  # the weight of its session, in /proc
    "files/atomic_replace.py",
    "files/backups.py",  # copies, in the state folder
    "files/locking.py",  # lock files, in the state folder
    "files/drafts.py",  # what a person is writing, in the state folder
    "files/text_history.py",  # the history of texts, in the state folder
    "journal/database.py",  # the journal, in the state folder
    "journal/recovery.py",  # takes away what a killed save left
    "paths.py",  # `write_private`: memtui's own small files
    "cli/demo_story.py",  # the copy of the sample data
    "cli/store_commands.py",  # the temporary folder of the demo
    "bundle/exporting.py",  # a line of CSV in memory
    "bundle/restoring.py",  # a store that an import makes where there was none
    "files/permissions.py",  # asks whether a file may be written, and writes nothing
    "files/git_repository.py",  # a temporary folder of its own
    "files/staging.py",  # a file that a person names; a folder, put in its place or thrown away
    "stores/ambient/backup.py",  # a temporary folder of its own
    "library/former_versions.py",  # the same
    "search/cache_files.py",  # from here on: the cache
    "search/index/memory_index.py",
    "search/saved_rows.py",
    "search/index/session_index.py",
    "search/vectors.py",
}
"""The modules that may open a file for writing; the others must save through them."""
MAY_CUT_LINES = {
    "bundle/bundle_reader.py",  # lines of ASCII that are JSON each
    "config/loading.py",  # what tomli-w has just written
}
MAY_UNPICKLE = {"search/index/segments.py", "search/index/whoosh_patches.py"}
"""Its unpickler knows a few classes of an index."""
MAY_RUN = {
    "serve/server.py",
    "tui/__init__.py",  # memtui itself, on another store
    "child_processes.py",  # memtui itself, for slow work
    "search/row_filters.py",  # Python, for a regular expression that may take for ever
    "files/git_repository.py",  # git
    "files/drafts.py",  # the editor
    "tui/terminal.py",  # editor, pager, clipboard, file manager, browser
}
"""The modules that start programs; SECURITY.md names these programs."""
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


@pytest.mark.slow
def test_programs_are_started_by_these_modules_only() -> None:
    starts = re.compile(
        r"subprocess\.(run|Popen|call|check_\w+|get\w*output)|webbrowser\.\w+|pty\.\w+"
        r"|os\.(exec\w*|spawn\w*|posix_spawn\w*|popen|fork\w*|startfile)|click\.(launch|edit|echo_via_pager)"
    )
    found = {name for name, _, called in calls() if starts.fullmatch(called)}
    assert {name for name in found if not name.startswith("testing/")} == MAY_RUN


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_no_group_is_repeated_possessively() -> None:
    """`(?:...)*+` matches too much before Python 3.11.5 (gh-106052); `x*+` is right everywhere."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")
    hits = [
        f"{name}:{node.lineno} {node.value}"
        for name, found in walk_sources().items()
        for node in found
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and possessive.search(node.value)
    ]
    assert "\n".join(hits) == ""
