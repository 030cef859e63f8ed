"""What `memtui mcp` costs: `python -m tests.bench.agents [COUNT]`, 33,000 memories unless told.

Printed are the time and processor time from the start of the process to the first answer, each read
tool beside the library's own search, memory beside the command line's, five agents over one
`--http`, 20 calls a second each, and a step of the cursor on the screen without and with them.
Times are of the wall unless stated: look at the load that is printed with them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters

from memtui.library import Library
from memtui.query import parse_query
from tests.bench import corpus
from tests.bench.probe import Terminal
from tests.bench.start import count_of, percentile, running

CALLS = 100
PAUSE = 0.03
"""Seconds before each call, within the rate that a session is allowed."""
AGENTS, RATE, SECONDS = 5, 20, 10
QUERIES = ("session timeout", "deploy", "memory ag", "team decision")


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(x for x in status.split("\n") if x.startswith("VmRSS")).split()[1]) / 1024


def child(of: str) -> int:
    """The process of the server that this one started."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", of], capture_output=True, text=True
    )
    return int(found.stdout.split()[0])


def show(name: str, times: Sequence[float]) -> None:
    p50, p95, most = (percentile(times, share) * 1000 for share in (0.5, 0.95, 1.0))
    print(f"{name:<34}{p50:8.1f}{p95:8.1f}{most:8.1f}  ms p50, p95, max", flush=True)


async def timed(client: Client, tool: str, arguments: dict[str, Any]) -> float:
    await asyncio.sleep(PAUSE)
    begun = time.perf_counter()
    done = await client.call_tool(tool, arguments)
    assert not getattr(done, "is_error", False), done
    return time.perf_counter() - begun


async def one_agent(store: Path, environment: dict[str, str]) -> None:
    arguments = ["-m", "memtui", "mcp", "--store", str(store)]
    params = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    for run in ("cold", "warm"):
        begun = time.perf_counter()
        async with Client(params) as client:
            await client.list_tools()
            listed = time.perf_counter() - begun
            await timed(client, "search_memories", {"query": QUERIES[0]})
            took, pid = time.perf_counter() - begun, child("memtui mcp")
            cpu, memory = processor_seconds(pid), resident(pid)
            print(f"{run}: tools {listed:.2f} s, first search {took:.2f} s, {cpu:.2f} s of CPU")
            print(f"{run}: {memory:.0f} MiB")
            if run == "warm":
                await read_tools(client, pid)
        if run == "cold":
            command_line(store, environment)


async def read_tools(client: Client, pid: int) -> None:
    found = await client.call_tool("search_memories", {"query": QUERIES[0], "limit": 1})
    ref = found.structured_content["memories"][0]["ref"]  # type: ignore[index,union-attr]
    for tool, given in (
        ("search_memories", [{"query": query} for query in QUERIES]),
        ("list_memories", [{"filters": "since:90d"}]),
        ("get_memory", [{"ref": ref}]),
        ("explain_match", [{"query": QUERIES[0], "ref": ref}]),
        ("get_related", [{"ref": ref}]),
        ("get_context", [{"recipe": "prime", "task": QUERIES[0]}]),
        ("get_overview", [{}]),
    ):
        await timed(client, tool, given[0])
        before = processor_seconds(pid)
        times = [await timed(client, tool, given[at % len(given)]) for at in range(CALLS)]
        show(tool, times)
        each = (processor_seconds(pid) - before) / CALLS
        print(f"{'':<34}{each * 1000:8.1f}  ms of CPU each")
    print(f"memory after these: {resident(pid):.0f} MiB")


def command_line(store: Path, environment: dict[str, str]) -> None:
    """Search once as the index is made, and once with it; the second is measured."""
    command = [sys.executable, "-m", "memtui", "search", QUERIES[0], "--store", str(store)]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        _, _, used = os.wait4(process.pid, 0)
    print(f"most memory of the command line: {used.ru_maxrss / 1024:.0f} MiB")


def library_alone(store: Path, cache: Path) -> None:
    library = Library.open([store], cache=cache)
    library.load()
    library.index()
    queries = [parse_query(query, corpus.NOW) for query in QUERIES]
    library.find(queries[0])
    times, before = [], time.process_time()
    for at in range(CALLS):
        begun = time.perf_counter()
        library.find(queries[at % len(queries)])
        times.append(time.perf_counter() - begun)
    show("the library's own search", times)
    cpu = (time.process_time() - before) / CALLS
    print(f"{'':<34}{cpu * 1000:8.1f}  ms of CPU each")
    print(f"memory of the library alone: {resident(os.getpid()):.0f} MiB")


@contextmanager
def served(store: Path, environment: dict[str, str]) -> Iterator[tuple[str, str, int]]:
    """Address, token and process of a server over HTTP."""
    command = [
        sys.executable,
        "-m",
        "memtui",
        "mcp",
        "--http",
        "--port",
        "0",
        "--store",
        str(store),
    ]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        token = process.stdout.readline().split()[-1]
        try:
            yield address, token, process.pid
        finally:
            process.terminate()


class CallingAgent(Thread):
    """An agent that calls at its rate; as little as possible is done on its side."""

    def __init__(self, address: str, token: str, calls: int) -> None:
        super().__init__(daemon=True)
        self.times: list[float] = []
        self._address, self._calls = address, calls
        self._http = httpx2.Client(
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/json, text/event-stream",
            }
        )
        client = {"name": "agent", "version": "1"}
        version = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        session = self._post("initialize", version).headers["mcp-session-id"]
        self._http.headers["mcp-session-id"] = session
        self._http.headers["mcp-protocol-version"] = "2025-11-25"
        self._call(0)

    def _post(self, method: str, params: dict[str, Any]) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post(self._address, json=message, timeout=60).raise_for_status()

    def _call(self, number: int) -> None:
        arguments = {"query": QUERIES[number % len(QUERIES)]}
        found = self._post("tools/call", {"name": "search_memories", "arguments": arguments})
        assert not found.json()["result"].get("isError"), found.text

    def run(self) -> None:
        begun = time.perf_counter()
        for number in range(self._calls):
            time.sleep(max(0.0, begun + number / RATE - time.perf_counter()))
            at = time.perf_counter()
            self._call(number)
            self.times.append(time.perf_counter() - at)


def many_agents(store: Path, environment: dict[str, str], server: tuple[str, str, int]) -> None:
    """Five agents, and a person who steps through the list meanwhile."""
    address, token, pid = server
    command = [sys.executable, "-m", "memtui", str(store)]
    places = {name: environment[name] for name in environment if name.startswith("MEMTUI_")}
    with running(command, **places) as screen:
        screen.wait_for(f"of {count_of(store):,}")
        time.sleep(3)
        step(screen, "a step on the screen, alone")
        agents = [CallingAgent(address, token, RATE * SECONDS) for _ in range(AGENTS)]
        before = processor_seconds(pid)
        begun = time.perf_counter()
        for agent in agents:
            agent.start()
        step(screen, "a step, while agents call")
        for agent in agents:
            agent.join()
        took = time.perf_counter() - begun
        screen.leave("q")
    show(f"{AGENTS} agents, {RATE} calls a second each", [t for each in agents for t in each.times])
    cpu = processor_seconds(pid) - before
    print(f"{'':<34}{cpu / took:8.2f}  of a core in {took:.1f} s; {resident(pid):.0f} MiB")


def step(screen: Terminal, name: str) -> None:
    reactions = [screen.press(key) for key in ["down"] * 20 + ["up"] * 20]
    show(name, [each.last / 1000 for each in reactions])


def main(count: int) -> None:
    print(f"load {os.getloadavg()[0]:.1f}, {count:,} memories")
    with tempfile.TemporaryDirectory() as name:
        store, folder = Path(name) / "memory", Path(name)
        corpus.write_agent_memory(store, count)
        environment = {
            **os.environ,
            **{
                f"MEMTUI_{each}": str(folder / each.lower())
                for each in ("CONFIG", "STATE", "CACHE")
            },
        }
        asyncio.run(one_agent(store, environment))
        library_alone(store, folder / "cache")
        with served(store, environment) as server:
            many_agents(store, environment, server)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 33_000)
