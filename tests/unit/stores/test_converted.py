"""What a memory of another format becomes in each format, and what is said to be lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from memtui.model import Link, Memory
from memtui.stores.format import ConvertedMemory
from tests.formats import FORMATS

BY_NAME = {known.name: known for known in FORMATS}
DAY = datetime(2026, 11, 1, tzinfo=UTC)
PLAIN = Memory(ref="x:a1", id="a1", store="x", kind="fact", content="rye grinds coarse")
FULL = replace(
    PLAIN,
    id="b2",
    ref="x:b2",
    type="policy",
    title="Rye",
    content="Grind it coarse.\n\nAlways.",
    entity="mill/Stones/rye",
    created=DAY,
    updated=DAY + timedelta(hours=5),
    importance="high",
    confidence=0.5,
    tags=("grain",),
    pinned=True,
    supersedes=("a1",),
    links=(Link("see", "a1"),),
    source="s1",
    extra={"own": 1, "tags": ["grain"]},
)
PROPOSED = replace(PLAIN, status="proposed", kind="episode", created=DAY + timedelta(hours=1))
DELETED = replace(
    PLAIN,
    status="deleted",
    kind="document",
    importance="low",
    superseded_by=("b2",),
    entity="mill",
)


def converted(name: str, memory: Memory) -> ConvertedMemory:
    transfer = BY_NAME[name].transfer
    assert transfer is not None
    assert transfer.convert is not None
    return transfer.convert(memory)


LOST_OF_FULL = {
    "agent-memory": "type (becomes a tag), entity (becomes kind/name, the rest tags),"
    " importance (follows from age and uses), updated, confidence, source, extra.own",
    "ambient": "kind fact (becomes event), entity (becomes project/branch),"
    " type (becomes decision), updated, confidence, source, extra.own",
    "engram": "kind fact (becomes observation), entity (its first part becomes the project),"
    " confidence, tags, source, supersedes, links, extra.own",
    "simple-memory": "kind fact (becomes schema), entity (becomes domain/topic), created,"
    " updated, source, supersedes, links, extra.own",
    "workspace": "type (stands in the frontmatter), kind fact (becomes document),"
    " entity (becomes a folder), confidence, source, pinned, supersedes, links, extra.own",
    "claude-code": "type (becomes feedback), created (stands in the text),"
    " kind fact (becomes document), importance (medium, as the index names it), updated,"
    " confidence, source, supersedes, links, extra.own",
    "conport": "type (becomes decision), entity (becomes decisions), updated, confidence, source,"
    " supersedes, links, extra.own",
    "beads": "entity (becomes a label), updated, confidence, source, supersedes, links, extra.own",
    "mcp-memory": "confidence, source, supersedes, links, extra.own",
    "codex": "entity (stands in the text), kind fact (becomes note), updated, importance,"
    " confidence, source, supersedes, links, type, extra.own",
    "gemini": "entity (becomes global; it stands in the text), confidence, source,"
    " supersedes, links, type, extra.own",
    "hermes": "entity (becomes memory; it stands in the text), confidence, source,"
    " supersedes, links, type, extra.own",
    "openclaw": "entity (becomes a heading), confidence, source, supersedes, links, type,"
    " extra.own",
    "project-instructions": "entity (becomes a heading), confidence, source, supersedes, links,"
    " type, extra.own",
    "markdown-folder": "kind fact (becomes document), entity (becomes a folder),"
    " importance (stands in the frontmatter, if the notes have one), confidence, source,"
    " supersedes, links, extra.own",
}
LOST_OF_PLAIN = {
    "conport": "importance (decisions are high)",
    "agent-memory": "importance (follows from age and uses)",
    "ambient": "kind fact (becomes event)",
    "engram": "kind fact (becomes observation)",
    "workspace": "kind fact (becomes document)",
    "claude-code": "kind fact (becomes document)",
    "codex": "kind fact (becomes note)",
    "project-instructions": "importance (follows from the scope of the file)",
    "markdown-folder": "kind fact (becomes document)",
}
LOST_OF_DELETED = {
    "agent-memory": "kind document (becomes fact), entity (becomes kind/name, the rest tags),"
    " status deleted (becomes retired), importance (follows from age and uses)",
    "ambient": "kind document (becomes event), entity (becomes project/branch)",
    "engram": "kind document (becomes observation), entity (its first part becomes the project),"
    " importance (follows from the type), superseded_by",
    "simple-memory": "status deleted (becomes retired), kind document (becomes fact),"
    " superseded_by",
    "workspace": "status deleted (stands in the frontmatter), entity (becomes a folder),"
    " superseded_by",
    "claude-code": "status deleted (stands in the text),"
    " importance (medium, as the index names it), superseded_by",
    "conport": "entity (becomes decisions), status deleted (becomes active),"
    " kind document (becomes fact), importance (decisions are high), superseded_by",
    "beads": "entity (becomes a label), status deleted (becomes retired),"
    " kind document (becomes fact), superseded_by",
    "mcp-memory": "status deleted (becomes retired), kind document (becomes fact), superseded_by",
    "codex": "entity (stands in the text), status deleted (becomes active),"
    " kind document (becomes note), importance, superseded_by",
    "gemini": "entity (becomes global; it stands in the text), status deleted (becomes retired),"
    " kind document (becomes fact), superseded_by",
    "hermes": "entity (becomes memory; it stands in the text), status deleted (becomes retired),"
    " kind document (becomes fact), superseded_by",
    "openclaw": "entity (becomes a heading), status deleted (becomes retired),"
    " kind document (becomes fact), superseded_by",
    "project-instructions": "entity (becomes a heading), status deleted (becomes retired),"
    " kind document (becomes fact), superseded_by",
    "markdown-folder": "status deleted (stands in the frontmatter, if the notes have one),"
    " entity (becomes a folder), importance (stands in the frontmatter, if the notes have one),"
    " superseded_by",
}
for lost in (LOST_OF_FULL, LOST_OF_PLAIN, LOST_OF_DELETED):
    lost |= dict.fromkeys(("qwen", "project-memory"), lost["claude-code"])  # the same engine
    of_lists = ("openwolf", "claude-remember", "memsearch", "vscode-copilot")
    lost |= dict.fromkeys(of_lists, lost.get("openclaw", ""))
    lost["goose"] = lost.get("hermes", "").replace("becomes memory", "becomes general")
LOST_OF_FULL["goose"] += ", content (without its empty lines)"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_conversion_names_what_is_lost(name: str) -> None:
    assert ", ".join(converted(name, FULL).lost) == LOST_OF_FULL[name]
    assert ", ".join(converted(name, PLAIN).lost) == LOST_OF_PLAIN.get(name, "")
    assert ", ".join(converted(name, DELETED).lost) == LOST_OF_DELETED[name]
    proposed = converted(name, PROPOSED).lost
    assert [lost for lost in proposed if lost.startswith("status proposed (")]


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
