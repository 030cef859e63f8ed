"""Copy to the clipboard with the system's own tool, and tell whether the terminal takes OSC 52.

A terminal never answers whether it took a text that OSC 52 sent, so it is inferred from what is
known of terminals: tmux's manual (`set-clipboard`), the documents of the terminals named here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

SECONDS = 2.0
"""Time limit of a tool; it hands the text over and ends, or goes on in the background."""
TAKES_OSC_52 = {
    "KITTY_WINDOW_ID": "",
    "WEZTERM_PANE": "",
    "ALACRITTY_WINDOW_ID": "",
    "GHOSTTY_RESOURCES_DIR": "",
    "WT_SESSION": "",
}
"""Variables that terminals set which take OSC 52 by default."""


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """The result of copying a text."""

    taken: bool
    """A tool or the terminal is known to have taken it."""
    refused: str = ""
    """Why nothing took it, with what to do; empty if something did or may have."""


def copy_with_tools(words: str, environ: Mapping[str, str] | None = None) -> CopyOutcome:
    """Copy with the system's own tool; the caller has sent the text by OSC 52 too. Blocks."""
    environ = os.environ if environ is None else environ
    if any(_run_tool(tool, words) for tool in _find_tools(environ)):
        return CopyOutcome(taken=True)
    if refused := _osc_52_refusal(environ):
        return CopyOutcome(taken=False, refused=refused)
    program = environ.get("TERM_PROGRAM", "").casefold()
    known = any(environ.get(name) for name in TAKES_OSC_52) or program in ("ghostty", "wezterm")
    return CopyOutcome(taken=known or "TMUX" in environ or environ.get("TERM") == "foot")


def _find_tools(environ: Mapping[str, str]) -> list[list[str]]:
    """The command lines of the tools that are here and have something to copy to."""
    tools: list[list[str]] = []
    if environ.get("WAYLAND_DISPLAY"):
        tools.append(["wl-copy"])
    if environ.get("DISPLAY"):
        tools += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if sys.platform == "darwin":
        tools.append(["pbcopy"])
    if environ.get("WSL_DISTRO_NAME"):
        tools.append(["clip.exe"])
    path = environ.get("PATH")
    found = [(shutil.which(tool[0], path=path), tool[1:]) for tool in tools]
    return [[program, *arguments] for program, arguments in found if program]


def _run_tool(command: list[str], words: str) -> bool:
    """Whether the tool took the text."""
    # UTF-16 with its mark is what clip.exe understands besides the code page of Windows.
    coding = "utf-16" if command[0].endswith("clip.exe") else "utf-8"
    try:
        done = subprocess.run(
            command,
            input=words.encode(coding, "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _osc_52_refusal(environ: Mapping[str, str]) -> str:
    """Why the terminal does not take OSC 52; empty if it may."""
    if environ.get("TMUX"):
        setting = _tmux_setting(environ)
        if setting in ("off", "external"):
            return f"tmux's set-clipboard is {setting}; `tmux set -s set-clipboard on` turns it on"
        return ""
    term = environ.get("TERM", "")
    if environ.get("STY") or term.startswith("screen"):
        return "GNU screen hands no text on to the terminal's clipboard"
    if environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return "this terminal has no OSC 52, and pbcopy failed"
    if term == "linux":
        return "the console has no clipboard"
    return ""


def _tmux_setting(environ: Mapping[str, str]) -> str:
    program = shutil.which("tmux", path=environ.get("PATH"))
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "show-options", "-sv", "set-clipboard"],
            capture_output=True,
            env=dict(environ),
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("ascii", "replace").strip()
