"""What the shell completes: fixed words, and what the open stores have, by the name of a parameter.

A completion prints nothing else: where stores cannot be read there is nothing to complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO

import click
from click.shell_completion import CompletionItem

from memtui.errors import MemtuiError
from memtui.model import IMPORTANCES, KINDS, STATUSES
from memtui.query import SORT_NAMES

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""As click calls it: the command so far, the parameter, and what is typed of its value."""
_List = Callable[[click.Context], Iterable[str]]
VERBS = {
    "sessions": ("list", "programs", "show", "forget", "forgotten", "recall", "on", "off"),
    "review": ("show", "accept", "agree", "decline", "snooze", "reopen"),
}


def _of(list_words: _List) -> Complete:
    """Completes with these words; of a value with commas its last part."""

    def complete(
        context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        head, comma, part = typed.rpartition(",")
        found: list[str] = []
        with suppress(MemtuiError, OSError), redirect_stderr(StringIO()):
            found = sorted(filter(None, list_words(context)))
        return [
            CompletionItem(f"{head}{comma}{word}")
            for word in found
            if word.casefold().startswith(part.casefold())
        ]

    return complete


def _complete_store(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Labels, or else files: the shell lists those only if there is no label."""
    return [CompletionItem(typed, type="file"), *_of(_list_labels)(context, parameter, typed)]


def _list_labels(context: click.Context) -> Iterable[str]:
    from memtui.cli.store_selection import find_catalog

    return [store.label for store in find_catalog(_named(context)).known()]


def _named(context: click.Context) -> Sequence[str]:
    """The stores that the command names before."""
    return tuple(context.params.get("stores") or ())


def _values(field: str) -> _List:
    """The values that memories of the stores have."""

    def list_values(context: click.Context) -> Iterable[str]:
        from memtui.cli.store_selection import load_library

        library = load_library(_named(context))
        found: set[str] = set()
        for memory in library.numbered_memories().values():
            value = getattr(memory, field)
            found.update((value,) if isinstance(value, str) else value)
        return found

    return list_values


def _list_recipes(_: click.Context) -> Iterable[str]:
    from memtui.cli.store_selection import load_settings
    from memtui.context import read_recipes

    return read_recipes(load_settings().recipes)


def _list_findings(_: click.Context) -> Iterable[str]:
    from memtui.upkeep.proposals import HOUSEKEEPING, ProposalKind

    return (*ProposalKind, HOUSEKEEPING)


def _list_verbs(context: click.Context) -> Iterable[str]:
    """The first word of a command with several; then the programs whose sessions are read."""
    words = context.params.get("arguments") or ()
    if not words:
        return VERBS.get(context.info_name or "", ())
    if context.info_name == "sessions" and words[0] in ("on", "off"):
        from memtui.sessions.programs import PROGRAMS

        return PROGRAMS
    return ()


_TYPES = _of(_values("shown_type"))
COMPLETIONS: dict[str, Complete] = {
    **dict.fromkeys(("filter_type", "types", "preferred", "prefer_type"), _TYPES),
    **dict.fromkeys(("filter_entity", "entity"), _of(_values("entity"))),
    **dict.fromkeys(("filter_tag", "tags"), _of(_values("tags"))),
    **dict.fromkeys(("stores", "paths", "into"), _complete_store),
    "filter_importance": _of(lambda _: IMPORTANCES),
    "filter_status": _of(lambda _: (*STATUSES, "all")),
    "filter_kind": _of(lambda _: KINDS),
    "sort": _of(lambda _: SORT_NAMES),
    "recipe": _of(_list_recipes),
    **dict.fromkeys(("kinds", "fail_on"), _of(_list_findings)),
    "arguments": _of(_list_verbs),
}
"""Name of a parameter -> what completes its value."""
