"""What `memtui mcp` costs: `python -m tests.bench.agents [COUNT]`, 33,000 memories unless told.

Printed are the time and processor time from the start of the process to the first answer, each read
tool beside the library's own search, memory, and five agents over one `--http`, 20 calls a second
each. Times are of the wall unless stated: look at the load that is printed with them.
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
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memtui.library import Library
from memtui.query import parse_query
from tests.bench import corpus
from tests.bench.start import percentile

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
            await timed(client, "search_memories", {"query": QUERIES[0]})
            took, pid = time.perf_counter() - begun, child("memtui mcp")
            cpu = processor_seconds(pid)
            print(f"first answer, {run}: {took:.2f} s, {cpu:.2f} s of CPU, {resident(pid):.0f} MiB")
            if run == "cold":
                continue
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


def library_alone(store: Path, cache: Path) -> None:
    library = Library.open([store], cache=cache)
    library.load()
    library.index()
    queries = [parse_query(query, corpus.NOW) for query in QUERIES]
    library.find(queries[0])
    times = []
    for at in range(CALLS):
        begun = time.perf_counter()
        library.find(queries[at % len(queries)])
        times.append(time.perf_counter() - begun)
    show("the library's own search", times)
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


async def many_agents(address: str, token: str, pid: int) -> None:
    async def agent() -> list[float]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            times = []
            begun = time.perf_counter()
            for number in range(RATE * SECONDS):
                await asyncio.sleep(max(0.0, begun + number / RATE - PAUSE - time.perf_counter()))
                query = QUERIES[number % len(QUERIES)]
                times.append(await timed(client, "search_memories", {"query": query}))
            return times

    before = processor_seconds(pid)
    found = await asyncio.gather(*(agent() for _ in range(AGENTS)))
    show(
        f"{AGENTS} agents, {RATE} calls a second each", [each for times in found for each in times]
    )
    cpu = processor_seconds(pid) - before
    print(f"{'':<34}{cpu / SECONDS:8.2f}  of a core; {resident(pid):.0f} MiB")


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
            asyncio.run(many_agents(*server))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 33_000)
