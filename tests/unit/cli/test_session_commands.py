"""`memtui sessions`: nothing is read before a person says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memtui import paths
from memtui.cli.group import memtui
from memtui.cli.store_selection import INCOMPLETE
from memtui.testing.hostile_values import FORBIDDEN
from tests.printed_rows import printed_rows
from tests.secrets_for_tests import TOKEN
from tests.unit.library.test_history import committed, git
from tests.unit.sessions.transcripts import (
    ANSWER,
    SAID,
    WRITERS,
    claude_line,
    write_hostile,
    write_lines,
)


@pytest.fixture
def home(own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    WRITERS["claude"](tmp_path / "home")
    return tmp_path / "home"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(memtui, ["sessions", *arguments])


def test_no_session_is_listed_before_its_program_is_on(home: Path) -> None:
    result = run()
    assert isinstance(result.exception, Exception)
    assert "no program's sessions are read" in str(result.exception)
    assert SAID not in result.output


def test_turning_a_program_on_says_what_is_read_and_asks(home: Path) -> None:
    refused = run("on", "claude")
    assert "1 file" in refused.output
    assert "cleanupPeriodDays" in refused.output
    assert not paths.config_file().exists()
    assert run("on", "claude", "--yes").exit_code == 0
    assert 'programs = ["claude"]' in paths.config_file().read_text("utf-8")
    assert SAID in run("list").output


def test_a_session_is_shown_with_the_memories_that_it_wrote_and_read(home: Path) -> None:
    project = home / ".claude" / "projects" / "-srv-shop"
    memory = project / "memory"
    memory.mkdir()
    lines: list[object] = [claude_line("user", SAID, "u1", 1)]
    tools = {"money": "Write", "colour": "Write", "tone": "Read", "size": "Bash", "shape": "Edit"}
    for number, (name, tool) in enumerate(tools.items()):
        file = memory / f"project_{name}.md"
        text = f"The {name} of the shop is kept in this file."
        file.write_text(f"---\nname: {name}\n---\n\n{text}\n", "utf-8")
        given = {"file_path": str(file)} | ({"content": text} if tool == "Write" else {})
        if tool == "Bash":
            given = {"command": f"cat {file}"}
        text = "<tool_use_error>no" if tool == "Edit" else text
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        lines.append(claude_line("assistant", [use], f"a{number}", 2))
        lines.append(claude_line("user", [result], f"r{number}", 3))
    changed = memory / "project_colour.md"
    changed.write_text(changed.read_text("utf-8").replace("kept", "no longer"), "utf-8")
    names = [f"- [x](project_{name}.md)" for name in tools]
    (memory / "MEMORY.md").write_text("\n".join(names) + "\n", "utf-8")
    write_lines(project / "5c0f.jsonl", lines)
    run("on", "claude", "--yes")
    shown = run("show", "5c0f", "--json", "--store", str(home / ".claude"))
    told = [
        (each["ref"].rpartition("_")[2], each["how"])
        for each in json.loads(shown.stdout)["memories"]
    ]
    assert told == [
        ("money.md", "wrote"),
        ("colour.md", "wrote, changed since"),
        ("tone.md", "read"),
        ("size.md", "read"),
    ]
    assert run("show", "5c0f", "--store", str(home / ".claude")).output.startswith("wrote")


def test_of_a_session_only_what_is_near_some_words_is_shown(home: Path) -> None:
    said = ["red", "orange", "yellow", "a green tree", "blue", "indigo", "violet", "pink"]
    file = home / ".claude" / "projects" / "-srv-shop" / "77aa.jsonl"
    write_lines(file, [claude_line("user", text, f"u{n}", n) for n, text in enumerate(said)])
    run("on", "claude", "--yes")
    shown = json.loads(run("show", "77aa", "--find", "trees green", "--json").stdout)
    assert [each["text"] for each in shown["messages"]] == said[1:6]


def test_off_is_off(home: Path) -> None:
    run("on", "claude", "--yes")
    assert run("off", "claude").exit_code == 0
    assert SAID not in run("list").output


@pytest.mark.slow
def test_a_session_is_shown_by_the_beginning_of_its_id(home: Path) -> None:
    run("on", "claude", "--yes")
    shown = run("show", "5c")
    assert SAID in shown.output
    assert ANSWER in shown.output
    assert "git diff" not in shown.output
    assert "git diff" in run("show", "5c", "--tools").output
    assert "no such session" in str(run("show", "7").exception)


def test_lines_of_a_new_kind_are_counted(home: Path) -> None:
    file = home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl"
    write_lines(file, [claude_line("user", SAID, "u1"), {"type": "hologram"}])
    run("on", "claude", "--yes")
    result = run("show", "5c0f", "--json")
    record = json.loads(result.stdout)
    assert record["not_understood"] == 1
    assert [message["text"] for message in record["messages"]] == [SAID]
    assert "1 line not understood (1 of hologram)" in result.stderr


@pytest.mark.slow
def test_secrets_and_control_characters_do_not_reach_the_terminal(home: Path) -> None:
    file = home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl"
    text = f"Use {TOKEN} \x1b]0;owned\x07 now"
    write_lines(file, [claude_line("user", text, "u1"), claude_line("assistant", text, "a1")])
    run("on", "claude", "--yes")
    found = CliRunner().invoke(memtui, ["search", "use", "--everywhere", "--store", str(home)])
    assert TOKEN not in found.output
    for arguments in (("list",), ("list", "--json"), ("show", "5c0f"), ("show", "5c0f", "--json")):
        output = run(*arguments).output
        assert "Use" in output
        assert TOKEN not in output
        assert "\x1b" not in output


@pytest.mark.slow
def test_escape_sequences_of_no_program_reach_the_terminal(home: Path) -> None:
    shutil.rmtree(home)
    write_hostile(home)
    (home / ".claude" / "CLAUDE.md").write_text("- Be brief.\n", "utf-8")
    for name in WRITERS:
        run("on", name, "--yes")
    listed = printed_rows(run("list", "--json").stdout)
    assert {each["program"] for each in listed} == set(WRITERS)
    shown = [run("show", each["id"], "--tools") for each in listed]
    assert all(result.exit_code == 0 for result in shown)
    assert all(ANSWER in result.output for result in shown)
    store = str(home / ".claude")
    everywhere = CliRunner().invoke(
        memtui, ["search", "invoices", "--everywhere", "--store", store]
    )
    assert everywhere.output.count("invoices") >= len(WRITERS)
    results = [*shown, everywhere, run("list"), run("programs"), run("show", listed[0]["id"][:3])]
    for result in results:
        assert not FORBIDDEN.intersection(result.output.replace("\n", ""))


def test_a_session_that_cannot_be_read_is_named_and_the_others_listed(home: Path) -> None:
    bad = home / ".claude" / "projects" / "-srv-shop" / "ffff.jsonl"
    bad.symlink_to(home / "nowhere")
    run("on", "claude", "--yes")
    result = run("list")
    assert SAID in result.output
    assert "not read" in result.stderr
    code = CliRunner().invoke(memtui, ["sessions"], standalone_mode=False).return_value
    assert code == INCOMPLETE


@pytest.mark.slow
def test_a_search_everywhere_finds_former_texts_and_takes_phrases_and_orders(home: Path) -> None:
    store = home / ".claude" / "CLAUDE.md"
    git(store.parent, "init", "-q")
    for number, text in enumerate(("- Invoices are in dollars.", "- Be brief."), 1):
        store.write_text(f"{text}\n", "utf-8")
        committed(store.parent, f"2026-05-0{number}T10:00:00Z")
    file = home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl"
    said = ("invoices in cents", "cents in invoices", "an invoice of two cents")
    write_lines(file, [claude_line("user", text, f"u{n}", n) for n, text in enumerate(said)])
    run("on", "claude", "--yes")

    def search(*words: str) -> dict[str, list[dict[str, str]]]:
        arguments = ["search", *words, "--everywhere", "--json", "--store", str(store.parent)]
        found: dict[str, list[dict[str, str]]] = json.loads(
            CliRunner().invoke(memtui, arguments).stdout
        )
        return found

    (former,) = search("invoices")["former"]
    assert "Invoices are in dollars." in former["content"]
    newest = search("invoices cents", "--sort", "new")["sessions"]
    assert [each["text"] for each in newest] == [*said[::-1]]
    (exact,) = search('"in cents"')["sessions"]
    assert exact["text"] == said[0]
    assert [each["text"] for each in exact["after"]] == [*said[1:]]  # type: ignore[attr-defined]
    assert exact["before"] == []
    arguments = ["search", "two", "--everywhere", "--store", str(store.parent)]
    assert said[1] in CliRunner().invoke(memtui, arguments).output, "what was said before it"
    assert len(search("cents", "NOT", "two")["sessions"]) == 2


@pytest.mark.slow
def test_a_search_everywhere_finds_what_was_said(home: Path) -> None:
    run("on", "claude", "--yes")

    def search(*more: str) -> Result:
        arguments = ["search", "invoices", "--everywhere", "--store", str(home / ".claude"), *more]
        (home / ".claude" / "projects" / "-srv-shop" / "memory").mkdir(exist_ok=True)
        (home / ".claude" / "CLAUDE.md").write_text("- Be brief.\n", "utf-8")
        return CliRunner().invoke(memtui, arguments)

    assert SAID in search().output
    said = json.loads(search("--json").stdout)["sessions"]
    assert [each["text"] for each in said] == [SAID]
    run("forget", "5c0f")
    assert SAID not in search().output
    assert "no such session" in str(run("show", "5c0f").exception)
    assert run("--delete-index").exit_code == 0
    assert not list((paths.cache_folder()).rglob("*.seg"))


def search_everywhere(home: Path, *words: str) -> Result:
    arguments = ["search", *words, "--everywhere", "--store", str(home / ".claude")]
    (home / ".claude" / "CLAUDE.md").write_text("- Be brief.\n", "utf-8")
    return CliRunner().invoke(memtui, arguments)


@pytest.mark.slow
def test_no_message_is_printed_twice_and_no_heading_over_nothing(home: Path) -> None:
    file = home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl"
    said = ("a zebra at noon", "the zebra sleeps", "goodbye")
    write_lines(file, [claude_line("user", text, f"u{n}", n) for n, text in enumerate(said)])
    run("on", "claude", "--yes")
    found = search_everywhere(home, "zebra").stdout
    for text in said:
        assert found.count(text) == 1, found
    assert "former versions" not in found
    assert search_everywhere(home, "zebraquux").stdout == ""


def test_a_session_is_dated_by_its_words_and_not_by_its_file(home: Path) -> None:
    """After a copy or a restored home all files are of now."""
    folder = home / ".claude" / "projects" / "-srv-shop"
    for name, day in (("aa01", 1), ("bb02", 20), ("cc03", 10)):
        line = claude_line("user", f"Words of {name}.", name, 1)
        line["timestamp"] = f"2026-03-{day:02}T10:00:00.000Z"
        write_lines(folder / f"{name}.jsonl", [line])
    run("on", "claude", "--yes")
    listed = printed_rows(run("--json").stdout)
    assert [each["id"] for each in listed][-3:] == ["bb02", "cc03", "aa01"]
    assert listed[-1]["last"].startswith("2026-03-01T10:00")


@pytest.mark.slow
def test_forgotten_sessions_are_listed_and_taken_back(home: Path) -> None:
    run("on", "claude", "--yes")
    assert "memtui sessions recall 5c0f" in run("forget", "5c0f").output
    assert printed_rows(run("forgotten", "--json").stdout) == ["5c0f"]
    assert SAID not in search_everywhere(home, "invoices").output
    assert "no such session is left out" in str(run("recall", "77").exception)
    assert run("recall", "5c").exit_code == 0
    assert run("forgotten").stdout == ""
    assert SAID in search_everywhere(home, "invoices").output


def test_several_programs_are_turned_on_and_off_at_once(home: Path) -> None:
    assert run("on", "claude", "codex", "--yes").exit_code == 0
    on = {each["program"] for each in printed_rows(run("programs", "--json").stdout) if each["on"]}
    assert on == {"claude", "codex"}
    assert run("off", "claude", "codex").exit_code == 0
    assert "Maximum number of sessions" in run("--help").output
