"""`dataclass`, made in a fifth of the time: a command creates more than a hundred classes.

The standard library compiles six functions for each frozen class (Python 3.11, `dataclasses.py`,
`_create_fn`), which takes half a millisecond. Here only `__init__` is compiled, when the first
value is made; the other methods are the same for every class and read the fields. Fields, slots,
`replace` and `asdict` are those of the standard library, which also makes all classes that are not
frozen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import (
    MISSING,
    Field,
    FrozenInstanceError,
    asdict,
    field,
    fields,
    is_dataclass,
)
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, structs

__all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")


def replace(value: Value, /, **changes: Any) -> Value:
    """As `dataclasses.replace`, also of a `Struct`."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """The decorator of the standard library, with the parameters that memtui uses."""
        if not frozen:
            return dataclasses.dataclass(cls, slots=slots, eq=eq, repr=repr)
        if cls is None:
            return lambda undecorated: _make_frozen(undecorated, slots=slots, eq=eq)
        return _make_frozen(cls, slots=slots, eq=eq)


def _make_frozen(cls: Class, *, slots: bool, eq: bool) -> Class:
    own = set(vars(cls))
    make = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)
    made: Any = make(cls)
    members = fields(made)
    methods = {
        "__init__": _compile_later(made, members),
        "__repr__": _show,
        "__setattr__": _refuse_assignment,
        "__delattr__": _refuse_deletion,
    }
    if eq:
        methods |= _make_comparing([member.name for member in members if member.compare])
    if slots:
        methods |= {"__getstate__": _read_values, "__setstate__": _write_values}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and made.__hash__ is None):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _compile_later(made: Any, members: Sequence[Field[Any]]) -> Callable[..., None]:
    """The first `__init__` of a class: compiles the one that takes its place."""

    def compile_and_call(self: object, *values: object, **named_values: object) -> None:
        init = _compile_init(members, calls_post_init=hasattr(made, "__post_init__"))
        made.__init__ = init
        init(self, *values, **named_values)

    return compile_and_call


def _compile_init(members: Sequence[Field[Any]], *, calls_post_init: bool) -> Any:
    """`__init__` of these fields: those by position, then those by keyword only."""
    scope: dict[str, Any] = {"assign": object.__setattr__}
    positional, by_keyword, lines = ["self"], ["*"], [" pass"]
    for number, member in enumerate(members):
        name = value = member.name
        default = ""
        if member.default_factory is not MISSING:
            scope[f"make_{number}"] = member.default_factory
            default, value = "=assign", f"make_{number}() if {name} is assign else {name}"
        elif member.default is not MISSING:
            scope[f"default_{number}"] = member.default
            default = f"=default_{number}"
        (by_keyword if member.kw_only else positional).append(name + default)
        lines.append(f" assign(self, {name!r}, {value})")
    if calls_post_init:
        lines.append(" self.__post_init__()")
    parameters = positional + (by_keyword if len(by_keyword) > 1 else [])
    exec("\n".join((f"def __init__({', '.join(parameters)}):", *lines)), scope)
    return scope["__init__"]


def _make_comparing(names: Sequence[str]) -> dict[str, Any]:
    """`__eq__` and `__hash__` by these fields."""
    read = attrgetter(*names) if len(names) > 1 else lambda made: [getattr(made, n) for n in names]

    def is_equal(self: object, other: object) -> bool:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": is_equal, "__hash__": lambda self: hash(tuple(read(self)))}


def _show(self: Any) -> str:
    shown = (f"{member.name}={getattr(self, member.name)!r}" for member in fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: object, name: str, _: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r} of {type(self).__name__}")


def _refuse_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r} of {type(self).__name__}")


def _read_values(self: Any) -> list[object]:
    return [getattr(self, member.name) for member in fields(self)]


def _write_values(self: Any, values: list[object]) -> None:
    for member, value in zip(fields(self), values, strict=True):
        object.__setattr__(self, member.name, value)
