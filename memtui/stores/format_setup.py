"""Helpers for declaring a format: functions imported on first call, rules set in config.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

from memtui.errors import ConfigError

Rules = TypeVar("Rules")


def configure(store: Any, table: Mapping[str, Any]) -> None:
    """Override rules of an open store with a table of config.toml. Raises ConfigError."""
    store.rules = overridden(store.rules, table, f"rules.{store.format}")


def overridden(rules: Rules, table: Mapping[str, Any], where: str = "") -> Rules:
    """Override fields of a rules dataclass; each value must be of the kind it replaces.

    A list takes the place of a list as a whole. Raises ConfigError for a name that is no constant
    and for a value of another kind.
    """
    if not is_dataclass(rules) or isinstance(rules, type):
        raise TypeError("rules are a dataclass")
    known = {f.name: getattr(rules, f.name) for f in fields(rules)}
    changed: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise ConfigError(
                f"there is no constant {name!r}", where=where, do=f"known: {', '.join(known)}"
            )
        changed[name] = _of_kind(known[name], value, f"{where}.{name}" if where else name)
    return replace(rules, **changed)


def _of_kind(default: object, value: object, where: str) -> object:
    if isinstance(default, tuple | frozenset):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return type(default)(value)
        raise ConfigError("it must be a list of texts", where=where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError("it must be a number", where=where)
    if isinstance(default, int) and not isinstance(value, int):
        raise ConfigError("it must be a whole number", where=where)
    if value < 0:
        raise ConfigError("it must not be negative", where=where)
    return type(default)(value) if isinstance(default, int | float) else value


def lazy_function(module: str, name: str) -> Callable[..., Any]:
    """A function that imports `module` when it is called and calls `name` there."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call
