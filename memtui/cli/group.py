"""The command line as click sees it; a command is imported only when it is called."""

from __future__ import annotations

import importlib
import os
from difflib import get_close_matches

import click

from memtui import __version__


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
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """What is not a command is a path to open; paths take no options."""
        if args and args[0] not in COMMANDS:
            if any(argument.startswith("-") for argument in args) and not os.path.exists(args[0]):
                close = get_close_matches(args[0], COMMANDS, 1)
                advice = f" (did you mean {close[0]}?)" if close else ""
                raise click.UsageError(f"there is no command {args[0]!r}{advice}")
            return "open", self.get_command(ctx, "open"), args
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False},
)
@click.version_option(__version__, prog_name="memtui", message="%(prog)s %(version)s")
@click.pass_context
def memtui(ctx: click.Context) -> None:
    """See, search, correct and carry away what AI agents remember.

    memtui [PATH...] opens the screen on these stores; with no path, on every store in the current
    folder and in the known places. Not on a terminal it prints a summary instead.
    """
    if ctx.invoked_subcommand is None:
        command = COMMANDS["open"][0].partition(":")
        open_: click.Command = getattr(importlib.import_module(command[0]), command[2])
        ctx.invoke(open_)


COMMANDS = {
    "demo": ("memtui.cli.screen:demo", "Open a throw-away copy of the sample data."),
    "open": ("memtui.cli.screen:open_", "Open the screen on these stores (the default)."),
    "stores": ("memtui.cli.queries:stores", "List the stores found, and what is unreadable."),
    "list": ("memtui.cli.queries:list_", "List memories, newest first."),
    "search": ("memtui.cli.queries:search", "Find memories by text and filters."),
    "similar": ("memtui.cli.embedding:similar", "Find memories that are like one."),
    "embed": ("memtui.cli.embedding:embed", "Make the vectors for search by meaning."),
    "show": ("memtui.cli.queries:show", "Show everything about one memory."),
    "stats": ("memtui.cli.queries:stats", "Count memories by type, importance, status, store."),
    "add": ("memtui.cli.changes:add", "Add a memory by the store's own rules."),
    "edit": ("memtui.cli.changes:edit", "Change a memory's text, type, importance, entity, tags."),
    "supersede": ("memtui.cli.changes:supersede", "Write the successor of a memory."),
    "retire": ("memtui.cli.changes:retire", "Take a memory out of use."),
    "restore": ("memtui.cli.changes:restore", "Bring a memory back."),
    "delete": ("memtui.cli.changes:delete", "Remove a memory from its store."),
    "merge": ("memtui.cli.changes:merge", "Merge memories into one."),
    "accept": ("memtui.cli.changes:accept", "Accept a proposal."),
    "decline": ("memtui.cli.changes:decline", "Decline a proposal."),
    "rate": ("memtui.cli.changes:rate", "Rate a memory from 1 to 5."),
    "review": ("memtui.cli.changes:review", "Mark a memory as reviewed today."),
    "pin": ("memtui.cli.changes:pin", "Pin a memory, or unpin it."),
    "link": ("memtui.cli.changes:link", "Link a memory to another."),
    "unlink": ("memtui.cli.changes:unlink", "Take a link away."),
    "history": ("memtui.cli.journal:history", "Show what a memory replaced, and what replaced it."),
    "undo": ("memtui.cli.journal:undo", "Take back the last change."),
    "redo": ("memtui.cli.journal:redo", "Do it again."),
    "log": ("memtui.cli.journal:log", "Show what memtui changed."),
    "export": ("memtui.cli.transfer:export", "Write memories to a file: bundle, jsonl, csv..."),
    "import": ("memtui.cli.transfer:import_", "Read memories from a file, by a plan."),
    "verify": ("memtui.cli.transfer:verify", "Check that an export file is whole."),
    "config": ("memtui.cli.settings:config", "Print the settings file, explained."),
    "check": ("memtui.cli.checking:check", "Look for faults: unreadable files, odd ids, secrets."),
}
"""Name -> where the command is and one line about it; a command is imported when it is used."""
