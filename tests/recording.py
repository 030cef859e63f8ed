"""A recording of half a minute of the demo: find, why, correct, undo.

python -m tests.recording [FOLDER]   FOLDER is docs by default

Writes FOLDER/demo.cast (asciicast 2) and FOLDER/demo.svg, the same as a picture that moves. The
program runs in a pseudo-terminal; the times are those of the script below, not of this machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from pyte.screens import Char

from tests.tty.conftest import QUIET, Terminal, start

COLUMNS, ROWS = 100, 28
LETTER = 0.11
"""Seconds between two typed letters."""
CELL = (8.4, 18)
"""Width and height of a cell of the picture, for a font of 14 px."""
GROUND, INK = "#15171c", "#d7dae0"
"""Of the picture where the program leaves the terminal's own colours."""


class Step(NamedTuple):
    """One key, or letters that are typed one by one, and what to wait for."""

    keys: str
    until: str
    """Words that the screen then has."""
    pause: float
    """Seconds that it is looked at."""
    is_typed: bool = False


ESCAPE, ENTER, SAVE = "\x1b[27u", "\r", "\x13"
SCRIPT = (
    Step("/", "words", 0.6),
    Step("finance contact", "Ruth Amsel", 1.4, is_typed=True),
    Step(ENTER, "written here", 2.6),
    Step("J", "from now on CSV", 4.4),
    Step(ESCAPE, "written here", 0.8),
    Step("e", "Edit in Gemini CLI", 1.2),
    Step("\x1b[1;5F", "Edit in Gemini CLI", 0.2),
    Step("\x7f" * len("semicolons."), "Edit in Gemini CLI", 0.4, is_typed=True),
    Step("tabs.", "reads the new text", 2.6, is_typed=True),
    Step(SAVE, "Saved", 2.4),
    Step("u", "Undone", 3.0),
)
"""Whoever changes it looks at the picture."""


class Frame(NamedTuple):
    """What the terminal shows from a time on."""

    time: float
    output: bytes
    """What the program wrote since the frame before."""
    lines: tuple[tuple[Char, ...], ...]


def record(home: Path) -> Iterator[Frame]:
    """Run the script; yield a frame after each key."""
    with start(["demo"], home, size=(COLUMNS, ROWS)) as terminal:
        terminal.wait_for("planted text")
        _settle(terminal)
        now, seen = 0.0, 0
        frame, seen = _frame(terminal, now, seen)
        yield frame
        now = 1.6
        for step in SCRIPT:
            for key in step.keys if step.is_typed else (step.keys,):
                terminal.send(key)
                if step.is_typed:
                    _settle(terminal)
                    frame, seen = _frame(terminal, now, seen)
                    yield frame
                    now += LETTER
            terminal.wait_for(step.until)
            _settle(terminal)
            frame, seen = _frame(terminal, now, seen)
            yield frame
            now += step.pause
        yield Frame(now, b"", ())


def _settle(terminal: Terminal) -> None:
    while terminal.read(QUIET):
        pass


def _frame(terminal: Terminal, now: float, seen: int) -> tuple[Frame, int]:
    screen = terminal.screen
    lines = tuple(
        tuple(screen.buffer[row][column] for column in range(COLUMNS)) for row in range(ROWS)
    )
    return Frame(now, bytes(terminal.raw[seen:]), lines), len(terminal.raw)


def cast(frames: Iterable[Frame]) -> str:
    """The frames as asciicast 2 (docs.asciinema.org/manual/asciicast/v2)."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "memtui demo"}
    events = (
        [round(frame.time, 3), "o", frame.output.decode("utf-8", "replace")] for frame in frames
    )
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in (head, *events)) + "\n"


def picture(frames: Sequence[Frame]) -> str:
    """The frames as one SVG; equal lines stand in it once."""
    end = frames[-1].time
    wide, high = COLUMNS * CELL[0] + 20, ROWS * CELL[1] + 20
    names: dict[tuple[Char, ...], str] = {}
    groups, rules = [], []
    for number, (frame, after) in enumerate(pairwise(frames)):
        uses = []
        for row, line in enumerate(frame.lines):
            name = names.setdefault(line, f"l{len(names)}")
            uses.append(f'<use href="#{name}" y="{row * CELL[1]}"/>')
        first, last = (100 * time / end for time in (frame.time, after.time))
        steps = f"{first:.3f}%{{visibility:visible}}{last:.3f}%{{visibility:hidden}}"
        lead = "0%{visibility:hidden}" if first else ""
        rules.append(f"@keyframes f{number}{{{lead}{steps}}}")
        rules.append(f"#g{number}{{animation:f{number} {end:.1f}s step-end infinite}}")
        groups.append(f'<g id="g{number}" class="f">{"".join(uses)}</g>')
    drawn = "".join(f'<g id="{name}">{_line(line)}</g>' for line, name in names.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" '
        'aria-label="memtui: a memory is searched, explained, corrected, and the change undone">'
        "<style>text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,monospace;white-space:pre}"
        f".f{{visibility:hidden}}{''.join(rules)}</style><defs>{drawn}</defs>"
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>'
        f'<g transform="translate(10 10)">{"".join(groups)}</g></svg>\n'
    )


def _line(line: Sequence[Char]) -> str:
    parts = []
    for style, cells in groupby(enumerate(line), key=lambda cell: _style(cell[1])):
        run = list(cells)
        left, wide = run[0][0] * CELL[0], len(run) * CELL[0]
        ink, ground, more = style
        words = "".join(char.data for _, char in run)
        if ground != GROUND:
            parts.append(
                f'<rect x="{left:.1f}" width="{wide + 0.3:.1f}" height="{CELL[1]}" '
                f'fill="{ground}"/>'
            )
        if words.strip():
            parts.append(
                f'<text x="{left:.1f}" y="13.5" textLength="{wide:.1f}" fill="{ink}"{more}>'
                f"{escape(words)}</text>"
            )
    return "".join(parts)


def _style(char: Char) -> tuple[str, str, str]:
    ink, ground = _colour(char.fg, INK), _colour(char.bg, GROUND)
    if char.reverse:
        ink, ground = ground, ink
    more = ' font-weight="bold"' if char.bold else ""
    return ink, ground, more + (' text-decoration="underline"' if char.underscore else "")


def _colour(name: str, default: str) -> str:
    return f"#{name}" if len(name) == 6 and name != "default" else default


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", nargs="?", default="docs", type=Path)
    folder: Path = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as home:
        frames = list(record(Path(home)))
    (folder / "demo.cast").write_text(cast(frames[:-1]), "utf-8")
    (folder / "demo.svg").write_text(picture(frames), "utf-8")
    print(folder / "demo.svg", f"{frames[-1].time:.0f} s")


if __name__ == "__main__":
    main()
