"""See `tests/team_fixtures.py`."""

from tests.team_fixtures import server, team

__all__ = ["server", "team"]
