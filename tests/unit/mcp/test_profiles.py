"""The tools of other servers over any store: names and arguments as theirs, memtui's rules."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.mcp.profiles import PROFILES
from tests.unit.library.stores_for_tests import agent_memory

from .agents import connected, open_library

RECORDED: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("recorded_tools.json").read_text()
)
"""Server -> tool -> its title and hints (read-only, destructive, idempotent, open world), where the
server states them, and its arguments: type, and whether it is required. Of the reference server
and Engram (be4b613) as they answered tools/list, of Ambient (cfdfe1d) as its source declares them;
of memtui since people write instructions with its tools."""

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(folder)
    return agent_memory(tmp_path / "memory", {"al": ["Al likes tea in the morning"]})


def stored(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*.json")}


def _type_of(schema: Mapping[str, Any]) -> str:
    options = [schema, *schema.get("anyOf", ())]
    return next(each["type"] for each in options if each.get("type") not in (None, "null"))


@pytest.mark.parametrize("profile", RECORDED)
async def test_the_tools_are_those_of_the_real_server(
    tmp_path: Path, root: Path, profile: str
) -> None:
    other = "" if profile == "memtui" else profile
    async with connected(tmp_path, root, profile=other, write=not other) as agent:
        tools = (await agent.client.list_tools()).tools
    recorded = RECORDED[profile]
    assert {tool.name for tool in tools} == recorded.keys()
    for tool in tools:
        hints = tool.annotations
        stated = {
            "title": tool.title,
            "hints": [
                hints.read_only_hint,
                hints.destructive_hint,
                hints.idempotent_hint,
                hints.open_world_hint,
            ],
            "arguments": {
                name: [_type_of(schema), name in tool.input_schema.get("required", ())]
                for name, schema in tool.input_schema["properties"].items()
            },
        }
        assert stated | recorded[tool.name] == stated, tool.name
        assert None not in stated["hints"]


def test_every_profile_is_recorded() -> None:
    assert {*PROFILES, "memtui"} == RECORDED.keys()


AMBIENT: list[tuple[str, dict[str, Any]]] = [
    ("store_decision", {"decision": "We use Postgres", "reasoning": "it is known"}),
    ("store_task_update", {"description": "The ledger moves", "status": "started"}),
    ("store_error_resolution", {"error": "Port 80 is taken", "resolution": "Use port 8080"}),
]


async def test_what_ambient_would_store_is_proposed_and_written_only_with_write(
    tmp_path: Path, root: Path
) -> None:
    before = stored(root)
    async with connected(tmp_path, root, profile="ambient") as agent:
        for tool, arguments in AMBIENT:
            said = (await agent.call(tool, **arguments))["text"]
            assert "proposed" in said
            assert "a person decides" in said
        assert "No commands recorded" in (await agent.call("get_command_history"))["text"]
        assert "Working directory" in (await agent.call("get_shell_context"))["text"]
        assert "tea" in (await agent.call("search_all_memory", query="morning"))["text"]
    assert stored(root) == before
    person = open_library(tmp_path, root)
    person.load()
    async with connected(tmp_path, root, profile="ambient", write=True) as agent:
        for tool, arguments in AMBIENT:
            assert (await agent.call(tool, **arguments))["text"] == "Memory recorded."
        listed = (await agent.call("get_recent_activity"))["text"]
        assert "We use Postgres (Reason: it is known)" in listed
        assert "shop/main" in listed or "main" in listed
        tea = next(line for line in listed.split("\n") if "likes tea" in line)
        id = tea.split()[0].removeprefix("id=")
        await agent.call("update_memory", eventId=id, newContent="Al likes coffee")
        assert "coffee" in (await agent.call("search_all_memory", query="coffee"))["text"]
        assert "retired" in (await agent.call("delete_memory", eventId=id))["text"]
        assert "coffee" not in (await agent.call("get_recent_activity"))["text"]
    person.refresh()
    for action in person.log():
        person.undo(action.id)
    assert {name: data for name, data in stored(root).items() if name in before} == before


async def test_the_reference_server_s_tools_read_and_change_a_graph(tmp_path: Path) -> None:
    root = tmp_path / "graph"
    root.mkdir()
    file = root / "memory.json"
    file.write_text(
        '{"type":"entity","name":"Al","entityType":"person","observations":["likes tea"]}\n'
        '{"type":"entity","name":"Bo","entityType":"person","observations":["rows"]}\n'
        '{"type":"relation","from":"Al","to":"Bo","relationType":"knows"}\n'
    )
    before = file.read_bytes()
    async with connected(tmp_path, root, profile="reference", write=True) as agent:
        graph = await agent.call("read_graph")
        assert {each["name"] for each in graph["entities"]} == {"Al", "Bo"}
        assert {"from": "Al", "to": "Bo", "relationType": "knows"} in graph["relations"]
        met = {"from": "Bo", "to": "Cy", "relationType": "met"}
        for tool, arguments in (
            ("add_observations", {"observations": [{"entityName": "Al", "contents": ["sings"]}]}),
            (
                "create_entities",
                {"entities": [{"name": "Cy", "entityType": "person", "observations": ["dives"]}]},
            ),
            ("create_relations", {"relations": [met]}),
        ):
            said = (await agent.call(tool, **arguments))["text"]
            assert said in ("Added.", "Created."), (tool, said)
        (al,) = (await agent.call("open_nodes", names=["Al"]))["entities"]
        assert set(al["observations"]) == {"likes tea", "sings"}
        assert (await agent.call("search_nodes", query="dives"))["entities"][0]["name"] == "Cy"
        gone = {"entityName": "Al", "observations": ["sings"]}
        assert (await agent.call("delete_observations", deletions=[gone]))["text"] == "Retired."
        assert "sings" not in str(await agent.call("open_nodes", names=["Al"]))
    person = open_library(tmp_path, root)
    person.load()
    for action in person.log():
        person.undo(action.id)
    assert file.read_bytes() == before


# ---- Engram -------------------------------------------------------------------------------------


@pytest.fixture
def engram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sample database, and the folder of one of its projects as the current one."""
    folder = tmp_path / "towerd"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return Path(shutil.copytree(DATA / "engram", tmp_path / "engram"))


def rows(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What agents read, without Engram's own queue for its cloud."""
    tables = ("observations", "memory_relations", "sessions", "user_prompts")
    with closing(sqlite3.connect(root / "engram.db")) as database:
        return {
            name: database.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables
        }


@pytest.mark.slow
async def test_engram_s_tools_read_propose_and_write(tmp_path: Path, engram: Path) -> None:
    before = rows(engram)
    async with connected(tmp_path, engram, profile="engram") as agent:
        here = await agent.call("mem_current_project")
        assert (here["project"], here["project_source"]) == ("towerd", "git_root")
        found = await agent.call("mem_search", query="strokes", limit=3)
        assert 0 < len(found["results"]) <= 3
        assert {each["project"] for each in found["results"]} == {"towerd"}
        everywhere = await agent.call("mem_search", query="strokes", all_projects=True)
        assert len(everywhere["results"]) >= len(found["results"])
        first, second = found["results"][:2]
        whole = (await agent.call("mem_get_observation", id=first["id"]))["result"]
        assert whole.startswith(f"#{first['id']} [{first['type']}]")
        assert (
            f">>> #{first['id']}"
            in (await agent.call("mem_timeline", observation_id=first["id"]))["result"]
        )
        assert (await agent.call("mem_context"))["result"]
        counts = "- Sessions: 42\n- Observations: 85\n- Prompts: 35\n"
        assert counts in (await agent.call("mem_stats"))["result"]
        assert (await agent.call("mem_doctor"))["status"] == "ok"
        saved = await agent.call("mem_save", title="Bells", content="Bells are rung by hand")
        assert "proposed" in saved["result"]
        assert "a person decides" in saved["result"]
        assert "unknown_project" in await agent.fault("mem_search", query="x", project="nowhere")
        for tool in ("mem_session_start", "mem_session_end"):
            assert "Failed to" in await agent.fault(tool, id="s1")
        assert "Failed to" in await agent.fault("mem_save_prompt", content="Why thirteen?")
        assert "not found" in await agent.fault("mem_get_observation", id=987654)
    assert rows(engram) == before

    async with connected(tmp_path, engram, profile="engram", write=True) as agent:
        topic = {"topic_key": "ringing/by-hand", "type": "decision"}
        saved = await agent.call("mem_save", title="Bells", content="Rung by hand", **topic)
        assert saved["result"] == 'Memory saved: "Bells" (decision)'
        again = await agent.call("mem_save", title="Bells", content="Rung by motors", **topic)
        assert again["id"] == saved["id"], "a topic key is one observation"
        new = {"id": saved["id"]}
        assert "Rung by motors" in (await agent.call("mem_get_observation", **new))["result"]
        await agent.call("mem_update", content="Rung by a child", topic_key="ringing/who", **new)
        assert (await agent.call("mem_pin", **new))["pinned"]
        assert "due" not in (await agent.call("mem_review", action="mark_reviewed", **new))
        learnt = "## Key Learnings:\n1. Ropes are changed once in every spring\n2. short\n"
        captured = await agent.call("mem_capture_passive", content=learnt)
        assert "saved=1" in captured["result"]
        await agent.call("mem_session_summary", content="## Goal\nRing the bells")
        verdict = {"memory_id_a": first["id"], "memory_id_b": second["id"], "confidence": 1}
        linked = await agent.call(
            "mem_compare", relation="related", reasoning="both strike", **verdict
        )
        assert linked["result"] == "Recorded: related"
        assert not (await agent.call("mem_unpin", **new))["pinned"]
        assert "restored" in (await agent.call("mem_delete", hard_delete=True, **new))["result"]
        assert "not found" in await agent.fault("mem_get_observation", **new)
        moved = {"from": "sundial", "to": "towerd"}
        assert "moved" in (await agent.call("mem_merge_projects", **moved))["result"]
        titles = [row[4] for row in rows(engram)["observations"]]
        assert "Bells" in titles, "hard_delete only retires"
    person = open_library(tmp_path, engram)
    person.load()
    for action in person.log():
        person.undo(action.id)
    assert rows(engram) == before


async def test_engram_s_judgments_answer_what_engram_asked(tmp_path: Path, engram: Path) -> None:
    with closing(sqlite3.connect(engram / "engram.db")) as database:
        (pending,) = database.execute(
            "SELECT r.sync_id FROM memory_relations r JOIN observations a ON a.sync_id = source_id"
            " JOIN observations b ON b.sync_id = target_id"
            " WHERE judgment_status = 'pending' AND a.deleted_at IS NULL AND b.deleted_at IS NULL"
        ).fetchone()
    async with connected(tmp_path, engram, profile="engram", write=True) as agent:
        verdict = {"relation": "compatible", "reason": "both hold", "confidence": 0.8}
        said = await agent.call("mem_judge", judgment_id=pending, **verdict)
        assert said["result"] == "Recorded: compatible"
        unknown = {"judgment_id": "rel-0", "relation": "compatible"}
        assert "not found" in await agent.fault("mem_judge", **unknown)
    with closing(sqlite3.connect(engram / "engram.db")) as database:
        judged = database.execute(
            "SELECT relation, judgment_status, reason, confidence, marked_by_actor, marked_by_kind"
            " FROM memory_relations WHERE sync_id = ?",
            (pending,),
        ).fetchone()
    assert judged == ("compatible", "judged", "both hold", 0.8, "agent", "agent")


async def test_engram_s_tools_number_the_memories_of_any_store(tmp_path: Path, root: Path) -> None:
    before = stored(root)
    async with connected(tmp_path, root, profile="engram", write=True) as agent:
        (tea,) = (await agent.call("mem_search", query="morning"))["results"]
        assert "likes tea" in (await agent.call("mem_get_observation", id=tea["id"]))["result"]
        saved = await agent.call("mem_save", title="Rowing", content="Bo rows on Sundays at noon")
        assert "rows on" in (await agent.call("mem_get_observation", id=saved["id"]))["result"]
        assert "restored" in (await agent.call("mem_delete", id=tea["id"]))["result"]
        assert not (await agent.call("mem_search", query="morning"))["results"]
    person = open_library(tmp_path, root)
    person.load()
    for action in person.log():
        person.undo(action.id)
    assert {name: data for name, data in stored(root).items() if name in before} == before


@pytest.mark.parametrize(
    ("type", "title", "key"),
    [
        ("decision", "Use Postgres", "decision/use-postgres"),
        ("", "Fixed N+1 query", "bug/fixed-n-1-query"),
        ("manual", "A note", "topic/a-note"),
        ("bugfix", "Bug", "bug/general"),
    ],
)
async def test_a_topic_key_is_suggested_as_engram_does(
    tmp_path: Path, root: Path, type: str, title: str, key: str
) -> None:
    async with connected(tmp_path, root, profile="engram") as agent:
        said = await agent.call("mem_suggest_topic_key", type=type, title=title)
        assert said["result"] == f"Suggested topic_key: {key}"
