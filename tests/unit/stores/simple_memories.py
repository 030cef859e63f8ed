"""A small invented Simple Memory, in the layout of three JSON arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memtui.stores.simple_memory import FORMAT
from memtui.stores.simple_memory.store import SimpleMemoryStore

from .json_stores.opened import LABEL, NOW, Opened

FACTS: list[dict[str, Any]] = [
    {
        "id": "fact_0a1",
        "s": "Noor",
        "p": "swims_km_week",
        "o": "3.5",
        "time": "2026-05-01",
        "source_ids": ["log_1"],
        "confidence": 0.8,
        "domain": "health",
        "topic": "swimming",
        "hits": 2,
    },
    {
        "id": "fact_0a2",
        "s": "Noor",
        "p": "swims_km_week",
        "o": "3.5",
        "time": "2026-05-08",
        "source_ids": ["log_1", "log_2"],
        "confidence": 0.9,
        "domain": "health",
        "topic": "swimming",
        "hits": 3,
        "pinned": True,
        "links": [{"rel": "impacts", "to": "sch_1"}],
    },
    {
        "id": "fact_0a3",
        "s": "Noor",
        "p": "has_cats",
        "o": 2,
        "time": "2026-06-01",
        "source_ids": [],
    },
]

EPISODES: list[dict[str, Any]] = [
    {
        "id": "ep_1",
        "title": "Storm at the pool",
        "summary": "Left early; slept badly.",
        "start": "2026-06-09T21:30:00",
        "end": "2026-06-09T22:40:00",
        "participants": ["Noor", "Ida"],
        "facts": ["fact_0a1", "fact_gone"],
        "affect": {"valence": -0.8, "arousal": 0.6},
        "domain": "health",
        "topic": "swimming",
    }
]

SCHEMA: list[dict[str, Any]] = [
    {
        "id": "sch_1",
        "kind": "policy",
        "text": "No swimming after nine.",
        "status": "confirmed",
        "evidence": ["ep_1", "fact_0a1"],
        "domain": "health",
        "topic": "sleep",
        "version": 3,
    },
    {
        "id": "sch_2",
        "kind": "goal",
        "text": "Swim 5 km a week.",
        "status": "proposed",
        "evidence": [],
        "domain": "health",
        "topic": "swimming",
        "version": 1,
    },
    {
        "id": "sch_3",
        "kind": "preference",
        "text": "Likes cold water.",
        "status": "outdated",
        "evidence": ["fact_gone"],
        "domain": "health",
        "topic": "swimming",
        "version": 2,
    },
]


def put(root: Path, name: str, value: object) -> Path:
    """Write one file: bytes and text as they are, anything else as JSON."""
    root.mkdir(parents=True, exist_ok=True)
    file = root / name
    if isinstance(value, bytes):
        file.write_bytes(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
        file.write_text(text, encoding="utf-8")
    return file


def make(folder: Path) -> Path:
    """The store's root, with its three files."""
    root = folder / "simple"
    put(root, "facts.json", FACTS)
    put(root, "episodes.json", EPISODES)
    put(root, "schema.json", SCHEMA)
    return root


def opened(root: Path) -> Opened:
    return Opened(SimpleMemoryStore(root, LABEL, lambda: NOW), root.parent / "state")


def detected(path: Path) -> Path | None:
    return FORMAT.detect(path)


def records(root: Path, name: str) -> dict[str, dict[str, Any]]:
    """The records of one file as another program reads them, by id."""
    return {value["id"]: value for value in json.loads((root / name).read_text(encoding="utf-8"))}
