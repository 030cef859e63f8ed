"""The frame that the terminal shows before Textual is imported; what ends the start then."""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from array import array
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from memtui import __file__ as package
from tests.tui.stage import write_store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
CHECKING = "checking …"
TAKEN_OVER = b"\x1b[?1000h"
"""Among the first that Textual writes."""
REACHED = "reached"
SLEEPS = f"""import pathlib, time
pathlib.Path(__file__).with_name("{REACHED}").touch()
while True: time.sleep(0.05)
"""
IN_A_CALLBACK = """import os, signal, time, weakref
class Held: pass
held = Held()
kept = weakref.ref(held, lambda _: os.kill(os.getpid(), signal.SIGTERM))
del held
while True: time.sleep(0.05)
"""
"""Python ignores what is raised in a callback of a weak reference; each import runs one."""
FAILS = "raise ImportError('half installed')\n"
TYPED = "hello\x1c"


@pytest.fixture(scope="module")
def home(memtui: Start, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home where memtui was used once and left."""
    home = tmp_path_factory.mktemp("home")
    write_store(home / "store")
    with memtui(["store"], home) as on:
        on.wait_for("e edit")
        on.send("j")
        on.wait_for("2 of 9")
        on.send("q")
        assert on.wait_for_end() == 0
    return home


def broken_textual(home: Path, code: str) -> dict[str, str]:
    """An environment in which importing Textual runs this code."""
    folder = home / "broken" / "textual"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(code, encoding="utf-8")
    return {"PYTHONPATH": f"{folder.parent}:{Path(package).resolve().parents[1]}"}


def waiting(line: int) -> int:
    """How much of what was typed the terminal has taken, by the modes of then; nobody reads it.

    It does so in a process of the kernel's own, some time after the write.
    """
    count = array("i", [0])
    fcntl.ioctl(line, termios.FIONREAD, count)
    return count[0]


def before_textual(on: Any) -> bytes:
    """What the program writes until Textual takes the terminal over."""
    on.wait_until(lambda: TAKEN_OVER in on.raw)
    return bytes(on.raw).partition(TAKEN_OVER)[0]


def wait_for_end(on: Any) -> int:
    """The exit code, after a look that the terminal is as it was."""
    code: int = on.wait_for_end()
    assert not on.modes_left_on()
    assert termios.tcgetattr(on._line) == on.attributes
    return code


@pytest.mark.textual
def test_it_stands_before_textual_and_the_app_takes_it_over(memtui: Start, home: Path) -> None:
    with memtui(["store"], home) as on:
        on.send("jj")  # typed before there is anything: not echoed, not lost
        on.wait_for(CHECKING)
        early = bytes(on.raw).partition(TAKEN_OVER)[0]
        assert CHECKING.encode() in early
        assert b"login redirect" in early
        on.wait_for("4 of 9")
        on.wait_until_gone("checking")
        assert bytes(on.raw).count(b"\x1b[?1049h") == 1  # the second would clear it
        assert bytes(on.raw).count(b"\x1b[2J") == 1
        on.send("q")
        assert wait_for_end(on) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_meanwhile_gives_the_terminal_back(
    memtui: Start, home: Path, number: signal.Signals
) -> None:
    environ = broken_textual(home, SLEEPS)
    reached = home / "broken" / "textual" / REACHED
    reached.unlink(missing_ok=True)
    with memtui(["store"], home, environ=environ) as on:
        on.wait_for(CHECKING)
        on.wait_until(reached.exists)  # ^C amid a callback of Python's imports is ignored
        assert not termios.tcgetattr(on._line)[3] & (termios.ECHO | termios.ICANON)
        on.send(TYPED)  # ^\\ does not end it with the terminal as it is
        on.wait_until(lambda: waiting(on._line) == len(TYPED))  # or it might be echoed afterwards
        if number is signal.SIGINT:
            on.send("\x03")
        else:
            os.kill(on._child, number)
        code = wait_for_end(on)
        # Python ends by the signal itself where ^C came amid an `exec`, as of named tuples.
        assert code in ((1, -number) if number is signal.SIGINT else (128 + number,))
        assert "hello" not in on.text()


def test_a_signal_in_a_callback_of_python_ends_it_too(memtui: Start, home: Path) -> None:
    with memtui(["store"], home, environ=broken_textual(home, IN_A_CALLBACK)) as on:
        assert wait_for_end(on) == 128 + signal.SIGTERM


def test_a_fault_of_an_import_gives_the_terminal_back(memtui: Start, home: Path) -> None:
    with memtui(["store"], home, environ=broken_textual(home, FAILS)) as on:
        assert wait_for_end(on) == 1
        assert CHECKING.encode() in on.raw
        assert "internal error (ImportError)" in on.text()


@pytest.mark.parametrize(
    "other",
    [
        {"size": (100, 30)},
        {"environ": {"NO_COLOR": "1"}},
        {"environ": {"TERM": "linux", "COLORTERM": ""}},
        {"arguments": ["store", "other"]},
    ],
    ids=str,
)
def test_it_is_for_one_terminal_and_what_was_opened(
    memtui: Start, home: Path, other: dict[str, Any]
) -> None:
    if not (home / "other").exists():
        write_store(home / "other")
    with memtui(**{"arguments": ["store"], "home": home, **other}) as on:
        early = before_textual(on)
        assert b"memtui /" in early
        assert b"Memories" not in early


@pytest.mark.parametrize("file", ["config/config.toml", "config/themes/dusk.toml"])
def test_it_is_for_the_settings_it_was_made_with(memtui: Start, home: Path, file: str) -> None:
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text("", encoding="utf-8")
    try:
        with memtui(["store"], home) as on:
            assert b"Memories" not in before_textual(on)
    finally:
        (home / file).unlink()
