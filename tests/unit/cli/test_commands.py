"""The commands as a person or a script meets them: output, JSON, exit codes, no traceback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.errors import Conflict
from memtui.journal import Journal
from memtui.model import Memory
from tests.forked import Forked
from tests.own_folders import own_folders
from tests.printed_rows import printed_rows
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "memory",
        {
            "alice": ["Alice leads the tide tables team", "Alice works at the harbour office"],
            "atlas": ["Atlas stores soundings in PostgreSQL"],
        },
    )


@pytest.fixture
def run(tmp_path: Path, forked: Forked) -> Run:
    """Runs memtui in a process of its own, with settings, state and cache of its own."""
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "person"),
        **own_folders(tmp_path),
    }
    environment.pop("MEMTUI_STORES", None)
    (tmp_path / "person").mkdir()

    def call(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
        return forked.run(arguments, {**environment, **more}, tmp_path / "person")

    return call


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return printed_rows(done.stdout)


def test_list_json_has_every_memory_once_with_the_fields_of_memory(run: Run, home: Path) -> None:
    records = printed(run("list", "--store", home, "--all", "--json"))
    assert len(records) == len({record["ref"] for record in records}) == 3
    assert set(records[0]) == set(Memory.__struct_fields__)


@pytest.mark.parametrize("command", ["list", "stores", "stats", "log"])
def test_a_command_without_other_arguments_takes_paths(run: Run, home: Path, command: str) -> None:
    named, optional = run(command, home), run(command, "--store", home)
    assert (named.returncode, named.stdout) == (0, optional.stdout)
    missing = run(command, "/nowhere/at/all")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "/nowhere/at/all: no such file or directory" in missing.stderr


def test_list_all_leaves_no_memory_out_whatever_its_status(run: Run, home: Path) -> None:
    write_facts(home, "bo", [fact(70, "Bo left the harbour office", status="historical")])
    assert len(printed(run("list", "--store", home, "--json"))) == 3
    assert len(printed(run("list", "--store", home, "--all", "--json"))) == 4
    current = run("list", "--store", home, "--all", "--json", "--status", "active")
    assert len(printed(current)) == 3


def test_list_shows_current_memories_newest_first_and_says_what_is_left_out(
    run: Run, home: Path
) -> None:
    write_facts(home, "bo", [fact(30 + n, f"Bo wrote down the tide number {n}") for n in range(30)])
    done = run("list", "--store", home)
    assert len(done.stdout.splitlines()) == 20
    assert "20 of 33" in done.stderr


@pytest.mark.slow
def test_filters_are_the_same_words_everywhere(run: Run, home: Path) -> None:
    for command in (["list"], ["search", "atlas alice"]):
        answer = printed(
            run(*command, "--store", home, "--json", "--entity", "atlas", "--type", "person")
        )
        assert [record["content"] for record in answer] == ["Atlas stores soundings in PostgreSQL"]
    assert printed(run("list", "--store", home, "--json", "--since", "2026-03-03")) != []
    assert printed(run("list", "--store", home, "--json", "--until", "2020-01-01")) == []


def test_a_search_that_finds_nothing_says_so_and_fails(run: Run, home: Path) -> None:
    done = run("search", "--store", home, "zeppelin")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'no "zeppelin"' in done.stderr
    assert "no matches" in done.stderr
    as_json = run("search", "--store", home, "--json", "zeppelin")
    assert as_json.returncode == 1
    assert printed_rows(as_json.stdout) == []
    assert 'no "zeppelin"' in as_json.stderr


def test_a_misspelt_word_is_replaced_and_named(run: Run, home: Path) -> None:
    done = run("search", "--store", home, "soundigns")
    assert (done.returncode, done.stderr) == (0, 'no "soundigns"; showing "soundings"\n')
    assert "Atlas stores soundings" in done.stdout
    as_json = run("search", "--store", home, "--json", "soundigns")
    assert as_json.stderr == done.stderr
    assert len(printed_rows(as_json.stdout)) == 1


def test_what_filters_hide_is_counted_and_named(run: Run, home: Path) -> None:
    done = run("search", "--store", home, "soundings type:company")
    assert done.returncode == 1
    assert "no matches; without type:company: 1" in done.stderr
    as_json = run("search", "--store", home, "--json", "soundings type:company")
    assert "without type:company" in as_json.stderr


def test_search_prints_the_passage_that_matched(run: Run, home: Path) -> None:
    text = "Harbour notes\n\nnothing here\n\nthe winch turns left\n\nmore"
    write_facts(home, "winch", [fact(77, text)])
    done = run("search", "--store", home, "winch turns")
    headline, passage = done.stdout.splitlines()[:2]
    assert headline.endswith("Harbour notes")
    assert passage.strip() == "the winch turns left"
    (found,) = printed(run("search", "--store", home, "--json", "winch turns"))
    assert found["passage"] == {
        "start": text.index("the"),
        "end": text.index("\n\nmore"),
        "line": 5,
        "text": "the winch turns left",
    }


def test_search_explains_itself_with_parts_that_add_up(run: Run, home: Path) -> None:
    records = printed(
        run("search", "--store", home, "--json", "--explain", "where does alice work")
    )
    assert records[0]["content"] == "Alice works at the harbour office"
    for record in records:
        assert sum(record["parts"].values()) == pytest.approx(record["score"])


def test_a_store_can_be_named_by_its_label(run: Run, home: Path) -> None:
    stores = {"MEMTUI_STORES": str(home)}
    assert len(printed(run("list", "--store", "agent-memory", "--json", **stores))) == 3
    assert run("list", "--store", "nowhere", **stores).returncode == 1


def test_stores_names_each_unreadable_file(run: Run, home: Path) -> None:
    broken = home / "entities" / "atlas" / "items.json"
    broken.write_text("", encoding="utf-8")
    done = run("stores", "--store", home, "--json")
    assert done.returncode == 3
    (store,) = printed_rows(done.stdout)
    assert (store["label"], store["memories"]) == ("agent-memory", 2)
    assert [item["file"] for item in store["unreadable"]] == [str(broken)]
    assert str(broken) in run("stores", "--store", home).stdout


def test_a_store_whose_folder_is_a_link_is_opened_and_its_target_shown(
    run: Run, home: Path, tmp_path: Path
) -> None:
    """People share memory so."""
    link = tmp_path / "person" / "shared"
    link.symlink_to(home)
    shown = run("stores", "--store", link)
    assert f"{link}\n    link to  {home}\n" in shown.stdout
    (store,) = printed(run("stores", "--store", link, "--json"))
    assert (store["path"], store["link_to"], store["memories"]) == (str(link), str(home), 3)
    (store,) = printed(run("stores", "--store", home, "--json"))
    assert store["link_to"] == ""
    assert "link to" not in run("stores", "--store", home).stdout


def test_stores_says_whether_a_program_keeps_memory(run: Run, tmp_path: Path) -> None:
    hermes = tmp_path / "person" / ".hermes"
    (hermes / "memories").mkdir(parents=True)
    (hermes / "memories" / "MEMORY.md").write_text("The bell is rung at noon.\n")
    config = hermes / "config.yaml"
    config.write_text("memory:\n  memory_enabled: false\n")
    (store,) = printed(run("stores", "--store", hermes, "--json"))
    setting = "memory.user_profile_enabled"
    assert store["switches"] == [
        {
            "name": "MEMORY.md",
            "on": False,
            "setting": "memory.memory_enabled",
            "source": str(config),
        },
        {"name": "USER.md", "on": True, "setting": setting, "source": None},
    ]
    shown = run("stores", "--store", hermes).stdout
    assert "    memory  MEMORY.md off (memory.memory_enabled in ~/.hermes/config.yaml)\n" in shown
    assert f"    memory  USER.md on by default ({setting} is not set)\n" in shown


def test_promote_previews_writes_and_is_undone_at_once(run: Run, tmp_path: Path) -> None:
    gemini = tmp_path / ".gemini"
    notes = gemini / "tmp" / "belfry" / "memory" / "style.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("- Ring at noon.\n- Rest at night.\n")
    (memory,) = printed(run("search", "--store", gemini, "noon", "--json"))
    shown = run("promote", "--store", gemini, "--dry-run", memory["ref"])
    assert "GEMINI.md" in shown.stdout
    assert not (gemini / "GEMINI.md").exists()
    assert run("promote", "--store", gemini, memory["ref"]).returncode == 0
    assert "- Ring at noon." in (gemini / "GEMINI.md").read_text()
    assert notes.read_text() == "- Rest at night.\n"
    again = printed(run("search", "--store", gemini, "noon", "--json"))[0]["ref"]
    assert "in global already" in run("promote", "--store", gemini, again).stderr
    assert run("undo", "--store", gemini).returncode == 0
    assert not (gemini / "GEMINI.md").exists()
    assert notes.read_text() == "- Ring at noon.\n- Rest at night.\n"


def test_show_takes_a_prefix_and_refuses_an_ambiguous_one(run: Run, home: Path) -> None:
    assert printed(run("show", "--store", home, "--json", "00000003"))["content"].startswith(
        "Atlas"
    )
    refused = run("show", "--store", home, "0000")
    assert refused.returncode == 1
    assert "(give one of these)" in refused.stderr
    first = refused.stderr.split("names ")[1].split(",")[0]
    assert run("show", "--store", home, first).returncode == 0
    assert run("show", "--store", home, "zzzz").returncode == 1


def test_show_prints_lists_and_truths_as_words(run: Run, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# Rules\n\n- Use ruff\n")
    shown = run("show", "ruff", "--store", tmp_path)
    read_by = next(line for line in shown.stdout.split("\n") if line.startswith("read_by"))
    assert " Codex, Cursor, " in read_by
    assert not set(read_by) & set("[']")


def test_stats_count_what_is_there(run: Run, home: Path) -> None:
    numbers = printed(run("stats", "--store", home, "--json"))
    assert numbers["total"] == 3
    assert numbers["entity"] == {"people/alice": 2, "people/atlas": 1}
    assert numbers["disk"]["agent-memory"] > 0


def test_stats_say_how_full_the_load_limits_are_and_where_one_cuts(
    run: Run, tmp_path: Path
) -> None:
    for name in ("claude-code", "hermes", "openclaw"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
    stores = [part for name in ("claude-code", "hermes") for part in ("--store", tmp_path / name)]
    text = run("stats", *stores).stdout
    assert "chime-control: MEMORY.md  cut at line 201, 5 not loaded: 218 of 200 lines" in text
    assert "Hermes USER.md  " in text
    uses = printed(run("stats", "--json", "--store", tmp_path / "openclaw"))["load_limits"]
    assert uses[0]["characters"] == {"used": 2582, "limit": 12000}
    assert uses[0]["cut_line"] is None


def test_check_finds_secrets_masked_and_broken_links(run: Run, home: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    write_facts(home, "bo", [fact(40, f"the deploy token is {token}", supersedes="gone")])
    done = run("check", "--store", home)
    assert done.returncode == 1
    assert "GitHub token" in done.stdout
    assert "broken-link" in done.stdout
    assert token not in done.stdout
    clean = run(
        "check", "--store", agent_memory(home.parent / "clean", {"al": ["Al likes tea a lot"]})
    )
    assert clean.returncode == 0


@pytest.mark.slow
def test_edit_changes_that_value_only_and_undo_gives_back_the_bytes(run: Run, home: Path) -> None:
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    assert (
        run("edit", "--store", home, "00000001", "--content", "Alice leads nobody").returncode == 0
    )
    assert file.read_bytes() == before.replace(
        b"Alice leads the tide tables team", b"Alice leads nobody"
    )
    assert "Undone" in run("undo").stdout
    assert file.read_bytes() == before
    assert run("redo").returncode == 0
    assert b"nobody" in file.read_bytes()
    assert run("undo", "--store", home).returncode == 0
    assert run("undo", "--store", home).returncode == 1


def test_the_last_note_of_a_folder_comes_back(run: Run, tmp_path: Path) -> None:
    """An empty folder is recognised as a store of no format."""
    folder = tmp_path / "notes"
    folder.mkdir()
    note = folder / "dusk.md"
    note.write_text("# Dusk\n\nThe bell rings at ten.\n", encoding="utf-8")
    assert run("delete", "dusk.md", "--force", "--store", folder).returncode == 0
    assert not note.exists()
    named = run("undo", "--store", folder)
    assert named.returncode == 1
    advice = re.search(r"memtui undo --number (\d+)", named.stderr)
    assert advice, named.stderr
    undone = run("undo", "--number", advice[1])
    assert undone.returncode == 0, undone.stderr
    assert note.read_text(encoding="utf-8") == "# Dusk\n\nThe bell rings at ten.\n"


@pytest.mark.slow
def test_undo_takes_back_several_steps_or_one_by_its_number(run: Run, home: Path) -> None:
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    run("edit", "--store", home, "00000001", "--content", "Alice leads one team")
    run("edit", "--store", home, "00000002", "--content", "Alice works at sea")
    assert run("undo", "--number", "1").returncode == 0
    assert b"works at sea" in file.read_bytes()
    assert b"leads the tide" in file.read_bytes()
    assert run("redo").returncode == 0
    assert run("undo", "2").stdout.count("Undone") == 2
    assert file.read_bytes() == before


def test_the_log_tells_of_a_change_that_an_agent_put_back(run: Run, home: Path) -> None:
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    run("edit", "--store", home, "00000001", "--content", "Alice leads one team")
    (action,) = printed(run("log", "--json"))
    assert action["put_back"] is False
    file.write_bytes(before)
    assert printed(run("log", "--json"))[0]["put_back"] is True
    assert "another program" in run("log").stdout


@pytest.mark.slow
def test_the_log_leaves_out_what_failed_unless_asked(run: Run, home: Path, tmp_path: Path) -> None:
    run("edit", "--store", home, "00000001", "--content", "Alice leads one team")
    journal = Journal(tmp_path / "state")
    with contextlib.suppress(Conflict), journal.begin("edit that met a conflict", ()):
        raise Conflict("it was changed")
    journal.close()
    assert "conflict" not in run("log").stdout
    assert len(printed(run("log", "--json"))) == 1
    assert [each["state"] for each in printed(run("log", "--all", "--json"))] == ["void", "done"]


def test_edit_without_options_opens_the_editor(run: Run, home: Path, tmp_path: Path) -> None:
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nprintf "Alice keeps bees" > "$1"\n', encoding="utf-8")
    editor.chmod(0o700)
    assert run("edit", "--store", home, "00000001", EDITOR=f"'{editor}'").returncode == 0
    assert (
        printed(run("show", "--store", home, "--json", "00000001"))["content"] == "Alice keeps bees"
    )
    failed = run("edit", "--store", home, "00000001", EDITOR="false")
    assert failed.returncode == 1
    assert "draft is kept" in failed.stderr


@pytest.mark.parametrize(
    ("text", "outcome", "code"),
    [
        ("Alice repairs old sextants at home", "ADDED", 0),
        ("Alice leads the tide tables team!", "DEDUPE", 0),
        ("Alice works at the chart museum", "SUPERSEDED", 0),
        ("too short", "REJECTED:", 1),
    ],
)
def test_add_follows_the_rules_of_agent_memory(
    run: Run, home: Path, text: str, outcome: str, code: int
) -> None:
    done = run("add", "--store", home, text, "--entity", "people/alice")
    assert (done.stdout.split()[0], done.returncode) == (outcome, code)


@pytest.mark.slow
def test_delete_wants_a_yes_or_force(run: Run, home: Path) -> None:
    assert "no memory is named" in run("delete", "--store", home, "nonsense").stderr
    assert run("delete", "--store", home, "00000003").returncode == 1
    assert run("delete", "--store", home, "00000003", "--force").returncode == 0
    assert printed(run("list", "--store", home, "--json", "--entity", "atlas")) == []


def test_a_dry_run_shows_the_diff_and_writes_nothing(run: Run, home: Path) -> None:
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    done = run("supersede", "--store", home, "00000001", "Alice leads two whole teams", "--dry-run")
    assert '+    "content": "Alice leads two whole teams"' in done.stdout
    assert file.read_bytes() == before


def test_a_dry_run_shows_a_new_file_and_a_removed_one_as_git_does(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "shop" / ".serena" / "memories"
    notes.mkdir(parents=True)
    (notes / "run.md").write_text("The shop runs\n")
    done = run("add", "--store", notes, "It listens on port 8081", "-e", "shop", "--dry-run")
    assert "--- /dev/null" in done.stdout
    assert "\n@@ -0,0 +1" in done.stdout
    assert "\n-\n" not in done.stdout
    done = run("delete", "--store", notes, "run", "--dry-run")
    assert "+++ /dev/null\n@@ -1 +0,0 @@\n-The shop runs\n" in done.stdout


@pytest.mark.slow
def test_hostile_text_reaches_no_terminal_and_json_is_ascii(run: Run, home: Path) -> None:
    write_facts(
        home, "evil", [fact(50, "bad \x1b]0;title\x07 \x9b2J \u202e text", entityType="\x1b[2J")]
    )
    for command in (["list"], ["search", "bad"], ["show", "00000032"], ["check"], ["stats"]):
        done = run(*command, "--store", home)
        assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")
    assert run("list", "--store", home, "--json").stdout.isascii()


def test_json_holds_no_half_character_that_jq_would_refuse(run: Run, home: Path) -> None:
    write_facts(home, "half", [fact(60, "HALF of it stays readable")])
    file = home / "entities" / "half" / "items.json"
    file.write_text(file.read_text(encoding="utf-8").replace("HALF", "\\ud83d"), encoding="utf-8")
    (record,) = printed(run("list", "--store", home, "--json", "--entity", "half"))
    assert record["content"] == "\ufffd of it stays readable"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nonsense-path"], 1, "nonsense-path: no such path or store label"),
        (["/nonsense/path"], 1, "/nonsense/path: no such file or directory"),
        (["list", "--store", "/nonsense/path"], 1, "/nonsense/path: no such file or directory"),
        (["stores", "--explain", "nonsense-path"], 1, "no such path or store label"),
        (["lst"], 1, "did you mean the command list?"),
        (["list", "type:decision"], 1, "to look for it: memtui search type:decision"),
        (["unpin", "--json"], 2, "unknown command 'unpin' (did you mean pin?)"),
        (["import", "/"], 1, "/: it is a folder"),
        (["list", "--importance", "hgih"], 2, "did you mean high?"),
        (["list", "--since", "soon"], 2, "7d"),
        (["list", "--nonsense"], 2, "--nonsense"),
        (["show"], 2, "REF"),
        (["--nonsense"], 2, "--nonsense"),
        (["list"], 1, "memtui demo"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(
    run: Run, arguments: list[str], code: int, said: str
) -> None:
    done = run(*arguments)
    assert said in done.stderr
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("memtui: ")


def test_why_a_place_is_taken_is_said_by_path_and_by_label(run: Run, home: Path) -> None:
    by_path = run("stores", "--explain", home)
    assert by_path.stdout.startswith(f"+ agent-memory          {home}\n")
    by_label = run("stores", "--explain", "agent-memory", MEMTUI_STORES=str(home))
    assert by_label.stdout == by_path.stdout
    (home.parent / "empty").mkdir()
    assert run("stores", "--explain", home.parent / "empty").stdout.startswith("nothing to explain")


def test_without_a_terminal_the_screen_prints_a_summary(run: Run, home: Path) -> None:
    done = run(home)
    assert done.returncode == 0
    assert done.stdout == f"agent-memory: 3 memories in {home}\n"


def test_without_a_terminal_the_demo_ends_well(run: Run) -> None:
    assert run("demo").returncode == 0


@pytest.mark.slow
def test_a_quick_answer_loads_neither_screen_nor_index() -> None:
    heavy = {"textual", "rich", "whoosh", "numpy", "yaml", "watchfiles", "humanize"}
    for argument in ("--version", "--help"):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "memtui", argument],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[3],
        )
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "memtui" in loaded
        assert not heavy & loaded


@pytest.mark.slow
def test_the_first_paint_loads_nothing_that_only_later_work_needs() -> None:
    code = (
        "import sys\n"
        "import memtui.cli.main, memtui.cli.store_selection, memtui.tui.app\n"
        "later = {'numpy', 'whoosh', 'yaml', 'humanize', 'click', 'memtui.library',\n"
        "    'memtui.stores', 'memtui.changes', 'memtui.query.parser', 'memtui.tui.completion'}\n"
        "print(sorted(later & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("own", [{}, {"OPENBLAS_NUM_THREADS": "3"}])
def test_programs_that_memtui_starts_inherit_the_environment_as_it_was(own: dict[str, str]) -> None:
    named = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"} | own
    code = (
        "import os, subprocess, sys\n"
        "before = dict(os.environ)\n"
        "import memtui.library, memtui.tui.terminal\n"
        "assert 'numpy' in sys.modules\n"
        "inherited = subprocess.run(['env', '-0'], capture_output=True, text=True).stdout\n"
        "pairs = dict(line.split('=', 1) for line in inherited.split(chr(0)) if line)\n"
        "print({k for k in before | pairs if before.get(k) != pairs.get(k)} or 'as it was')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=named, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("as it was", "")


def test_a_bad_config_says_line_and_reason_and_starts_with_defaults(
    run: Run, home: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text('theme = "dusk"\nmouse = "maybe"\n', encoding="utf-8")
    done = run("list", "--store", home)
    assert done.returncode == 0
    assert "config.toml" in done.stderr
    assert "2" in done.stderr
    assert "true or false" in done.stderr


def test_the_printed_settings_file_changes_nothing(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(run("config").stdout, encoding="utf-8")
    assert run("list", "--store", home).stderr == ""
    assert str(tmp_path / "cache") in run("config", "--places").stdout


def test_completion_knows_the_commands(run: Run) -> None:
    words = {"COMP_WORDS": "memtui se", "COMP_CWORD": "1", "_MEMTUI_COMPLETE": "bash_complete"}
    assert "search" in run(**words).stdout


COMPLETED = [
    ("context re", {"recall", "reflect"}),
    ("list --kind ep", {"episode"}),
    ("list --status ret", {"retired"}),
    ("list --type p", {"person"}),
    ("list --type fact,p", {"fact,person"}),
    ("list --entity people/al", {"people/alice"}),
    ("list --sort im", {"importance"}),
    ("list --store agent", {"agent-memory"}),
    ("stores agent", {"agent-memory"}),
    ("review --kind stale", {"stale-summary"}),
    ("check --fail-on sec", {"secret"}),
    ("sessions forg", {"forget", "forgotten"}),
    ("sessions on clau", {"claude"}),
    ("review a", {"accept", "agree"}),
    ("list --store /no/such --type p", set()),
]


@pytest.mark.parametrize(("typed", "words"), COMPLETED, ids=[typed for typed, _ in COMPLETED])
def test_completion_knows_words_and_what_the_stores_have(
    run: Run, home: Path, typed: str, words: set[str]
) -> None:
    given = {"COMP_WORDS": f"memtui {typed}", "COMP_CWORD": str(len(typed.split()))}
    done = run(**given, _MEMTUI_COMPLETE="bash_complete", MEMTUI_STORES=str(home))
    found = {line.removeprefix("plain,") for line in done.stdout.split() if line != "file,"}
    assert {word for word in found if not word.startswith("file,")} == words
    assert done.stderr == ""


@pytest.mark.slow
def test_a_locale_that_is_not_utf_8_shows_what_it_can(home: Path, tmp_path: Path) -> None:
    """`memtui list` is what the screen advises there; it ended with an internal error."""
    (home.parent / "person").mkdir()
    for output in ("", ">&-", ">&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$0" -m memtui list --store "$1" {output}', sys.executable, str(home)],
            capture_output=True,
            cwd=tmp_path / "person",
            env={
                **{name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")},
                **{"HOME": str(tmp_path / "person"), "PYTHONIOENCODING": "ascii"},
                "PATH": os.environ["PATH"],
            },
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert (b"tide tables" in done.stdout) == (not output)


def test_a_cache_or_state_folder_that_is_a_link_to_nowhere_is_named(
    run: Run, home: Path, tmp_path: Path
) -> None:
    """A drive that is not mounted: reading goes on without a cache, and nothing is changed."""
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    (ref,) = [m["ref"] for m in printed(run("search", "tide", "--store", home, "--json"))]
    listed = run("list", "--store", home, MEMTUI_CACHE=str(tmp_path / "link" / "cache"))
    assert (listed.returncode, "tide tables" in listed.stdout) == (0, True)
    state = str(tmp_path / "link" / "state")
    pinned = run("pin", ref, "--store", home, MEMTUI_STATE=state)
    assert (pinned.returncode, pinned.stderr.count("\n")) == (1, 1)
    assert state in pinned.stderr
    assert not (home / ".memtui").exists()


@pytest.mark.slow
def test_what_a_listing_prints_first_is_taken_by_every_command(run: Run, tmp_path: Path) -> None:
    for name in ("claude-code", "project-instructions"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
    stores = [part for n in ("claude-code", "project-instructions") for part in ("--store", n)]
    stores = [str(tmp_path / part) if part != "--store" else part for part in stores]
    lines = run("list", *stores, "--limit", "40").stdout.splitlines()
    lines += run("search", "tower", *stores).stdout.splitlines()
    names = {line.split()[0] for line in lines if not line.startswith(" ")}
    assert len(names) > 30
    for name in sorted(names)[:6]:
        for command in (["show"], ["history"], ["retire", "--dry-run"]):
            done = run(*command, name, *stores)
            assert "no memory" not in done.stderr, done.stderr
            assert " names " not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (["list", "--type", "zzz"], "memories"),
        (["search", "zeppelin"], "memories"),
        (["similar", "00000001"], "memories"),
        (["hot"], "memories"),
        (["stores"], "stores"),
        (["stores", "--explain"], "places"),
        (["check"], "proposals"),
        (["review"], "proposals"),
        (["context"], "recipes"),
        (["log"], "changes"),
        (["undo"], "changes"),
        (["add", "too short", "-e", "people/al"], "outcomes"),
        (["sessions"], "sessions"),
        (["sessions", "programs"], "programs"),
        (["sessions", "forgotten"], "sessions"),
        (["sessions", "on", "claude", "--yes"], "programs"),
        (["origin", "00000001"], "origins"),
    ],
    ids=str,
)
def test_json_is_an_object_with_a_list_whatever_was_found(
    run: Run, home: Path, command: list[str], key: str
) -> None:
    given = [] if command == ["context"] else ["--store", home]
    record = json.loads(run(*command, *given, "--json").stdout)
    assert isinstance(record[key], list)


def test_an_empty_list_says_so_and_a_search_everywhere_for_nothing_fails(
    run: Run, home: Path
) -> None:
    listed = run("list", "--store", home, "--type", "zzz")
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "", "no memories\n")
    done = run("search", "--everywhere", "zebraquux", "--store", home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no matches" in done.stderr


def test_undo_prints_what_it_did_as_json(run: Run, home: Path) -> None:
    run("edit", "--store", home, "00000001", "--content", "Alice leads one team")
    (change,) = printed(run("undo", "--json"))
    assert (change["number"], change["state"]) == (1, "undone")
    (change,) = printed(run("redo", "--json"))
    assert (change["number"], change["state"]) == (1, "done")


@pytest.mark.slow
def test_a_wrong_number_of_names_is_a_clear_line(run: Run, home: Path) -> None:
    for command in (["sessions", "forget"], ["sessions", "recall"], ["review", "reopen"]):
        done = run(*command, "--store", home)
        assert done.returncode == 2
        assert " needs " in done.stderr
    unknown = run("review", "reopen", "nonsense", "--store", home)
    assert unknown.returncode == 1
    assert "no decision begins with 'nonsense'" in unknown.stderr
