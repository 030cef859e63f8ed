"""Commands that change memories: `add`, `edit`, `retire`, `link` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import click

from memtui.changes import Act, Change
from memtui.cli.options import argument, command, force_option, option, query_from
from memtui.cli.output import apply_change, apply_planned, confirm_deletion
from memtui.cli.store_selection import load_library, load_settings
from memtui.errors import QueryError, Refused
from memtui.query import parse_time
from memtui.text import one_line

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
    if act is Act.RETIRE and library.refusal(act, memory):
        act = act if library.refusal(Act.HIDE, memory) else Act.HIDE
    planned = library.plan([Change(act, memory.store, memory.ref, fields or {}, force)])
    must_ask = act is Act.DELETE and not (force or dry_run)
    if must_ask and not confirm_deletion(planned, memory):
        return 1
    return apply_planned(library, planned, dry_run, as_json)


@command
def add(
    text: str,
    entity: str = option(
        "--entity", "-e", required=True, help="Entity it belongs to: people/alice, shop-api/main."
    ),
    type_: str = option(
        "--type", default="", help="Type, in the store's words: decision, person..."
    ),
    importance: str | None = option(type=IMPORTANCE, help="Importance, if the format stores it."),
    title: str = option(default="", help="Title, if the format has titles."),
    *,
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
    values |= {"importance": importance or ""}
    fields = {name: value for name, value in values.items() if value}
    change = Change(Act.ADD, library.stores[0].label, "", fields, force)
    return apply_change(library, change, **options)


@command
def edit(
    ref: str,
    content: str | None = option(help="New text. Without any of these options $EDITOR opens."),
    title: str | None = option(help="New title."),
    type_: str | None = option("--type", help="New type."),
    entity: str | None = option(help="New entity."),
    importance: str | None = option(type=IMPORTANCE, help="New importance."),
    tags: Sequence[str] = option("--tag", help="Replace tags (repeatable)."),
    *,
    force: bool,
    stores: Sequence[str],
    **options: bool,
) -> int:
    """Without options the text opens in $EDITOR."""
    values = {"content": content, "title": title, "type": type_, "entity": entity}
    values |= {"importance": importance}
    fields: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if tags:
        fields["tags"] = tuple(tags)
    library = load_library(stores)
    memory = library.resolve(ref)
    if fields:
        change = Change(Act.EDIT, memory.store, memory.ref, fields, force)
        return apply_change(library, change, **options)
    from memtui import paths
    from memtui.files.drafts import edit_text

    with edit_text(memory.content, load_settings().editor, paths.state_folder()) as text:
        if text is None:
            print("No changes")
            return 0
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": text}, force)
        return apply_change(library, change, **options)


@command
def replace(
    old: str,
    new: str,
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
    **filters: Any,
) -> int:
    """OLD is found as a whole word, in any case. Options filter the memories; --dry-run shows what
    each program would read. Undo reverts it as one step.
    """
    from memtui.upkeep.claims import changes_of_words

    library = load_library(stores)
    found = library.find(query_from("", **filters))
    memories = (found.rows[slot] for slot in found.slots)
    can = lambda act, memory: not library.refusal(act, memory)  # noqa: E731
    changes = list(changes_of_words(memories, old, new, can))
    if not changes:
        raise Refused(f"no memory that can be changed has {old!r}", do="memtui search finds it")
    return apply_planned(library, library.plan(changes, f"replace {old}: {new}"), dry_run, as_json)


@command
def supersede(ref: str, text: str, *, force: bool, **options: Any) -> int:
    """The old version is kept and marked as superseded."""
    return _change_memory(Act.SUPERSEDE, ref, {"content": text}, force=force, **options)


def _act_command(act: Act, help_text: str = "") -> click.Command:
    """Make the command that does this act on one memory and takes no other argument."""

    def do(ref: str, **options: Any) -> int:
        return _change_memory(act, ref, **options)

    return command(do, help_text)


retire = _act_command(
    Act.RETIRE,
    "Where the format has no way to, it is hidden in memtui only. `memtui restore` reverts it.",
)
mark_reviewed = _act_command(Act.REVIEW)
decline = _act_command(Act.DECLINE, "`memtui restore` reverts it.")


@command
def restore(
    refs: Sequence[str] = argument(metavar="[REF[@TIME]]..."),
    since: str | None = option(
        metavar="TIME", help="Give back what was there at this time and is gone or changed now."
    ),
    deleted: bool = option(help="With --since: only what is gone."),
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """With a time, it gets the text of then, also if an agent has deleted it; what was written
    since stays. `memtui diff` shows what has changed since a time.
    """
    from memtui.cli.time_commands import restore_as_of

    if since is None and deleted:
        raise Refused("--deleted is for --since TIME")
    if since is not None:
        return restore_as_of(stores, {since: refs}, deleted, dry_run, as_json)
    if not refs:
        raise click.UsageError("Missing argument 'REF'.")
    dated = [split_time(ref) for ref in refs]
    if all(time for _, time in dated):
        times = {time: [ref for ref, at in dated if at == time] for _, time in dated}
        return restore_as_of(stores, times, False, dry_run, as_json)
    if len(refs) > 1:
        raise Refused("one memory at a time, or each with its time: REF@TIME")
    return _change_memory(Act.RESTORE, refs[0], stores=stores, dry_run=dry_run, as_json=as_json)


def split_time(ref: str) -> tuple[str, str]:
    """A ref and the time behind its last `@`; "" if there is none."""
    name, mark, time = ref.rpartition("@")
    with suppress(QueryError):
        if mark and name and parse_time(time, datetime.now(UTC)):
            return name, time
    return ref, ""


@command
def delete(ref: str, force: bool = force_option("Skip the confirmation."), **options: Any) -> int:
    return _change_memory(Act.DELETE, ref, force=force, **options)


@command
def accept(
    ref: str, content: str | None = option(help="Accept it with this text instead."), **options: Any
) -> int:
    """As it is, or with the text of --content."""
    fields = {} if content is None else {"content": content}
    return _change_memory(Act.ACCEPT, ref, fields, **options)


@command
def rate(
    ref: str,
    rating: str = argument(type=click.Choice(["1", "2", "3", "4", "5", "none"])),
    **options: Any,
) -> int:
    """`none` removes the rating."""
    fields = {"rating": 0 if rating == "none" else int(rating)}
    return _change_memory(Act.RATE, ref, fields, **options)


@command
def merge(
    ref: str,
    others: Sequence[str] = argument(required=True, metavar="OTHER..."),
    content: str | None = option(help="Text of the merged memory; default: the text of REF."),
    *,
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


@command
def pin(ref: str, off: bool = option(help="Unpin it."), **options: Any) -> int:
    """Unpin with --off."""
    return _change_memory(Act.UNPIN if off else Act.PIN, ref, **options)


@command
def promote(
    ref: str,
    project: str = option(
        "--to", default="", metavar="PROJECT", help="The entity of one project, the other way."
    ),
    part: str = option(
        default="", metavar="TEXT", help="Words of the part to move, of a file like CLAUDE.md."
    ),
    *,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """It is added where the program reads what holds for all projects (Claude Code: the user's
    CLAUDE.md; Gemini CLI: GEMINI.md; Qwen Code: memories/; Hermes: from a profile to its home;
    Codex: a note that asks for it), and taken away where it was. Undo reverts both.
    """
    library = load_library(stores)
    planned = library.plan_rescope(library.resolve(ref), project, part)
    return apply_planned(library, planned, dry_run, as_json)


def _link_command(act: Act, help_text: str) -> click.Command:
    def do(ref: str, relation: str, target: str, *, stores: Sequence[str], **options: bool) -> int:
        library = load_library(stores)
        memory = library.resolve(ref)
        fields = {"relation": relation, "target": library.link_target(memory, target)}
        change = Change(act, memory.store, memory.ref, fields)
        return apply_change(library, change, **options)

    return command(do, help_text)


link = _link_command(Act.LINK, "For example: link REF works_at companies/acme.")
unlink = _link_command(
    Act.UNLINK,
    "Remove a link, including one of the store's own. TARGET: a memory or an entity, as printed "
    "by `memtui show`.",
)
