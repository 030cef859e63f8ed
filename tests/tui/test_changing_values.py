"""The values behind forms and diffs: nothing is lost on the way through an input."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import FileDiff
from memtui.tui.diff_lines import count_lines, diff_files
from memtui.tui.output import DANGEROUS, InputSanitizer

ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\r\n\t\x1b\x00\x85\u2028\u202e\u200b\ud800\udcff\U000f0000\ufe0f"),
    ),
    max_size=60,
)


@pytest.mark.slow
@given(ANY_TEXT)
@settings(max_examples=300)
def test_any_text_comes_back_as_it_was_and_nothing_of_it_acts(raw: str) -> None:
    for lines in (True, False):
        sanitizer = InputSanitizer(lines=lines)
        held = sanitizer.encode(raw)
        assert sanitizer.decode(held) == raw
        assert len(sanitizer.display(held)) == len(held)
        assert not DANGEROUS.search(sanitizer.display(held).replace("\n", "").replace("\t", ""))
        wanted = held.split("\n") if lines else [held]
        assert (held.splitlines() or [""]) == _without_last(wanted)


def _without_last(lines: list[str]) -> list[str]:
    """As `str.splitlines`, which a text area uses, has it: no empty line after the last break."""
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


@pytest.mark.slow
@given(st.lists(ANY_TEXT, max_size=8), st.lists(ANY_TEXT, max_size=8))
@settings(max_examples=200)
def test_a_diff_says_as_many_lines_as_differ(before: list[str], after: list[str]) -> None:
    old, new = "\n".join(before), "\n".join(after)
    lines = diff_files([FileDiff("/a/file", old, new)])
    assert bool(lines) == (old != new)
    assert not any(DANGEROUS.search(line.words) for line in lines)
    for line in lines:
        assert not line.pieces or "".join(piece for _, piece in line.pieces) == line.words


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_removed_record_is_removed_as_a_whole(removed: int) -> None:
    records = [{"id": f"{at}", "text": f"number {at}", "importance": "high"} for at in range(3)]
    left = records[:removed] + records[removed + 1 :]
    before, after = (json.dumps(each, indent=2) for each in (records, left))
    diff = diff_files([FileDiff("/a/file", before, after)])
    gone = [line.words.strip(" ,{}") for line in diff if line.kind == "gone"]
    assert [words for words in gone if words] == [
        f'"id": "{removed}"',
        f'"text": "number {removed}"',
        '"importance": "high"',
    ]
    for kinds, whole in ((("same", "gone"), before), (("same", "new"), after)):
        shown = "\n".join(line.words for line in diff if line.kind in kinds)
        assert shown in whole


@pytest.mark.slow
def test_a_change_in_a_large_file_is_found_at_once() -> None:
    lines = [f'  "{number}": "memory number {number}",' for number in range(200_000)]
    changed = [*lines]
    changed[150_000] = '  "150000": "memory number one",'
    diff = diff_files([FileDiff("/a/file", "\n".join(lines), "\n".join(changed))])
    assert count_lines(diff) == (1, 1, 1)
    assert len(diff) == 2 + 2 + 6
