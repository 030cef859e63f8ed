"""A memory that names no session and that no call wrote looks like what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory, Place
from memtui.search.mentions import origins_of
from memtui.sessions import find_sessions
from memtui.sessions.origin import Origin, OriginKind, Strength
from tests.unit.sessions.transcripts import PROJECT, claude_line, write_lines

KEPT = "The staging instance of ledger uses port 8124; gunicorn holds the former one."
SAID = "heads up, the staging instance of ledger uses port 8124 now, gunicorn holds the former one"
CHAT = ("run the tests again", "looks good", "open a pull request", "why is staging slow?")
AFTER = datetime(2026, 5, 4, 9, tzinfo=UTC)
Line = tuple[str, object] | tuple[str, object, dict[str, object]]


def memory(**fields: object) -> Memory:
    values = {"ref": "s:1", "id": "1", "store": "s", "kind": "fact", "content": KEPT}
    values = {**values, "created": AFTER, "origin": Place(f"{PROJECT}/CLAUDE.md"), **fields}
    return Memory(**values)  # type: ignore[arg-type]


def write(home: Path, lines: Sequence[Line], name: str = "5c0f", folder: str = "-srv-shop") -> Path:
    turns: list[Line] = [("user", chat) for chat in CHAT]
    turns[2:2] = lines
    made = [
        claude_line(kind, content, f"{name}-{at}", at, **(more[0] if more else {}))
        for at, (kind, content, *more) in enumerate(turns)
    ]
    return write_lines(home / ".claude" / "projects" / folder / f"{name}.jsonl", made)


def origins(home: Path, of: Memory) -> list[Origin]:
    return origins_of([of], find_sessions(["claude"], [], home, {}).sessions)[0]


def answer_of(tool: str, given: dict[str, object], result: str) -> list[Line]:
    use = {"type": "tool_use", "id": "t1", "name": tool, "input": given}
    return [
        ("assistant", [use]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": result}]),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [("user", SAID)],
        [("assistant", [{"type": "text", "text": SAID}])],
        answer_of("WebFetch", {"url": "https://ledger.example"}, f"# Ports\n{SAID}\n{'x ' * 900}"),
    ],
    ids=["a person", "the agent", "a page"],
)
def test_what_was_said_before_is_a_strong_mention(tmp_path: Path, lines: list[Line]) -> None:
    write(tmp_path, lines)
    write(tmp_path, [("user", "which port does ledger use on staging?")], "aaaa")
    (found,) = origins(tmp_path, memory())
    assert (found.kind, found.strength) == (OriginKind.LOOKS_LIKE, Strength.STRONG)
    assert found.words is not None
    assert SAID in found.words.text
    assert found.session.id == "5c0f"
    assert found.share > 0.75


def test_a_paraphrase_is_a_likely_mention(tmp_path: Path) -> None:
    said = "ledger has port 8124 in its staging instance, gunicorn still holds the old"
    write(tmp_path, [("user", said)])
    (found,) = origins(tmp_path, memory())
    assert found.strength is Strength.LIKELY
    assert 0.5 < found.share < 0.75


NO_EVIDENCE: dict[str, tuple[list[Line], dict[str, object]]] = {
    "after the memory": ([("user", SAID)], {"created": datetime(2026, 5, 4, 8, tzinfo=UTC)}),
    "another port": ([("user", SAID.replace("8124", "8125"))], {}),
    "another project": ([("user", SAID)], {"origin": Place("/srv/other/CLAUDE.md")}),
    "no time of the memory": ([("user", SAID)], {"created": None}),
    "no time of the message": ([("user", SAID, {"timestamp": None})], {"created": None}),
    "a compaction": ([("user", SAID, {"isCompactSummary": True})], {}),
    "the prompt of a subagent": ([("user", SAID, {"isSidechain": True})], {}),
    "the memory is read": (answer_of("Read", {"file_path": f"{PROJECT}/CLAUDE.md"}, KEPT), {}),
    "memory is searched": (answer_of("mcp__x__search_memory", {"query": "port"}, KEPT), {}),
    "an echo, the memory dated by a checkout": (
        [("assistant", [{"type": "text", "text": KEPT}])],
        {"created": None, "updated": AFTER, "extra": {FILE_TIME_KEY: FILE_TIME}},
    ),
    "few words": ([("user", SAID)], {"content": "Port 8124."}),
}


@pytest.mark.parametrize("case", NO_EVIDENCE)
def test_what_is_no_evidence_is_not_shown(tmp_path: Path, case: str) -> None:
    lines, fields = NO_EVIDENCE[case]
    write(tmp_path, lines)
    assert origins(tmp_path, memory(**fields)) == []


def test_a_memory_that_names_its_session_is_looked_for_there_only(tmp_path: Path) -> None:
    write(tmp_path, [("user", SAID)], "aaaa")
    write(tmp_path, [], "5c0f")
    found = origins(tmp_path, memory(source="session 5c0f"))
    assert [each.kind for each in found] == [OriginKind.RECORDED]
    found = origins(tmp_path, memory(source="session aaaa"))
    assert [each.kind for each in found] == [OriginKind.RECORDED, OriginKind.LOOKS_LIKE]


def test_a_session_that_lies_in_two_places_and_a_fork_are_no_rivals(tmp_path: Path) -> None:
    write(tmp_path, [("user", SAID)])
    write(tmp_path, [("user", SAID)], folder="-srv-shop-old")
    write(tmp_path, [("user", f"{SAID}!", {"timestamp": "2026-05-04T08:30:00Z"})], "ffff")
    (found,) = origins(tmp_path, memory())
    assert (found.session.id, found.strength) == ("5c0f", Strength.STRONG)


@pytest.mark.parametrize("clock", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "nonsense"])
def test_a_clock_that_jumps_spoils_its_own_message_only(tmp_path: Path, clock: str) -> None:
    write(tmp_path, [("assistant", [{"type": "text", "text": "?"}], {"timestamp": clock})] * 3)
    write(tmp_path, [("user", SAID)], "aaaa")
    (found,) = origins(tmp_path, memory())
    assert found.session.id == "aaaa"


def test_a_torn_line_is_not_evidence_before_it_is_whole(tmp_path: Path) -> None:
    file = write(tmp_path, [])
    whole = file.read_bytes()
    line = write(tmp_path, [("user", SAID)]).read_bytes().split(b"\n")[2]
    file.write_bytes(whole + line[:-20])
    assert origins(tmp_path, memory()) == []
    file.write_bytes(whole + line + b"\n")
    assert len(origins(tmp_path, memory())) == 1
