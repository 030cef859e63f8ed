"""Two people with a screen each, and an agent, on one team's memory: what each of them sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.library import Library
from tests.postgres import Server
from tests.team_fixtures import Team, add
from tests.tui.stage import Stage, stage
from tests.unit.mcp.agents import connected


@asynccontextmanager
async def screen(place: Path, state: Path) -> AsyncIterator[Stage]:
    """The screen of a person, at the size of a small terminal."""
    async with stage(
        state,
        (80, 24),
        state=state,
        toasts=True,
        open_library=lambda: Library.open([place], state=state),
        now=lambda: datetime.now(UTC),
    ) as on:
        await on.ready()
        yield on


@pytest.mark.slow
async def test_two_people_and_an_agent(team: Team, server: Server, tmp_path: Path) -> None:
    for text in ("Deploys happen on Tuesdays", "Postgres is the queue"):
        add(team.open("bert"), text, created=datetime(2026, 1, 5, 9, tzinfo=UTC))
    begun = "2026-02-01"  # whatever the clock does while this runs
    hers, his = (Path(f"postgres:{team.service(name)}") for name in ("anna", "bert"))
    async with (
        screen(hers, tmp_path / "anna" / "state") as anna,
        screen(his, tmp_path / "bert" / "state") as bert,
        connected(tmp_path / "anna", hers) as agent,
    ):

        async def propose(content: str) -> None:
            memory = await agent.find("deploys")
            known = {"ref": memory["ref"], "version": memory["version"]}
            made = await agent.call(
                "propose_change", act="edit", content=content, reason="the calendar", **known
            )
            assert made["status"] == "proposed"

        await anna.sees("Deploys happen on Tuesdays")
        await propose("Deploys happen on Mondays")

        # Bert edits what the agent has read; Anna sees it without a key.
        await bert.sees("Deploys happen on Tuesdays")
        await bert.press("slash")
        await bert.type("deploys")
        await bert.press("enter", "e", "ctrl+end")
        await bert.type(" and Fridays")
        await bert.press("ctrl+s")
        await anna.sees("Deploys happen on Tuesdays and Fridays")

        # The proposal is refused, a fresh one accepted, and Bert sees that.
        await anna.press("V")
        await anna.sees("the memory has changed since the agent read it")
        assert "Mondays" in anna.text()
        await anna.press("a")
        assert "Deploys happen on Tuesdays and Fridays" in bert.text()
        await anna.press("x")
        await propose("Deploys happen on Fridays only")
        await anna.press("f5")
        await anna.sees("content: Deploys happen on Fridays")
        await anna.press("a")
        await bert.sees("Deploys happen on Fridays only")
        await anna.press("escape", "slash")
        await anna.type("deploys")
        await anna.press("enter", "H")
        for words in ("anna with claude-code", "bert"):
            await anna.sees(words)
        await anna.press("escape", "escape", "escape")

        # What changed since, and what was believed before.
        await bert.press("escape", "escape", "R", "t")
        await bert.type(begun)
        await bert.press("enter")
        await bert.sees("anna with claude-code 2.1")
        await bert.press("escape", "escape", "@")
        await bert.type(begun)
        await bert.press("enter")
        await bert.sees("AS OF")
        await bert.sees("Deploys happen on Tuesdays")
        await bert.until(lambda: "Fridays" not in bert.text(), "only what was believed then")
        await bert.press("@")
        await bert.sees("Deploys happen on Fridays only")

        # The server stops and comes back.
        server.stop()
        try:
            for on in (anna, bert):
                await on.sees("NOT CONNECTED")
                assert "Deploys happen on Fridays only" in on.text()
            await anna.press("e")
            await anna.sees("does not answer")
        finally:
            server.start()
        for on in (anna, bert):
            await on.until(lambda on=on: "NOT CONNECTED" not in on.text(), "it is back")
        add(team.open("bert"), "Said when it was back")
        for on in (anna, bert):
            await on.sees("Said when it was back")
