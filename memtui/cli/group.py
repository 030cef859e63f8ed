"""The click group `memtui`; a command is imported only when it is called."""

from __future__ import annotations

import importlib
import os

import click

from memtui import __version__
from memtui.cli.commands import COMMANDS, SECTIONS, commands_in, long_help, short_help
from memtui.cli.store_selection import INCOMPLETE, INCOMPLETE_KEY
from memtui.errors import find_nearest


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from memtui.cli.error_log import start_log

        start_log()  # before store formats of other packages are loaded
        return load_command(cmd_name)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; one that printed what it could read ends with `INCOMPLETE`."""
        try:
            code = super().invoke(ctx)
        except click.exceptions.Exit as stop:
            code = stop.exit_code
        return INCOMPLETE if ctx.meta.get(INCOMPLETE_KEY) else code

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        width = max(map(len, COMMANDS))
        for module, title in SECTIONS.items():
            with formatter.section(title):
                names = commands_in(module)
                formatter.write_dl([(name.ljust(width), short_help(name)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Treat a word that is not a command as a path to open; paths take no options."""
        if args and args[0] not in COMMANDS:
            if any(argument.startswith("-") for argument in args) and not os.path.exists(args[0]):
                close = find_nearest(args[0], COMMANDS)
                advice = f" (did you mean {close}?)" if close else ""
                raise click.UsageError(f"unknown command {args[0]!r}{advice}")
            return "open", load_command("open"), args
        return super().resolve_command(ctx, args)


def load_command(name: str) -> click.Command:
    """Import and return the command of this name. Raises KeyError if there is none."""
    module, _, function = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(importlib.import_module(f"memtui.cli.{module}"), function)
    command.name, command.help = name, long_help(name, command.help)
    if name not in _WITHOUT_MEMORIES and not any(p.name == "secrets" for p in command.params):
        from memtui.cli.options import show_secrets_option

        command.params.append(show_secrets_option())
    if COMMANDS[name][0].startswith("change_commands:") or name in _WRITING:
        from memtui.cli.options import add_force

        add_force(command)
    return command


_WRITING = frozenset({"history", "review", "extract", "undo", "redo", "import"})
"""Commands that write files of stores, besides those of `change_commands`."""
_WITHOUT_MEMORIES = frozenset(
    {"open", "demo", "export", "verify", "embed", "config", "mcp", "status"}
)
"""Commands that print no text of memories; the screen has a key."""


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False},
)
@click.version_option(__version__, prog_name="memtui", message="%(prog)s %(version)s")
@click.pass_context
def memtui(ctx: click.Context) -> None:
    """Browse, search, edit and back up what AI agents remember.

    memtui [PATH...] opens the screen on these stores; without a path, on every store in the current
    folder and in the default locations. Without a terminal it prints a summary instead.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(load_command("open"), paths=())
