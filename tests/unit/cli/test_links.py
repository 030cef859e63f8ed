"""`link` and `unlink`: between memories, to entities, and the links that a store itself wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.printed_rows import printed_rows
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

Call = Callable[..., int]

EDGE = {"subject": "alice", "predicate": "works_at", "object": "harbour"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = agent_memory(tmp_path / "memory", {"atlas": ["Atlas stores soundings in PostgreSQL"]})
    edges = [fact(9, "Alice works at the harbour office", edge=EDGE)]
    write_facts(home, "alice", edges)
    return home


@pytest.fixture
def links(call: Call, capsys: pytest.CaptureFixture[str]) -> Callable[..., Sequence[str]]:
    """The links that `show` tells of."""

    def told(store: Path, ref: str) -> list[str]:
        capsys.readouterr()
        assert call("show", ref, "--store", store, "--json") == 0
        memory: Any = printed_rows(capsys.readouterr().out)
        return [f"{link['relation']} {link['target']}" for link in memory["links"]]

    return told


def items(home: Path, slug: str) -> Any:
    return json.loads((home / "entities" / slug / "items.json").read_text())


def test_unlink_removes_an_edge_to_what_is_no_memory(
    call: Call, home: Path, links: Callable[..., Sequence[str]]
) -> None:
    before = (home / "entities" / "alice" / "items.json").read_bytes()
    assert links(home, "00000009") == ["works_at harbour"]
    assert call("unlink", "00000009", "works_at", "harbour", "--store", home) == 0
    assert links(home, "00000009") == []
    assert items(home, "alice")[0]["edge"] is None
    assert call("undo") == 0
    assert (home / "entities" / "alice" / "items.json").read_bytes() == before


@pytest.mark.parametrize("named", ["people/atlas", "atlas", "agent-memory:people/atlas"])
def test_link_and_unlink_take_an_entity_by_its_path_or_name(
    call: Call, home: Path, links: Callable[..., Sequence[str]], named: str
) -> None:
    assert call("link", "00000009", "knows", named, "--store", home) == 0
    assert links(home, "00000009") == ["works_at harbour", "knows atlas"]
    assert call("unlink", "00000009", "knows", named, "--store", home) == 0
    assert links(home, "00000009") == ["works_at harbour"]


def test_a_link_to_an_entity_dangles_nowhere(
    call: Call, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_facts(home, "harbour", [fact(11, "The harbour office opens at eight o'clock")])
    place = tmp_path / "jots"
    place.mkdir()
    jots = [
        {"id": f"fact_{n}", "s": "Ada", "p": "sails", "o": "east", "domain": "sea", "topic": "tide"}
        for n in (1, 2)
    ]
    (place / "facts.json").write_text(json.dumps(jots))
    (place / "schema.json").write_text("[]")
    (place / "episodes.json").write_text("[]")
    assert call("link", "00000009", "knows", "people/harbour", "--store", home) == 0
    assert call("link", "fact_1", "about", "sea/tide", "--store", place) == 0
    assert call("check", "--fail-on", "broken-link", "--store", home, "--store", place) == 0, (
        capsys.readouterr().out
    )


def test_a_link_to_a_memory_that_is_gone_can_be_removed(
    call: Call, home: Path, links: Callable[..., Sequence[str]]
) -> None:
    write_facts(home, "bo", [fact(70, "Bo tends the lighthouse at night")])
    assert call("link", "00000009", "knows", "00000046", "--store", home) == 0
    (home / "entities" / "bo" / "items.json").unlink()
    _, link = links(home, "00000009")
    assert call("unlink", "00000009", *link.split(), "--store", home) == 0
    assert links(home, "00000009") == ["works_at harbour"]


def test_what_is_neither_memory_nor_entity_is_refused(
    call: Call, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("link", "00000009", "knows", "nobody-there", "--store", home) == 1
    assert "no entity has that name" in capsys.readouterr().err
    assert call("unlink", "00000009", "knows", "atlas", "--store", home) == 1
    assert "there is no link knows to atlas" in capsys.readouterr().err
