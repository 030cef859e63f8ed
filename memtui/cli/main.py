"""Run a command line; every error becomes one line on standard error and an exit code.

Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 done, but something
could not be read.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from memtui.cli.commands import COMMANDS
from memtui.errors import MemtuiError, QueryError
from memtui.paths import is_place


def run(arguments: Sequence[str]) -> int:
    """Run one command line. Returns the exit code."""
    try:
        if _is_opening(arguments):
            from memtui.cli.store_selection import show_stores

            return show_stores(arguments)
        return _run_command(arguments)
    except KeyboardInterrupt:
        _print_error("interrupted")
        return 1
    except MemtuiError as error:
        _print_error(str(error))
        return 2 if isinstance(error, QueryError) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        unnamed = "standard output" if error.errno == errno.ENOSPC else "a file"
        _print_error(f"{error.filename or unnamed}: {error.strerror or error}")
        return 1
    except MemoryError:
        _print_error("there is not enough memory for this")
        return 1
    except Exception as error:  # a fault of memtui itself: the trace goes to the log
        from memtui.cli.error_log import report_fault

        _print_error(report_fault(error))
        return 1


def _is_opening(arguments: Sequence[str]) -> bool:
    """Whether the arguments are only paths to open, for which click is not imported."""
    if (arguments and arguments[0] in COMMANDS) or "_MEMTUI_COMPLETE" in os.environ:
        return False
    return all(map(is_place, arguments))


def _run_command(arguments: Sequence[str]) -> int:
    import click

    from memtui.cli.group import memtui

    try:
        result = memtui.main(list(arguments), prog_name="memtui", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.Abort:
        _print_error("interrupted")
        return 1
    except click.ClickException as error:
        _print_error(error.format_message() + _advise_text(error, arguments))
        return 2


def _advise_text(error: Exception, arguments: Sequence[str]) -> str:
    """For text that was taken for an option: how to write it."""
    import shlex

    import click

    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.possibilities:
        return ""
    if not any(isinstance(parameter, click.Argument) for parameter in error.ctx.command.params):
        return ""
    candidates = (text for text in arguments if text.startswith(error.option_name))
    text = shlex.quote(next(candidates, error.option_name))
    return f" Text that begins with a dash goes behind --: {error.ctx.command_path} -- {text}"


def _print_error(line: str) -> None:
    from memtui.text import mask_urls, one_line

    print(f"memtui: {one_line(mask_urls(line))}", file=sys.stderr)
