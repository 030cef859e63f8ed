"""Whatever bytes stand in a store, reading it names them or shows them, and never fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.model import from_record, to_record
from tests.long_run import count

from .opened import Opened, open_agent_memory, open_ambient
from .programs import AgentMemoryPrograms, AmbientProgram

PIECES = [
    b"null", b"{}", b"[]", b'"x"', b"\xff\xfe", b"\0", b'{"id":1}', b",", b"}", b"]", b"1e999",
    b'"\\ud83d"', b"-", b"true", b"9" * 5000, b"[" * 2000, b"\xef\xbb\xbf", b"NaN",
]  # fmt: skip


@st.composite
def harmed(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with up to three pieces cut out, put in or put over."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.sampled_from([at, at + 1, at + 20, len(data)]))
        data = data[:at] + draw(st.sampled_from([b"", *PIECES])) + data[end:]
    return data


def check(opened: Opened) -> None:
    refs = [memory.ref for memory in opened.memories]
    assert len(refs) == len(set(refs))
    for memory in opened.memories:
        assert from_record(json.loads(json.dumps(to_record(memory)))) is not None
    assert all(fault.file and fault.reason for fault in opened.unreadable)


quick = settings(max_examples=count(40, 150))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> AgentMemoryPrograms:
    programs = AgentMemoryPrograms(tmp_path_factory.mktemp("am") / "work")
    old = programs.add_fact("a", "person", "A works at Acme, 中文", status="historical")
    programs.add_edge("a", "person", "A works at NewCorp", "works_at", "newcorp")
    programs.add_fact("a", "person", "A works at NewCorp as CTO", supersedes=old)
    return programs


@quick
@given(data=st.data())
def test_agent_memory(facts: AgentMemoryPrograms, data: st.DataObject) -> None:
    path = facts.items("a")
    whole = path.read_bytes()
    try:
        path.write_bytes(data.draw(harmed(whole)))
        check(open_agent_memory(facts.home))
    finally:
        path.write_bytes(whole)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[AmbientProgram, list[Path]]:
    ambient = AmbientProgram(tmp_path_factory.mktemp("amb"))
    event = ambient.event("Postgres \ud83d", metadata={"file": "a.ts"})
    files = [
        ambient.project("4d3a12e5f267cd60", "shop", event),
        ambient.branch("4d3a12e5f267cd60", "main", ambient.event("b"), event),
        ambient.branch("4d3a12e5f267cd60", "old", event, folder="archived"),
    ]
    return ambient, files


@quick
@given(data=st.data(), number=st.integers(0, 2))
def test_ambient(shop: tuple[AmbientProgram, list[Path]], data: st.DataObject, number: int) -> None:
    ambient, files = shop
    path = files[number]
    whole = path.read_bytes()
    try:
        path.write_bytes(data.draw(harmed(whole)))
        check(open_ambient(ambient.root))
    finally:
        path.write_bytes(whole)


ENTRY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["relation", "target", "memory", "places", "file", "raw", "index"]),
            inner,
        )
    ),
    max_leaves=8,
)
ENTRIES = st.dictionaries(
    st.sampled_from(
        ["pinned", "tags", "links", "kept", "supersedes", "superseded_by", "shard", "rating"]
    ),
    ENTRY,
)


@pytest.mark.slow
@quick
@given(entry=ENTRIES, act=st.sampled_from(list(Act)))
def test_any_sidecar(
    shop: tuple[AmbientProgram, list[Path]], entry: dict[str, object], act: Act
) -> None:
    ambient, _ = shop
    path = ambient.root / ".memtui" / "sidecar.jsonl"
    path.parent.mkdir(exist_ok=True)
    opened = open_ambient(ambient.root)
    id = opened.memories[0].id
    lines = [json.dumps({"id": name, "set": entry}) for name in (id, "gone")]
    path.write_text("\n".join(lines))
    try:
        opened.reload()
        check(opened)
        fields = {"content": "new", "tags": ["x"], "relation": "see", "target": "y", "rating": 3}
        try:
            plan = opened.plan(act, id, others=["gone"], **fields)
        except MemtuiError:
            return
        assert all(isinstance(item, str) for item in plan.refs)
    finally:
        path.unlink()
