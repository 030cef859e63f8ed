"""Links in a real terminal: a chain of three replacements, and a relation to another store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from tests.tui.stage import fact, write_store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
CHAIN = [
    fact(1, "Alice lives in Porto", "2026-05-10", status="historical"),
    fact(2, "Alice lives in Faro", "2026-06-12", status="historical", supersedes=1),
    fact(3, "Alice lives in Lisbon", "2026-09-01", supersedes=2),
]


def test_a_chain_is_walked_and_a_link_leads_to_another_store(memtui: Start, tmp_path: Path) -> None:
    here = write_store(tmp_path / "here", {"alice": CHAIN})
    there = write_store(tmp_path / "there", {"bob": [fact(9, "Bob moved first", "2026-04-01")]})
    library = Library.open([here, there], cache=None, state=tmp_path / "journal")
    library.load()
    first, second = (store.label for store in library.stores)
    link = {"relation": "caused_by", "target": f"{second}:{fact(9, '', '2026-04-01')['id']}"}
    library.apply(library.plan([Change(Act.LINK, first, f"{first}:{CHAIN[2]['id']}", link)]))
    library.close()
    with memtui([str(here), str(there)], tmp_path) as on:
        on.wait_for("1 of 2")
        on.wait_for("Alice lives in Lisbon")
        on.send("O")
        on.wait_for("Links of Alice lives in Lisbon")
        on.wait_for("caused_by")
        on.wait_for("supersedes")
        on.wait_for("Bob moved first")
        for _ in range(3):  # the version before is one of the first links
            on.send("j")
            on.send("l")
        on.wait_for("supersedes▶   ↻ Alice lives in Porto")  # its links were asked for
        on.escape()
        on.wait_until_gone("Links of")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
