"""The index over sessions: time, memory and size, beside SQLite FTS5 over the same text.

    python -m tests.bench.sessions [--conversation MB] [--total MB] [--folder FOLDER]
    python -m tests.bench.sessions --screen RUNS   # the screen with and without sessions, in turn

Writes transcripts of Claude Code into a temporary home, of which `conversation` MB are words of
person and agent and the rest results of tools. The words follow a Zipf distribution, and one in
fifty is an identifier that comes once. A megabyte has as many words, a message as many different
ones, and 8 MB as many different ones, as documentation of Python and npm packages in messages of
this size (155,000, 46 and 52,000).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from memtui.paths import CONFIG_VARIABLE, STATE_VARIABLE
from memtui.query import parse_search
from memtui.search.index.session_index import SessionIndex
from memtui.search.query_terms import analyze_terms
from memtui.sessions import Kind, Reading, find_program, find_sessions
from tests.bench import corpus
from tests.bench.start import count_of, running

MESSAGE_WORDS = 80
SESSION_MESSAGES = 200
VOCABULARY = 30_000
IDENTIFIERS = 0.018
"""Share of words that come once."""
REPEATED = 0.4
"""Share of words that their message has before."""
SEARCHES = 200
SCREEN_MEMORIES = 33_000
_SYLLABLES = [a + b + c for a in "bdgkpt" for b in "aeiou" for c in "lnrs"]
_TOOL_OUTPUT = 'def read(path: str) -> bytes:\n\treturn open(path, "rb").read()  # 0x3f9a\n'


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversation", type=float, default=6.0, help="MB of conversation")
    parser.add_argument("--total", type=float, default=200.0, help="MB of all transcripts")
    parser.add_argument("--folder", type=Path, help="where the temporary home is made")
    parser.add_argument("--screen", type=int, default=0, metavar="RUNS")
    arguments = parser.parse_args()
    conversation, total = arguments.conversation * 1e6, arguments.total * 1e6
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        if arguments.screen:
            _measure_screen(Path(folder), conversation, total, arguments.screen)
        else:
            _measure(Path(folder), conversation, total)


def _measure_screen(home: Path, conversation: float, total: float, runs: int) -> None:
    """Medians of the screen over 33,000 memories, with these sessions and without, in turn."""
    _write(home, conversation, total, [_word(number) for number in range(VOCABULARY)])
    corpus.write_agent_memory(home / "memory", SCREEN_MEMORIES)
    count = count_of(home / "memory")
    figures: dict[str, list[list[float]]] = {"without": [], "with": []}
    for _ in range(runs + 1):  # the first of each is cold
        for name, kept in figures.items():
            kept.append(_screen(home, name, count, is_on=name == "with"))
    names = ("first paint s", "all rows s", "step ms", "letter ms", "peak MiB")
    for at, what in enumerate(names):
        cells = [
            f"{name} {statistics.median(run[at] for run in kept[1:]):.2f}"
            for name, kept in figures.items()
        ]
        print(f"{what}: {', '.join(cells)}")


def _screen(home: Path, name: str, count: int, *, is_on: bool) -> list[float]:
    own = home / name
    own.mkdir(exist_ok=True)
    (own / "config.toml").write_text(f"[sessions]\nprograms = {['claude'] if is_on else []}\n")
    places = {f"MEMTUI_{each}": str(own / each.lower()) for each in ("STATE", "CACHE")}
    command = [sys.executable, "-m", "memtui", str(home / "memory")]
    moved = {"HOME": str(home), CONFIG_VARIABLE: str(own / "config.toml"), **places}
    with running(command, **moved) as app:
        paint, rows = app.wait_for("Memories"), app.wait_for(f"of {count:,}", f"of {count}")
        time.sleep(2)
        steps = []
        for _ in range(30):  # with pauses, in which the session that taught a memory is looked for
            steps.append(app.press("down").last)
            time.sleep(0.3)
        app.press("/")
        letters = [app.press(letter).last for letter in "session timeout ret"]
        time.sleep(3)
        memory = app.memory()
        app.press("escape")
        app.press("escape")
        app.leave("q")
    return [paint, rows, statistics.median(steps), statistics.median(letters), memory]


def _measure(home: Path, conversation: float, total: float) -> None:
    words = [_word(number) for number in range(VOCABULARY)]
    said = _write(home, conversation, total, words)
    sessions = find_sessions(["claude"], [], home, {}).sessions
    size = sum(session.size for session in sessions)
    print(f"{size / 1e6:.0f} MB in {len(sessions)} sessions, {said / 1e6:.1f} MB conversation")
    started = time.process_time()
    count = sum(1 for _ in _texts(home))
    spent = time.process_time() - started
    print(f"reading only: {spent:.1f} s of processor time, {count} messages")

    index = SessionIndex(home / "cache", "claude")
    common = words[5]
    first, spent, memory = _index(home, lambda: _search(index, common))
    print(f"first index: {spent:.1f} s of processor time, {memory:.0f} MiB at most")
    print(f"first words found after {first:.1f} s")
    kept = sum(file.stat().st_size for file in index.home.rglob("*") if file.is_file())
    print(f"on disk: {kept / 1e6:.1f} MB, {kept / said:.2f} of the conversation")

    with sessions[0].path.open("a", encoding="utf-8") as lines:
        lines.write(_line("user", "zanzibarine", 10**9) + "\n")
    first, spent, _ = _index(home, lambda: _search(index, "zanzibarine"))
    print(f"a new message found after {first:.2f} s, {spent:.2f} s of processor time")
    _compare(index, home, words)


def _index(home: Path, found: Callable[[], int]) -> tuple[float, float, float]:
    """Seconds until something is found, processor time and MiB of a run of the worker."""
    settings = home / "config.toml"
    settings.write_text('[sessions]\nprograms = ["claude"]\n', "utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = (
        sys.executable,
        "-m",
        "memtui.search.index.session_worker",
        str(home / "cache"),
        "claude",
    )
    moved = {"HOME": str(home), CONFIG_VARIABLE: str(settings), STATE_VARIABLE: str(home / "state")}
    environment = {**os.environ, **moved}
    first = 0.0
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as worker:
        while True:
            is_over = worker.poll() is not None
            if not first and found():
                first = time.perf_counter() - started
            if is_over:
                break
            time.sleep(0.1 if not first else 1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return first, spent, after.ru_maxrss / 1024


def _texts(home: Path) -> Iterator[str]:
    program = find_program("claude")
    for session in find_sessions(["claude"], [], home, {}).sessions:
        for message in program.messages(session, Reading()):
            if message.kind is Kind.TEXT:
                yield message.text


def _compare(index: SessionIndex, home: Path, words: list[str]) -> None:
    file = home / "fts.db"
    database = sqlite3.connect(file)
    texts = list(_texts(home))
    started = time.process_time()
    database.execute("CREATE VIRTUAL TABLE t USING fts5(text, content='', tokenize='porter')")
    database.executemany("INSERT INTO t (text) VALUES (?)", ((text,) for text in texts))
    database.commit()
    spent = time.process_time() - started
    print(f"FTS5 contentless: {spent:.1f} s, {file.stat().st_size / 1e6:.1f} MB")
    chance = random.Random(5)
    asked = [" ".join(chance.sample(words[50:5000], 2)) for _ in range(SEARCHES)]
    asked += [" ".join(chance.sample(words[:50], 2)) for _ in range(SEARCHES // 10)]
    times: dict[str, list[float]] = {"memtui": [], "memtui, with a filter": [], "FTS5": []}
    query = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 20"
    for text in asked:
        for name, ask in (
            ("memtui", lambda text=text: _search(index, text)),
            ("memtui, with a filter", lambda text=text: _search(index, f"{text} since:2026-05-06")),
            ("FTS5", lambda text=text: database.execute(query, (text,)).fetchall()),
        ):
            started = time.process_time()
            ask()
            times[name].append(time.process_time() - started)
    for name, spent_each in times.items():
        p95 = statistics.quantiles(spent_each, n=20)[-1]
        middle = statistics.median(spent_each)
        print(f"{name}: search p50 {middle * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms")


def _search(index: SessionIndex, text: str) -> int:
    query = parse_search(text, datetime.now(UTC))
    return len(index.search(analyze_terms(query.terms).optional, 20, query))


def _write(home: Path, conversation: float, total: float, words: list[str]) -> int:
    chance = random.Random(7)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    folder = home / ".claude" / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    said = session = 0
    per_message = max(0, int((total / conversation - 1) * MESSAGE_WORDS * 5.8))
    result = (_TOOL_OUTPUT * (per_message // len(_TOOL_OUTPUT) + 1))[:per_message]
    content = [{"type": "tool_result", "tool_use_id": "t", "content": result}]
    output = _line("user", content, -1)
    while said < conversation:
        lines = []
        for number in range(SESSION_MESSAGES):
            chosen = chance.choices(words, cum_weights=weights, k=MESSAGE_WORDS)
            for at in range(1, MESSAGE_WORDS):
                if chance.random() < REPEATED:
                    chosen[at] = chosen[chance.randrange(at)]
                elif chance.random() < IDENTIFIERS:
                    chosen[at] = f"{chosen[at]}_{chance.getrandbits(40):x}"
            text = " ".join(chosen)
            said += len(text)
            role = "assistant" if number % 2 else "user"
            lines.append(_line(role, text, session * SESSION_MESSAGES + number))
            lines.append(output)
        (folder / f"{session:08x}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        session += 1
    return said


def _line(role: str, content: object, number: int) -> str:
    return json.dumps(
        {
            "type": role,
            "uuid": f"u{number}" if number >= 0 else "",
            "timestamp": f"2026-05-{4 + number % 4:02}T08:15:00.000Z",
            "cwd": "/srv/shop",
            "message": {"role": role, "content": content},
        }
    )


def _word(number: int) -> str:
    """Frequent words have three letters, others six, rare ones nine."""
    high, low = divmod(number, len(_SYLLABLES))
    return (_word(high - 1) if high else "") + _SYLLABLES[low]


if __name__ == "__main__":
    main()
