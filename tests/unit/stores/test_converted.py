"""What a memory of another format becomes in each format. What it loses: `memtui.testing`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.testing.conversion_tests import DELETED, FULL, PLAIN, PROPOSED
from tests.formats import FORMATS

BY_NAME = {known.name: known for known in FORMATS}


def converted(name: str, memory: Memory) -> ConvertedMemory:
    transfer = BY_NAME[name].transfer
    assert transfer is not None
    assert transfer.convert is not None
    return transfer.convert(memory)


NOTE = "extensions/ad_hoc/notes/"
UUID = "f53e3442-b6b1-550c-a6e4-cba5a1aebc21"
WHOLE = "Rye\n\nGrind it coarse.\n\nAlways."
BODY = "Grind it coarse.\n\nAlways."


@pytest.mark.parametrize(
    ("name", "id", "entity", "content"),
    [
        ("agent-memory", UUID, "projects/mill", WHOLE),
        ("ambient", UUID, "mill", WHOLE),
        ("simple-memory", "sch_2267489210", "mill/stones-rye", WHOLE),
        ("workspace", "mill/stones/rye/rye-ce3a18.md", "mill/stones/rye", BODY),
        ("markdown-folder", "mill/stones/rye/rye-ce3a18.md", "mill/stones/rye", BODY),
        (
            "claude-code",
            "feedback_rye_ce3a18.md",
            "mill/Stones/rye",
            f"{BODY}\n\n(created: 2026-11-01T00:00:00Z)\n",
        ),
        ("conport", "b2", "", BODY),
        ("beads", "bd-ce3a18e4", "", BODY),
        ("mcp-memory", "b2", "mill/Stones/rye", WHOLE),
        (
            "codex",
            f"{NOTE}2026-11-01T00-00-00-rye-ce3a18.md",
            "ad_hoc",
            f"{WHOLE}\n\nThis is about mill/Stones/rye.\n",
        ),
        ("gemini", "b2", "global", f"mill/Stones/rye: {WHOLE}"),
        ("hermes", "b2", "memory", f"mill/Stones/rye: {WHOLE}"),
        ("openclaw", "b2", "memory/mill/Stones/rye", WHOLE),
        ("project-instructions", "b2", "", WHOLE),
    ],
)
def test_a_memory_gets_a_name_and_a_place_in_the_other_format(
    name: str, id: str, entity: str, content: str
) -> None:
    fields = converted(name, FULL).fields
    assert (fields["id"], fields["entity"], fields["content"]) == (id, entity, content)
    assert "grain" in fields["tags"]


@pytest.mark.parametrize(
    ("name", "memory", "field", "value"),
    [
        ("agent-memory", FULL, "tags", ("policy", "stones", "rye", "grain")),
        ("agent-memory", replace(PLAIN, entity="people/alice/home"), "entity", "people/alice"),
        ("agent-memory", replace(PLAIN, entity="people/alice/home"), "tags", ("home",)),
        ("agent-memory", replace(PLAIN, entity="mill/people"), "entity", "projects/mill"),
        ("agent-memory", DELETED, "status", "retired"),
        ("agent-memory", PROPOSED, "status", "active"),
        ("ambient", PLAIN, "type", "task-update"),
        ("ambient", PLAIN, "entity", "x/main"),
        ("ambient", DELETED, "entity", "mill/main"),
        ("ambient", PROPOSED, "status", "active"),
        ("ambient", replace(FULL, importance="low"), "entity", "mill/stones/rye"),
        ("simple-memory", PLAIN, "kind", "fact"),
        ("simple-memory", PLAIN, "entity", "x"),
        ("simple-memory", replace(PLAIN, content="two words"), "kind", "episode"),
        ("simple-memory", replace(PLAIN, content="a  b c"), "kind", "episode"),
        ("simple-memory", replace(PLAIN, content="a b\nc d"), "kind", "episode"),
        ("simple-memory", replace(PLAIN, title="t"), "kind", "episode"),
        ("simple-memory", FULL, "type", "policy"),
        ("simple-memory", replace(FULL, type="note"), "title", "Rye"),
        ("simple-memory", replace(FULL, type="note"), "tags", ("note", "grain")),
        ("engram", PLAIN, "type", "manual"),
        ("engram", DELETED, "status", "deleted"),
        ("engram", replace(PLAIN, status="retired"), "status", "deleted"),
        ("engram", PROPOSED, "status", "active"),
        ("engram", FULL, "title", "Rye"),
        ("workspace", DELETED, "entity", "archive/mill"),
        ("markdown-folder", DELETED, "entity", "archive/mill"),
        ("claude-code", PLAIN, "type", "project"),
    ],
)
def test_a_field_of_the_other_format(name: str, memory: Memory, field: str, value: object) -> None:
    assert converted(name, memory).fields[field] == value
