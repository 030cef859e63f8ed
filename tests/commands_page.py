"""docs/commands.md, generated from the click commands.

python -m tests.commands_page > docs/commands.md
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc

import click

from memtui.cli import options
from memtui.cli.commands import SECTIONS, commands_in
from memtui.cli.group import load_command

HEAD = """\
# Commands

Generated from the program; `memtui COMMAND --help` prints the same.

`memtui [PATH...]` opens the screen on these stores; without a path, on every store in the current
folder and in the default locations. Without a terminal it prints a summary instead.
Commands without other arguments take PATHs too: `memtui list PATH`.

REF is a full ref (`label:id`), an id, or the beginning of an id. TIME is an age (`30m`, `24h`,
`7d`, `2w`, `1y`) or an ISO date.

Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 done, but something
could not be read, which standard error names. Errors are one line on standard error.
"""


def _options(command: click.Command) -> list[click.Option]:
    return [each for each in command.params if isinstance(each, click.Option)]


@options.command
def _common(stores: Sequence[str], as_json: bool, dry_run: bool) -> None:
    """Carries the options that most commands share."""


_common.params.append(options.show_secrets_option())


@options.command
def _filters(**filters: object) -> None:
    """Carries the filter options."""


def _metavar(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return ""
    if parameter.metavar:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        return "|".join(parameter.type.choices)
    return parameter.opts[0].lstrip("-").upper()


def _argument(argument: click.Parameter) -> str:
    name = _metavar(argument)
    many = "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return f"{name}{many}" if argument.required or name.startswith("[") else f"[{name}{many}]"


def _usage(name: str, command: click.Command) -> str:
    """The usage line; options that many commands share come last."""
    mine = {option.name for option in _options(command)}
    words = ["memtui", name]
    words += [_argument(each) for each in command.params if isinstance(each, click.Argument)]
    words += ["[OPTIONS]"] if _own_options(command) else []
    words += ["[FILTERS]"] if mine >= {option.name for option in _options(_filters)} else []
    words += [
        f"[{f'{option.opts[0]} {_metavar(option)}'.rstrip()}]"
        for option in _options(_common)
        if option.name in mine
    ]
    return " ".join(words)


def _own_options(command: click.Command) -> list[click.Option]:
    help_texts = {option.help for each in (_common, _filters) for option in _options(each)}
    return [option for option in _options(command) if option.help not in help_texts]


def _table(shown: Sequence[click.Option]) -> list[str]:
    rows = ["| option | meaning |", "|---|---|"]
    for option in shown:
        names = " ".join((", ".join(option.opts), _metavar(option))).rstrip()
        default = f" Default: {option.default}." if option.show_default else ""
        rows.append(f"| `{names.replace('|', chr(92) + '|')}` | {option.help}{default} |")
    return rows


def _description(words: str) -> str:
    """The help of a command; paragraphs that click prints as they are become code."""
    paragraphs = cleandoc(words).split("\n\n")
    return "\n\n".join(
        f"```\n{paragraph[2:]}\n```" if paragraph.startswith("\b\n") else paragraph
        for paragraph in paragraphs
    )


def page() -> str:
    """Return the page as Markdown: each command's usage, description and own options."""
    lines = [HEAD, "## Options of most commands", "", *_table(_options(_common)), ""]
    lines += ["FILTERS in a usage line stands for:", "", *_table(_options(_filters))]
    for module, title in SECTIONS.items():
        lines += ["", f"## {title}"]
        for name in commands_in(module):
            command = load_command(name)
            lines += ["", f"### {name}", "", "```", _usage(name, command), "```", ""]
            lines.append(_description(command.help or ""))
            if own := _own_options(command):
                lines += ["", *_table(own)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
