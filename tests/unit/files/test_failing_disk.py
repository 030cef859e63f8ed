"""When the system refuses, nothing has changed, nothing is left over, and it is said (P2, P12)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture import errors, power

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "scenario",
    [
        errors.injected,
        errors.no_permission,
        errors.size_limit,
        errors.full_disk,
        errors.traced,
        errors.order,
        power.cut,
    ],
    ids=lambda scenario: scenario.__name__,
)
def test_the_disk_fails(
    tmp_path: Path, figures: Callable[[str], None], scenario: Callable[[Path], str]
) -> None:
    figures(scenario(tmp_path))
