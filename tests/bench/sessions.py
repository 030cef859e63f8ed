"""The index over sessions: time, memory and size, beside SQLite FTS5 over the same text.

python -m tests.bench.sessions [--conversation MB] [--total MB]

Writes transcripts of Claude Code of this size into a temporary home, of which `conversation` MB are
words of person and agent and the rest results of tools. The words follow a Zipf distribution.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

from memtui.query import parse_search
from memtui.search.query_terms import analyze_terms
from memtui.search.session_index import SessionIndex
from memtui.sessions import Kind, Reading, find_program, find_sessions

MESSAGE_WORDS = 80
SESSION_MESSAGES = 200
VOCABULARY = 40_000
SEARCHES = 200


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversation", type=float, default=6.0, help="MB of conversation")
    parser.add_argument("--total", type=float, default=200.0, help="MB of all transcripts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), arguments.conversation * 1e6, arguments.total * 1e6)


def _measure(home: Path, conversation: float, total: float) -> None:
    words = [f"{_word(n)}" for n in range(VOCABULARY)]
    said = _write(home, conversation, total, words)
    sessions = find_sessions(["claude"], [], home, {}).sessions
    size = sum(session.size for session in sessions)
    print(f"{size / 1e6:.0f} MB in {len(sessions)} sessions, {said / 1e6:.1f} MB conversation")

    started = time.process_time()
    program = find_program("claude")
    texts = [
        (number, message.text)
        for session in sessions
        for number, message in enumerate(program.messages(session, Reading()))
        if message.kind is Kind.TEXT
    ]
    print(f"reading only: {time.process_time() - started:.1f} s of processor time")

    index = SessionIndex(home / "cache", "claude")
    started = time.process_time()
    done = index.update(sessions)
    print(f"first index: {time.process_time() - started:.1f} s, {done}")
    kept = sum(file.stat().st_size for file in index.home.rglob("*") if file.is_file())
    print(f"on disk: {kept / 1e6:.1f} MB, {kept / said:.2f} of the conversation")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")

    with sessions[0].path.open("a", encoding="utf-8") as lines:
        lines.write(_line("user", "zanzibarine", 10**9) + "\n")
    started = time.perf_counter()
    again = find_sessions(["claude"], [], home, {}).sessions
    index.update(again)
    found = _search(index, "zanzibarine")
    print(f"a new message found after {time.perf_counter() - started:.2f} s: {found}")
    _compare(index, texts, words, home / "fts.db")


def _compare(
    index: SessionIndex, texts: list[tuple[int, str]], words: list[str], file: Path
) -> None:
    database = sqlite3.connect(file)
    started = time.process_time()
    database.execute("CREATE VIRTUAL TABLE t USING fts5(text, content='', tokenize='porter')")
    database.executemany("INSERT INTO t (text) VALUES (?)", ((text,) for _, text in texts))
    database.commit()
    spent = time.process_time() - started
    print(f"FTS5 contentless: {spent:.1f} s, {file.stat().st_size / 1e6:.1f} MB")
    chance = random.Random(5)
    asked = [" ".join(chance.sample(words[50:5000], 2)) for _ in range(SEARCHES)]
    ours, theirs = [], []
    for text in asked:
        started = time.perf_counter()
        _search(index, text)
        ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        query = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 20"
        database.execute(query, (" ".join(text.split()),)).fetchall()
        theirs.append(time.perf_counter() - started)
    for name, times in (("memtui", ours), ("FTS5", theirs)):
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{name}: search p50 {statistics.median(times) * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms")


def _search(index: SessionIndex, text: str) -> int:
    query = parse_search(text, datetime.now(UTC))
    return len(index.search(analyze_terms(query.terms).optional, 20, query))


def _write(home: Path, conversation: float, total: float, words: list[str]) -> int:
    chance = random.Random(7)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    folder = home / ".claude" / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    said = session = 0
    filler = "0123456789abcdef" * 64
    per_message = max(0, int((total / conversation - 1) * MESSAGE_WORDS * 8))
    while said < conversation:
        lines = []
        for number in range(SESSION_MESSAGES):
            text = " ".join(chance.choices(words, cum_weights=weights, k=MESSAGE_WORDS))
            said += len(text)
            role = "assistant" if number % 2 else "user"
            lines.append(_line(role, text, session * SESSION_MESSAGES + number))
            result = (filler * (per_message // len(filler) + 1))[:per_message]
            content = [{"type": "tool_result", "tool_use_id": "t", "content": result}]
            lines.append(_line("user", content, -1))
        (folder / f"{session:08x}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        session += 1
    return said


def _line(role: str, content: object, number: int) -> str:
    return json.dumps(
        {
            "type": role,
            "uuid": f"u{number}" if number >= 0 else "",
            "timestamp": "2026-05-04T08:15:00.000Z",
            "cwd": "/srv/shop",
            "message": {"role": role, "content": content},
        }
    )


def _word(number: int) -> str:
    letters = ""
    number += 26
    while number:
        number, rest = divmod(number, 26)
        letters += "etaoinshrdlucmfwypvbgkjqxz"[rest]
    return letters


if __name__ == "__main__":
    main()
