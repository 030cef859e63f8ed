"""Ask before a file of another owner becomes the person's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from memtui.errors import ForeignOwner

if TYPE_CHECKING:
    from memtui.library import Library

Done = TypeVar("Done")


def with_consent(library: Library, work: Callable[[], Done]) -> Done:
    """Do it; where it would change the owner of a file, do it again after a yes.

    Raises ForeignOwner after a no, and where there is no terminal to ask at.
    """
    while True:
        try:
            return work()
        except ForeignOwner as error:
            question = f"{error.where}: {error.what}. Change the owner and save?"
            if not sys.stdin.isatty() or not click.confirm(question, err=True):
                raise
            library.accept_ownership(error.path)
