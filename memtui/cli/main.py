"""From arguments to a command; errors become one line and an exit code.

0 done    1 refused, or nothing found where something was named    2 wrong usage
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from memtui.cli.group import COMMANDS
from memtui.errors import MemtuiError, QueryError


def run(arguments: Sequence[str]) -> int:
    """Run one command line. Returns the exit code; prints every error as one line."""
    try:
        if _is_opening(arguments):
            from memtui.cli.starting import show

            return show(arguments)
        return _command(arguments)
    except KeyboardInterrupt:
        _say("stopped")
        return 1
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
        from memtui.cli.error_log import report_fault

        _say(report_fault(error))
        return 1


def _is_opening(arguments: Sequence[str]) -> bool:
    """Whether the screen is asked for with nothing but paths: then click is not needed."""
    if (arguments and arguments[0] in COMMANDS) or "_MEMTUI_COMPLETE" in os.environ:
        return False
    return all(os.path.exists(argument) for argument in arguments)


def _command(arguments: Sequence[str]) -> int:
    import click

    from memtui.cli.group import memtui

    try:
        result = memtui.main(list(arguments), prog_name="memtui", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        _say("stopped")
        return 1
    except click.ClickException as error:
        _say(error.format_message())
        return 2


def _say(line: str) -> None:
    from memtui.text import mask_urls, one_line

    print(f"memtui: {one_line(mask_urls(line))}", file=sys.stderr)
