"""`stores`, `list`, `search`, `show`, `stats`: commands that only look."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memtui.cli.filters import filter_options, json_option, query_from, store_option
from memtui.cli.output import print_counts, print_fields, print_json, print_memories
from memtui.cli.stores import library_of, loaded
from memtui.model import UNTYPED, Memory, to_record
from memtui.text import date, number, one_line, size, visible

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_LIMIT = 20
"""Memories printed when nothing is said (design: The commands)."""


@click.command("stores")
@store_option
@json_option
def stores(stores: Sequence[str], as_json: bool) -> None:
    """List the stores found: label, format, path, memories, and what is unreadable.

    Also each change of yours, of the last seven days, that another program has taken back; W on
    the screen applies it again.
    """
    library = loaded(stores)
    states = library.snapshot.stores
    reverted = _reverted(library)
    if as_json:
        print_json(
            [
                {
                    "label": state.label,
                    "format": state.format,
                    "path": str(state.root),
                    "memories": state.count,
                    "writable": not state.read_only,
                    "read_only": state.read_only,
                    "unreadable": [asdict(item) for item in state.unreadable],
                    "overwritten": [
                        {"number": number, "title": title, "reason": told}
                        for number, title, told in reverted[state.label]
                    ],
                }
                for state in states
            ]
        )
        return
    for state in states:
        closed = f"  read-only: {one_line(state.read_only)}" if state.read_only else ""
        print(
            f"{state.label:<16}  {state.format:<14}  {number(state.count):>8}  "
            f"{one_line(str(state.root))}{closed}"
        )
        for item in state.unreadable:
            print(f"  unreadable  {one_line(item.file)}: {one_line(item.reason)}")
        for number_, title, told in reverted[state.label]:
            print(f"  overwritten  {one_line(title)} (number {number_} in the log): {told}")


def _reverted(library: Library) -> dict[str, list[tuple[int, str, str]]]:
    """By label: number, title and fate of each action that another program took back."""
    labels = {os.path.realpath(store.root): store.label for store in library.stores}
    found: dict[str, dict[tuple[int, str, str], None]] = {label: {} for label in labels.values()}
    for each in library.peek_reverted():
        key = each.action.id, each.action.title, each.description
        found[labels[os.path.realpath(each.store)]][key] = None
    return {label: list(actions) for label, actions in found.items()}


def limit_options(command: Command) -> Command:
    """`--limit N` and `--all`."""
    command = click.option("--all", "everything", is_flag=True, help="No limit.")(command)
    return click.option(
        "--limit", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True
    )(command)


def _shown(found: SearchResult, limit: int, everything: bool) -> list[Memory]:
    slots = found.slots if everything else found.slots[:limit]
    return [found.rows[slot] for slot in slots]


@click.command("list")
@store_option
@filter_options
@limit_options
@json_option
def list_(
    stores: Sequence[str], limit: int, everything: bool, as_json: bool, **filters: Any
) -> None:
    """List memories, newest first: 20 current ones, or with --all every one of every status.

    --status says which statuses, with --all too.
    """
    if everything and not filters["filter_status"]:
        filters["filter_status"] = ("all",)
    query = query_from("", **filters)
    library = loaded(stores)
    found = library.find(query)
    memories = _shown(found, limit, everything)
    if as_json:
        print_json([to_record(memory) for memory in memories])
        return
    print_memories(memories)
    if len(memories) < found.total:
        click.echo(f"{len(memories)} of {found.total}; --all shows the rest", err=True)


@click.command("search")
@click.argument("text", nargs=-1, required=True)
@store_option
@filter_options
@limit_options
@click.option("--explain", is_flag=True, help="Show what each hit's score is made of.")
@json_option
def search(
    text: Sequence[str],
    stores: Sequence[str],
    limit: int,
    everything: bool,
    explain: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Find memories by text. The best first; memories with all the words before the others.

    TEXT may hold filters and marks as in the search line: auth type:decision -redis "exact words".
    """
    query = query_from(" ".join(text), **filters)
    library = loaded(stores)
    library.index()
    library.embed_query(query)
    found = library.find(query)
    memories = _shown(found, limit, everything)
    parts = [library.explain(found, at) for at in range(len(memories))] if explain else []
    if as_json:
        records = [to_record(memory) for memory in memories]
        for at, record in enumerate(records):
            record["score"] = found.scores[at] if found.scores is not None else None
            if explain:
                record["parts"] = {part.name: part.value for part in parts[at]}
        print_json(records)
        return
    for at, memory in enumerate(memories):
        print_memories([memory])
        if explain:
            shares = "  ".join(f"{part.name} {part.value:+.3f}" for part in parts[at])
            score = found.scores[at] if found.scores is not None else 0.0
            print(f"          {score:.3f} = {shares}")
    if found.hint:
        click.echo(one_line(found.hint), err=True)
    if len(memories) < found.total:
        click.echo(f"{len(memories)} of {found.total}; --all shows the rest", err=True)


@click.command("show")
@click.argument("ref")
@store_option
@json_option
def show(ref: str, stores: Sequence[str], as_json: bool) -> None:
    """Show everything about one memory. REF: its full ref, or the beginning of its id."""
    library = loaded(stores)
    memory = library.resolve(ref)
    if as_json:
        print_json(to_record(memory))
        return
    lineage = library.lineage(memory)
    print(visible(memory.headline))
    if memory.content and memory.content != memory.headline:
        print()
        print(visible(memory.content))
    print()
    print_fields(_fields(memory))
    for title, others in (
        ("supersedes", lineage.supersedes),
        ("superseded by", lineage.successors),
    ):
        for other in others:
            says = one_line(other.memory.headline) if other.memory else "not in any open store"
            print(f"{title}  {one_line(other.id)}  {says}")


def _fields(memory: Memory) -> list[tuple[str, str]]:
    line = f":{memory.origin.line}" if memory.origin.line else ""
    confidence = "" if memory.confidence is None else f"{memory.confidence:g}"
    return [
        ("ref", memory.ref),
        ("kind", memory.kind),
        ("type", memory.type or UNTYPED),
        ("entity", ", ".join((memory.entity, *memory.also_entities))),
        ("importance", memory.importance),
        ("status", memory.status),
        ("pinned", "yes" if memory.pinned else ""),
        ("confidence", confidence),
        ("created", date(memory.created)),
        ("updated", date(memory.updated)),
        ("tags", ", ".join(memory.tags)),
        ("source", memory.source),
        ("file", f"{memory.origin.file}{line} {memory.origin.key}".rstrip()),
        *(("also in", place.file) for place in memory.also),
        *(("link", f"{link.relation} {link.target} {link.note}".rstrip()) for link in memory.links),
        *((name, str(value)) for name, value in memory.extra.items()),
    ]


@click.command("stats")
@store_option
@filter_options
@json_option
def stats(stores: Sequence[str], as_json: bool, **filters: Any) -> None:
    """Count memories of every status by type, importance, status, kind, entity and store."""
    if not filters["filter_status"]:
        filters["filter_status"] = ("all",)
    query = query_from("", **filters)
    library = loaded(stores)
    numbers = library.statistics(library.find(query))
    if as_json:
        print_json(numbers.as_record())
        return
    print_fields(
        [
            ("memories", number(numbers.total)),
            ("oldest", date(numbers.oldest)),
            ("newest", date(numbers.newest)),
            ("on disk", size(sum(numbers.disk.values()))),
        ]
    )
    for title in ("type", "importance", "status", "kind", "store", "entity"):
        print()
        print_counts(f"by {title}", getattr(numbers, title))


def summary(named: Sequence[str]) -> None:
    """What `memtui` prints where there is no terminal."""
    library = library_of(named)
    library.load()
    for state in library.snapshot.stores:
        print(f"{state.label}: {number(state.count)} memories in {one_line(str(state.root))}")
        for item in state.unreadable:
            print(f"  unreadable: {one_line(item.file)}: {one_line(item.reason)}")
