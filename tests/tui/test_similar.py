"""`M`: more like this."""

from __future__ import annotations

from pathlib import Path

from memtui.tui.dialogs.picker import Picker

from .stage import fact, stage, write_store

FACTS = {
    "tea": [
        fact(1, "Gyokuro wants water at 60 degrees", "2026-03-02"),
        fact(2, "Water for gyokuro is cooled in two cups", "2026-03-03"),
        fact(3, "The kettle is descaled in spring", "2026-03-04"),
        fact(4, "Rooibos forgives everything", "2026-03-05"),
        fact(5, "Alice keeps the cups", "2026-03-06"),
    ]
}


async def test_more_like_this_is_listed_and_gone_to(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "store", FACTS)) as on:
        await on.press("G")
        shown = on.browse.detail.memory
        assert shown is not None
        assert shown.content.startswith("Gyokuro")
        await on.press("M")
        assert isinstance(on.app.screen, Picker)
        assert "Similar memories" in on.text()
        assert "Water for gyokuro" in on.text()
        assert "Rooibos" not in on.app.screen.query_one("ChoiceList").render_line(0).text
        await on.press("enter")
        now = on.browse.detail.memory
        assert now is not None
        assert now.content.startswith("Water for gyokuro")


async def test_nothing_alike_is_said(tmp_path: Path) -> None:
    only = {"tea": [fact(1, "Gyokuro wants water", "2026-03-02")]}
    async with stage(write_store(tmp_path / "store", only)) as on:
        await on.press("M")
        assert "No similar memories" in on.text()
        await on.press("escape")
        assert not isinstance(on.app.screen, Picker)
