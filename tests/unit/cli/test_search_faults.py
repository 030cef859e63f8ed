"""`memtui search`: a bad query exits with 2 and one line, one without a hit with 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.cli.main import run
from tests.bench.corpus import write_facts


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
