"""Every hostile value passes over a real terminal; only what benign text causes is on the wire."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from memtui.testing.hostile_values import ALL, FORBIDDEN

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]

BENIGN = [f"plain words, number {number}" for number in range(9)]
SEQUENCE = re.compile(
    r"\x1b\[(?P<csi>[0-?]*[ -/]*[@-~])"  # cursor, colours, modes
    r"|\x1b(?P<kind>[\]PX^_])(?P<words>.*?)(?:\x07|\x1b\\|\x9c)"  # titles, links, the clipboard
    r"|\x1b(?P<short>[ -/]*[0-~])",
    re.DOTALL,
)
DIALOGS = (
    ("t", "Filter by type"),
    ("e", "Edit"),
    ("H", "History"),
    ("C", "Changes"),
    ("U", "Stores and"),
)
"""Keys that open a dialog which shows values, and what stands in it."""


def shapes(raw: bytes) -> Counter[str]:
    """The kinds of escape sequences, numbers left out, and every other character that acts."""
    wire = raw.decode("utf-8", "backslashreplace")
    found: Counter[str] = Counter()

    def count(sequence: re.Match[str]) -> str:
        if sequence["csi"]:
            words = re.sub(r"[\d;:]+", "n", sequence["csi"])
            # A mode has a meaning of its own: ?1049h is not ?25h.
            found["CSI " + (sequence["csi"] if sequence["csi"][0] in "?>=<" else words)] += 1
        elif sequence["kind"]:
            found[f"ESC {sequence['kind']} {sequence['words'].partition(';')[0]}"] += 1
        else:
            found[f"ESC {sequence['short']}"] += 1
        return ""

    rest = SEQUENCE.sub(count, wire)
    found.update(f"U+{ord(sign):04X}" for sign in rest if sign in FORBIDDEN or sign == "\n")
    return found


def store(root: Path, values: Sequence[str]) -> Path:
    """Each value as the text, the type, the source and in a key of a memory of its own."""
    facts = [
        {
            "id": f"{number:08d}-0000-4000-8000-000000000000",
            "content": f"{value} {number}",
            "source": value,
            "sourceRef": value,
            "entityType": value[:24],
            "createdAt": "2026-11-20T09:00:00Z",
            "status": "active",
            "supersedes": None,
            f"key {value[:12]}": value,
        }
        for number, value in enumerate(values)
    ]
    folder = root / "memory" / "entities" / values[0].replace("/", "")
    folder.mkdir(parents=True)
    (folder / "items.json").write_text(json.dumps(facts), encoding="ascii")
    return root / "memory"


def looked_through(memtui: Start, home: Path, values: Sequence[str]) -> Counter[str]:
    """Stand on every memory in turn, then look at what is made of the last one; the shapes."""
    with memtui([str(store(home, values))], home, size=(90, 24)) as on:
        on.wait_for(f" 1 of {len(values)} ")
        on.wait_for(values[0][-7:])  # the words themselves are shown
        for place in range(2, len(values) + 1):
            on.send("j")
            on.wait_for(f" {place} of {len(values)} ")
        for key, title in DIALOGS:
            on.wait_for("? help")
            on.send(key)
            on.wait_for(title)
            on.send("\x1b")
            on.wait_until_gone(title)
        on.wait_for("? help")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
        return shapes(bytes(on.raw))


def test_no_value_brings_a_sequence_of_its_own(
    memtui: Start, tmp_path: Path, figures: Callable[[str], None]
) -> None:
    benign = looked_through(memtui, tmp_path / "benign", BENIGN)
    hostile = looked_through(memtui, tmp_path / "hostile", list(ALL.values()))
    foreign = {shape: hostile[shape] for shape in hostile.keys() - benign.keys()}
    assert not foreign, "these come from the text of a store"
    figures(
        f"T12 hostile text on a terminal: {len(ALL)} values, {sum(hostile.values()):,} sequences of"
        f" {len(hostile)} shapes, {len(foreign)} foreign"
    )


def test_the_shapes_are_seen() -> None:
    """The measure itself: every value of the gallery that acts has a shape when it is sent raw."""
    for name, value in ALL.items():
        raw = value.encode("utf-8", "surrogatepass")
        acts = any(sign in FORBIDDEN for sign in value)
        assert bool(shapes(raw)) == acts or name == "lone surrogates", name
