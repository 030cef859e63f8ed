"""An act of several files that is killed, done, undone or redone, is finished or undone whole.

The usual run takes one act of one format of each engine, and every other of the points that matter
most, with the next engine the others; the long one all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memtui.stores.format import Format
from tests.formats import ONE_OF_EACH_ENGINE
from tests.long_run import is_long, share
from tests.torture import act_kills

USUAL = {
    "agent-memory": "import",
    "mcp-memory": "move",
    "engram": "restore",
    "hermes": "merge",
    "markdown-folder": "edit",
}
FEW = 5
"""So many kills are not halved."""
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
    row = ONE_OF_EACH_ENGINE.index(known)

    def choose(faults: list[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        sample = faults if is_long() else act_kills.sample_of(faults)
        return share(sample, row, 2 if len(sample) > FEW else 1)

    try:
        found = act_kills.run(known, act, tmp_path, choose)
    except act_kills.Impossible:
        record_property("figure", f"killed acts: {known.name} has no {act} of several files")
        return
    record_property("figure", f"killed acts: {known.name}, {act}: {found.total()} kills, all whole")
