"""`tiers` does what agent-memory's retrieve script did, recorded on another store of its shape."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.context.tiers import reduce_query
from memtui.library import Library
from tests.unit.context.packs_for_tests import NOW, pack_of

SECOND = timedelta(seconds=1)


def _fact(number: int, content: str, days: float, **more: Any) -> dict[str, Any]:
    when = NOW - timedelta(days=days)
    return {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "content": content,
        "source": "conversation",
        "sourceRef": "",
        "entityType": "person",
        "createdAt": f"{when:%Y-%m-%dT%H:%M:%SZ}",
        "status": "active",
        "supersedes": None,
        **more,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "memory"
    for slug, facts in {
        "mira": [
            _fact(1, "Mira keeps the harbour crane", 7),
            _fact(2, "Mira kept the old crane", 400, status="historical"),
            _fact(3, "Mira rows to work at six", 30),
            *(_fact(10 + n, f"mira note {n}", 400) for n in range(10)),
        ],
        "depot": [_fact(4, "The CRANES stand at berth 4", 1, entityType="project")],
    }.items():
        folder = root / "entities" / slug
        folder.mkdir(parents=True)
        (folder / "items.json").write_text(json.dumps(facts), encoding="utf-8")
    lines = "\n".join(f"line {n}" for n in range(60))
    summary = f"# Mira\n**Type:** person\n**Last updated:** 2026-11-15\n{lines}\n"
    (root / "entities" / "mira" / "summary.md").write_text(summary, encoding="utf-8")
    (root / "entities" / "index.json").write_text("[]", encoding="utf-8")
    for days in range(9):
        day = NOW - timedelta(days=days)
        text = f"# Rota\n- rota for {day:%A}\n"
        (root / f"{day:%Y-%m-%d}.md").write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def library(home: Path) -> Library:
    library = Library.open([home], now=lambda: NOW)
    library.load()
    library.index()
    return library


@pytest.mark.parametrize(
    ("text", "synthesized"),
    [  # the six prompts and what the script made of them (recorded)
        ("what is alice working on", "alice working"),
        ("where does atlas store snapshots", "atlas store snapshots"),
        ("who owns the on-call rotation", "owns on-call rotation"),
        ("Penpot onboarding mock-ups", "penpot onboarding mock-ups"),
        ("Bob email", "bob email"),
        ("what changed about Acme this autumn", "changed acme autumn"),
        ("what is this", "what is this"),
    ],
)
def test_a_query_is_reduced_to_its_words(text: str, synthesized: str) -> None:
    assert reduce_query(text).text == synthesized


def test_a_named_entity_gives_its_summary_and_as_there_are_too_few_facts_too(
    library: Library,
) -> None:
    pack = pack_of(library, "tiers", "what is mira doing at the crane")
    entities, facts = pack.sections
    assert entities.entries[0].text.startswith("### mira (recency: 0.871)\n# Mira\n")
    assert "line 46\n" in entities.entries[0].text  # the first 50 lines of the file
    assert "line 47\n" not in entities.entries[0].text
    assert [entry.text for entry in facts.entries[:3]] == [
        "- [depot] (0.977) The CRANES stand at berth 4\n",
        "- [mira] (0.851) Mira keeps the harbour crane\n",
        "- [mira] (0.500) Mira rows to work at six\n",
    ]
    assert len(facts.entries) == 10
    assert "old crane" not in pack.text
    # Of equal recency the script's `sort -rn` puts the later line first, and cuts at ten.
    assert [e.ref[-2:] for e in facts.entries[3:]] == ["19", "18", "17", "16", "15", "14", "13"]
    assert [d.reason for d in pack.dropped] == [f"number {n} of at most 10" for n in (11, 12, 13)]


def test_a_type_names_every_entity_of_it(library: Library) -> None:
    pack = pack_of(library, "tiers", "any person")
    assert pack.sections[0].entries[0].ref.endswith("entities/mira/summary.md")


def test_notes_of_seven_days_are_asked_where_all_else_is_not_enough(library: Library) -> None:
    pack = pack_of(library, "tiers", "rota")
    (notes,) = pack.sections
    assert [entry.text for entry in notes.entries] == [
        "- [2026-11-21] (1.000) - rota for Saturday\n",
        "- [2026-11-20] (0.977) - rota for Friday\n",
        "- [2026-11-19] (0.955) - rota for Thursday\n",
        "- [2026-11-18] (0.933) - rota for Wednesday\n",
        "- [2026-11-17] (0.912) - rota for Tuesday\n",
    ]
    assert len(pack.dropped) == 2  # seven days, five lines


def test_nothing_found_is_said_in_the_scripts_words(library: Library) -> None:
    pack = pack_of(library, "tiers", "zeppelin")
    assert '(No matching memory found for query: "zeppelin")' in pack.text
    assert pack.sections == ()


@pytest.mark.parametrize(
    "task", ["crane", "CRANE-7 \u212aelvin", "istanbul", "ön", "no such", "c++ kelvin"]
)
def test_a_store_from_the_cache_gives_the_same_pack(task: str, tmp_path: Path) -> None:
    texts = [
        "The Crane is old",
        "crane-7 moved",
        "300 \u212aelvin",
        "\u0130stanbul",
        "schön \U0001f3d7",
        "in C++",
    ]
    items = [
        {"id": f"f{at}", "content": text, "status": "active", "createdAt": f"2026-11-{at + 10}"}
        for at, text in enumerate(texts)
    ]
    folder = tmp_path / "memory" / "entities" / "yard"
    folder.mkdir(parents=True)
    (folder / "items.json").write_text(json.dumps(items))
    packs = []
    for _ in range(2):
        library = Library.open([tmp_path / "memory"], cache=tmp_path / "cache", now=lambda: NOW)
        library.load()
        library.index()
        library.save_index()
        packs.append(pack_of(library, "tiers", task).text)
    assert packs[0] == packs[1]
    terms = [word for word in task.lower().split() if len(word) > 2 and word not in ("no", "such")]
    for text in texts:
        assert (text in packs[1]) == any(term in text.lower() for term in terms), text
