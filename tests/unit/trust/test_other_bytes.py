"""An edit changes the bytes of one value and no other byte, in documents as they are found (T10).

60 JSON files, 30 files of JSON lines and 40 markdown documents, each field of each edited: set,
taken out, a new one put in. What changed is judged by the standard library, not by what made it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from memtui.changes import Edit, invert_edits, record_edit, sidecar_edit, text_edit, value_edit
from memtui.errors import Refused
from memtui.files import frontmatter, sidecar_lines
from memtui.files.json import editing as spans
from memtui.files.json.locating import load_records
from memtui.files.merging import rebase
from memtui.files.reading import decode, encode
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.stores.markdown.documents import parse_document, with_body

NEW: tuple[Any, ...] = ('new "text" é\n\U0001f600', ["a", "é"])
"""What every field is set to."""

Made = Counter[str]
"""How many edits of each sort were made, and how many refused."""


# ---- the documents --------------------------------------------------------------------------


RECORDS = """[
  {
    "id": "a1",
    "content": "caf\u00e9 / \\u0007",
    "tags": ["x", "y"],
    "supersedes": null,
    "unknown": {"deep": [1.50, -0, 1E5], "on": true}
  },
  {
    "id": "a2",
    "content": "two",
    "score": 0.10000000000000000555
  }
]
"""
EVENTS = '{\n  "projectKey": "4d3a",\n  "lastActive": 1795119600000,\n  "events": %s\n}'

LAYOUTS: dict[str, Callable[[str], str]] = {
    "two spaces": lambda text: text,
    "tabs, CRLF": lambda text: text.replace("  ", "\t").replace("\n", "\r\n"),
    "one line": lambda text: re.sub(r"\n *", "", text),
    "no last line end": lambda text: text.rstrip("\n"),
    "odd spacing": lambda text: text.replace(": ", "\t :").replace(",\n", " ,\n\n") + "\n \n",
    "in an object": lambda text: EVENTS % text.rstrip("\n").replace("\n", "\n  "),
}
QUIRKS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "no UTF-8": lambda text: text.replace("\u00e9", "\udce9\udcff"),
    "escaped": lambda text: text.replace("\u00e9", "\\u00e9\\/"),
    "half a character": lambda text: text.replace("\u00e9", "\\ud83d"),
    "numbers": lambda text: text.replace("null", '123456789012345678901234567890, "n": 1e400'),
    "no numbers": lambda text: text.replace("null", 'NaN, "n": -Infinity'),
    "odd line ends": lambda text: text.replace("\u00e9", "\u2028\u0085\\u0000"),
    "deep": lambda text: text.replace("null", "[" * 300 + "]" * 300),
    "doubled key": lambda text: text.replace('"id": "a2"', '"x": 1, "x": 2, "id": "a2"'),
}
JSON_FILES = {
    f"{quirk}, {layout}": LAYOUTS[layout](QUIRKS[quirk](RECORDS))
    for layout, quirk in product(LAYOUTS, QUIRKS)
}
JSON_FILES |= {f"marked, {name}": "\ufeff" + layout(RECORDS) for name, layout in LAYOUTS.items()}

LINES = [
    '{"id": "m", "set": {"pinned": true, "tags": ["a"], "odd": 1.50}, "at": "2026-11-21"}',
    '{"set": {"rating": 4, "links": [{"relation": "see", "target": "n"}]},"id":"n"}',
    '{"id": "gone", "set": null}',
    '{"id": "m", "set": {"tags": ["a", "\u00e9"], "odd": 1.50, "pinned": true}}',
]
DAMAGE = ["", "[]\n", '{"id": 1}\n\n', "\udcff\u2028\n", '{"id": "m", "set"\n', "\r\n \n"]
LINE_FILES = {
    f"{damage!r} at {at}, {end!r}": "\n".join(LINES[:at]) + "\n" * (at > 0) + damage
    + "\n".join(LINES[at:]) + end
    for damage, (at, end) in product(
        DAMAGE, [(0, "\n"), (2, "\n"), (4, ""), (3, ""), (1, "\n\n")]
    )
}  # fmt: skip

FRONTS = {
    "plain": "state: active\ntags: [a, 'b c']\npriority: high\n",
    "comments": "# first\nstate: active  # why\n\ntags:\n- a\n- b  \n# last\nnext:\n",
    "quoted": "'state': \"active\"\ntitle: 'it''s'\nq: \"a \\u00e9 #\"\n",
    "blocks": "state: |\n  two\n  lines\nfold: >-\n  x\nafter: 1\n",
    "dates": "created: 2026-03-01\nupdated: 2026-03-01T10:00:00Z\nversion: 1.10\n",
    "anchors": "base: &b [x]\nagain: *b\nstate: active\n",
    "nested": "match:\n  keywords:\n  - a\nstate: active\n",
    "spaced": "state:    active   \ntags:   [ a ,b ]\nlong key: v\n",
    "blank values": "state:\ntags: []\nn: ~\non: yes\n",
    "odd bytes": "name: caf\u00e9\nzero: 007\ncolon: a:b\nurl: http://x/#y\n",
}
BODY = "\n# Title\n\nstate: not a field\n---\nText with a \\ and a [[link]].\n"
ENDS: dict[str, Callable[[str], str]] = {
    "LF": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "no last line end": lambda text: text.rstrip("\n") + " \udcff\u2028",
}
MARKDOWN = {
    f"{front}, {end}": ENDS[end](f"---\n{FRONTS[front]}---\n{BODY}")
    for end, front in product(ENDS, FRONTS)
}


# ---- what a file says, by the standard library ----------------------------------------------

_SPELLED = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
_PAIRS = json.JSONDecoder(
    parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=tuple
)
_SPACE = re.compile(r"[ \t\r\n]*")


def said(text: str) -> Any:
    """The file's value: objects as pairs in their order, numbers as they are spelt."""
    return _PAIRS.decode(text.removeprefix("\ufeff"))


def parts_of(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Key (or number) and place of each value of the object or list that begins here."""
    end = {"{": "}", "[": "]"}[text[at]]
    number, at = 0, _skip(text, at + 1)
    while text[at] != end:
        key: Any = number
        if end == "}":
            key, after = _SPELLED.raw_decode(text, at)
            at = _skip(text, _skip(text, after) + 1)
        _, after = _SPELLED.raw_decode(text, at)
        yield key, at, after
        at, number = _skip(text, after), number + 1
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def same_around(text: str, after: str, start: int, end: int) -> None:
    """Outside of the old text from start to end both are equal, byte for byte."""
    assert after.startswith(text[:start]), "something before it has changed"
    assert after.endswith(text[end:]), "something behind it has changed"
    assert len(after) >= start + len(text) - end, "what is before and behind it runs together"


def taken_back(text: str, edit: Edit) -> str:
    """What the edit makes of the text; taken back it must give the very same bytes."""
    after = rebase(text, [edit])
    assert after is not None
    back = rebase(after, [*invert_edits((edit,))])
    assert encode(back or "") == encode(text), "undo gave other bytes"
    return after


# ---- JSON -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_field_of_sixty_json_files(figures: Callable[[str], None]) -> None:
    made: Made = Counter()
    for name, text in JSON_FILES.items():
        try:
            top = _skip(text, int(text.startswith("\ufeff")))
            if text[top] == "{":
                made += _values(text, top)
            array = ("events",) if text[top] == "{" else ()
            at = next((a for k, a, _ in parts_of(text, top) if k == "events"), top)
            for _, start, end in parts_of(text, at):
                made += _record(text, array, start, end)
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
    done = made["set"] + made["out"] + made["in"]
    assert (len(JSON_FILES), made["refused"]) == (60, 3 * 2 * 6), made
    figures(
        f"T10 JSON: {len(JSON_FILES)} files, {done:,} edits of every field, every other byte and"
        f" value kept, all taken back to the same bytes; {made['refused']} of doubled keys refused"
    )


def _values(text: str, top: int) -> Made:
    """The fields outside of any record."""
    made: Made = Counter()
    for key, start, end in parts_of(text, top):
        if key != "events":
            after = taken_back(text, value_edit("", (key,), text[start:end], '"new"'))
            same_around(text, after, start, end)
            assert said(after) == _with(said(text), key, "new")
            made["set"] += 1
    return made


def _record(text: str, array: tuple[str, ...], start: int, end: int) -> Made:
    raw, made = text[start:end], Counter[str]()
    value = said(raw)
    id = dict(value)["id"]
    keys = [key for key, _ in value]

    def edited(make: Callable[[], str]) -> tuple[str, str] | None:
        """The record and the whole file, edited; None when it is refused."""
        try:
            new = make()
        except Refused:
            made["refused"] += 1
            return None
        after = taken_back(text, record_edit("", array, "id", id, raw, new))
        same_around(text, after, start, end)
        return new, after

    for key, first, last in parts_of(text, start):
        if key == "id":  # it says which record is meant, and is never edited
            continue
        for wanted in NEW:
            if pair := edited(lambda key=key, wanted=wanted: spans.set_member(raw, key, wanted)):
                assert keys.count(key) == 1, f"{key!r} occurs twice"
                same_around(text, pair[1], first, last)
                assert said(pair[0]) == _with(value, key, _plain(wanted))
                made["set"] += 1
        if pair := edited(lambda key=key: spans.remove_member(raw, key)):
            assert said(pair[0]) == tuple(each for each in value if each[0] != key)
            made["out"] += 1
    if pair := edited(lambda: spans.add_member(raw, "fresh", NEW[0])):
        assert said(pair[0]) == (*value, ("fresh", NEW[0]))
        same_around(text, pair[1], last, end - 1)
        made["in"] += 1
    return made


def _with(pairs: tuple[tuple[str, Any], ...], key: str, value: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((k, value if k == key else v) for k, v in pairs)


def _plain(value: Any) -> Any:
    return _PAIRS.decode(json.dumps(value))


# ---- JSON lines -----------------------------------------------------------------------------


def test_every_field_of_thirty_files_of_json_lines(figures: Callable[[str], None]) -> None:
    """A change appends a line, and undo leaves the file as it was."""
    edits = 0
    for name, text in LINE_FILES.items():
        before = _latest(text)
        for id, entry in [*before.items(), ("fresh", None)]:
            for key in [*(entry or {}), "fresh"]:
                wanted = {**(entry or {}), key: NEW[1]}
                edit = sidecar_edit("", id, entry, wanted)
                after = sidecar_lines.write_entries(text, [edit]) or ""
                assert after.startswith(text), name
                assert _latest(after) == {**before, id: wanted}, name
                back = sidecar_lines.write_entries(after, [*invert_edits((edit,))]) or ""
                assert back == text, name
                edits += 1
    assert len(LINE_FILES) == 30
    figures(
        f"T10 JSON lines: {len(LINE_FILES)} files, {edits:,} edits of every field, every line kept"
    )


def _latest(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            found[entry["id"]] = entry.get("set")
    return {id: entry for id, entry in found.items() if entry}


# ---- markdown -------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_field_of_forty_markdown_documents(figures: Callable[[str], None]) -> None:
    made: Made = Counter()
    for name, text in MARKDOWN.items():
        try:
            made += _fields(text)
            _body(text)
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
    assert len(MARKDOWN) == 40
    assert made["made"] > 4 * made["refused"], made
    figures(
        f"T10 markdown: {len(MARKDOWN)} documents, {made['made']:,} edits of every field and body,"
        f" every other line and value kept, all taken back to the same bytes;"
        f" {made['refused']} refused"
    )


def _fields(text: str) -> Made:
    made: Made = Counter()
    lines = text.split("\n")
    end = next(n for n, line in enumerate(lines[1:], 1) if line.rstrip("\r") == "---")
    before = _yaml(lines[1:end])
    for key in [*before, "fresh"]:
        # `key:` without quotes begins in the first column; its value goes on in deeper lines
        found = re.compile(rf"['\"]?{re.escape(key)}['\"]?\s*:")
        first = next((n for n in range(1, end) if found.match(lines[n])), end)
        last = first
        while last < end and (last == first or re.match(r"[ \t-]|\r?$|#", lines[last])):
            last += 1
        start, stop = (sum(len(line) + 1 for line in lines[:n]) for n in (first, last))
        for wanted in ("it is done: #1", ["one", "two: 3"]):
            try:
                after = frontmatter.set_field(text, key, wanted)
            except Refused:
                made["refused"] += 1
                continue
            same_around(text, after, start, stop)
            assert taken_back(text, text_edit("", text, after)) == after
            rest = after.split("\n")
            there = _yaml(rest[1 : len(rest) - len(lines) + end])
            assert there == {**before, key: wanted}, key
            made["made"] += 1
    return made


def _yaml(lines: list[str]) -> dict[str, Any]:
    text = "\n".join(line.rstrip("\r") for line in lines)
    return yaml.load(text, yaml.BaseLoader) or {}


def _body(text: str) -> None:
    document = parse_document("a.md", "/a.md", text, None)
    assert with_body(document, document.body) == text
    after = with_body(document, document.body + "More.")
    assert after.startswith(document.head)
    assert parse_document("a.md", "/a.md", after, None).head == document.head
    assert after.removeprefix(text.rstrip("\r\n")).strip("\r\n") == "More."


# ---- on disk --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", "md"])
def test_on_disk_and_back(tmp_path: Path, kind: str) -> None:
    files = [*(JSON_FILES if kind == "json" else MARKDOWN).values()][::3]
    keeper, edits = NullRecorder(tmp_path / "state"), list[Edit]()
    for number, text in enumerate(files):
        path = tmp_path / f"{number}.{kind}"
        path.write_bytes(encode(text))
        edit: Edit = text_edit(str(path), text, f"{text}\nmore")
        if kind == "json":
            array = () if text.lstrip("\ufeff")[0] == "[" else ("events",)
            raw = load_records(text, array)[0].raw
            after = spans.set_member(raw, "content", NEW[0])
            edit = record_edit(str(path), array, "id", "a1", raw, after)
        assert decode(path.read_bytes()) == text
        edits.append(edit)
    commit(edits, keeper)
    for edit, text in zip(edits, files, strict=True):
        same = replace(edit, path="")  # type: ignore[type-var]
        wanted = rebase(text, [same])
        assert Path(edit.path).read_bytes() == encode(wanted or ""), text  # type: ignore[union-attr]
    commit([*invert_edits(tuple(edits))], keeper)
    for edit, text in zip(edits, files, strict=True):
        assert Path(edit.path).read_bytes() == encode(text)  # type: ignore[union-attr]
