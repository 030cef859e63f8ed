"""A team's memory at millions of rows: `python -m tests.bench.team --rows 5000000`.

Each line is a question as the screen asks it, in milliseconds, beside the time of its bare
statement on the same connection. The folder is kept, so that a second run measures only.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import psycopg
from msgspec.structs import replace

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.library.reader import LibraryReader
from memtui.query import Query, Sort, parse_query
from memtui.team.compiler import Sql
from memtui.team.store import TeamStore
from tests.postgres import Server, prepare, read_schema
from tests.team_fixtures import PEOPLE, do
from tests.team_memories import BEGIN, SECONDS, copy_memories, generate

DATABASE = "bench"
NOW = BEGIN + timedelta(seconds=SECONDS)
PROCESSES = 2
SETTINGS = {
    "shared_buffers": "3GB",
    "work_mem": "64MB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "16GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


GENERATED = 1_000_000
"""Memories that are generated one by one; the rest are these with another id, time and hash."""


def load(server: Server, rows: int) -> None:
    """Make the database, if it is not there."""
    if server.execute("postgres", "select 1 from pg_database where datname = 'bench'"):
        server.execute(DATABASE, read_schema())
        return
    if not server.execute("postgres", "select 1 from pg_database where datname = 'memtui_empty'"):
        prepare(server, PEOPLE)
    server.execute("postgres", "create database loading template memtui_empty")
    names = ("newest", "important", "changed", "words", "text")
    server.execute("loading", *(f"drop index memtui.memories_{name}" for name in names))
    share = min(rows, GENERATED) // PROCESSES
    command = [sys.executable, "-m", "tests.bench.team", "--load", str(server.folder), str(share)]
    with timed(f"COPY of {share * PROCESSES:,} generated memories"):
        workers = [subprocess.Popen([*command, str(number)]) for number in range(PROCESSES)]
        if any(worker.wait() for worker in workers):
            raise RuntimeError("loading failed")
    multiply(server, rows)
    make_indexes(server)


@contextmanager
def timed(name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)


def multiply(server: Server, rows: int) -> None:
    for number in range(1, rows // GENERATED):
        digest = f"substr(md5(m.id || '{number}'), 1, 7)"
        moved = f"make_interval(secs => {SECONDS} * random())"
        columns = {
            "id": f"m.id || '{number}'",
            "content": f"m.content || ' ' || {digest}",
            "words": f"m.words || to_tsvector('simple', {digest})",
            "created": f"'{BEGIN:%F}'::timestamptz + {moved}",
            "updated": f"'{BEGIN:%F}'::timestamptz + {moved}",
        }
        same = ("team", "kind", "type", "title", "entity", "importance", "status", "pinned",
                "confidence", "tags", "source", "author", "extra")  # fmt: skip
        with timed(f"the next {GENERATED:,}"):
            server.execute(
                "loading",
                "set session_replication_role = replica",
                f"insert into memtui.memories ({', '.join([*columns, *same])})"
                f" select {', '.join([*columns.values(), *same])} from memtui.memories m"
                " where length(m.id) = 8",
            )


def make_indexes(server: Server) -> None:
    for statement in read_schema().split(";\n"):
        if "create index if not exists memories" in statement:
            with timed(statement.partition("exists ")[2].split()[0]):
                server.execute("loading", statement)
    with timed("vacuum analyze"):
        server.execute("loading", read_schema(), "vacuum analyze memtui.memories")
    server.execute("postgres", "alter database loading rename to bench")


def load_share(folder: str, rows: int, number: int) -> None:
    where = f"host={folder} dbname=loading user=postgres"
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")  # no triggers
        for first in range(0, rows, 100_000):
            count = min(100_000, rows - first)
            at = number * rows + first
            copy_memories(connection, generate(count, seed=at, first=at))


class Measured:
    """The times of one kind of question."""

    def __init__(self, store: TeamStore, bare: psycopg.Connection, times: int) -> None:
        self._store, self._bare, self._times = store, bare, times

    def line(
        self,
        name: str,
        ask: Callable[[Query], object],
        lines: Iterable[str],
        statements: Callable[[Query], Sequence[Sql]] | None = None,
        *,
        typing: bool = False,
    ) -> None:
        asked: list[float] = []
        bare: list[float] = []
        failed = 0
        for text, _ in zip(lines, range(self._times + 1), strict=False):
            query = parse_query(text, NOW, typing=typing)
            began = time.perf_counter()
            try:
                ask(query)
            except MemtuiError:
                failed += 1
            asked.append(time.perf_counter() - began)
            if statements is not None:
                began = time.perf_counter()
                try:
                    for each in statements(query):
                        self._bare.execute(each.text, each.values).fetchall()
                except psycopg.Error:
                    failed += 1
                bare.append(time.perf_counter() - began)
        show(name, asked[1:], bare[1:], failed)


def show(name: str, asked: Sequence[float], bare: Sequence[float] = (), failed: int = 0) -> None:
    own = f"{1000 * median(bare):8.1f} {1000 * percentile(bare):8.1f}" if bare else " " * 17
    failures = f"  {failed} stopped" if failed else ""
    print(f"{name:52} {1000 * median(asked):8.1f} {1000 * percentile(asked):8.1f}  {own}{failures}",
          flush=True)  # fmt: skip


def percentile(values: Sequence[float]) -> float:
    """The 95th percentile; of 20 the second highest."""
    ordered = sorted(values)
    return ordered[max(0, round(len(ordered) * 0.95) - 1)]


class Vocabulary:
    """Words of the table by how many memories have them, from the planner's statistics."""

    def __init__(self, server: Server, chance: random.Random, rows: int) -> None:
        frequent = server.execute(
            DATABASE,
            "select w, f from pg_stats, unnest(most_common_elems::text::text[],"
            " most_common_elem_freqs) as t(w, f)"
            " where tablename = 'memories' and attname = 'words' and w ~ '^[a-z]{4,}$'"
            " order by f desc",
        )
        words = [str(word) for word, _ in frequent]
        self._chance = chance
        self.very_common, self.common = words[:20], words[20:200]
        self.middling = words[200:2_000]
        share = min(100.0, 200_000 / max(1, rows))
        self.rare = [
            str(word)
            for (word,) in server.execute(
                DATABASE,
                "select substring(content from '[a-z]+_[a-z]+[.]py') from memtui.memories"
                f" tablesample bernoulli ({share}) where content ~ '_[a-z]+[.]py' limit 200",
            )
            if word
        ]
        self.entities = [
            str(name)
            for (name,) in server.execute(
                DATABASE, "select entity from memtui.memories order by id limit 300"
            )
        ]
        self.hashes = [
            str(word)
            for (word,) in server.execute(
                DATABASE,
                "select substring(content from '\\m[0-9a-f]{7}\\M') from memtui.memories"
                f" tablesample bernoulli ({share}) where content ~ '\\m[0-9a-f]{7}\\M' limit 200",
            )
            if word
        ]

    def some(self, words: Sequence[str], letters: int = 99, before: str = "") -> Iterator[str]:
        while True:
            word = self._chance.choice(words)
            if letters == 99 or len(word) >= letters:
                yield f"{before}{word[:letters]}"

    def pairs(self, letters: int, words: Sequence[str] | None = None) -> Iterator[str]:
        first, second = self.some(self.common), self.some(words or self.common, letters)
        for one, other in zip(first, second, strict=False):
            yield f"{one} {other}"


def measure(server: Server, rows: int, times: int) -> None:
    chance = random.Random(3)
    service = server.add_service("bench", DATABASE, "anna")
    store = TeamStore(Path(f"postgres:{service}"), "team")
    words = Vocabulary(server, chance, rows)
    store.count(parse_query("", NOW), 1)
    with psycopg.connect(f"service={service}", autocommit=True, prepare_threshold=None) as bare:
        bare.execute("set jit = off; set plan_cache_mode = force_custom_plan")
        bare.execute("set statement_timeout = 20000")
        print(f"\n{rows:,} memories; p50 and p95 of {times}, in ms{'bare statement':>46}")
        on = Measured(store, bare, times)
        measure_pages(on, store, words, chance)
        measure_counts(on, store, words, chance)
        measure_keystrokes(on, store, words)
    measure_changes(server, store, times)
    store.close()


def always() -> Iterator[str]:
    return iter(lambda: "", None)


def newest(query: Query) -> Query:
    return replace(query, sort=Sort.NEW)


def measure_pages(on: Measured, store: TeamStore, words: Vocabulary, chance: random.Random) -> None:
    def connect(query: Query) -> None:
        fresh = TeamStore(store.root, "team")
        fresh.find(query, None, 50)
        fresh.close()

    def page(query: Query) -> object:
        return store.find(newest(query), None, 50)

    def sql(query: Query) -> Sequence[Sql]:
        return [store._page(newest(query), None, 50, False)]

    after = store.find(newest(parse_query("", NOW)), None, 50).positions[-1]

    def following(query: Query) -> object:
        return store.find(newest(query), after, 50)

    def jump(query: Query) -> object:
        time = BEGIN + timedelta(seconds=chance.random() * SECONDS)
        return store.find(newest(query), store.position_at(newest(query), time), 50)

    def important(query: Query) -> object:
        return store.find(replace(query, sort=Sort.IMPORTANCE), None, 50)

    on.line("first page after connecting", connect, always())
    on.line("newest 50", page, always(), sql)
    on.line("next page by key", following, always(),
            lambda query: [store._page(newest(query), after, 50, False)])  # fmt: skip
    on.line("last page, from the end", lambda q: store.find(q, None, 50, backwards=True), always())
    on.line("jump by time", jump, always())
    on.line("by importance, first page", important, always())
    types = [f"type:{name}" for name in ("decision", "policy", "todo", "bugfix")]
    on.line("filter type", page, words.some(types), sql)
    on.line("filter entity", page, words.some(words.entities, before="entity:"), sql)
    heads = [name.partition("/")[0] for name in words.entities]
    on.line("filter subtree", page, words.some(heads, before="entity:"), sql)
    for letters in (1, 2, 3, 4, 6):
        some = words.some(words.common, letters)
        on.line(f"a word being typed, {letters} letters", page, some, sql, typing=True)
    on.line("rare word", page, words.some(words.rare), sql)
    on.line("one hash", page, words.some(words.hashes), sql)
    on.line("no hit", page, nothing(), sql)
    on.line("two words, last 4 letters", page, words.pairs(4), sql, typing=True)
    on.line("two words, last 2 letters", page, words.pairs(2), sql, typing=True)
    both = (f"({pair.replace(' ', ' AND ')})" for pair in words.pairs(99, words.rare))
    on.line("common AND rare word", page, both, sql)
    both = (f"({pair.replace(' ', ' AND ')})" for pair in words.pairs(99))
    on.line("common AND common word", page, both, sql)
    some = (f"{text} type:decision importance:high" for text in words.some(words.common, 4))
    on.line("4 letters, type, importance", page, some, sql, typing=True)
    some = (f"{text} entity:ban" for text in words.some(words.common, 3))
    on.line("3 letters, entity", page, some, sql, typing=True)
    on.line(
        "phrase of common words", page, words.some(['"of the"', '"the memory"', '"is not"']), sql
    )
    on.line("excluded word", page, words.some(words.common, before="-"), sql)
    for letters in (5, 3):
        some = words.some(words.middling, letters, "content:")
        on.line(f"substring, {letters} letters", page, some, sql)
    some = (f"/{word[:5]}[a-z]+ (the|of)/" for word in words.some(words.middling))
    on.line("regex with a literal part", page, some, sql)


def measure_counts(
    on: Measured, store: TeamStore, words: Vocabulary, chance: random.Random
) -> None:
    def sql(query: Query) -> Sequence[Sql]:
        return [*store._facets(query).values()]

    kinds = {"rare": words.rare, "middling": words.middling, "very common": words.very_common}
    for name, some in kinds.items():
        on.line(f"best of the newest 5,000, {name} word", store.candidates, words.some(some))
    four = (" ".join(chance.sample(words.common, 4)) for _ in always())
    on.line("best of the newest 5,000, 4 words", store.candidates, four)
    on.line("count up to 1,000, very common word", lambda query: store.count(query, 1_000),
            words.some(words.very_common), lambda query: [store._count(query, 1_000)])  # fmt: skip
    on.line("facets of the whole table", store.facets, always(), sql)
    for name, some in kinds.items():
        on.line(f"facets, {name} word", store.facets, words.some(some), sql)
    on.line("months of the whole table", lambda query: store.buckets(query, "month"), always())


def measure_keystrokes(on: Measured, store: TeamStore, words: Vocabulary) -> None:
    def whole(query: Query) -> object:
        return store.answer(newest(query), 50, 1_000)

    def sql(query: Query) -> Sequence[Sql]:
        asked = newest(query)
        return [store._page(asked, None, 50, False), store._count(asked, 1_000)]

    library = LibraryReader([store])
    library.load()
    for letters in (1, 2, 3, 4, 6):
        some = words.some(words.common, letters)
        on.line(f"whole keystroke, {letters} letters", whole, some, sql, typing=True)
        on.line(f"the same by relevance, {letters} letters", library.find, some, typing=True)
    on.line("whole keystroke, rare word", whole, words.some(words.rare), sql)
    on.line("whole keystroke, two words, last 2 letters", whole, words.pairs(2), sql, typing=True)
    for letters in (2, 4):
        some = words.pairs(letters)
        on.line(f"by relevance, 2 words, last {letters}", library.find, some, typing=True)
    on.line("whole keystroke, no hit", whole, nothing(), sql)


def nothing() -> Iterator[str]:
    return (f"zzq{number}xyzzy" for number in range(9_999))


def measure_changes(server: Server, store: TeamStore, times: int) -> None:
    service = server.add_service("bench-bert", DATABASE, "bert")
    other = TeamStore(Path(f"postgres:{service}"), "team")
    other.wait_for_change(0)
    edited, seen = [], []
    for number, memory in enumerate(store.find(parse_query("", NOW), None, times).memories):
        mark = other.changed_since("").mark
        waiting = threading.Thread(target=other.wait_for_change, args=(5,))
        waiting.start()
        time.sleep(0.01)
        began = time.perf_counter()
        do(store, Act.EDIT, memory.ref, content=f"{memory.content} {number}")
        edited.append(time.perf_counter() - began)
        waiting.join()
        assert memory.ref in other.changed_since(mark).refs
        seen.append(time.perf_counter() - began)
    show("edit, with its plan", edited)
    show("another's edit seen", seen)
    cancelled: list[float] = []

    def sleep() -> None:
        try:
            store.connection.ask(Sql("select pg_sleep(4)"))
        except MemtuiError:
            cancelled.append(time.perf_counter() - began)

    for _ in range(times):
        asking = threading.Thread(target=sleep)
        asking.start()
        time.sleep(0.05)
        began = time.perf_counter()
        store.cancel()
        asking.join()
    show("cancelling a running statement", cancelled)
    other.close()


def measure_memory(server: Server, rows: int) -> None:
    """What a process that asks holds, over 1,000 memories and over all."""
    if not server.execute("postgres", "select 1 from pg_database where datname = 'small'"):
        server.execute("postgres", "create database small template memtui_empty")
        with server.connect("small") as connection:
            copy_memories(connection, generate(1_000))
            connection.execute("vacuum analyze memtui.memories")
    for name, size in (("small", 1_000), (DATABASE, rows)):
        service = server.add_service(f"memory-{name}", name, "anna")
        command = [sys.executable, "-m", "tests.bench.team", "--memory", service]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"a process after 100 letters, over {size:,} memories: {done.stdout.strip()}")


def print_memory(service: str) -> None:
    store = TeamStore(Path(f"postgres:{service}"), "team")
    for number in range(100):
        query = parse_query("memory"[: 1 + number % 6], NOW, typing=True)
        store.answer(newest(query), 50, 1_000)
        page = store.find(newest(query), None, 50)
        store.find(newest(query), page.positions[-1] if page.positions else None, 50)
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.split("\n") if line.startswith("VmHWM"))
    print(f"{int(peak.split()[1]) / 1024:.0f} MiB")


def sizes(server: Server) -> None:
    rows = server.execute(
        DATABASE,
        "select relname, pg_relation_size(oid) / 1048576 from pg_class"
        " where relname like 'memories%' and relkind in ('r', 'i') order by 2 desc",
    )
    print("\nMiB: " + ", ".join(f"{name} {size:,}" for name, size in rows))


def main() -> None:
    if sys.argv[1:2] == ["--load"]:
        load_share(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    if sys.argv[1:2] == ["--memory"]:
        print_memory(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--load-only", action="store_true", help="fill the folder, measure later")
    parser.add_argument("--folder", type=Path, help="kept; default: a temporary one")
    given = parser.parse_args()
    folder = given.folder and given.folder.resolve() / str(given.rows)
    server = Server(folder, **SETTINGS)
    try:
        load(server, given.rows)
        if given.load_only:
            return
        version = server.execute("postgres", "show server_version")[0][0]
        load_now, now = os.getloadavg()[0], datetime.now(UTC)
        print(f"PostgreSQL {version}, {os.cpu_count()} cores, load {load_now:.1f}, {now:%F %H:%M}")
        measure(server, given.rows, given.times)
        sizes(server)
        measure_memory(server, given.rows)
    finally:
        server.close()


if __name__ == "__main__":
    main()
