"""Functions that are imported when they are first called.

A start opens one or two formats, mostly to read them; importing all five with everything that
writing needs costs as much as Textual itself.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_function(module: str, name: str) -> Callable[..., Any]:
    """A function that does what `module.name` does."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call
