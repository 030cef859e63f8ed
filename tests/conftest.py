"""What all tests share: the figures printed at the end of a run, what property tests may take."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "memtui",
    deadline=None,  # an example that a busy machine takes longer for is no fault
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("memtui")

_FIGURE = "figure"


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with one line; all lines are printed in one block at the end of the run.

    They travel as user properties of the report, so they arrive from pytest-xdist's workers too.
    """

    def add(line: str) -> None:
        request.node.user_properties.append((_FIGURE, line))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == _FIGURE
    ]
    if lines:
        terminalreporter.section("figures")
        for line in sorted(lines):
            terminalreporter.write_line(line)
