"""A search finds what a memory said formerly: by git, the journal and what its store keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.config import HistorySettings
from memtui.library.former_search import find_former
from memtui.library.text_looks import keep_texts
from memtui.query import parse_search
from memtui.search.query_terms import analyze_terms
from memtui.search.text_match import holds_all
from tests.samples import NOW
from tests.unit.library.stores_for_tests import fact, write_facts
from tests.unit.library.test_history import committed, git, loaded


@pytest.mark.slow
def test_git_and_the_journal_are_searched_whatever_the_status(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "memory"
    write_facts(home, "bo", [fact(1, "Bo has one boat in Malmö"), fact(2, "Bo is old")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    write_facts(home, "bo", [fact(1, "Bo has two boats"), fact(2, "Bo is old")])
    committed(tmp_path, "2026-05-02T10:00:00Z")
    library = loaded(home, state=tmp_path / "state")
    memory = library.resolve("00000001")
    for text in ("Bo sold his boats", "Bo sails again"):
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": text})
        library.apply(library.plan([change]))
        library.refresh()

    def found(line: str) -> list[str]:
        query = parse_search(line, NOW)
        return [each.version.memory.content for each in find_former(library, query).found]

    assert found("boat") == ["Bo sold his boats", "Bo has two boats", "Bo has one boat in Malmö"]
    assert found("malmo") == ["Bo has one boat in Malmö"]
    assert found('"two boats"') == ["Bo has two boats"]
    assert found("boats -sold -one") == ["Bo has two boats"]
    assert found("again") == []  # it says so now
    assert found("boat entity:nobody") == []
    assert found("boat until:2026-05-01") == ["Bo has one boat in Malmö"]
    retire = Change(Act.RETIRE, memory.store, memory.ref)
    library.apply(library.plan([retire]))
    library.refresh()
    assert found("malmo") == ["Bo has one boat in Malmö"]
    library.close()


def test_what_was_seen_is_searched(tmp_path: Path) -> None:
    """A text that another program wrote and another replaced, in no repository."""
    state, home = tmp_path / "state", tmp_path / "memory"
    for text in ("Bo has a boat in Malmö", "Bo has a bicycle"):
        write_facts(home, "bo", [fact(1, text), fact(2, "Bo is old")])
        library = loaded(home, state=state)
        keep_texts(library, HistorySettings())
    found = find_former(library, parse_search("malmo", NOW)).found
    assert [each.version.memory.content for each in found] == ["Bo has a boat in Malmö"]
    assert not find_former(library, parse_search("bicycle", NOW)).found


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("rounding invoices", True),
        ("rounded invoice", True),
        ("rounding receipts", False),
        ('"euro cents"', True),
        ('"cents euro"', False),
        ('"uro cents"', False),
        ("roundi*", True),
        ("*voices", True),
        ("w?rd", False),
        ("invoces~", True),
        ("receipts~", False),
        ("getUserById", True),
        ("get_user_by_id", True),
        ("-rounding", False),
        ("-receipts cents", True),
        ('-"euro cents" rounding', False),
        ("malmo", True),
        ("->", True),
        ("=>", False),
    ],
)
def test_one_text_holds_the_terms_as_a_memory_would(line: str, holds: bool) -> None:
    text = "Invoices: rounding to euro cents -> Malmö, see getUserById."
    assert holds_all(text, analyze_terms(parse_search(line, NOW).terms)) is holds
