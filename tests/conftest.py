"""What all tests share: the figures printed at the end of a run, what property tests may take."""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from itertools import count as count_from
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.long_run import VARIABLE, count
from tests.own_folders import own_folders

if "--long" in sys.argv:  # the conftest of a folder named there is imported before the options
    os.environ[VARIABLE] = "1"  # are read; for processes of tests too
gc.disable()  # until all tests are known: what is collected stays until the end


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="repeat random tests many more times")


def pytest_configure(config: pytest.Config) -> None:
    os.umask(0o022)  # tests look at the modes of their files
    os.environ["TZ"] = "UTC"  # times are shown in the zone of the machine
    time.tzset()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    settings.register_profile(
        "memtui",
        max_examples=count(30, 400),
        deadline=None,  # an example that a busy machine takes longer for is no fault
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.load_profile("memtui")
    if config.getoption("--long"):
        os.environ["PYTEST_TIMEOUT"] = "0"  # a long run takes as long as it takes
    given: dict[str, str] | None = getattr(config, "workerinput", None)
    if given is None:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        _keep_files_in_memory(config)
        beside = os.environ.get(TEMPROOT)
        folder = tempfile.TemporaryDirectory(prefix="memtui-bytecode-", dir=beside)
        config.add_cleanup(folder.cleanup)
        config.stash[SHARED] = folder.name
    else:
        config.stash[SHARED] = given[BYTECODE]
        _compile_share(config, given)


BYTECODE = "PYTHONPYCACHEPREFIX"
"""Python's name for the folder of compiled modules."""
SHARED = pytest.StashKey[str]()
"""That of all processes of this run."""


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of the folder; it has been started by then, with what is compiled already."""
    node.workerinput[BYTECODE] = node.config.stash[SHARED]


ROOT = Path(__file__).parents[1]


def _compile_share(config: pytest.Config, worker: Mapping[str, Any]) -> None:
    """Compile this worker's share of the modules that have not been compiled since they changed.

    All workers import all tests, so each would compile and rewrite all of a fresh clone.
    """
    if sys.dont_write_bytecode:
        return
    first, count = int(worker["workerid"].removeprefix("gw")), int(worker["workercount"])
    for path in sorted(ROOT.glob("memtui/**/*.py"))[first::count]:
        compileall.compile_file(path, quiet=2)
    # pytest's own functions: where a version has others, each worker rewrites all tests.
    with suppress(Exception):
        from _pytest.assertion import rewrite

        for path in sorted(ROOT.glob("tests/**/test_*.py"))[first::count]:
            compiled = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
            if not compiled.exists() or compiled.stat().st_mtime < path.stat().st_mtime:
                compiled.parent.mkdir(exist_ok=True)
                source, code = rewrite._rewrite_test(path, config)
                rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, compiled)


def _share_bytecode(folder: str) -> None:
    """Let all processes that tests start share compiled modules, those of this process first.

    Never beside the source: a process whose disk is full or that is killed leaves half a file.
    What is imported before the first test stands there as with any run of pytest.
    """
    os.environ[BYTECODE] = sys.pycache_prefix = folder
    for module in list(sys.modules.values()):
        source, compiled = getattr(module, "__file__", ""), getattr(module, "__cached__", "")
        if source and compiled and source.endswith(".py") and os.path.exists(compiled):
            shared = cache_from_source(source)
            os.makedirs(os.path.dirname(shared), exist_ok=True)
            with suppress(FileExistsError):
                os.symlink(compiled, shared)


TEMPROOT = "PYTEST_DEBUG_TEMPROOT"
"""pytest's name for the folder in which it makes the tests' folders."""
MEMORY = Path("/dev/shm")
"""Files in memory, on Linux; elsewhere the tests' files lie on disk."""
ENOUGH = 2 << 30
"""Bytes free there; a run with all its failures kept takes less than half."""


def _keep_files_in_memory(config: pytest.Config) -> None:
    """Put the tests' files where fsync costs nothing, unless somebody names another place.

    The save path and the journal sync tens of thousands of times in a run, for a power failure
    that no test can make: those that are about it (tests/torture/power.py) replay the writes.
    """
    chosen = config.option.basetemp or os.environ.get("TMPDIR") or os.environ.get(TEMPROOT)
    if chosen or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free >= ENOUGH:
        os.environ[TEMPROOT] = str(MEMORY)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first, so that no process is left alone with a long one at the end.

    Each worker begins with its share of the list and takes from the ends of the others' later on,
    so each share is some slow tests and then some fast ones.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    fast = [item for item in items if not item.get_closest_marker("slow")]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [
        item
        for n in range(workers)
        for part in (slow, fast)
        for item in part[len(part) * n // workers : len(part) * (n + 1) // workers]
    ]


def _stem_each_word_once() -> None:
    """Let all tests of this process share the stems: most of an index of the sample stores."""
    from whoosh.lang import porter2

    porter2.stem = cache(porter2.stem)


LIMITS = {
    "memtui.files.git_history": "TIME_LIMIT",
    "memtui.files.git_repository": "SECONDS",
    "memtui.files.project_index": "MAX_SECONDS",
    "memtui.files.text_history": "PATIENCE",
    "memtui.library.loaded_stores": "GIT_SECONDS",
    "memtui.mcp.reading": "ORIGIN_SECONDS",
    "memtui.team.connection": "CONNECT_SECONDS",
}
"""Seconds after which memtui goes on without an answer: what it would find is what tests look at.
One that tests the limit itself sets its own."""


def _wait_on_a_busy_machine() -> None:
    for name, limit in LIMITS.items():
        if (module := sys.modules.get(name)) is not None:
            setattr(module, limit, 600)


def pytest_collection_finish(session: pytest.Session) -> None:
    _stem_each_word_once()
    _wait_on_a_busy_machine()
    _share_bytecode(session.config.stash[SHARED])
    gc.freeze()  # thousands of tests that stay until the end: no collection need look at them
    gc.set_threshold(100_000, 10, 10)  # an app of a test is garbage as a whole, when it has ended
    gc.enable()


MANY_FILES = 200
"""Files opened since the last look; select(2), by which tests read a terminal, knows no number
above 1,023. Of each journal one stays open until the process ends."""
OPEN_FILES = pytest.StashKey[int]()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Close the files of libraries that ended tests have left open: the collector does it."""
    stash = item.config.stash
    if len(os.listdir("/dev/fd")) > stash.get(OPEN_FILES, 0) + MANY_FILES:
        gc.collect()
        stash[OPEN_FILES] = len(os.listdir("/dev/fd"))


@pytest.fixture(autouse=True, scope="module")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What memtui keeps of stores, in its state and data folders, lies in a folder of the module.

    The folder is not made before something is written there.
    """
    place = tmp_path_factory.getbasetemp() / f"own-{next(_NUMBERS)}"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("state", "data"):
            patch.setenv(f"MEMTUI_{name.upper()}", str(place / name))
        yield


_NUMBERS = count_from(1)


@pytest.fixture(autouse=True)
def no_store_of_another_test(own_state: None) -> None:
    """The stores of other tests of the module, which are gone by now and hold the same samples, are
    not taken for stores that were moved."""
    place = os.environ["MEMTUI_STATE"]
    Path(place, "kept", "places.json").unlink(missing_ok=True)


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, state, data and cache of memtui are in the test's folder."""
    for name, folder in own_folders(tmp_path).items():
        monkeypatch.setenv(name, folder)


_FIGURE = "figure"
_TALLY = "tally"


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with one line; all lines are printed in one block at the end of the run.

    They travel as user properties of the report, so they arrive from pytest-xdist's workers too.
    A test calls it last, so a failed one prints none.
    """

    def add(line: str) -> None:
        request.node.user_properties.append((_FIGURE, line))

    return add


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Count this test, once it has passed, towards a line with `{count}` in it.

    For a figure that many tests share: the line tells how many of them passed in this run.
    """

    def add(template: str) -> None:
        request.node.user_properties.append((_TALLY, template))

    return add


def _properties(reporter: pytest.TerminalReporter, wanted: str) -> list[str]:
    return [
        str(value)
        for reports in reporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call" and report.passed
        for name, value in report.user_properties
        if name == wanted
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = Counter(_properties(terminalreporter, _TALLY))
    lines = _properties(terminalreporter, _FIGURE)
    lines += [template.format(count=f"{count:,}") for template, count in counts.items()]
    if lines:
        terminalreporter.section("figures")
        for line in sorted(lines):
            terminalreporter.write_line(line)
