"""`config`: the settings file as its own manual, and where everything lies."""

from __future__ import annotations

import click


@click.command("config")
@click.option("--places", is_flag=True, help="Print where settings, themes, state, cache lie.")
def config(places: bool) -> None:
    """Print a settings file that changes nothing and explains everything."""
    from memtui import config as settings
    from memtui import paths

    if not places:
        print(settings.default_text())
        return
    for name, path in (
        ("settings", paths.config_file()),
        ("themes", paths.user_themes()),
        ("state", paths.state_folder()),
        ("cache", paths.cache_folder()),
    ):
        print(f"{name:<10}{path}")
