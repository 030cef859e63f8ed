"""Run the schema in a team's database."""

from __future__ import annotations

import psycopg

from memtui.team.connection import open_connection, to_error


def run_schema(service: str, text: str) -> None:
    """Run the statements, all or none; they may be run again. Raises NotConnected or StoreError."""
    with open_connection(service) as connection:
        try:
            with connection.transaction():
                connection.execute(text.encode())
        except psycopg.Error as error:
            raise to_error(error, service) from None
