"""memtui run for a test in a process of its own, forked from one that has imported memtui already.

To start Python and to import costs most of a short command. What is forked runs the same code from
`main()` on, with its own arguments, folder, environment and streams, and is gone afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[1]
CRASHED = 70
"""Exit code of what ends without one: no command ends with it."""
ASK = f"""\
import json, os, socket, sys
asked = [sys.argv[1:], dict(os.environ), os.getcwd()]
with socket.socket(socket.AF_UNIX) as server:
    server.connect(__ADDRESS__)
    socket.send_fds(server, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
    code = server.makefile().read()
sys.exit(int(code or {CRASHED}))
"""
"""What stands in the place of `memtui`: it hands its streams over, and waits."""


class Forked:
    """The process that is forked from; started with the first command."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memtui-")  # a socket's path is short
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Forked:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._folder.cleanup()

    @property
    def programs(self) -> Path:
        """A folder for PATH, with a program `memtui` in it."""
        folder = Path(self._folder.name)
        if self._process is None:
            address, program = folder / "socket", folder / "memtui"
            asking = ASK.replace("__ADDRESS__", repr(str(address)))
            program.write_text(f"#!{sys.executable} -IS\n{asking}")
            program.chmod(0o755)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(address))
                listening.listen()
                number = listening.fileno()
                command = [sys.executable, "-m", "tests.forked", str(number)]
                pipe = subprocess.PIPE  # as most streams of a command, it has no position
                self._process = subprocess.Popen(
                    command, cwd=ROOT, pass_fds=[number], stdin=pipe, stdout=pipe, stderr=pipe
                )
        return folder

    def run(
        self, arguments: Sequence[object], environment: Mapping[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run `memtui ARGUMENTS` there, with nothing on standard input."""
        return subprocess.run(
            [self.programs / "memtui", *map(str, arguments)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def _become(asking: socket.socket) -> int:
    """In the child: be the command; returns its exit code."""
    data, streams, *_ = socket.recv_fds(asking, 1 << 16, 3)
    while not data.endswith(b"\n"):
        data += asking.recv(1 << 16)
    words, environment, folder = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["memtui", *words]
    from memtui.__main__ import main

    return main()


def _serve(listening: socket.socket) -> None:
    from memtui.cli import (  # noqa: F401
        change_commands,
        group,
        journal_commands,
        read_commands,
        store_commands,
        transfer_commands,
    )
    from memtui.library import Library  # noqa: F401
    from memtui.search import matching  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        asking, _ = listening.accept()
        with asking:
            if os.fork():
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = CRASHED
            try:
                code = _become(asking)
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                asking.send(str(code).encode())
                os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
