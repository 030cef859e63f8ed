"""Text that would act on a terminal is kept as it is, and shown so that it cannot (P10)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.cli.main import run
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.acting import allowed
from memtui.testing.fixtures import FormatFixtures, memories, open_library
from memtui.testing.hostile_values import ALL, FORBIDDEN

BEGIN, END = "gullfeather", "quillfeather"
"""Words that no sample holds."""
MIN_EDITABLE = 15
"""Minimum number of editable memories in a sample; each takes one hostile text."""
MAY_REFUSE = {"lone surrogates", "deep"}
"""Values that a format may be unable to hold."""


def editable(library: Library, count: int) -> list[Memory]:
    """So many memories that can be edited, of every kind that can, none within another."""
    able = allowed(library, Act.EDIT)
    whole = {memory.origin.file for memory in able.get("document", ())}
    groups = [
        [memory for memory in group if kind == "document" or memory.origin.file not in whole]
        for kind, group in able.items()
    ]
    mixed = [
        group[at] for at in range(max(map(len, groups))) for group in groups if at < len(group)
    ]
    assert len(mixed) >= min(count, MIN_EDITABLE), (
        "the sample holds too few memories that can be edited"
    )
    return mixed[:count]


def written_in(memory: Memory, value: str) -> str:
    """The memory's text with the value in it: the store may trim the ends and keep the head."""
    return f"{memory.content.rstrip()} {BEGIN} {value} {END}"


def can_be_done(library: Library, change: Change) -> bool:
    try:
        return bool(library.plan([change]).diffs())
    except MemtuiError:
        return False


def clean(text: str) -> bool:
    return not set(text) & (FORBIDDEN - {"\n"})


def command_line(command: Sequence[str], place: Path) -> list[str]:
    """The command line with the store named; what is no option of it stands behind `--`."""
    name, *rest = command
    at = next((n for n, word in enumerate(rest) if word.startswith("--")), len(rest))
    return [name, *rest[at:], "--store", str(place), "--", *map(_argument, rest[:at])]


def _argument(word: str) -> str:
    """As it would arrive from a shell: bytes, of which half characters are none."""
    return os.fsdecode(word.encode("utf-8", "surrogateescape" if _is_bytes(word) else "replace"))


def _is_bytes(word: str) -> bool:
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def run_and_look(
    command: Sequence[str], place: Path, printed: pytest.CaptureFixture[bytes]
) -> None:
    """Run the command on the store; what it prints must not act on a terminal."""
    code = run(command_line(command, place))
    out, err = (part.decode("utf-8") for part in printed.readouterr())
    assert clean(out), command
    assert clean(err), command
    assert "Traceback" not in err
    assert "internal error" not in err, err
    assert code in (0, 1, 2)
    assert out or err


class HostileTextTests(FormatFixtures):
    """Text that would act on a terminal is kept as it is, and shown so that it cannot (P10)."""

    @pytest.fixture
    def hostile(self, place: Path, state: Path) -> dict[str, str]:
        """Every value of the gallery is written into a memory of its own. Ref -> its text."""
        library = open_library(place, state)
        texts: dict[str, str] = {}
        changes: list[Change] = []
        for (name, value), memory in zip(ALL.items(), editable(library, len(ALL)), strict=False):
            text = written_in(memory, value)
            change = Change(Act.EDIT, memory.store, memory.ref, {"content": text})
            if name in MAY_REFUSE and not can_be_done(library, change):
                continue
            changes.append(change)
            texts[memory.ref] = text
        planned = library.plan(changes)
        planned.diffs()
        library.apply(planned)
        return texts

    def test_any_text_may_be_a_title(self, place: Path, state: Path, known: Format) -> None:
        """Or is refused in a line that is clean itself."""
        library = open_library(place, state)
        ref = editable(library, 1)[0].ref
        for value in self.share(known, list(ALL.values())):
            memory = library.get(ref)
            title = f"begins {value} ends"
            change = Change(Act.EDIT, memory.store, memory.ref, {"title": title})
            if can_be_done(library, change):
                library.apply(library.plan([change]))
                assert library.get(memory.ref).title == title
            else:
                with pytest.raises(MemtuiError) as caught:
                    library.apply(library.plan([change]))
                assert clean(str(caught.value))
                assert library.get(memory.ref) == memory

    def share(self, known: Format, texts: list[str]) -> list[str]:
        """Which of these texts and memories are tried one by one: all of them, here.

        Whoever proves many formats may share them out.
        """
        return texts

    @pytest.fixture
    def person(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
        """Somebody whose settings, state and cache are in the test's own folder."""
        monkeypatch.setenv("MEMTUI_STATE", str(state))
        for name in ("CONFIG", "CACHE"):
            monkeypatch.setenv(f"MEMTUI_{name}", str(tmp_path / name.lower()))

    def test_no_command_lets_it_act(
        self,
        place: Path,
        hostile: dict[str, str],
        person: None,
        known: Format,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        refs = self.share(known, list(hostile))
        values = self.share(known, [value for value in ALL.values() if "\0" not in value])
        commands = [
            ["list", "--all", "--status", "all"],
            ["search", BEGIN, "--all", "--explain"],
            *(["show", ref] for ref in refs),
            ["check"],
            ["log"],
            ["stats"],
            ["stores"],
            ["history", refs[0]],
            ["edit", refs[0], "--content", f"{hostile[refs[0]]} again", "--dry-run"],
            *(["add", value, "--entity", value] for value in values),
        ]
        for command in commands:
            run_and_look(command, place, capfdbinary)

    def test_any_text_is_kept_as_it_is(
        self, place: Path, state: Path, hostile: dict[str, str], known: Format
    ) -> None:
        found = memories(open_library(place))
        assert {ref: found[ref].content.rstrip("\n") for ref in hostile} == hostile
        library = open_library(place, state)
        library.undo()
        assert not any(END in library.get(ref).content for ref in hostile)

    def test_lists_and_json_say_any_text(
        self,
        place: Path,
        hostile: dict[str, str],
        person: None,
        known: Format,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        """JSON, which is ASCII, as it is; lists as far as a terminal allows."""
        for command in (
            ["list", "--all", "--status", "all"],
            ["search", BEGIN, "--all", "--status", "all", "--explain"],
        ):
            assert run([*command, "--store", str(place)]) == 0
            assert clean(capfdbinary.readouterr().out.decode("utf-8"))
            assert run([*command, "--json", "--store", str(place)]) == 0
            printed = capfdbinary.readouterr().out
            assert printed.isascii()
            assert not set(printed) & ({*range(32), 127} - {10})
            listed = json.loads(printed)["memories"]
            records = {record["ref"]: record["content"] for record in listed}
            for ref, text in hostile.items():
                if text.isprintable():  # half characters are no JSON, and are replaced
                    assert records[ref].rstrip("\n") == text
