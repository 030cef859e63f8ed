"""A Postgres server for the tests of one process, and a team's database on it for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from memtui.changes import Act, Change, Edit, Plan
from memtui.files.save_hooks import NullRecorder
from memtui.model import Memory
from memtui.team.store import TeamStore
from tests.postgres import EMPTY, MISSING, Server, find_programs, prepare

PEOPLE = (
    ("anna", "core", "memtui_writer"),
    ("bert", "core", "memtui_writer"),
    ("rita", "core", "memtui_reader"),
    ("otto", "other", "memtui_writer"),
)
"""Name, team and role."""
_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if find_programs() is None:
        pytest.fail(MISSING, pytrace=False)
    started = Server()
    try:
        prepare(started, PEOPLE)
        yield started
    finally:
        started.close()


class Team:
    """A database with the schema, and the stores of its people."""

    def __init__(self, server: Server, database: str) -> None:
        self.server, self.database = server, database
        self.opened: list[TeamStore] = []

    def service(self, person: str = "anna", host: str = "") -> str:
        """The name of a new service by which this person connects."""
        name = f"{person}-{next(_numbers)}"
        return self.server.add_service(name, self.database, person, host)

    def open(self, person: str = "anna", host: str = "") -> TeamStore:
        store = TeamStore(Path(f"postgres:{self.service(person, host)}"), "team")
        self.opened.append(store)
        return store

    def execute(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements as the superuser."""
        return self.server.execute(self.database, *statements)


@pytest.fixture
def team(server: Server) -> Iterator[Team]:
    name = f"team{next(_numbers)}"
    server.execute("postgres", f"create database {name} template {EMPTY}")
    made = Team(server, name)
    yield made
    for store in made.opened:
        store.close()
    server.execute("postgres", f"drop database {name} with (force)")


class View:
    """What is stored now, as the library would look it up."""

    def __init__(self, store: TeamStore) -> None:
        self._store = store

    def get(self, ref: str) -> Memory:
        (memory,) = self._store.get([ref])
        return memory

    def memories(self, store: str) -> Sequence[Memory]:
        return ()


Do = Callable[..., Plan]


def do(store: TeamStore, act: Act, ref: str = "", **fields: object) -> Plan:
    """Plan a change and write it."""
    plan = store.plan(Change(act, store.label, ref, fields), View(store))
    apply(store, plan.edits)
    return plan


def apply(store: TeamStore, edits: Sequence[Edit]) -> None:
    store.apply(edits, NullRecorder(Path("/nonexistent")))


def add(store: TeamStore, content: str, **fields: object) -> str:
    """Add a memory; returns its ref."""
    return do(store, Act.ADD, content=content, **fields).refs[0]
