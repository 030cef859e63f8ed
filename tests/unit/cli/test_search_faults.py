"""`memtui search`: a bad query exits with 2 and one line, one without a hit with 1."""

from __future__ import annotations

import io
import shlex
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.cli.group import COMMANDS, load_command
from memtui.cli.main import run
from memtui.query import parse_query
from tests.bench.corpus import write_facts
from tests.long_run import count


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    write_facts(tmp_path / "memory", ["a lease is renewed", "a bucket"], each=1)
    return tmp_path / "memory"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("lease", 0),
        ("lease OR nothing", 0),
        ("zzqqxx", 1),
        ("type:decison", 1),
        ("*", 2),
        ("~", 2),
        ('""', 2),
        ("", 2),
        ("importance:hihg lease", 2),
        ("tpye:x lease", 2),
        ("/(/", 2),
        ("is:marked", 2),
    ],
)
def test_exit_codes(home: Path, capsys: pytest.CaptureFixture[str], line: str, code: int) -> None:
    assert run(["search", "--store", str(home), "--", line]) == code
    printed = capsys.readouterr()
    assert bool(printed.out) == (code == 0)
    if code == 2:
        assert len(printed.err.splitlines()) == 1


def test_a_preferred_type_and_several_keys_are_options(home: Path) -> None:
    options = ["--prefer-type", "decision", "--sort", "importance,-new"]
    assert run(["search", "--store", str(home), *options, "lease"]) == 0
    assert run(["search", "--store", str(home), "--sort", "loudest", "lease"]) == 2


LINES = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            [
                *(
                    "lease",
                    "(",
                    ")",
                    '"',
                    "-",
                    "NOT",
                    "OR",
                    "~",
                    "*",
                    "/",
                    "/o+/",
                    "type:",
                    "type:x",
                ),
                *(
                    "since:7d",
                    "--x",
                    "-p",
                    "->",
                    "é",
                    "🚀",
                    "is:marked",
                    "tpye:x",
                    "http://x",
                    "~x",
                ),
            ]
        ),
    ),
    min_size=1,
    max_size=4,
).map(" ".join)


@pytest.mark.slow
@settings(max_examples=count(8, 100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_no_line_raises_or_lists_everything_by_accident(home: Path, line: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["search", "--store", str(home), "--", line])
    assert "fault" not in err.getvalue()
    assert code in (0, 1, 2)
    assert bool(out.getvalue()) == (code == 0)
    query = parse_query(line, datetime.now(UTC))
    if query.is_empty and not query.sort and not query.prefer:
        assert code != 0


@pytest.mark.parametrize("text", ["->", "-redis", "--release"])
def test_text_that_begins_with_a_dash_is_explained(
    home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert run(["search", "--store", str(home), text]) == 2
    assert f"memtui search -- {shlex.quote(text)}" in capsys.readouterr().err


def test_an_address_is_not_replaced_by_a_word_that_looks_like_it(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_facts(tmp_path / "other", ["replaces the HTTPS polling", "see http://y.example"], each=1)
    assert run(["search", "--store", str(tmp_path / "other"), "http://zzz"]) == 0
    assert "http://y.example" in capsys.readouterr().out
    write_facts(tmp_path / "third", ["replaces the HTTPS polling"], each=1)
    assert run(["search", "--store", str(tmp_path / "third"), "http://zzz"]) == 1
    assert "https" not in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_value_of_an_option_may_begin_with_a_dash(name: str) -> None:
    command = load_command(name)
    for option in command.params:
        if isinstance(option, click.Option) and option.type is click.STRING:
            for given in ([option.opts[0], "- two words"], [f"{option.opts[0]}=- two words"]):
                context = command.make_context(name, given, resilient_parsing=True)
                value = context.params[option.name or ""]
                assert value in ("- two words", ("- two words",)), option.opts[0]
