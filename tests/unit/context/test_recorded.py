"""Packs against what the real programs gave, recorded under a fixed clock.

The stores that were asked are not part of the project: each is rebuilt from what its program
printed of it, with the same ids and times, so that choice, order and wording can be compared.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.context import Pack
from memtui.library import Library
from tests.unit.context.packs_for_tests import pack_of

RECORDED = Path(__file__).with_name("recorded")
RETRIEVED = json.loads((RECORDED / "agent-memory-retrieve.json").read_text(encoding="utf-8"))
SESSIONS = json.loads((RECORDED / "ambient-session.json").read_text(encoding="utf-8"))
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
_EVENT = re.compile(r"- (.*?) \(([a-z-]+), ([^()]*?)\)(?=\n|$)", re.DOTALL)


def test_the_recordings_were_made_at_the_time_of_these_tests() -> None:
    assert RETRIEVED["now"] == SESSIONS["now"] == f"{NOW:%Y-%m-%dT%H:%M:%SZ}"


def _pack(root: Path, recipe: str, text: str) -> Pack:
    library = Library.open([root], now=lambda: NOW)
    library.load()
    library.index()
    return pack_of(library, recipe, text)


def _day(recency: str) -> datetime:
    """A time whose recency is printed so; below .001 of any such age."""
    return NOW - timedelta(days=round(-math.log(float(recency)) * 30 / math.log(2)), hours=1)


@pytest.mark.parametrize("asked", RETRIEVED["queries"], ids=lambda asked: asked["query"])
def test_tiers_gives_the_entities_facts_and_lines_of_agent_memorys_script(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    word = asked["synthesized"].split()[0]
    items: dict[str, list[Any]] = {}
    for named, fact in zip(asked["fact_ids_in_order"], asked["facts"], strict=True):
        slug, id = named.split("/")
        created = f"{_day(fact['recency']):%Y-%m-%dT%H:%M:%SZ}"
        said = {"id": id, "content": f"{word} {id}", "createdAt": created, "status": "active"}
        items.setdefault(slug, []).insert(0, said)
    root = tmp_path / "memory"
    for slug, facts in items.items():
        folder = root / "entities" / slug
        folder.mkdir(parents=True)
        (folder / "items.json").write_text(json.dumps(facts), encoding="utf-8")
    for entity in asked["entities"]:
        written = f"**Last updated:** {_day(entity['recency']):%Y-%m-%d}"
        summary = root / "entities" / entity["slug"] / "summary.md"
        summary.write_text(f"# {entity['slug']}\n{written}\n", encoding="utf-8")
    for line in asked["daily"]:
        (root / f"{line['date']}.md").write_text(f"# Day\n\n{line['line']}\n", encoding="utf-8")
    (root / "entities" / "index.json").write_text("[]", encoding="utf-8")

    pack = _pack(root, "tiers", asked["query"])
    assert f'→ synthesized: "{asked["synthesized"]}"' in pack.text
    shown = {section.title: [e.text for e in section.entries] for section in pack.sections}
    heads = [text.split("\n")[0] for text in shown.get("Entities", [])]
    assert heads == [f"### {e['slug']} (recency: {e['recency']})" for e in asked["entities"]]
    assert shown.get("Facts", []) == [
        f"- [{fact['entity']}] ({fact['recency']}) {word} {named.split('/')[1]}\n"
        for named, fact in zip(asked["fact_ids_in_order"], asked["facts"], strict=True)
    ]
    assert shown.get("Daily Notes", []) == [
        f"- [{line['date']}] ({line['recency']}) {line['line']}\n" for line in asked["daily"]
    ]


@pytest.mark.parametrize("session", SESSIONS["sessions"], ids=lambda session: session["branch"])
def test_session_gives_ambients_block_byte_for_byte(
    session: dict[str, Any], tmp_path: Path
) -> None:
    key, branch, name = session["projectKey"], session["branch"], session.get("projectName", "")
    blocks = re.split(r"^\[(Project|Task): .*\]$", session["text"], flags=re.MULTILINE)
    for kind, block in zip(blocks[1::2], blocks[2::2], strict=True):
        events = [
            {
                "id": f"{number:08d}-0000-4000-8000-000000000000",
                "type": type,
                "content": content,
                "importance": "medium",
                "timestamp": _milliseconds(when),
            }
            for number, (content, type, when) in enumerate(_EVENT.findall(block))
        ]
        own = {"projectName": name} if kind == "Project" else {"branchName": branch}
        file = tmp_path / "projects" / key
        file /= "project.json" if kind == "Project" else f"tasks/{branch.replace('/', '--')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        record = {"projectKey": key, "lastActive": NOW.timestamp() * 1000, **own, "events": events}
        file.write_text(json.dumps(record), encoding="utf-8")
    pack = _pack(tmp_path, "session", f"{name or key}/{branch}")
    assert pack.text.encode("utf-8", "surrogatepass") == session["text"].encode(
        "utf-8", "surrogatepass"
    )


def _milliseconds(shown: str) -> int:
    when = datetime.strptime(f"2026 {shown} +0000", "%Y %b %d %I:%M %p %z")
    return int(when.timestamp() * 1000)
