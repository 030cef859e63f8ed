"""Commands that print memories: `list`, `search`, `similar`, `show`, `stats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from memtui.cli import output
from memtui.cli.options import argument, command, limit_option, option, query_from
from memtui.cli.store_selection import index_library, read_library
from memtui.errors import QueryError
from memtui.model import Memory, to_record
from memtui.query import count_first, relax
from memtui.search.documents import MAX_INDEXED, is_cut
from memtui.stores.base import LimitUse
from memtui.text import (
    Passage,
    count_words,
    date,
    excerpt,
    mask_part,
    number,
    one_line,
    scored_words,
    size,
    value_text,
    visible,
)

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.query import Query

SIMILAR_LIMIT = 10
"""Memories that `similar` prints without `--limit`."""


def _first_memories(found: SearchResult, limit: int, everything: bool) -> list[Memory]:
    slots = found.slots if everything else found.slots[:limit]
    return [found.rows[slot] for slot in slots]


def _print_rest(shown: int, found: SearchResult) -> None:
    if shown < found.total:
        total = number(found.total, found.accuracy) if found.accuracy != "exact" else found.total
        click.echo(f"showing {shown} of {total}; use --all for the rest", err=True)


@command
def list_(
    as_of: str | None,
    stores: Sequence[str],
    limit: int,
    everything: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """List current memories, newest first.

    --all lists memories of every status, unless --status is given.
    """
    if everything and not filters["filter_status"]:
        filters["filter_status"] = ("all",)
    query = query_from("", **filters)
    library = read_library(stores, as_of)
    found = library.find(query)
    memories = _first_memories(found, limit, everything)
    if as_json:
        output.print_json({"memories": [to_record(memory) for memory in memories]})
    else:
        shown = found.slots[: len(memories)]
        about = {found.rows[slot].ref for slot in shown if found.is_approximate(slot)}
        output.print_memories(memories, library.handles(memories), about=about)
        _print_rest(len(memories), found)
    if not memories:
        click.echo("no memories", err=True)


@command
def search(
    text: Sequence[str] = argument(required=True),
    *,
    as_of: str | None,
    stores: Sequence[str],
    limit: int,
    everything: bool,
    prefer_type: Sequence[str] = option(
        metavar="TYPE", help="Rank memories of this type higher, without a filter; repeatable."
    ),
    explain: bool = option(help="Show the parts of each score."),
    everywhere: bool = option(
        help="Search former versions, and the sessions of the programs that are on, too."
    ),
    as_json: bool,
    **filters: Any,
) -> None:
    """Search memories, best match first; memories with all words come before the others.

    TEXT takes the syntax of the search line: auth type:decision -redis "exact words". Write -- in
    front of a TEXT that begins with -.

    Exits with 1 if nothing is found, with 2 on a bad filter. Standard error names the words that
    were searched in place of missing ones, and what the filters hide.

    With --everywhere follow memories that are no longer current, former texts of all memories from
    the journal, git and their stores, and what was said in sessions (see memtui sessions): each
    with all words. Of the filters since:, until:, project:, program:, session: and role: count for
    sessions. JSON then has former and sessions beside memories.
    """
    query = query_from(" ".join(text), prefer=prefer_type, **filters)
    if query.is_empty and not (query.sort or query.prefer):
        raise QueryError("nothing to look for", do="type a word; memtui list shows all")
    library = read_library(stores, as_of)
    index_library(library)
    library.embed_query(query)
    asked = _for_memories(query) if everywhere else query
    found = library.find(asked)
    memories = _first_memories(found, limit, everything)
    elsewhere = None
    if everywhere:
        from memtui.cli.session_commands import search_elsewhere

        elsewhere = search_elsewhere(library, query, asked, limit)
    if as_json:
        records = [
            _hit_record(library, found, at, memory, explain) for at, memory in enumerate(memories)
        ]
        more = elsewhere.records() if elsewhere is not None else {}
        output.print_json({"memories": records, **more})
    else:
        handles = library.handles(memories)
        for at, memory in enumerate(memories):
            _print_hit(library, found, at, memory, handles, explain)
        _print_rest(len(memories), found)
        if elsewhere is not None:
            elsewhere.show()
    for hint in (*found.hints, *found.limits):
        click.echo(one_line(hint), err=True)
    if not found.total and not elsewhere:
        ways = count_first(relax(asked), lambda weaker: library.count(weaker).value)
        counted_ways = [f"{what}: {number(count)}" for what, count in ways.items()]
        click.echo(one_line("; ".join(["no matches", *counted_ways])), err=True)
        raise click.exceptions.Exit(1)


def _for_memories(query: Query) -> Query:
    from memtui.search.session_search import for_memories

    return for_memories(query) or replace(query, matches_nothing=True)


def _hit_record(
    library: Library, found: SearchResult, at: int, memory: Memory, explain: bool
) -> dict[str, Any]:
    """One hit as JSON; with the parts of its score if `explain`."""
    record = to_record(memory)
    record["score"] = found.scores[at] if found.scores is not None else None
    record["passage"] = _passage_record(memory, library.passage(found, at))
    if explain:
        parts = library.explain(found, at)
        record["parts"] = {score_part.name: score_part.value for score_part in parts}
        record["near_words"] = dict(library.near_words(found, at))
    return record


def _print_hit(
    library: Library,
    found: SearchResult,
    at: int,
    memory: Memory,
    handles: Mapping[str, str],
    explain: bool,
) -> None:
    """Print one hit with its passage, and the parts of its score if `explain`."""
    output.print_memories([memory], handles)
    indent = " " * (output.handle_cells(handles) + 2)
    if passage := _passage_line(memory, library.passage(found, at), found.words, len(indent)):
        print(f"{indent}{passage}")
    if explain:
        parts = library.explain(found, at)
        shares = "  ".join(f"{score_part.name} {score_part.value:+.3f}" for score_part in parts)
        score = found.scores[at] if found.scores is not None else 0.0
        print(f"{indent}{score:.3f} = {shares}")
        if near_words := library.near_words(found, at):
            print(f"{indent}nearest words: {scored_words(near_words)}")


def _passage_record(memory: Memory, passage: Passage | None) -> dict[str, Any] | None:
    """The passage as JSON: the text, and where it stands in the content and in its line."""
    if passage is None:
        return None
    text = mask_part(memory.content, passage.start, passage.end)
    return {"start": passage.start, "end": passage.end, "line": passage.line + 1, "text": text}


def _passage_line(
    memory: Memory, passage: Passage | None, words: Sequence[str], indent: int
) -> str:
    """The passage on one line behind an indent; empty if the headline shows its words."""
    if passage is None or memory.content[passage.start : passage.end] == memory.headline:
        return ""
    if passage.words <= count_words(one_line(memory.headline), words):
        return ""
    return excerpt(memory.content, passage, words, output.columns() - indent)


@command
def similar(
    ref: str, *, stores: Sequence[str], limit: int = limit_option(SIMILAR_LIMIT), as_json: bool
) -> None:
    """List memories similar to REF in all open stores, most similar first.

    Compares embeddings if there are any (see `memtui embed`), else the rarest words of the memory.
    """
    library = read_library(stores)
    index_library(library)
    found = library.similar(library.resolve(ref).ref, limit)
    memories = [found.rows[slot] for slot in found.slots]
    if as_json:
        records = [to_record(memory) for memory in memories]
        for record, score in zip(records, found.scores, strict=True):
            record["score"], record["by"] = score, found.how
        output.print_json({"memories": records})
        return
    names = library.names.of if len(library.stores) > 1 else None
    output.print_memories(memories, library.handles(memories), names)
    if not memories:
        click.echo("no similar memories", err=True)


@command
def show(
    ref: str,
    *,
    as_of: str | None,
    stores: Sequence[str],
    track: bool = option(help="Count this as an access of the memory."),
    as_json: bool,
) -> None:
    """Show a memory with all its fields.

    REF is what `memtui list` and `memtui search` print in front of a memory, its whole ref, its id
    or the beginning of it, the name of its file, or words of its headline, as far as no other
    memory has the same. All commands that take a REF take these.
    """
    library = read_library(stores, as_of)
    memory = library.resolve(ref)
    if track and not as_of:
        output.count_accesses(library, [memory.ref])
        memory = library.get(memory.ref)
    if as_json:
        output.print_json(to_record(memory))
        return
    lineage = library.lineage(memory)
    print(visible(memory.headline))
    if memory.content and memory.content != memory.headline:
        print()
        print(visible(memory.content))
    print()
    output.print_fields(_list_fields(memory, library.handles([memory])[memory.ref]))
    for title, others in (
        ("supersedes", lineage.supersedes),
        ("superseded by", lineage.successors),
    ):
        for other in others:
            name, text = other.id, output.NOT_OPEN
            if other.memory:
                name, text = (
                    library.handles([other.memory])[other.memory.ref],
                    other.memory.headline,
                )
            print(f"{title}  {one_line(name)}  {one_line(text)}")


def _list_fields(memory: Memory, handle: str) -> list[tuple[str, str]]:
    line = f":{memory.origin.line}" if memory.origin.line else ""
    confidence = "" if memory.confidence is None else f"{memory.confidence:g}"
    return [
        ("ref", memory.ref),
        ("handle", "" if handle == memory.ref else handle),
        ("kind", memory.kind),
        ("type", memory.shown_type),
        ("entity", ", ".join((memory.entity, *memory.also_entities))),
        ("importance", memory.importance),
        ("status", memory.shown_status),
        ("pinned", "yes" if memory.pinned else ""),
        ("confidence", confidence),
        ("created", date(memory.created)),
        ("updated", date(memory.updated)),
        ("dated by", memory.dated_by),
        ("text", memory.later_text),
        ("searched", f"the first {number(MAX_INDEXED)} characters" if is_cut(memory) else ""),
        ("tags", ", ".join(memory.tags)),
        ("source", memory.source),
        ("file", f"{memory.origin.file}{line} {memory.origin.key}".rstrip()),
        *(("also in", place.file) for place in memory.also),
        *(("link", f"{link.relation} {link.target} {link.note}".rstrip()) for link in memory.links),
        *((name, value_text(value)) for name, value in memory.extra.items()),
    ]


MAX_LIMITS = 12
"""Texts whose load limit is listed, the fullest first; `--json` has all."""


@command
def stats(as_of: str | None, stores: Sequence[str], as_json: bool, **filters: Any) -> None:
    """Count memories by type, importance, status, kind, store and entity.

    Counts memories of every status, unless --status is given.
    """
    if not filters["filter_status"]:
        filters["filter_status"] = ("all",)
    query = query_from("", **filters)
    library = read_library(stores, as_of)
    statistics, names = library.statistics(library.find(query)), library.names
    if as_json:
        output.print_json(statistics.as_record())
        return
    output.print_fields(
        [
            ("memories", number(statistics.total, statistics.accuracy)),
            ("oldest", date(statistics.oldest)),
            ("newest", date(statistics.newest)),
            ("on disk", size(statistics.bytes)),
            ("salience", "  ".join(f"{n} {v:.2f}" for n, v in statistics.salience.items())),
        ]
    )
    if statistics.limits:
        print("\nloaded at the start of a session")
        shown = statistics.limits[:MAX_LIMITS]
        uses = [(f"{names.of(use.store)} {use.title}", _describe_use(use)) for use in shown]
        more = len(statistics.limits) - len(shown)
        uses += [("others", f"{number(more)} less full")] if more else []
        output.print_fields([(one_line(name), description) for name, description in uses])
    for title in ("type", "importance", "status", "kind", "store", "entity"):
        print()
        counts = getattr(statistics, title)
        if title == "store":
            counts = {names.of(label): count for label, count in counts.items()}
        output.print_counts(f"by {title}", counts)


def _describe_use(use: LimitUse) -> str:
    """How much is used, in words: `61 of 200 lines, 6,311 of 25,000 UTF-16 units`."""
    measures = ", ".join(f"{used:,} of {most:,} {unit}" for unit, used, most in use.measures)
    if use.cut_line is None:
        return measures
    not_loaded = f", {use.not_loaded:,} not loaded" if use.not_loaded else ""
    return f"cut at line {use.cut_line:,}{not_loaded}: {measures}"
