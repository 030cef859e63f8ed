"""A worker lets the screen and the agents go first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memtui.child_processes import NICENESS, run_worker

WORKER = """
import os
from pathlib import Path
from memtui.child_processes import serve

def work(_):
    group = Path("/proc/self/autogroup")
    return {"process": os.nice(0), "session": group.read_text() if group.exists() else ""}

raise SystemExit(serve(work))
"""


def test_a_worker_is_nice_to_other_sessions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asking_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = run_worker("asking_worker", ())
    assert said["process"] >= NICENESS
    if os.access("/proc/self/autogroup", os.W_OK):  # Linux counts niceness within a session
        assert str(said["session"]).strip().endswith(f"nice {NICENESS}")
