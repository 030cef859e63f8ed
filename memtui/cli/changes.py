"""Commands that change memories: planned, shown when asked, applied, and taken back by `undo`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memtui.changes import Act, Change, Outcome
from memtui.cli.consent import with_consent
from memtui.cli.filters import json_option, store_option
from memtui.cli.output import print_json
from memtui.cli.stores import loaded
from memtui.errors import Refused
from memtui.text import cut, one_line

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.model import Memory

Command = TypeVar("Command", bound=Callable[..., Any])


def dry_run_option(command: Command) -> Command:
    """`--dry-run`."""
    return click.option(
        "--dry-run", is_flag=True, help="Show what would change, as a diff; write nothing."
    )(command)


def _carry_out(library: Library, planned: Planned, dry_run: bool, as_json: bool) -> int:
    """Say what the plan comes to and, unless it is only asked for, do it. Returns the exit code."""
    if not dry_run and planned.does_something:
        action = with_consent(library, lambda: library.apply(planned))
        planned = planned.as_written(action.refs)
    if as_json:
        print_json(_record(planned, dry_run))
    else:
        _say(planned)
        if dry_run:
            from memtui.cli.output import print_diffs

            print_diffs(planned.diffs())
    return 1 if planned.outcome is Outcome.REJECTED else 0


def _say(planned: Planned) -> None:
    for plan in planned.plans:
        refs = " ".join(one_line(ref) for ref in plan.refs)
        reason = f": {one_line(plan.reason)}" if plan.reason else ""
        print(f"{plan.outcome} {refs}{reason}".rstrip())
    for ref in planned.supersedes:
        print(f"  supersedes {one_line(ref)}")
    for warning in planned.warnings:
        print(f"memtui: {one_line(warning)}", file=sys.stderr)


def _record(planned: Planned, dry_run: bool) -> list[dict[str, Any]]:
    return [
        {
            "outcome": str(plan.outcome),
            "reason": plan.reason,
            "refs": list(plan.refs),
            "supersedes": list(plan.supersedes),
            "warnings": list(plan.warnings),
            "done": bool(plan.edits) and not dry_run,
        }
        for plan in planned.plans
    ]


def _act(
    act: Act,
    ref: str,
    stores: Sequence[str],
    *,
    fields: Mapping[str, Any] | None = None,
    force: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    library = loaded(stores)
    memory = library.resolve(ref)
    if act is Act.DELETE and not force and not dry_run and not _sure(memory):
        return 1
    change = Change(act, memory.store, memory.ref, fields or {}, force)
    return _carry_out(library, library.plan([change]), dry_run, as_json)


@click.command("add")
@click.argument("text")
@click.option(
    "--entity", "-e", required=True, help="What it is about: people/alice, shop-api/main."
)
@click.option("--type", "type_", default="", help="The store's own word: decision, person...")
@click.option("--importance", type=click.Choice(["high", "medium", "low"]))
@click.option("--title", default="", help="Where the format has titles.")
@click.option("--force", is_flag=True, help="Add it though a rule of the store would refuse it.")
@store_option
@dry_run_option
@json_option
def add(
    text: str,
    entity: str,
    type_: str,
    importance: str | None,
    title: str,
    force: bool,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Add a memory by the store's rules: ADDED, DEDUPE, SUPERSEDED or REJECTED, and why."""
    library = loaded(stores)
    if len(library.stores) != 1:
        labels = ", ".join(store.label for store in library.stores)
        raise Refused("several stores are open", do=f"name one with --store: {labels}")
    given = {"content": text, "entity": entity, "type": type_, "title": title}
    fields = {name: value for name, value in given.items() if value}
    if importance:
        fields["importance"] = importance
    change = Change(Act.ADD, library.stores[0].label, "", fields, force)
    return _carry_out(library, library.plan([change]), dry_run, as_json)


@click.command("edit")
@click.argument("ref")
@click.option("--content", help="The new text; without any option $EDITOR opens.")
@click.option("--title")
@click.option("--type", "type_")
@click.option("--entity")
@click.option("--importance", type=click.Choice(["high", "medium", "low"]))
@click.option("--tag", "tags", multiple=True, help="All tags it shall have; repeatable.")
@store_option
@dry_run_option
@json_option
def edit(
    ref: str,
    content: str | None,
    title: str | None,
    type_: str | None,
    entity: str | None,
    importance: str | None,
    tags: Sequence[str],
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Change a memory's text, title, type, entity, importance or tags."""
    given = {
        "content": content,
        "title": title,
        "type": type_,
        "entity": entity,
        "importance": importance,
        "tags": tuple(tags) or None,
    }
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    library = loaded(stores)
    memory = library.resolve(ref)
    if not fields:
        return _edit_outside(library, memory, dry_run, as_json)
    change = Change(Act.EDIT, memory.store, memory.ref, fields)
    return _carry_out(library, library.plan([change]), dry_run, as_json)


def _edit_outside(library: Library, memory: Memory, dry_run: bool, as_json: bool) -> int:
    """The same with the text that the person leaves in an editor."""
    from memtui import config
    from memtui import paths as places
    from memtui.files.external_editor import edit_text

    editor = config.load(places.config_file()).settings.editor
    with edit_text(memory.content, editor, places.state_folder()) as text:
        if text is None:
            print("unchanged")
            return 0
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": text})
        return _carry_out(library, library.plan([change]), dry_run, as_json)


@click.command("supersede")
@click.argument("ref")
@click.argument("text")
@click.option("--force", is_flag=True, help="Go on though a rule of the store would refuse it.")
@store_option
@dry_run_option
@json_option
def supersede(
    ref: str, text: str, force: bool, stores: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Write the successor of a memory; the old one stays as history."""
    return _act(
        Act.SUPERSEDE,
        ref,
        stores,
        fields={"content": text},
        force=force,
        dry_run=dry_run,
        as_json=as_json,
    )


def _plain(name: str, act: Act, about: str, forceable: bool = False) -> click.Command:
    """A command that does one act on one memory."""

    @click.command(name, help=about)
    @click.argument("ref")
    @store_option
    @dry_run_option
    @json_option
    def command(
        ref: str, stores: Sequence[str], dry_run: bool, as_json: bool, force: bool = False
    ) -> int:
        return _act(act, ref, stores, force=force, dry_run=dry_run, as_json=as_json)

    if forceable:
        command = click.option("--force", is_flag=True, help="Do not ask.")(command)
    return command


def _sure(memory: Memory) -> bool:
    """Whether the person says yes; without a terminal nobody can, and it is refused."""
    if not sys.stdin.isatty():
        raise Refused("deleting wants a yes", do="say --force where there is no terminal")
    named = f"{one_line(memory.ref)} ({cut(one_line(memory.headline), 50)})"
    return click.confirm(f"Delete {named} from its store? undo brings it back", err=True)


retire = _plain("retire", Act.RETIRE, "Take a memory out of use; restore brings it back.")
restore = _plain("restore", Act.RESTORE, "Bring a retired, superseded or deleted memory back.")
delete = _plain("delete", Act.DELETE, "Remove a memory from its store.", forceable=True)
review = _plain("review", Act.REVIEW, "Mark a memory as reviewed today.")
decline = _plain("decline", Act.DECLINE, "Decline a proposal; restore brings it back.")


@click.command("accept")
@click.argument("ref")
@click.option("--content", help="Accept it with this text instead of its own.")
@store_option
@dry_run_option
@json_option
def accept(
    ref: str, content: str | None, stores: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Accept a proposal, as it is or with another text."""
    fields = {} if content is None else {"content": content}
    return _act(Act.ACCEPT, ref, stores, fields=fields, dry_run=dry_run, as_json=as_json)


@click.command("rate")
@click.argument("ref")
@click.argument("rating", type=click.Choice(["1", "2", "3", "4", "5", "none"]))
@store_option
@dry_run_option
@json_option
def rate(ref: str, rating: str, stores: Sequence[str], dry_run: bool, as_json: bool) -> int:
    """Rate a memory from 1 to 5, or take its rating away with none."""
    fields = {"rating": 0 if rating == "none" else int(rating)}
    return _act(Act.RATE, ref, stores, fields=fields, dry_run=dry_run, as_json=as_json)


@click.command("merge")
@click.argument("ref")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@click.option("--content", help="The text of the memory that stays; default: its own.")
@click.option("--force", is_flag=True, help="Go on though a rule of the store would refuse it.")
@store_option
@dry_run_option
@json_option
def merge(
    ref: str,
    others: Sequence[str],
    content: str | None,
    force: bool,
    stores: Sequence[str],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Merge memories into one: REF stays, every OTHER stays as history."""
    library = loaded(stores)
    memory = library.resolve(ref)
    merged = [library.resolve(other) for other in others]
    _of_one_store(memory, merged)
    fields: dict[str, Any] = {"others": [other.id for other in merged]}
    if content is not None:
        fields["content"] = content
    change = Change(Act.MERGE, memory.store, memory.ref, fields, force)
    return _carry_out(library, library.plan([change]), dry_run, as_json)


def _of_one_store(memory: Memory, others: Sequence[Memory]) -> None:
    """Raises Refused when one of the others lies in another store."""
    for other in others:
        if other.store != memory.store:
            raise Refused("all memories must lie in one store", where=one_line(other.ref))


@click.command("pin")
@click.argument("ref")
@click.option("--off", is_flag=True, help="Unpin it.")
@store_option
@dry_run_option
@json_option
def pin(ref: str, off: bool, stores: Sequence[str], dry_run: bool, as_json: bool) -> int:
    """Pin a memory, or unpin it with --off."""
    return _act(Act.UNPIN if off else Act.PIN, ref, stores, dry_run=dry_run, as_json=as_json)


def _relate(act: Act, about: str) -> click.Command:
    @click.command(str(act), help=about)
    @click.argument("ref")
    @click.argument("relation")
    @click.argument("target")
    @store_option
    @dry_run_option
    @json_option
    def command(
        ref: str, relation: str, target: str, stores: Sequence[str], dry_run: bool, as_json: bool
    ) -> int:
        library = loaded(stores)
        memory = library.resolve(ref)
        fields = {"relation": relation, "target": library.link_target(memory, target)}
        change = Change(act, memory.store, memory.ref, fields)
        return _carry_out(library, library.plan([change]), dry_run, as_json)

    return command


link = _relate(
    Act.LINK,
    "Link a memory to another one, or to an entity: link REF works_at companies/acme.",
)
unlink = _relate(
    Act.UNLINK,
    "Remove a link, also one of the store's own. TARGET: as show names it, a memory or an entity.",
)
