"""`memtui serve`: what it refuses. The server itself: `tests/unit/serve`."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def test_a_wrong_address_is_one_line(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("serve", "--host", "256.1.1.1") == 1
    assert "cannot listen on 256.1.1.1" in capsys.readouterr().err
