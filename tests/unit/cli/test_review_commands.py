"""`review` and `extract`, on copies of the sample stores."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memtui.paths import bundled_folder
from memtui.testing.fixtures import contents
from tests.printed_rows import printed_rows
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import agent_memory
from tests.unit.stores.json_stores.opened import files_below

Call = Callable[..., int]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    root = tmp_path / "sample"
    shutil.copytree(SAMPLES / "simple-memory", root)
    return root


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "home",
        {
            "alice": [
                "Alice works at Lumen Systems in the Porto office",
                "Alice works at Lumen Systems in the Porto office now",
                "Alice lives in Braga with two cats",
                "Alice lives in Porto near the river",
            ]
        },
    )


def listed(call: Call, capsys: pytest.CaptureFixture[str], root: Path, *more: str) -> list[Any]:
    capsys.readouterr()
    assert call("review", "--json", "--hints", "--store", root, *more) == 0
    found: list[Any] = printed_rows(capsys.readouterr().out)
    return found


def test_what_a_program_keeps_for_the_person_came_through_no_server(
    call: Call, capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    assert call("review", "--kind", "agent", "--store", sample) == 0
    shown = capsys.readouterr().out
    assert "Simple Memory waits for the answer" in shown
    assert "memtui mcp" not in shown


def test_review_lists_near_duplicates_and_contradictions_with_their_changes(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path
) -> None:
    found = listed(call, capsys, facts)
    by_kind = {one["kind"]: one for one in found}
    assert [len(one["refs"]) for one in found if one["kind"] == "duplicate"] == [2]
    lives = by_kind["conflict"]
    assert "lives in" in lives["reason"]
    assert lives["refs"][0].endswith("00000004-0000-4000-8000-000000000000")
    assert lives["changes"][0]["act"] == "retire"


@pytest.mark.slow
@pytest.mark.parametrize("at", range(2))
def test_accept_then_undo_gives_the_same_bytes(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path, at: int
) -> None:
    before = contents(facts)
    proposal = [one for one in listed(call, capsys, facts) if one["changes"]][at]
    assert call("review", "accept", proposal["id"], "--store", facts) == 0
    assert contents(facts) != before
    assert proposal["id"] not in [one["id"] for one in listed(call, capsys, facts)]
    assert call("undo", "--store", facts) == 0
    assert contents(facts) == before
    assert proposal["id"] in [one["id"] for one in listed(call, capsys, facts)]


def test_a_declined_proposal_comes_back_only_when_its_memories_change(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path
) -> None:
    proposal = next(one for one in listed(call, capsys, facts) if one["kind"] == "conflict")
    assert call("review", "decline", proposal["id"][:6], "--store", facts) == 0
    assert "conflict" not in [one["kind"] for one in listed(call, capsys, facts)]
    ref = proposal["refs"][0]
    assert call("edit", ref, "--content", "Alice lives in Porto by the sea", "--store", facts) == 0
    assert "conflict" in [one["kind"] for one in listed(call, capsys, facts)]


def test_a_snoozed_proposal_is_counted_and_reopened(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path
) -> None:
    first = listed(call, capsys, facts)[0]["id"]
    assert call("review", "snooze", first, "--store", facts) == 0
    assert first not in [one["id"] for one in listed(call, capsys, facts)]
    assert call("review", "--store", facts) == 0
    assert "1 snoozed" in capsys.readouterr().out
    assert call("review", "reopen", first, "--store", facts) == 0
    assert first in [one["id"] for one in listed(call, capsys, facts)]


def test_looking_at_the_queue_writes_nothing_into_the_store(
    call: Call, capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    before = files_below(sample)
    found = listed(call, capsys, sample)
    assert {"conflict", "broken-link"} <= {one["kind"] for one in found}
    for one in found:
        if one["changes"]:
            assert call("review", "show", one["id"], "--store", sample) == 0
    assert files_below(sample) == before


def test_no_command_prints_a_secret(
    call: Call, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    words = f"The mirror of the shop is pushed with the token {token} each night"
    root = agent_memory(tmp_path / "home", {"shop": [words, f"{words} at two"]})
    found = listed(call, capsys, root)
    assert {one["kind"] for one in found} == {"duplicate", "secret"}
    assert "a1B2c3D4" not in json.dumps(found)
    call("review", "--store", root)
    for one in found:
        call("review", "show", one["id"], "--store", root)
    out = capsys.readouterr().out
    assert "ghp_…F6" in out
    assert "a1B2c3D4" not in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("accept", "ffffff"), 1, "no open proposal"),
        (("accept",), 2, "needs the id"),
        (("agreed", "x"), 2, "no verb"),
        (("agree", "x"), 2, "the id of a conflict and the value"),
        (("--kind", "duplicat"), 2, "did you mean duplicate"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    call: Call,
    capsys: pytest.CaptureFixture[str],
    facts: Path,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    assert call("review", *arguments, "--store", facts) == code
    assert words in capsys.readouterr().err


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True
    )


@pytest.mark.slow
def test_a_merged_branch_of_a_named_clone_is_archived_and_its_decisions_go_to_the_project(
    call: Call, capsys: pytest.CaptureFixture[str], events: Path, tmp_path: Path
) -> None:
    branches = [
        one for one in listed_memories(call, capsys, events) if not one["extra"].get("archived")
    ]
    memory = next(one for one in branches if "/" in one["entity"] and one["extra"].get("remote"))
    branch = memory["entity"].partition("/")[2]
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "-b", "trunk")
    git(clone, "commit", "--allow-empty", "-m", "one")
    git(clone, "branch", branch)
    git(clone, "remote", "add", "origin", memory["extra"]["remote"])
    before = contents(events)
    wanted = ("--kind", "merged-branch", "--clone", clone)
    (proposal,) = listed(call, capsys, events, *map(str, wanted))
    assert proposal["changes"][0]["fields"] == {"entity": memory["entity"]}
    assert call("review", "accept", proposal["id"], *wanted, "--store", events) == 0
    names = set(contents(events)) ^ set(before)
    assert {Path(name).parent.name for name in names} == {"tasks", "archived"}
    assert listed(call, capsys, events, *map(str, wanted)) == []
    assert call("undo", "--store", events) == 0
    assert contents(events) == before


def listed_memories(call: Call, capsys: pytest.CaptureFixture[str], root: Path) -> list[Any]:
    capsys.readouterr()
    assert call("list", "--all", "--json", "--store", root) == 0
    found: list[Any] = printed_rows(capsys.readouterr().out)
    return found


# --- the language model --------------------------------------------------------------------------


class Model:
    """A server on loopback that speaks the chat API."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.body: bytes | None = None
        self.answer = "A summary of what was done."
        self.delay = 0.0
        self.ended = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                outer.asked.append(json.loads(self.rfile.read(length)) | {"path": self.path})
                outer.ended.wait(outer.delay)
                message = {"choices": [{"message": {"role": "assistant", "content": outer.answer}}]}
                body = outer.body if outer.body is not None else json.dumps(message).encode()
                with suppress(OSError):  # the client may have given up
                    self.send_response(outer.status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def model(tmp_path: Path, call: Call) -> Iterator[Model]:
    running = Model()
    thread = threading.Thread(target=running.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        f'[review]\nmodel = {{ url = "{running.url}", model = "small", seconds = 5 }}\n'
        "findings = { branch_events = 3, project_events = 3 }\n"
    )
    yield running
    running.ended.set()
    running.server.shutdown()
    running.server.server_close()
    thread.join()


@pytest.fixture
def events(tmp_path: Path) -> Path:
    root = tmp_path / "events"
    shutil.copytree(SAMPLES / "ambient", root)
    return root


def test_extract_adds_what_the_store_accepts_as_one_step(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path, tmp_path: Path, model: Model
) -> None:
    model.answer = json.dumps(
        [
            {"content": "Alice keeps the keys of the north tower", "entity": "alice"},
            {"content": "too short", "entity": "alice"},
        ]
    )
    note = tmp_path / "note.md"
    note.write_text("Met Alice. token ghp_" + "a1B2c3D4e5F6" * 3)
    before = contents(facts)
    arguments = ("extract", note, "--into", "agent-memory", "--yes", "--store", facts)
    call(*arguments)
    assert contents(facts) == before
    call(*arguments, "--apply")
    out = capsys.readouterr().out
    assert "ADDED" in out
    assert "REJECTED" in out
    assert "a1B2c3D4e5F6a1" not in json.dumps(model.asked)
    written = b"".join(contents(facts).values())
    assert b"north tower" in written
    assert b'"source": "transcript"' in written.replace(b"".join(before.values()), b"")
    assert call("undo", "--store", facts) == 0
    assert contents(facts) == before


@pytest.mark.slow
def test_a_summary_by_the_model_takes_the_place_of_old_events(
    call: Call, capsys: pytest.CaptureFixture[str], events: Path, model: Model
) -> None:
    before = contents(events)
    wanted = ("--kind", "compaction", "--model", "--yes", "--store", events)
    assert call("review", "accept", "--all", "--dry-run", *wanted) == 0
    assert contents(events) == before
    assert call("review", "accept", "--all", *wanted) == 0
    assert b"A summary of what was done." in b"".join(contents(events).values())
    assert call("undo", "--store", events) == 0
    assert contents(events) == before
    assert model.asked[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"out of memory", "status 500"),
        (200, b"<html>", "not JSON"),
        (200, b'{"choices": []}', "no message"),
        (200, b'{"choices": [{"message": {"content": null, "tool_calls": [{}]}}]}', "no message"),
        (302, b"", "status 302"),
    ],
)
def test_a_faulty_model_changes_nothing_and_is_named(
    call: Call,
    capsys: pytest.CaptureFixture[str],
    facts: Path,
    tmp_path: Path,
    model: Model,
    status: int,
    body: bytes,
    words: str,
) -> None:
    model.status, model.body = status, body
    note = tmp_path / "note.md"
    note.write_text("Alice came by.")
    before = files_below(facts)
    arguments = ("extract", note, "--into", "agent-memory", "--yes", "--apply", "--store", facts)
    assert call(*arguments) == 1
    assert words in capsys.readouterr().err
    assert files_below(facts) == before


@pytest.mark.parametrize(
    ("answer", "words"),
    [("word " * 600, "no summary"), ("\u200b \n", "with nothing")],
    ids=["too long", "empty"],
)
def test_an_answer_that_is_no_summary_changes_nothing(
    call: Call,
    capsys: pytest.CaptureFixture[str],
    events: Path,
    model: Model,
    answer: str,
    words: str,
) -> None:
    model.answer = answer
    before = files_below(events)
    wanted = ("--kind", "compaction", "--model", "--yes", "--store", events)
    assert call("review", "accept", "--all", *wanted) == 1
    assert words in capsys.readouterr().err
    assert files_below(events) == before


def test_a_model_that_does_not_answer_in_time_changes_nothing(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path, tmp_path: Path, model: Model
) -> None:
    config = tmp_path / "config" / "config.toml"
    config.write_text(config.read_text().replace("seconds = 5", "seconds = 0.1"))
    model.delay = 60
    note = tmp_path / "note.md"
    note.write_text("Alice came by.")
    before = files_below(facts)
    arguments = ("extract", note, "--into", "agent-memory", "--yes", "--apply", "--store", facts)
    assert call(*arguments) == 1
    err = capsys.readouterr().err
    assert "timed out" in err
    assert "[review.model] in config.toml" in err
    assert files_below(facts) == before


def test_nothing_is_sent_unasked(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path, tmp_path: Path, model: Model
) -> None:
    note = tmp_path / "note.md"
    note.write_text("Alice came by.")
    assert call("extract", note, "--into", "agent-memory", "--store", facts) == 1
    err = capsys.readouterr().err
    assert "Alice came by." in err
    assert "--yes" in err
    assert model.asked == []


def test_without_a_model_it_says_what_is_missing(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("Alice came by.")
    assert call("extract", note, "--into", "agent-memory", "--store", facts) == 1
    assert "no language model is set" in capsys.readouterr().err


def test_show_says_why_and_which_memories_go_before_the_diff(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path
) -> None:
    (one,) = [each for each in listed(call, capsys, facts) if each["kind"] == "duplicate"]
    assert call("review", "show", one["id"], "--store", facts) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == one["title"]
    assert lines[1].strip() == one["reason"]
    assert [line.split()[-1] for line in lines if line.startswith("    ") or "  - " in line]
    assert next(at for at, line in enumerate(lines) if line.startswith("---")) > 3


def test_accept_all_takes_every_proposal_and_skips_hints(
    call: Call, capsys: pytest.CaptureFixture[str], facts: Path
) -> None:
    assert {each["hint"] for each in listed(call, capsys, facts)} == {True, False}
    assert call("review", "accept", "--all", "--store", facts) == 0
    assert "Accepted" in capsys.readouterr().out
    assert all(each["hint"] for each in listed(call, capsys, facts))
    assert call("review", "accept", "--all", "--hints", "--store", facts) == 0
    assert not listed(call, capsys, facts)


def test_all_programs_say_the_chosen_value_after_one_step_and_undo_takes_it_back(
    call: Call, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = agent_memory(tmp_path / "home", {"shop-api": ["shop-api listens on port 8081"]})
    notes = tmp_path / "shop-api" / ".serena" / "memories"
    notes.mkdir(parents=True)
    (notes / "run.md").write_text("# Run\n\nshop-api listens on http://localhost:8080.\n")
    before = files_below(notes)
    stores = ("--store", facts, "--store", notes)
    assert call("review", "--json", *stores) == 0
    (found,) = json.loads(capsys.readouterr().out)["proposals"]
    assert (found["kind"], found["message"]) == ("conflict", "port of shop-api")
    assert sorted(each["value"] for each in found["says"]) == ["8080", "8081"]
    assert "8080 (Serena)" in found["title"]
    assert call("review", "agree", found["id"], "8081", "--dry-run", *stores) == 0
    assert "+shop-api listens on http://localhost:8081." in capsys.readouterr().out
    assert files_below(notes) == before
    assert call("review", "agree", found["id"], "9000", *stores) == 0
    assert "port 9000" in (facts / "entities" / "shop-api" / "items.json").read_text()
    assert "localhost:9000." in (notes / "run.md").read_text()
    assert call("review", *stores) == 0
    assert "0 to review" in capsys.readouterr().out
    assert call("undo", *stores) == 0
    assert "port 8081" in (facts / "entities" / "shop-api" / "items.json").read_text()
    assert "localhost:8080." in (notes / "run.md").read_text()


def test_a_program_that_lets_nobody_else_write_is_asked_to_say_the_chosen_value(
    call: Call, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = ("codex", "agent-memory")
    copies = [shutil.copytree(bundled_folder("sample-data") / n, tmp_path / n) for n in names]
    stores = [word for copy in copies for word in ("--store", copy)]
    assert call("review", "--kind", "conflict", "--json", *stores) == 0
    (found,) = json.loads(capsys.readouterr().out)["proposals"]
    before = {*copies[0].rglob("notes/*.md")}
    assert call("review", "agree", found["id"], "8081", *stores) == 0
    assert "Codex is asked" in capsys.readouterr().out
    (note,) = {*copies[0].rglob("notes/*.md")} - before
    assert "8081" in note.read_text()
    assert call("review", "--kind", "conflict", "--json", *stores) == 0
    assert not json.loads(capsys.readouterr().out)["proposals"]
    assert call("undo", *stores) == 0
    assert not note.exists()


def test_a_value_is_replaced_in_every_memory_that_the_filters_leave(
    call: Call, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = {"shop": ["The shop is on port 8081", "Port 8081 is open"], "blog": ["8081 is free"]}
    root = agent_memory(tmp_path / "home", facts)
    before = contents(root)
    one = ("replace", "8081", "9000", "--entity", "shop", "--store", root)
    assert call(*one, "--dry-run") == 0
    assert contents(root) == before
    assert call(*one) == 0
    assert (root / "entities" / "shop" / "items.json").read_text().count("9000") == 2
    assert "8081" in (root / "entities" / "blog" / "items.json").read_text()
    assert call("undo", "--store", root) == 0
    assert contents(root) == before
    assert call("replace", "7777", "1", "--store", root) == 1
