"""The tools of other servers over any store: names and arguments as theirs, memtui's rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memtui.mcp.profiles import PROFILES
from tests.unit.library.stores_for_tests import agent_memory

from .agents import connected, open_library

RECORDED: Mapping[str, Mapping[str, Mapping[str, tuple[str, bool]]]] = json.loads(
    Path(__file__).with_name("recorded_tools.json").read_text()
)
"""Server -> tool -> argument -> type and whether it is required: of the reference server as it
answered tools/list, of Ambient as its source declares them."""


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
    async with connected(tmp_path, root, profile=profile) as agent:
        tools = (await agent.client.list_tools()).tools
    assert {
        tool.name: {
            name: [_type_of(schema), name in tool.input_schema.get("required", ())]
            for name, schema in tool.input_schema["properties"].items()
        }
        for tool in tools
    } == RECORDED[profile]
    assert all(tool.annotations.read_only_hint is not None for tool in tools)


def test_every_profile_is_recorded() -> None:
    assert PROFILES.keys() == RECORDED.keys()


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
