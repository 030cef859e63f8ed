"""The command that looks at stores whenever they change: `watch`."""

from __future__ import annotations

import html
import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING

import click

from memtui.cli.options import command, option
from memtui.cli.store_selection import load_settings, open_library
from memtui.errors import Refused
from memtui.library.text_looks import scan_texts
from memtui.text import counted, date, one_line

if TYPE_CHECKING:
    from memtui.config import HistorySettings
    from memtui.library import Library

SETTLE_MS, LONGEST_MS = 500, 2_000
"""A look follows when nothing has changed for so long, or when something has for so long: of a file
that is rewritten all the time, one text in two seconds is kept."""
WAKE_MS = 500
"""After so long the watcher returns though nothing changed."""

_SYSTEMD = """\
# ~/.config/systemd/user/memtui-watch.service, then: systemctl --user enable --now memtui-watch
[Unit]
Description=memtui keeps what agents change and delete in their memory

[Service]
ExecStart={words}
Restart=on-failure
Nice=10

[Install]
WantedBy=default.target
"""
_LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/memtui.watch.plist, then: launchctl load PATH -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>memtui.watch</string>
  <key>ProgramArguments</key>
  <array>{strings}</array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
</dict>
</plist>
"""


@command
def watch(
    once: bool = option(help="Look once and end."),
    unit: str | None = option(
        "--print-unit",
        type=click.Choice(["systemd", "launchd"]),
        help="Print a unit that runs this command for your login, and end.",
    ),
    hook: bool = option(
        "--print-hook", help="Print hooks for Claude Code's settings.json that look, and end."
    ),
    *,
    stores: Sequence[str],
) -> None:
    """Look at the stores whenever they change, and keep what was changed or deleted.

    The former texts lie in a private file of the state folder; `memtui history` and `memtui
    restore` read them. The setting `history` says for how long. Ends with ctrl+c.
    """
    words = [sys.executable, "-m", "memtui", "watch"]
    words += [word for name in stores for word in ("--store", os.path.abspath(name))]
    if unit or hook:
        print(_hook(words) if hook else _unit(unit or "", words), end="")
        return
    settings = load_settings().history
    if not settings.days:
        raise Refused("nothing is kept: history.days is 0 in config.toml", do="set it to 90")
    library = open_library(stores)
    if fault := scan_texts(library, settings).fault:
        click.echo(f"memtui: {one_line(fault)}", err=True)
    if not once:
        _follow(library, settings)


def _unit(kind: str, words: Sequence[str]) -> str:
    if kind == "systemd":
        return _SYSTEMD.format(words=" ".join(_quoted_for_systemd(word) for word in words))
    strings = "".join(f"\n    <string>{html.escape(word, quote=False)}</string>" for word in words)
    return _LAUNCHD.format(strings=f"{strings}\n  ")


def _quoted_for_systemd(word: str) -> str:
    """A word of a command line of systemd, where `%` and `$` have a meaning (systemd.service)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _hook(words: Sequence[str]) -> str:
    look = {"type": "command", "command": shlex.join([*words, "--once"])}
    events = ("SessionStart", "SessionEnd", "PreCompact")
    return json.dumps({"hooks": {name: [{"hooks": [look]}] for name in events}}, indent=2) + "\n"


def _follow(library: Library, settings: HistorySettings) -> None:
    """Look after each change until the process is told to end."""
    from watchfiles import watch as changes_of

    roots = [s.root for s in library.stores if s.label not in library.queried.stores]
    folders = sorted({root if root.is_dir() else root.parent for root in roots})
    if not folders:
        raise Refused("there is no store of files to watch")
    ended = Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    is_watching = False
    try:
        for changes in changes_of(
            *folders,
            step=SETTLE_MS,
            debounce=LONGEST_MS,
            stop_event=ended,
            rust_timeout=WAKE_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            if is_watching and not changes:
                continue
            # Also before the first change: what came until it could be seen.
            for label, count in scan_texts(library, settings).changed.items():
                name = one_line(library.names.of(label))
                print(f"{date(library.now())}  {name}: {counted(count, 'text')} kept", flush=True)
            if not is_watching:
                click.echo(f"watching {counted(len(roots), 'store')}; ctrl+c ends", err=True)
                is_watching = True
    except OSError as error:
        raise Refused(
            f"the system reports no changes: {error.strerror or error}",
            do="a timer that runs `memtui watch --once` does the same",
        ) from None
