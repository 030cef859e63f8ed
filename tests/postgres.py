"""A PostgreSQL server of its own for tests and benches: in a temporary folder, on a socket there.

It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import psycopg

MISSING = (
    "these tests need the server programs of PostgreSQL 14 or later:"
    " apt-get install postgresql, or put its bin folder into PATH"
)
# Ends the server when the pipe of its standard input is closed, which happens whenever its owner
# ends.
_WATCHED = '"$@" & trap "" INT TERM; read -r _; kill -INT $!; wait'
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "max_wal_size": "4GB",
}


def find_programs() -> Path | None:
    """The folder of `initdb` and `postgres`, that of PATH first; None where there is no server."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: -_version(path)
    )
    named = shutil.which("initdb")
    programs = [*([Path(os.path.realpath(named))] if named else []), *found]
    return programs[0].parent if programs else None


def _version(path: Path) -> int:
    name = path.parts[-3]
    return int(name) if name.isdecimal() else 0


class Server:
    """A running server; its superuser is `postgres`, and its socket asks for no password."""

    def __init__(self, folder: Path | None = None, **settings: str) -> None:
        programs = find_programs()
        if programs is None:
            raise FileNotFoundError(MISSING)
        self.is_kept = folder is not None
        shared = Path("/dev/shm")
        self.folder = folder or Path(
            tempfile.mkdtemp(prefix="pg-", dir=shared if shared.is_dir() else None)
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._programs, self._settings = programs, {**_SETTINGS, **settings}
        self._user: str | None = None
        if os.getuid() == 0:  # which the server refuses
            names = {entry.pw_name for entry in pwd.getpwall()}
            self._user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(self.folder, self._user)
        self.data = self.folder / "data"
        self.services = self.folder / "services.conf"
        if not self.data.exists():
            self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "--no-sync",
                      "--encoding=UTF8", "--locale=C.UTF-8")  # fmt: skip
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            capture_output=True, text=True, user=self._user, cwd=self.folder, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", _WATCHED, "sh", str(self._programs / "postgres"),
                 "-D", str(self.data), "-k", str(self.folder), *options],
                stdin=subprocess.PIPE, stdout=log, stderr=log, user=self._user, cwd=self.folder,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop at once, as a crash of the machine would look from outside."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait(60)

    def close(self) -> None:
        self.stop()
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, database: str, user: str = "postgres") -> psycopg.Connection:
        where = f"host={self.folder} dbname={database} user={user}"
        return psycopg.connect(where, autocommit=True)

    def execute(self, database: str, *statements: str) -> list[tuple[object, ...]]:
        """Run statements as the superuser; returns the rows of the last one."""
        with self.connect(database) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def add_service(self, name: str, database: str, user: str, host: str = "") -> str:
        """Name a database and a user in the service file; returns the name."""
        with open(self.services, "a") as file:
            file.write(f"[{name}]\nhost={host or self.folder}\ndbname={database}\nuser={user}\n")
        os.environ["PGSERVICEFILE"] = str(self.services)
        return name


def read_schema(*, one_team: bool = False) -> str:
    """What `memtui team init` runs."""
    names = ["schema.sql"] if one_team else ["schema.sql", "row_security.sql"]
    return "".join((files("memtui.team") / name).read_text() for name in names)


EMPTY = "memtui_empty"
"""The database that others are copied from."""


def prepare(server: Server, people: Sequence[tuple[str, str, str]] = ()) -> None:
    """Make the empty database, and people: name, team, role."""
    server.execute("postgres", f"create database {EMPTY}")
    server.execute(EMPTY, read_schema())
    for name, team, role in people:
        server.execute(
            EMPTY,
            f"create role {name} login in role {role}",
            f"insert into memtui.members values ('{team}', '{name}')",
        )


if __name__ == "__main__":  # python -m tests.postgres FOLDER: a server to try things with
    started = Server(Path(sys.argv[1]).resolve())
    print(f"host={started.folder}; ends with enter")
    sys.stdin.readline()
    started.close()
