"""Files as the real programs write them, and plausible edits of them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memtui.changes import Act, Change, Edit, Kind, record_edit, sidecar_edit, text_edit, value_edit
from memtui.files.json.editing import new_record, raw_value, set_member
from memtui.files.json.locating import load_records
from memtui.library import Library
from tests.samples import SAMPLES

RECORDS = 12


@dataclass(frozen=True)
class Case:
    """One kind of file(s), how they are made and how they are edited."""

    name: str
    files: tuple[str, ...]
    make: Callable[[Path], None]
    plan: Callable[[Path, random.Random], tuple[Edit, ...]]

    def contents(self, folder: Path) -> dict[str, bytes | None]:
        found = {name: folder / name for name in self.files}
        return {name: p.read_bytes() if p.exists() else None for name, p in found.items()}


def random_edit(path: Path, array: tuple[str, ...], rng: random.Random, act: str = "") -> Edit:
    """Edit, add or remove one record of a file, chosen by the random numbers."""
    records = load_records(path.read_bytes().decode("utf-8", "surrogateescape"), array)
    act = act or (rng.choice(["edit", "edit", "add", "remove"]) if len(records) > 3 else "add")
    text = "".join(rng.choices(["a", " ", "é", '"', "\\", "\n", "\U0001f600", "\ud83d"], k=20))
    if act == "add":
        name = f"n{rng.getrandbits(48):012x}"
        raw = new_record(records[-1].raw, {"id": name, "content": text})
        return record_edit(str(path), array, "id", name, None, raw)
    index = rng.randrange(len(records))
    record = records[index]
    after = set_member(record.raw, "content", text) if act == "edit" else None
    return record_edit(str(path), array, "id", record.value["id"], record.raw, after, index)


# ---- agent-memory: one JSON array, with a final newline --------------------------------------


def make_agent(folder: Path) -> None:
    facts = [
        {"id": f"a{i}", "content": f"fact {i} é", "supersedes": None, "status": "active"}
        for i in range(RECORDS)
    ]
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    (folder / "items.json").write_text(text, encoding="utf-8")


def plan_agent(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    return (random_edit(folder / "items.json", (), rng),)


# ---- Ambient: the same event in two files, and a time in each --------------------------------


def make_ambient(folder: Path) -> None:
    events = [
        {"id": f"e{i}", "type": "decision", "timestamp": 1795119600000 + i, "content": f"d {i}"}
        for i in range(RECORDS)
    ]
    (folder / "tasks").mkdir()
    for name in ("project.json", "tasks/main.json"):
        whole = {"projectKey": "4d3a", "lastActive": 1795119600000, "events": events}
        (folder / name).write_text(json.dumps(whole, indent=2))


def plan_ambient(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    index, edits = rng.randrange(RECORDS), []
    for name in ("project.json", "tasks/main.json"):
        path = folder / name
        text = path.read_text()
        record = load_records(text, ("events",))[index]
        after = set_member(record.raw, "content", f"changed {rng.random()}")
        name = record.value["id"]
        edits.append(record_edit(str(path), ("events",), "id", name, record.raw, after))
        before = raw_value(text, ("lastActive",))
        now = str(int(before) + 1)
        edits.append(value_edit(str(path), ("lastActive",), before, now, kind=Kind.COUNTER))
    return tuple(edits)


# ---- markdown, files that come and go, the sidecar -------------------------------------------


def make_note(folder: Path) -> None:
    (folder / "2026-11-21.md").write_bytes(b"# Day\r\n\r\nbyte \xff here\r\n" * 200)


def plan_note(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    path = folder / "2026-11-21.md"
    before = path.read_bytes().decode("utf-8", "surrogateescape")
    return (text_edit(str(path), before, f"{before}line {rng.random()}\r\n"),)


def make_nothing(folder: Path) -> None:
    (folder / "entities").mkdir()


def plan_new(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    return (text_edit(str(folder / "entities/bob/items.json"), None, f'["{rng.random()}"]\n'),)


def plan_gone(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    path = folder / "2026-11-21.md"
    return (text_edit(str(path), path.read_bytes().decode("utf-8", "surrogateescape"), None),)


def plan_sidecar(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    return (sidecar_edit(str(folder), f"m{rng.random()}", None, {"pinned": True}),)


AGENT = Case("agent-memory", ("items.json",), make_agent, plan_agent)
AMBIENT = Case("ambient", ("project.json", "tasks/main.json"), make_ambient, plan_ambient)
NOTE = Case("markdown", ("2026-11-21.md",), make_note, plan_note)
NEW = Case("new file", ("entities/bob/items.json",), make_nothing, plan_new)
GONE = Case("removed file", ("2026-11-21.md",), make_note, plan_gone)
SIDECAR = Case("sidecar", (".memtui/sidecar.jsonl",), make_nothing, plan_sidecar)

# ---- the sample stores of further programs, changed as memtui changes them -----------------------


def sample_case(name: str, act: Act, id: str, **fields: object) -> Case:
    """The sample store of this name, and one change of it, with the edits that its format plans."""
    sample = SAMPLES / name
    files = sorted(str(path.relative_to(sample)) for path in sample.rglob("*") if path.is_file())

    def make(folder: Path) -> None:
        shutil.copytree(sample, folder, dirs_exist_ok=True)

    def plan(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
        library = Library.open([folder])
        library.load()
        label = library.stores[0].label
        found = (m for m in library.memories(label) if m.id.startswith(id) and m.status == "active")
        memory = min(found, key=lambda one: one.id)
        values = {key: f"{value} {rng.random()}" for key, value in fields.items()}
        planned = library.plan([Change(act, label, memory.ref, values)])
        return tuple(edit for part in planned.parts for edit in part.edits)

    return Case(name, tuple(files), make, plan)


PROGRAMS = (
    sample_case("claude-code", Act.DELETE, "projects/-home-marit-src-towerd/memory/project_strike"),
    sample_case("codex", Act.EDIT, "extensions/ad_hoc/notes/", content="Say it again"),
    sample_case("gemini", Act.EDIT, "GEMINI.md#", content="Bells are counted"),
    sample_case("hermes", Act.EDIT, "MEMORY.md#", content="The box is called belfry"),
    sample_case("mcp-memory", Act.EDIT, "", content="Struck thirteen"),
    sample_case("openclaw", Act.DELETE, "MEMORY.md#"),
    sample_case("memfs", Act.EDIT, "towns/", content="The town is quiet"),
)

CASES = (AGENT, AMBIENT, NOTE, NEW, GONE, SIDECAR)
