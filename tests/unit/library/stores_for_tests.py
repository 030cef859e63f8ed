"""Small real stores, written as their programs write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def fact(number: int, content: str, **values: Any) -> dict[str, Any]:
    """A fact of agent-memory in the key order of its script."""
    return {
        "id": f"{number:08x}-0000-4000-8000-000000000000",
        "content": content,
        "source": "conversation",
        "sourceRef": "",
        "entityType": "person",
        "createdAt": f"2026-03-{number % 28 + 1:02d}T10:00:00Z",
        "status": "active",
        "supersedes": None,
        **values,
    }


def write_facts(home: Path, slug: str, facts: list[dict[str, Any]]) -> Path:
    """items.json of one entity, as jq writes it. Returns the file."""
    file = home / "entities" / slug / "items.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")
    return file


def agent_memory(home: Path, entities: Mapping[str, list[str]]) -> Path:
    """An agent-memory folder with these entities and facts; every fact has its own id."""
    number = 0
    for slug, contents in entities.items():
        facts = []
        for content in contents:
            number += 1
            facts.append(fact(number, content))
        write_facts(home, slug, facts)
    return home
