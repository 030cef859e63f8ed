"""An act of several files that is killed, done, undone or redone, is finished or undone whole.

The usual run takes one act of one format of each engine, and some of its points; the long one all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.stores.format import Format
from tests.formats import ONE_OF_EACH_ENGINE
from tests.long_run import is_long
from tests.torture import act_kills

USUAL = {
    "agent-memory": "import",
    "mcp-memory": "move",
    "engram": "restore",
    "hermes": "merge",
    "markdown-folder": "edit",
}
CASES = {
    f"{known.name}-{act}": (known, act)
    for known in ONE_OF_EACH_ENGINE
    for act in act_kills.ACTS
    if is_long() or act == USUAL[known.name]
}


@pytest.mark.slow
@pytest.mark.parametrize(("known", "act"), CASES.values(), ids=CASES)
def test_a_killed_act_is_finished_or_undone_whole(
    known: Format, act: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    choose = list if is_long() else act_kills.sample_of
    try:
        found = act_kills.run(known, act, tmp_path, choose)
    except act_kills.Impossible:
        record_property("figure", f"killed acts: {known.name} has no {act} of several files")
        return
    record_property("figure", f"killed acts: {known.name}, {act}: {found.total()} kills, all whole")
