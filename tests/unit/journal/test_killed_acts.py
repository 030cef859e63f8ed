"""An act of several files that is killed, done, undone or redone, is finished or undone whole.

The usual run takes an act or two of one format of each engine, and some of their points; the long
one all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.stores.format import Format
from tests.formats import ONE_OF_EACH_ENGINE
from tests.long_run import count
from tests.torture import act_kills

EVERY = count(len(act_kills.ACTS) - 1, 1)
CASES = {
    f"{known.name}-{act}": (known, act)
    for row, known in enumerate(ONE_OF_EACH_ENGINE)
    for column, act in enumerate(act_kills.ACTS)
    if (row + column) % EVERY == 0
}


@pytest.mark.slow
@pytest.mark.parametrize(("known", "act"), CASES.values(), ids=CASES)
def test_a_killed_act_is_finished_or_undone_whole(
    known: Format, act: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    choose = act_kills.sample_of if EVERY > 1 else list
    try:
        found = act_kills.run(known, act, tmp_path, choose)
    except act_kills.Impossible:
        record_property("figure", f"killed acts: {known.name} has no {act} of several files")
        return
    record_property("figure", f"killed acts: {known.name}, {act}: {found.total()} kills, all whole")
