"""An integer of more digits than Python converts (4,300) does not make its file unreadable."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.files.json.locating import load
from memtui.model import Memory
from memtui.stores.registry import format_of
from memtui.testing.fixtures import memories, open_library, sample

DIGITS = "9" * 5000


@pytest.mark.parametrize("number", [DIGITS, f"-{DIGITS}"])
def test_the_other_values_are_read_as_ever(number: str) -> None:
    text = f'{{"a": 1, "b": [{number}, -2, 3.5, true], "c": "x"}}'
    assert load(text) == {"a": 1, "b": [number, -2, 3.5, True], "c": "x"}


@pytest.mark.parametrize("name", ["agent-memory", "ambient", "simple-memory"])
def test_a_record_with_one_is_shown_edited_and_given_back(tmp_path: Path, name: str) -> None:
    format = format_of(name)
    assert format is not None
    place = sample(format, tmp_path / "store")
    library = open_library(place, tmp_path / "state")
    before = memories(library)
    memory = next(m for m in before.values() if not library.refusal(Act.EDIT, m) and _is_json(m))
    file = Path(memory.origin.file)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("{", f'{{"odd": {DIGITS}, ', 1), encoding="utf-8")
    record = text.index("{", 1)  # in a list the first record, else a member of the top object
    if not text.lstrip().startswith("["):
        file.write_text(
            text[:record] + text[record:].replace("{", f'{{"odd": {DIGITS}, ', 1), encoding="utf-8"
        )
    whole = file.read_bytes()
    library.refresh()
    assert not library.snapshot.stores[0].unreadable
    found = memories(library)
    assert found.keys() == before.keys()
    assert any(m.extra.get("odd") == DIGITS for m in found.values())
    words = f"{memory.content} quill"  # of a fact only the last part can change
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": words}, force=True)
    library.apply(library.plan([change]))
    assert f'"odd": {DIGITS}, '.encode() in file.read_bytes()
    assert library.get(memory.ref).content == words
    library.undo()
    assert file.read_bytes() == whole


def _is_json(memory: Memory) -> bool:
    return memory.origin.file.endswith(".json")
