"""memtui run for a test in a process of its own, forked from one that has imported memtui already.

To start Python and to import costs most of a short command. What is forked runs the same code from
`main()` on, with its own arguments, folder, environment and streams, and is gone afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]


class Forked:
    """The process that is forked from; started with the first command."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.stdin:
            self._process.stdin.close()
            self._process.wait()

    def run(
        self, arguments: Sequence[object], environment: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run `memtui ARGUMENTS` there, with nothing on standard input."""
        process = self._started()
        assert process.stdin
        assert process.stdout
        words = [str(argument) for argument in arguments]
        with NamedTemporaryFile("r+") as out, NamedTemporaryFile("r+") as errors:
            asked = [words, dict(environment), str(folder), [out.name, errors.name]]
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            code = int(process.stdout.readline())
            texts = [out.read(), errors.read()]
        return subprocess.CompletedProcess(["memtui", *words], code, *texts)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process


def _become(words: list[str], environment: dict[str, str], folder: str, streams: list[str]) -> int:
    """In the child: be the command; returns its exit code."""
    for number, path in enumerate([os.devnull, *streams]):
        os.dup2(os.open(path, os.O_RDWR), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["memtui", *words]
    from memtui.__main__ import main

    return main()


def _serve() -> None:
    from memtui.cli import (  # noqa: F401
        change_commands,
        group,
        journal_commands,
        read_commands,
        store_commands,
        transfer_commands,
    )
    from memtui.library import Library  # noqa: F401
    from memtui.search import matching, whoosh_index  # noqa: F401

    for line in iter(sys.stdin.readline, ""):
        asked: list[Any] = json.loads(line)
        child = os.fork()
        if not child:
            code = 70  # no command ends with it
            try:
                code = _become(*asked)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
