"""Small stores of every format, each another one by its number, with what a store may hold."""

from __future__ import annotations

import json
import os
import random
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.unit.stores import simple_memories, workspaces
from tests.unit.stores.engram import invented
from tests.unit.stores.json_stores.programs import AgentMemoryPrograms, AmbientProgram

WORDS = ("plain", "é 日本 \U0001f600", 'a "quote" \\ /', "two\nlines", "CR\r\nLF", "\u2028", "=1+1")
WORDS += ("[[link]]", "\x1b[2J", "", " ", "x" * 300, "---\nnot: front\n---")
HALF = "half \ud83d"
"""Only JSON can hold it, as an escape."""
NAMES = ("alice", "Alice", "50% résumé #1", "日本", "a b", "con", "~x~")
BROKEN = (b"", b"[", b'[{"id": "x"', b"\xff\xfe", b"null")


def make(format: str, folder: Path, number: int) -> Path:
    """A store of the format; its root."""
    rng = random.Random(f"{format} {number}")
    root = _MAKERS[format](folder, rng)
    if format != "engram":
        _at_odd_times(folder, rng)
    if rng.random() < 0.5:
        _sidecar(root, rng)
    return root


def _at_odd_times(folder: Path, rng: random.Random) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            time = rng.randrange(-(10**18), 4 * 10**18)
            os.utime(path, ns=(time, time))


def _sidecar(root: Path, rng: random.Random) -> None:
    lines = [
        json.dumps({"id": str(n), "set": {"pinned": True, "tags": [rng.choice(WORDS)]}})
        for n in range(rng.randrange(1, 4))
    ]
    text = "\n".join([*lines, rng.choice(["", "{", "{}\n"])])
    home = root / "memory" if (root / "memory").is_dir() else root
    (home / ".memtui").mkdir()
    (home / ".memtui" / "sidecar.jsonl").write_text(text)


def _unknown(rng: random.Random) -> dict[str, Any]:
    return {"x_unknown": rng.choice([None, 1.5, {"deep": [HALF]}])} if rng.random() < 0.4 else {}


def _agent_memory(folder: Path, rng: random.Random) -> Path:
    programs = AgentMemoryPrograms(folder / "work")
    for slug in rng.sample(NAMES, rng.randrange(1, 5)):
        ids = [""]
        for _ in range(rng.randrange(1, 4)):
            old, text = rng.choice(ids), rng.choice(WORDS)
            other = {"x_unknown": [1.5, {}]} if rng.random() < 0.4 else {}
            fact = programs.add_fact(slug, "person", text, supersedes=old or None, **other)
            ids.append(fact)
        if rng.random() < 0.4:
            programs.items(slug).with_name("summary.md").write_text(f"# {slug}\n")
    if rng.random() < 0.3:
        broken = programs.home / "entities" / "broken" / "items.json"
        broken.parent.mkdir()
        broken.write_bytes(rng.choice(BROKEN))
    for day in rng.sample(range(10, 28), rng.randrange(3)):
        note = programs.daily(f"2026-03-{day}", "")
        note.write_bytes(b"\xef\xbb\xbf# Day\r\n\xff" if rng.random() < 0.3 else b"# Day\n\n- x")
    (programs.workspace / "MEMORY.md").write_text(rng.choice(["", "# How\n"]))
    return programs.workspace


def _ambient(folder: Path, rng: random.Random) -> Path:
    program = AmbientProgram(folder)
    for number in range(rng.randrange(1, 4)):
        key = f"{rng.getrandbits(64):016x}"

        def event() -> dict[str, Any]:
            kind = rng.choice(["decision", "error-resolved", "session-summary", "odd kind"])
            return program.event(rng.choice([*WORDS, HALF]), type=kind, **_unknown(rng))

        shared = event()
        program.project(key, f"shop {number}", shared, *(event() for _ in range(rng.randrange(3))))
        for branch in rng.sample(["main", "feat/auth", "é"], rng.randrange(3)):
            where = rng.choice(["tasks", "archived"])
            program.branch(key, branch, shared, event(), folder=where)
    if rng.random() < 0.3:
        program.path(f"{1:016x}").parent.mkdir()
        program.path(f"{1:016x}").write_bytes(rng.choice(BROKEN))
    return program.root


def _simple_memory(folder: Path, rng: random.Random) -> Path:
    root = simple_memories.make(folder)
    for name in ("facts.json", "episodes.json", "schema.json"):
        records = json.loads((root / name).read_text())
        rng.shuffle(records)
        records += rng.choice([[], [], ["no record"]])
        for record in records[: rng.randrange(2)]:
            text = next(key for key in ("o", "summary", "text") if key in record)
            record[text] = rng.choice([*WORDS, HALF])
            record.update(_unknown(rng))
        indent = rng.choice([2, 4, None, "\t"])
        simple_memories.put(root, name, json.dumps(records, indent=indent) + rng.choice(["", "\n"]))
    return root


def _workspace(folder: Path, rng: random.Random) -> Path:
    root = workspaces.make(folder)
    for number in range(rng.randrange(1, 6)):
        place = rng.choice(["knowledge", "tasks", "lessons/a b", "journal", "é/日"])
        front = rng.choice(["", "---\nstate: done\ntags: [a]\n---\n", "---\nbroken: [\n---\n"])
        text = f"{front}# {rng.choice(WORDS)}\n\n{rng.choice(WORDS)}"
        data = text.replace("\n", rng.choice(["\n", "\r\n"])).encode() + rng.choice([b"", b"\xff"])
        workspaces.put(root, f"{place}/{number} {rng.choice(NAMES)}.md", data)
    if rng.random() < 0.5:
        workspaces.put_log(root, '{"ts": "2026", "num_injected": 1, "hits": [{"path": "a.md"}]}\n{')
    return root


def _engram(folder: Path, rng: random.Random) -> Path:
    home = folder / "engram"
    home.mkdir(parents=True)
    invented.build(home, rng.choice(invented.SCHEMAS))
    with closing(invented.connect(home)) as db:
        (session,) = db.execute("SELECT id FROM sessions").fetchone()
        for number in range(rng.randrange(1, 6)):
            gone = rng.choice([None, "2026-03-01 10:00:00"])
            db.execute(
                "INSERT INTO observations (session_id, sync_id, type, title, content, project,"
                " deleted_at, topic_key, embedding) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (session, f"s{number}", "decision", rng.choice(WORDS), rng.choice(WORDS),
                 rng.choice([None, "", "p"]), gone, rng.choice([None, "a/b"]),
                 rng.choice([None, b"\0\xff", b""])),
            )  # fmt: skip
        db.execute("DELETE FROM observations WHERE id = (SELECT max(id) FROM observations)")
        db.commit()
    return home


_MAKERS = {
    "agent-memory": _agent_memory,
    "ambient": _ambient,
    "engram": _engram,
    "simple-memory": _simple_memory,
    "workspace": _workspace,
}
FORMATS = tuple(_MAKERS)
