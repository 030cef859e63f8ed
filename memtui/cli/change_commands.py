"""Commands that change memories: `add`, `edit`, `retire`, `link` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memtui.changes import Act, Change
from memtui.cli.options import change_options, force_option
from memtui.cli.output import apply_change, apply_planned, confirm_deletion
from memtui.cli.store_selection import load_library
from memtui.errors import Refused
from memtui.text import one_line

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.model import Memory

IMPORTANCE = click.Choice(["high", "medium", "low"])


def _change_memory(
    act: Act,
    ref: str,
    fields: Mapping[str, Any] | None = None,
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
    force: bool = False,
) -> int:
    """Do one act on the memory that `ref` names. Returns the exit code."""
    library = load_library(stores)
    memory = library.resolve(ref)
    planned = library.plan([Change(act, memory.store, memory.ref, fields or {}, force)])
    must_ask = act is Act.DELETE and not (force or dry_run)
    if must_ask and not confirm_deletion(planned, memory):
        return 1
    return apply_planned(library, planned, dry_run, as_json)


@click.command("add")
@click.argument("text")
@click.option(
    "--entity", "-e", required=True, help="Entity it belongs to: people/alice, shop-api/main."
)
@click.option("--type", "type_", default="", help="Type, in the store's words: decision, person...")
@click.option("--importance", type=IMPORTANCE, help="Importance, if the format stores it.")
@click.option("--title", default="", help="Title, if the format has titles.")
@force_option
@change_options
def add(
    text: str,
    entity: str,
    type_: str,
    importance: str | None,
    title: str,
    force: bool,
    stores: Sequence[str],
    **options: bool,
) -> int:
    """Prints the outcome and its reason: ADDED, DEDUPE, SUPERSEDED or REJECTED."""
    library = load_library(stores)
    if len(library.stores) != 1:
        labels = ", ".join(store.label for store in library.stores)
        raise Refused("several stores are open", do=f"choose one with --store: {labels}")
    values = {"content": text, "entity": entity, "type": type_, "title": title}
    fields = {name: value for name, value in values.items() if value}
    if importance:
        fields["importance"] = importance
    change = Change(Act.ADD, library.stores[0].label, "", fields, force)
    return apply_change(library, change, **options)


@click.command("edit")
@click.argument("ref")
@click.option("--content", help="New text. Without any of these options $EDITOR opens.")
@click.option("--title", help="New title.")
@click.option("--type", "type_", help="New type.")
@click.option("--entity", help="New entity.")
@click.option("--importance", type=IMPORTANCE, help="New importance.")
@click.option("--tag", "tags", multiple=True, help="Replace tags (repeatable).")
@change_options
def edit(
    ref: str,
    content: str | None,
    title: str | None,
    type_: str | None,
    entity: str | None,
    importance: str | None,
    tags: Sequence[str],
    stores: Sequence[str],
    **options: bool,
) -> int:
    """Without options the text opens in $EDITOR."""
    values = {
        "content": content,
        "title": title,
        "type": type_,
        "entity": entity,
        "importance": importance,
        "tags": tuple(tags) or None,
    }
    fields: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    library = load_library(stores)
    memory = library.resolve(ref)
    if not fields:
        return _edit_in_editor(library, memory, **options)
    change = Change(Act.EDIT, memory.store, memory.ref, fields)
    return apply_change(library, change, **options)


def _edit_in_editor(library: Library, memory: Memory, **options: bool) -> int:
    from memtui import config, paths
    from memtui.files.drafts import edit_text

    editor = config.load(paths.config_file()).settings.editor
    with edit_text(memory.content, editor, paths.state_folder()) as text:
        if text is None:
            print("No changes")
            return 0
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": text})
        return apply_change(library, change, **options)


@click.command("supersede")
@click.argument("ref")
@click.argument("text")
@force_option
@change_options
def supersede(ref: str, text: str, **options: Any) -> int:
    """The old version is kept and marked as superseded."""
    return _change_memory(Act.SUPERSEDE, ref, {"content": text}, **options)


def _act_command(act: Act, help_text: str = "", *, forceable: bool = False) -> click.Command:
    """Make the command that does this act on one memory and takes no other argument."""

    @click.command(str(act), help=help_text)
    @click.argument("ref")
    @change_options
    def command(ref: str, **options: Any) -> int:
        return _change_memory(act, ref, **options)

    if forceable:
        command = click.option("--force", is_flag=True, help="Skip the confirmation.")(command)
    return command


retire = _act_command(Act.RETIRE, "`memtui restore` reverts it.")
restore = _act_command(Act.RESTORE)
delete = _act_command(Act.DELETE, forceable=True)
mark_reviewed = _act_command(Act.REVIEW)
decline = _act_command(Act.DECLINE, "`memtui restore` reverts it.")


@click.command("accept")
@click.argument("ref")
@click.option("--content", help="Accept it with this text instead.")
@change_options
def accept(ref: str, content: str | None, **options: Any) -> int:
    """As it is, or with another text."""
    fields = {} if content is None else {"content": content}
    return _change_memory(Act.ACCEPT, ref, fields, **options)


@click.command("rate")
@click.argument("ref")
@click.argument("rating", type=click.Choice(["1", "2", "3", "4", "5", "none"]))
@change_options
def rate(ref: str, rating: str, **options: Any) -> int:
    """`none` removes the rating."""
    fields = {"rating": 0 if rating == "none" else int(rating)}
    return _change_memory(Act.RATE, ref, fields, **options)


@click.command("merge")
@click.argument("ref")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@click.option("--content", help="Text of the merged memory; default: the text of REF.")
@force_option
@change_options
def merge(
    ref: str,
    others: Sequence[str],
    content: str | None,
    force: bool,
    stores: Sequence[str],
    **options: bool,
) -> int:
    """They are merged into REF; every OTHER is kept as history."""
    library = load_library(stores)
    memory = library.resolve(ref)
    merged = [library.resolve(other) for other in others]
    for other in merged:
        if other.store != memory.store:
            raise Refused("cannot merge memories of different stores", where=one_line(other.ref))
    fields: dict[str, Any] = {"others": [other.id for other in merged]}
    if content is not None:
        fields["content"] = content
    change = Change(Act.MERGE, memory.store, memory.ref, fields, force)
    return apply_change(library, change, **options)


@click.command("pin")
@click.argument("ref")
@click.option("--off", is_flag=True, help="Unpin it.")
@change_options
def pin(ref: str, off: bool, **options: Any) -> int:
    """Unpin with --off."""
    return _change_memory(Act.UNPIN if off else Act.PIN, ref, **options)


def _link_command(act: Act, help_text: str) -> click.Command:
    @click.command(str(act), help=help_text)
    @click.argument("ref")
    @click.argument("relation")
    @click.argument("target")
    @change_options
    def command(
        ref: str, relation: str, target: str, stores: Sequence[str], **options: bool
    ) -> int:
        library = load_library(stores)
        memory = library.resolve(ref)
        fields = {"relation": relation, "target": library.link_target(memory, target)}
        change = Change(act, memory.store, memory.ref, fields)
        return apply_change(library, change, **options)

    return command


link = _link_command(Act.LINK, "For example: link REF works_at companies/acme.")
unlink = _link_command(
    Act.UNLINK,
    "Remove a link, including one of the store's own. TARGET: a memory or an entity, as printed "
    "by `memtui show`.",
)
