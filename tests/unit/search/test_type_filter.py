"""The word that the list has for a memory's type is one that the filter `type:` knows."""

from __future__ import annotations

import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.query import parse_query
from tests.samples import SAMPLES

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
STORES = ("agent-memory", "ambient", "engram", "simple-memory", "workspace", "claude-code")


@pytest.mark.parametrize("store", STORES)
def test_every_word_of_the_list_finds_exactly_its_rows(tmp_path: Path, store: str) -> None:
    shutil.copytree(SAMPLES / store, tmp_path / store)
    with closing(Library.open([tmp_path / store], cache=None, now=lambda: NOW)) as library:
        library.load()
        rows = {m.ref: m.type or m.kind for m in library.memories(library.stores[0].label)}

        def found(line: str) -> set[str]:
            result = library.find(parse_query(f"status:all {line}", NOW))
            return {result.rows[slot].ref for slot in result.slots}

        for word in set(rows.values()):
            wanted = {ref for ref, shown in rows.items() if shown.casefold() == word.casefold()}
            assert found(f'type:"{word}"') == wanted, word
            assert found(f'-type:"{word}"') == rows.keys() - wanted, word
            assert found(f'(type:"{word}" OR importance:none)') >= wanted, word


def test_a_type_that_is_being_typed_stands_for_all_that_begin_so() -> None:
    assert parse_query("type:dec", NOW, typing=True).conditions[0].values == ("dec*",)
    assert parse_query("type:bug,dec", NOW, typing=True).conditions[0].values == ("bug", "dec*")
    assert parse_query("type:dec ", NOW, typing=True).conditions[0].values == ("dec",)
    assert parse_query("-type:dec", NOW, typing=True).conditions[0].values == ("dec",)
