"""`check`: everything about the open stores that a person should look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from memtui.cli.filters import json_option, store_option
from memtui.cli.output import print_json
from memtui.cli.stores import loaded
from memtui.text import one_line


@click.command("check")
@store_option
@json_option
def check(stores: Sequence[str], as_json: bool) -> int:
    """Look for unreadable files, duplicate ids, dangling references, secrets, hidden characters.

    For changes of yours that another program has taken back in the last seven days.
    Also for text that speaks to the agent, with the reasons: to look at, not a verdict.
    Exit code 1 when something was found. Nothing is changed.
    """
    findings = loaded(stores).check()
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            line = f":{finding.line}" if finding.line else ""
            where = f"{one_line(finding.file)}{line}"
            named = f"  {one_line(finding.ref)}" if finding.ref else ""
            print(f"{finding.kind:<18}  {where}{named}  {one_line(finding.message)}")
        print(f"{len(findings)} finding{'' if len(findings) == 1 else 's'}")
    return 1 if findings else 0
