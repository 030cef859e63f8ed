"""Stores written byte for byte as agent-memory and Ambient write them, for tests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CREATED = "2026-03-02T09:10:00Z"
DAY = 86_400_000
START = 1_787_216_400_000
"""2026-08-20 in milliseconds."""


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


@dataclass
class AgentMemoryPrograms:
    """The scripts of agent-memory at work in one workspace."""

    workspace: Path
    made: int = 0

    def __post_init__(self) -> None:
        for name in ("entities", "checkpoints", "metrics", "logs", "pipelines"):
            (self.home / name).mkdir(parents=True)
        (self.home / "entities" / "README.md").write_text("# entities\n")
        (self.home / "entities" / "index.json").write_text("[]\n")

    @property
    def home(self) -> Path:
        return self.workspace / "memory"

    def items(self, slug: str) -> Path:
        return self.home / "entities" / slug / "items.json"

    def facts(self, slug: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.items(slug).read_text("utf-8"))
        return found

    def write(self, slug: str, facts: list[dict[str, Any]]) -> None:
        """What jq prints: two spaces, nothing escaped that need not be, a final newline."""
        self.items(slug).parent.mkdir(exist_ok=True)
        text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        self.items(slug).write_text(text, encoding="utf-8")

    def add_fact(
        self, slug: str, kind: str, content: str, source: str = "conversation", **other: Any
    ) -> str:
        fact = self.fact(kind, content, source, **other)
        self.write(slug, [*(self.facts(slug) if self.items(slug).exists() else []), fact])
        return str(fact["id"])

    def fact(
        self, kind: str, content: str, source: str = "conversation", **other: Any
    ) -> dict[str, Any]:
        self.made += 1
        return {
            "id": uuid(self.made),
            "content": content,
            "source": source,
            "sourceRef": "",
            "entityType": kind,
            "createdAt": CREATED,
            "status": "active",
            "supersedes": None,
            **other,
        }

    def add_edge(self, slug: str, kind: str, content: str, predicate: str, target: str) -> str:
        edge = {"subject": slug, "predicate": predicate, "object": target}
        return self.add_fact(slug, kind, content, edge=edge)

    def daily(self, date: str, text: str) -> Path:
        path = self.home / f"{date}.md"
        path.write_text(text, encoding="utf-8")
        return path


def stringify(value: Any) -> str:
    """JSON.stringify(value, null, 2): half characters as escapes, no final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


@dataclass
class AmbientProgram:
    """Ambient's store functions at work in one `.ambient` folder."""

    home: Path
    made: int = field(default=100)

    def __post_init__(self) -> None:
        (self.root / "projects").mkdir(parents=True)

    @property
    def root(self) -> Path:
        return self.home / ".ambient" / "memory"

    def event(self, content: str, **other: Any) -> dict[str, Any]:
        self.made += 1
        return {
            "id": uuid(self.made),
            "type": "decision",
            "timestamp": START + self.made * DAY // 24,
            "content": content,
            "importance": "high",
            **other,
        }

    def path(self, key: str, branch: str = "", folder: str = "tasks") -> Path:
        project = self.root / "projects" / key
        if not branch:
            return project / "project.json"
        return project / folder / f"{branch.replace('/', '--')}.json"

    def write(self, path: Path, value: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stringify(value).encode())

    def project(self, key: str, name: str, *events: dict[str, Any]) -> Path:
        path = self.path(key)
        origin = f"git@example.org:acme/{name}.git"
        head = {"projectKey": key, "projectName": name, "origin": origin}
        times = {"createdAt": START, "lastActive": START + 30 * DAY}
        self.write(path, {**head, **times, "events": list(events)})
        return path

    def branch(self, key: str, branch: str, *events: dict[str, Any], folder: str = "tasks") -> Path:
        path = self.path(key, branch, folder)
        head = {"branchKey": path.stem, "branchName": branch, "projectKey": key}
        times = {"createdAt": START, "lastActive": START + 30 * DAY}
        self.write(
            path, {**head, **times, "archived": folder == "archived", "events": list(events)}
        )
        return path

    def load(self, path: Path) -> Any:
        return json.loads(path.read_bytes())
