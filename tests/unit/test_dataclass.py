"""memtui's `dataclass` makes what that of the standard library makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

from memtui.dataclass import asdict, dataclass, field, replace

VALUES: tuple[dict[str, Any], ...] = (
    {"name": "a"},
    {"name": "a", "tags": ["x"]},
    {"name": "b", "tags": ["x"], "seen": 1, "place": "here"},
    {"name": "", "seen": 9},
)


def make_classes(decorate: Callable[..., Any]) -> tuple[type, type]:
    """A class with every kind of field, and one without slots that inherits."""

    @decorate(frozen=True, slots=True)
    class Thing:
        """A thing."""

        name: str
        tags: list[str] = field(default_factory=list)
        seen: int = field(default=0, compare=False)
        place: str = field(default="", kw_only=True)

        def __post_init__(self) -> None:
            if self.name == "refused":
                raise ValueError("refused")

    @decorate(frozen=True)
    class Box(Thing):
        """A thing with more."""

        more: int = 3

        @cached_property
        def twice(self) -> int:
            return self.more * 2

        def __repr__(self) -> str:
            return "a box"

    Thing.__qualname__, Box.__qualname__ = "Thing", "Box"
    return Thing, Box


OURS = make_classes(dataclass)
STANDARD = make_classes(dataclasses.dataclass)
PAIRS = tuple(zip(OURS, STANDARD, strict=True))


@pytest.mark.parametrize(("ours", "standard"), PAIRS)
def test_values_are_created_shown_compared_and_replaced_as_in_the_standard_library(
    ours: Any, standard: Any
) -> None:
    pairs = [(ours(**values), standard(**values)) for values in VALUES]
    parameters = [
        [(p.name, p.kind, p.default is p.empty) for p in inspect.signature(cls).parameters.values()]
        for cls in (ours, standard)
    ]
    assert parameters[0] == parameters[1]
    for made, expected in pairs:
        assert repr(made) == repr(expected)
        assert asdict(made) == asdict(expected)
        assert copy.deepcopy(made) == made == copy.copy(made)
        assert repr(replace(made, name="c")) == repr(replace(expected, name="c"))
        assert made != expected
    for one, expected_one in pairs:
        for other, expected_other in pairs:
            assert (one == other) is (expected_one == expected_other)


@pytest.mark.parametrize(("ours", "standard"), PAIRS)
def test_a_frozen_value_refuses_changes_and_bad_arguments(ours: Any, standard: Any) -> None:
    for cls in (ours, standard):
        made = cls("a")
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.name = "b"
        with pytest.raises(dataclasses.FrozenInstanceError):
            del made.name
        with pytest.raises(ValueError, match="refused"):
            cls("refused")
        for arguments in ((), ("a", [], 0, "place by position", 1, 2)):
            with pytest.raises(TypeError):
                cls(*arguments)
        assert hasattr(made, "__dict__") == (cls in (OURS[1], STANDARD[1]))


def test_hashes_are_equal_where_values_are() -> None:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A place."""

        x: int

    @dataclass(frozen=True, slots=True, eq=False)
    class Unique:
        """Equal to itself only."""

        x: int

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """A class without fields."""

    assert len({Point(1), Point(1), Point(2)}) == 2
    assert len({Unique(1), Unique(1)}) == 2
    assert len({Nothing(), Nothing()}) == 1
    assert OURS[1]("a").twice == 6
