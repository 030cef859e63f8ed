"""The store that most tests of the screen look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from .stage import write_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The small store of `stage.FACTS`, to be opened."""
    return write_store(tmp_path / "store")
