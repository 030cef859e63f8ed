"""A file that another program removes and writes anew is, between the two, no error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memtui.files.permissions import refuse_protected
from memtui.library import Library
from memtui.stores.scanning import planned_text

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from pathlib import Path

file = Path(sys.argv[1])
print("ready", flush=True)
while True:
    file.write_text("[]")
    file.unlink()
"""
TIMES = 20_000


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A file that another process removes and writes anew without a pause."""
    path = tmp_path / "items.json"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        try:
            yield path
        finally:
            program.kill()


def test_it_may_be_written(file: Path) -> None:
    for _ in range(TIMES):
        refuse_protected([file])


def test_a_plan_sees_its_text_or_that_it_is_missing(file: Path, tmp_path: Path) -> None:
    view = Library.open([], state=tmp_path / "state")
    texts = {planned_text(file, tmp_path, view) for _ in range(TIMES)}
    assert texts <= {"[]", "", None}
