"""What all tests share: the figures printed at the end of a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
