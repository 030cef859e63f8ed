"""From arguments to a command; errors become one line and an exit code.

0 done    1 refused, or nothing found where something was named    2 wrong usage
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from memtui import __version__
from memtui.errors import MemtuiError, QueryError

COMMANDS = {
    "demo": ("memtui.cli.screen:demo", "Open a throw-away copy of the sample data."),
    "open": ("memtui.cli.screen:open_", "Open the screen on these stores (the default)."),
    "stores": ("memtui.cli.reading:stores", "List the stores found, and what is unreadable."),
    "list": ("memtui.cli.reading:list_", "List memories, newest first."),
    "search": ("memtui.cli.reading:search", "Find memories by text and filters."),
    "similar": ("memtui.cli.embedding:similar", "Find memories that are like one."),
    "embed": ("memtui.cli.embedding:embed", "Make the vectors for search by meaning."),
    "show": ("memtui.cli.reading:show", "Show everything about one memory."),
    "stats": ("memtui.cli.reading:stats", "Count memories by type, importance, status, store."),
    "add": ("memtui.cli.writing:add", "Add a memory by the store's own rules."),
    "edit": ("memtui.cli.writing:edit", "Change a memory's text, type, importance, entity, tags."),
    "supersede": ("memtui.cli.writing:supersede", "Write the successor of a memory."),
    "retire": ("memtui.cli.writing:retire", "Take a memory out of use."),
    "restore": ("memtui.cli.writing:restore", "Bring a memory back."),
    "delete": ("memtui.cli.writing:delete", "Remove a memory from its store."),
    "pin": ("memtui.cli.writing:pin", "Pin a memory, or unpin it."),
    "link": ("memtui.cli.writing:link", "Link a memory to another."),
    "unlink": ("memtui.cli.writing:unlink", "Take a link away."),
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
        """What is not a command is a path to open."""
        if args and args[0] not in COMMANDS:
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


def run(arguments: Sequence[str]) -> int:
    """Run one command line. Returns the exit code; prints every error as one line."""
    try:
        result = memtui.main(list(arguments), prog_name="memtui", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        _say("stopped")
        return 1
    except click.ClickException as error:
        _say(error.format_message())
        return 2
    except MemtuiError as error:
        _say(str(error))
        return 2 if isinstance(error, QueryError) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _say(f"{error.filename or 'a file'}: {error.strerror or error}")
        return 1
    except Exception as error:  # the last line of defence: no traceback reaches a person
        from memtui.cli.faults import report_fault

        _say(report_fault(error))
        return 1


def _say(line: str) -> None:
    from memtui.text import one_line

    print(f"memtui: {one_line(line)}", file=sys.stderr)
