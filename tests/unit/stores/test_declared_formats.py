"""Formats that other packages declare: those that are usable are found, the others are named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memtui.stores import registry

HEAD = "from memtui.stores.format import Format, FormatSupport, Product\n"
GOOD = "Format('jotter', 'Jotter: jottings', (), lambda path: path, 'jotter_store')"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    registry._declared_formats.cache_clear()
    yield
    registry._declared_formats.cache_clear()
    for name in ("jotter_one", "jotter_two"):
        sys.modules.pop(name, None)


def install(site: Path, module: str, value: str, group: str = registry.GROUP) -> None:
    """What an installer leaves: a module, and metadata with its entry points."""
    info = site / f"{module}-1.5.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(f"{HEAD}FORMAT = {value}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{module} = {module}:FORMAT\n")


def declared() -> list[str]:
    own = {known.name for known in registry.own_formats()}
    return [known.name for known in registry.formats() if known.name not in own]


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        GOOD.replace("'jotter_store'", "lambda: None"),
        GOOD.replace("()", "('~/.jotter', '.jotter')"),
        GOOD.replace("'jotter_store')", "'jotter_store', product=Product('Jotter', 'JT', 1))"),
    ],
    ids=["module", "function", "places", "badge"],
)
def test_a_usable_format_is_one_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    install(tmp_path / "site", "jotter_one", value)
    install(tmp_path / "site", "unrelated", "1", group="console_scripts")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "none"), str(tmp_path / "site")])
    assert declared() == ["jotter"]
    assert registry.format_faults() == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("7", "TypeError: it is a int, not a memtui.stores.format.Format"),
        ("missing", "NameError: name 'missing' is not defined"),
        (GOOD.replace("'jotter'", "7"), "ValueError: its name is not made of"),
        (GOOD.replace("'jotter'", "'Jotter'"), "ValueError: its name is not made of"),
        (GOOD.replace("'jotter'", "'ambient'"), "there is a format called ambient already"),
        (GOOD.replace("()", "'~/.jotter'"), "TypeError: places and nearby must be tuples"),
        (GOOD.replace("()", "('~', 7)"), "TypeError: places and nearby must be tuples"),
        (
            GOOD.replace("'jotter_store')", "'jotter_store', product=Product('Jotter', 'J', 1))"),
            "the badge of its product is not two columns wide",
        ),
        (GOOD.replace("lambda path: path", "7"), "TypeError: detect must be a function"),
        (GOOD.replace("'jotter_store'", "7"), "TypeError: detect must be a function"),
        (GOOD.replace(", 'jotter_store'", ""), "TypeError: detect must be a function"),
        ("(_ for _ in ()).throw(StopIteration)", "StopIteration"),
    ],
)
def test_an_unusable_format_is_named_with_its_package_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, reason: str
) -> None:
    install(tmp_path / "site", "jotter_one", value)
    install(tmp_path / "site", "jotter_two", GOOD)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert declared() == ["jotter"]
    (fault,) = registry.format_faults()
    assert (fault.name, fault.package) == ("jotter_one", "jotter_one 1.5")
    assert reason in fault.reason


def test_two_packages_cannot_declare_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "jotter_one", GOOD)
    install(tmp_path / "site", "jotter_two", GOOD)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert declared() == ["jotter"]
    assert [fault.name for fault in registry.format_faults()] == ["jotter_two"]


def test_a_detection_that_fails_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path / "site", "jotter_one", GOOD.replace("lambda path: path", "lambda path: 1 / 0")
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert declared() == ["jotter"]
    assert registry.detect(tmp_path) is None
