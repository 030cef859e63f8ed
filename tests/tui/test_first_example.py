"""The example of tests/README.md."""

from __future__ import annotations

from pathlib import Path

from .stage import stage


async def test_searching_narrows_the_list(root: Path) -> None:
    async with stage(root, (100, 30)) as on:
        await on.press("slash")
        await on.type("tea")
        assert on.query == "tea"
        assert set(on.headlines()) == {
            "Alice prefers tea in the morning",
            "Bob drinks tea only when the coffee is out",
        }
        await on.press("escape")
        assert "Alice" in on.text()
