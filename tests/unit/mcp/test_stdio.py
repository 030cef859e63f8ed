"""`memtui mcp` as a process: both revisions of the protocol, a clean wire, kills within writes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Implementation

from memtui.cli.main import run as main
from memtui.library import Library
from memtui.mcp.client_configs import CLIENTS
from tests.own_folders import own_folders
from tests.secrets_for_tests import TOKEN
from tests.unit.library.stores_for_tests import agent_memory

from .agents import Agent

ROOT = Path(__file__).parents[3]
NOISY = """
import os, sys
from memtui.mcp import reading
read = reading.memory_line
def loud(*arguments):
    print("a stray print"); sys.stdout.write("and one more\\n"); os.write(1, b"a library in C\\n")
    return read(*arguments)
reading.memory_line = loud
from memtui.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "memory", {"al": ["Al likes tea in the morning"]})


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        **own_folders(tmp_path),
    }


def server(tmp_path: Path, *arguments: object, code: str = "") -> StdioServerParameters:
    start = ["-c", code] if code else ["-m", "memtui"]
    return StdioServerParameters(
        command=sys.executable,
        args=[*start, "mcp", *map(str, arguments)],
        env=environment(tmp_path),
        cwd=tmp_path,
    )


@contextmanager
def served(
    tmp_path: Path, *arguments: object
) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """The server as a process, with what it reads and what it writes."""
    start = server(tmp_path, *arguments)
    with subprocess.Popen(
        [start.command, *start.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=start.env,
        cwd=tmp_path,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process, process.stdin, process.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_both_revisions_read_write_and_undo(tmp_path: Path, root: Path, mode: str) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.json")}
    info = Implementation(name="codex", version="0.9")
    async with Client(server(tmp_path, "--write", root), mode=mode, client_info=info) as client:
        agent = Agent(client)
        assert len((await client.list_tools()).tools) == 13
        assert (await agent.find("tea"))["text"] == "Al likes tea in the morning"
        done = await agent.call("add_memory", content="Bo rows on Sundays", entity="al", reason="x")
        assert done["status"] == "done"
        assert "Unknown tool" in await agent.fault("no_such_tool")
        library = Library.open([root], state=tmp_path / "state")
        (action,) = library.log()
        assert action.author is not None
        assert (action.author.client, action.author.version) == ("codex", "0.9")
        library.close()
        await agent.call("undo_change", number=done["number"])
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow
async def test_stray_prints_do_not_reach_the_wire(tmp_path: Path, root: Path) -> None:
    async with Client(server(tmp_path, root, code=NOISY)) as client:
        assert (await Agent(client).find("tea"))["text"] == "Al likes tea in the morning"


@pytest.mark.slow
async def test_the_stores_of_the_current_folder_are_served(tmp_path: Path, root: Path) -> None:
    async with Client(server(tmp_path)) as client:
        (store,) = (await Agent(client).call("get_overview"))["stores"]
        assert store["memories"] == 1


def _messages(write: Callable[[str], object]) -> Iterator[None]:
    """An endless agent of the older revision that adds memories and reads no answer."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "codex", "version": "1"},
    }
    head = {"jsonrpc": "2.0"}
    write(json.dumps({**head, "id": 0, "method": "initialize", "params": params}))
    write(json.dumps({**head, "method": "notifications/initialized"}))
    number = 0
    while True:
        number += 1
        arguments = {"content": f"Tower {number} rings {number * 7} bells", "entity": "al"}
        call = {"name": "add_memory", "arguments": {**arguments, "reason": "x"}}
        write(json.dumps({**head, "id": number, "method": "tools/call", "params": call}))
        yield


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["client", "server"])
def test_a_kill_within_writes_leaves_a_store_that_is_read_and_undone(
    tmp_path: Path, root: Path, killed: str
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.json")}
    file = root / "entities" / "al" / "items.json"
    with served(tmp_path, "--write", root) as (process, stdin, stdout):

        def write(line: str) -> None:
            stdin.write(f"{line}\n")
            stdin.flush()

        messages = _messages(write)
        for _ in range(12):
            next(messages)
        while len(file.read_bytes()) < len(before[file]) + 500:
            assert process.poll() is None
            time.sleep(0.002)  # the server needs the processor
        if killed == "server":
            process.kill()
        stdout.close()
        with suppress(BrokenPipeError):
            stdin.close()
        process.wait(120)  # alone, it ends by itself
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    assert not library.snapshot.stores[0].unreadable
    made = library.log(void=False)
    assert made
    assert len(json.loads(file.read_bytes())) == len(made) + 1
    for action in made:
        library.undo(action.id)
    assert {path: path.read_bytes() for path in before} == before


# ---- without the extra, and beside the server ---------------------------------------------------


def run(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_plain_install_says_what_is_missing_and_its_help_loads_nothing_of_it(
    tmp_path: Path,
) -> None:
    code = """
import sys
import tomllib
from memtui.cli.main import run
run(["--help"]); run(["mcp", "--help"]); run(["mcp", "--print-config", "codex"])
assert not {"mcp", "mcp_types", "pydantic", "starlette"} & {*sys.modules}
for missing in ("uvicorn", "pydantic", "mcp"):
    sys.modules[missing] = None
    assert run(["mcp"]) == 1
"""
    done = run(tmp_path, code)
    assert done.returncode == 0
    assert (
        done.stderr
        == 'memtui: mcp needs more packages (pip install ".[mcp]" in a checkout of memtui)\n' * 3
    )


@pytest.mark.slow
def test_without_a_store_it_says_so_and_ends(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; from memtui.cli.main import run; sys.exit(run(['mcp']))")
    assert done.returncode == 1
    assert "no memory store is recognised here" in done.stderr
    assert done.stderr.count("\n") == 1


def _parsed(lines: str) -> dict[str, Any]:
    """The server in the lines of a file of JSON or TOML."""
    head, _, text = lines.partition("\n")
    document = tomllib.loads(text) if head.startswith("#") else json.loads(text)
    servers: dict[str, Any] = next(iter(document.values()))
    found: dict[str, Any] = servers["memtui"]
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_the_lines_for_a_client_start_the_server(client: str) -> None:
    command = ["memtui", "mcp", "--store", "/a b/memory"]
    lines = CLIENTS[client].stdio(command)
    if client == "claude-code":
        assert shlex.split(lines) == ["claude", "mcp", "add", "memtui", "--", *command]
    else:
        server = _parsed(lines)
        assert [server["command"], *server["args"]] == command


def test_the_printed_command_runs_from_anywhere(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was `memtui`, which a program with another PATH does not find."""
    assert main(["mcp", "--print-config", "cursor", "--store", str(root)]) == 0
    server = _parsed(capsys.readouterr().out)
    command = [server["command"], *server["args"], "--print-config", "claude-code"]
    done = subprocess.run(
        command,
        env={**environment(tmp_path), "PATH": ""},
        cwd="/",
        check=True,
        capture_output=True,
        text=True,
    )
    assert str(root) in done.stdout


HALF = "tea \\ud83d \\\\ud83d \\ud83c\\udf75"
"""Half a character, a backslash before letters, a whole character, as JSON has them."""


@pytest.mark.slow
def test_a_request_with_half_a_character_is_answered(tmp_path: Path, root: Path) -> None:
    """The SDK drops a line that holds one, and the agent waits for ever."""
    hello: list[str] = []
    next(_messages(hello.append))
    call = {"name": "search_memories", "arguments": {"query": "HALF"}}
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    with served(tmp_path, root) as (process, stdin, stdout):
        stdin.write("".join(f"{line}\n" for line in hello[:2]))
        stdin.write(json.dumps(asked).replace("HALF", HALF) + "\n")
        stdin.flush()
        answers = [json.loads(stdout.readline()) for _ in range(2)]
        stdin.close()
        process.wait(120)
    (answer,) = (each for each in answers if each["id"] == 7)
    assert "Al likes tea" in json.dumps(answer["result"])


@pytest.mark.parametrize("client", CLIENTS)
def test_the_lines_for_a_client_over_http_have_the_address_and_no_token(
    client: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTUI_MCP_TOKEN", TOKEN)
    assert main(["mcp", "--print-config", client, "--http", "--port", "8123"]) == 0
    started, lines = capsys.readouterr().out.split("\n\n", 1)
    assert started.startswith(f"MEMTUI_MCP_TOKEN=TOKEN {Path(sys.executable).parent}/")
    assert started.endswith("memtui mcp --http --port 8123")
    server = _parsed(lines)
    assert "http://127.0.0.1:8123/mcp" in server.values()
    assert TOKEN not in lines
    token = server.get("bearer_token_env_var") or server["headers"]["Authorization"]
    assert "MEMTUI_MCP_TOKEN" in token or client in ("vscode", "zed")
    assert main(["mcp", "--print-config", client, "--http", "--port", "0"]) == 1
