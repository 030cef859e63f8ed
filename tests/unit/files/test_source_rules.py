"""What must not stand in the source of the rooms that touch files (T24)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import memtui

ROOT = Path(memtui.__file__).parent
ROOMS = ("files", "journal", "stores")
MAY_WRITE = {
    "files/save.py",
    "files/exchange.py",
    "files/kept.py",  # copies, in the state folder
    "files/lock.py",  # lock files, in the state folder
    "files/editor.py",  # drafts, in the state folder
    "journal/database.py",  # the journal, in the state folder
    "journal/judgement.py",  # takes away what a killed save left
}
"""The modules that may open a file for writing; the others must save through them."""
WRITING = {"write_text", "write_bytes", "rmtree", "truncate"}
WRITING_CALLS = {"os.rename", "os.replace", "os.remove", "os.unlink", "shutil.move", "shutil.copy"}
BANNED_NAMES = {"pickle", "marshal", "shelve", "extractall", "splitlines", "eval", "exec"}


def calls() -> Iterator[tuple[str, ast.Call, str]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    yield name, node, ast.unparse(node.func)


def test_nothing_that_can_run_code_or_cut_lines_is_called() -> None:
    hits = [
        f"{name}:{node.lineno} {called}"
        for name, node, called in calls()
        if called.rpartition(".")[2] in BANNED_NAMES
        or called in {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system"}
        or any(word.arg == "shell" for word in node.keywords)
    ]
    assert "\n".join(hits) == ""


def test_files_are_written_in_the_save_modules_only() -> None:
    hits = []
    for name, node, called in calls():
        last = called.rpartition(".")[2]
        opens = last in {"open", "fdopen"} and called != "os.open"
        mode = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
        to_write = opens and any(set(str(m)) & set("wax+") for m in mode)
        flags = "O_WRONLY" in ast.unparse(node) or "O_CREAT" in ast.unparse(node)
        writes = last in WRITING or called in WRITING_CALLS
        if (to_write or writes or (called == "os.open" and flags)) and name not in MAY_WRITE:
            hits.append(f"{name}:{node.lineno} {called}")
    assert "\n".join(hits) == ""
