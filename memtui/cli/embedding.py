"""`embed` and `similar`: search by meaning."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

import click

from memtui.cli.filters import json_option, store_option
from memtui.cli.output import print_json, print_memories
from memtui.cli.stores import loaded
from memtui.errors import Refused
from memtui.model import to_record
from memtui.progress import Progress
from memtui.text import number, one_line

SIMILAR = 10
"""Memories printed when nothing is said."""


@click.command("embed")
@store_option
@json_option
def embed(stores: Sequence[str], as_json: bool) -> None:
    """Make the vectors that memories still lack, for search by meaning (~words, hybrid, similar).

    What was made stays: stopped anywhere, the next time goes on from there, and an unchanged memory
    is never embedded twice. The model is chosen under [search.embedding] in config.toml; without a
    choice it is the one that `pip install memtui[semantic]` brings, which asks nobody.
    """
    library = loaded(stores)
    if not library.embeds:
        raise Refused(
            "there is no model to make vectors with",
            do="pip install memtui[semantic], or name a server under [search.embedding]",
        )
    show, finish = _progress_line()
    try:
        done = library.embed(show)
    finally:
        finish()
    if as_json:
        print_json([asdict(one) for one in done])
        return
    made, texts = sum(one.made for one in done), sum(one.texts for one in done)
    print(f"{number(made)} texts embedded, {number(texts)} have vectors")


def _progress_line() -> tuple[Callable[[Progress], None], Callable[[], None]]:
    """What shows progress on a terminal's standard error, and what ends its line."""
    if not sys.stderr.isatty():
        return lambda _: None, lambda: None
    shown = False

    def show(progress: Progress) -> None:
        nonlocal shown
        shown = True
        share = f"{100 * progress.done // progress.total}%" if progress.total else ""
        print(f"\r\x1b[K{one_line(progress.what)} {share}", end="", file=sys.stderr, flush=True)

    def finish() -> None:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    return show, finish


@click.command("similar")
@click.argument("ref")
@store_option
@click.option("--limit", type=click.IntRange(min=1), default=SIMILAR, show_default=True)
@json_option
def similar(ref: str, stores: Sequence[str], limit: int, as_json: bool) -> None:
    """Find memories that are like one, the most alike first.

    By vectors where there are some (memtui embed), else by the rarest words of the memory. REF: its
    full ref, or the beginning of its id.
    """
    library = loaded(stores)
    library.index()
    found = library.similar(library.resolve(ref).ref, limit)
    memories = [found.rows[slot] for slot in found.slots]
    if as_json:
        records = [to_record(memory) for memory in memories]
        for record, score in zip(records, found.scores, strict=True):
            record["score"], record["by"] = score, found.how
        print_json(records)
        return
    print_memories(memories)
    if not memories:
        click.echo("nothing is like it", err=True)
