"""Commands of the review queue: `review`, its short form `check` for CI, and `extract`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from memtui import paths
from memtui.changes import Act
from memtui.cli.options import argument, command, option
from memtui.cli.output import (
    print_dry_run,
    print_effects,
    print_json,
    shown_progress,
    write_action,
)
from memtui.cli.store_selection import (
    INCOMPLETE,
    load_library,
    load_settings,
    load_whole_library,
)
from memtui.errors import Refused, did_you_mean
from memtui.model import format_time
from memtui.text import and_more, counted, one_line, visible

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.library.review import ReviewQueue
    from memtui.library.review_files import Queue
    from memtui.model import Memory
    from memtui.search.mentions import Speaker
    from memtui.sessions import Session
    from memtui.upkeep.model_requests import ModelRequest
    from memtui.upkeep.proposals import Proposal, ProposalKind

REMOVING = frozenset({Act.DELETE, Act.RETIRE})
_MAX_SHOWN = 20
"""Memories of a proposal that are listed."""
_VERBS = ("show", "accept", "agree", "decline", "snooze", "reopen")
_FORMATS = click.Choice(["text", "json", "sarif"])
_fail_on = option(
    "--fail-on",
    metavar="KIND",
    help="Exit with 1 only for findings of this kind (secret, planted-text, conflict ...), for a "
    "hook or CI; repeatable, or comma-separated.",
)


@command
def review(
    arguments: Sequence[str] = argument(metavar="[VERB ID...]"),
    kinds: Sequence[str] = option(
        "--kind", metavar="KIND", help="Only findings of this kind; housekeeping: all of that."
    ),
    hints: bool = option(help="Also list, or accept, what is found by rules that are often wrong."),
    fail_on: Sequence[str] = _fail_on,
    output: str = option(
        "--format", type=_FORMATS, default="text", show_default=True, help="Output of the list."
    ),
    dry_run: bool = option(help="With accept and agree: print the diff, change nothing."),
    every: bool = option(
        "--all",
        help="With accept: every proposal, or every one of --kind; hints without --hints and, "
        "without --kind, housekeeping and what agents propose are left out.",
    ),
    clones: Sequence[Path] = option(
        "--clone",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A git clone whose merged branches may be archived; repeatable.",
    ),
    purge: bool = option(
        help="After accepting the removal of a secret, erase it from memtui's journal, backups "
        "and caches too, without asking.",
    ),
    use_model: bool = option(
        "--model", help="With accept: let the language model of config.toml write merged texts."
    ),
    yes: bool = option(
        "--yes",
        help="With accept: without asking, also what memtui warns of (a secret, planted text, "
        "hidden characters), and what is sent to the model.",
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """List what a person should look at, or decide on it by its id.

    \b
    memtui review [PATH...]         list it, the most dangerous first, of these stores
    memtui review show ID           print who says what, and the diff of a proposal
    memtui review agree ID VALUE    make all memories of a conflict say this value
    memtui review accept ID...      make the changes; undo reverts them as one step
    memtui review accept --all      make the changes of all
    memtui review decline ID...     never propose it again unless its memories change
    memtui review snooze ID...      not for a week
    memtui review reopen ID...      forget a decision

    Nothing is changed without `accept` or `agree`. The housekeeping of each program is one line;
    `--kind housekeeping` lists it.
    """
    if arguments and arguments[0] not in ("list", *_VERBS) and all(map(paths.is_place, arguments)):
        stores, arguments = (*stores, *arguments), ()
    is_reading = not arguments or arguments[0] in ("list", "show")
    library = load_whole_library(stores, is_reading=is_reading)
    queue = _queue_of(library, clones)
    verb, ids = (arguments[0], arguments[1:]) if arguments else ("list", ())
    if verb != "list" and verb not in _VERBS:
        raise click.UsageError(
            f"there is no verb {verb!r}: {', '.join(_VERBS)}; "
            "to mark a memory as reviewed: memtui mark-reviewed REF"
        )
    if verb == "reopen":
        if not ids:
            raise click.UsageError("review reopen needs the id of a proposal")
        reopened = [queue.decisions.find(id) for id in ids]
        queue.decisions.reopen(reopened)
        _print_decision("Reopened", verb, reopened, as_json)
        return 0
    found = _scan(queue, kinds)
    if verb == "list":
        shown = [one for one in found.proposals if hints or not one.is_hint]
        if output == "sarif":
            _print_sarif(shown, fail_on)
        elif as_json or output == "json":
            _print_records(queue, shown)
        else:
            _print_queue(library, queue, found, shown, is_whole=bool(kinds))
        return _exit_code(shown, fail_on) if fail_on else 0
    if verb == "agree":
        if len(ids) != 2:
            raise click.UsageError("review agree needs the id of a conflict and the value")
        return _write(library, queue.plan_agreement(found.get(ids[0]), ids[1]), dry_run, as_json)
    if every and verb == "accept" and not ids:
        chosen = [one for one in found.proposals if _is_for_all(one, kinds, hints=hints)]
    elif not ids or every:
        raise click.UsageError(f"review {verb} needs the id of a proposal")
    else:
        chosen = [found.get(id) for id in ids]
    if use_model and verb == "accept":
        chosen = [_with_model(queue, one, yes) for one in chosen]
    if verb == "accept" and len(chosen) > 1:
        skipped = [one.id for one in chosen if not (one.changes or every)]
        if skipped:
            click.echo(f"skipped, nothing to accept: {', '.join(skipped)}", err=True)
        chosen = [one for one in chosen if one.changes]
    if verb == "show" and not as_json:
        _print_reasons(library, queue, chosen)
        if not any(one.changes for one in chosen):
            return 0
    if verb in ("decline", "snooze"):
        from memtui.library.review_files import Decision

        if verb == "decline":
            queue.decline(chosen)
        else:
            queue.decisions.decide(chosen, Decision.SNOOZED)
        word = "Declined" if verb == "decline" else "Snoozed for a week"
        _print_decision(word, verb, [proposal.id for proposal in chosen], as_json)
        return 0
    dry_run = dry_run or verb == "show"
    if not dry_run and not yes:
        chosen = _without_dangers(chosen, is_all=every)
    removed = frozenset() if dry_run else queue.secrets_in(chosen)
    ids, note = [one.id for one in chosen], partial(queue.note_accepted, chosen)
    code = _write(library, queue.plan(chosen), dry_run, as_json, ids, note)
    if removed:
        _offer_purge(library, queue, chosen, removed, is_wanted=purge)
    return code


@command
def check(
    fail_on: Sequence[str] = _fail_on,
    output: str = option(
        "--format", type=_FORMATS, default="text", show_default=True, help="Output of the findings."
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """Check for what `memtui review` shows and for faults of files, one line each, for CI.

    What agents propose, housekeeping and hints are left out. Nothing is changed. Exit code 1 if
    anything was found; with --fail-on 1 if one of these kinds was found, else 3 if something could
    not be read, else 0.
    """
    from memtui.upkeep.proposals import FAULTS, SHOWN, ProposalKind

    wanted = [kind for kind in (*FAULTS, *SHOWN) if kind is not ProposalKind.AGENT]
    _kinds(fail_on)  # a wrong name is said before the scan
    library = load_whole_library(stores, is_reading=False)
    with shown_progress() as report:
        found = _queue_of(library).scan(wanted, report)
    shown = [one for one in found.proposals if not one.is_hint]
    if output == "sarif":
        _print_sarif(shown, fail_on)
    elif as_json or output == "json":
        from memtui.upkeep.proposals import to_record

        print_json({"proposals": [to_record(one) for one in shown]})
    else:
        for one in shown:
            line = f":{one.line}" if one.line else ""
            print(f"{one.kind:<13}  {one_line(one.file)}{line}  {one_line(one.title)}")
        print(counted(len(shown), "finding"))
    return _exit_code(shown, fail_on)


def _exit_code(found: Sequence[Proposal], fail_on: Sequence[str]) -> int:
    from memtui.upkeep.proposals import ProposalKind

    kinds = _kinds(fail_on)
    if not kinds or any(one.kind in kinds for one in found):
        return 1 if found else 0
    return INCOMPLETE if any(one.kind is ProposalKind.UNREADABLE for one in found) else 0


def _print_sarif(found: Sequence[Proposal], fail_on: Sequence[str]) -> None:
    from memtui.upkeep.sarif import to_sarif

    print_json(to_sarif(found, Path.cwd(), _kinds(fail_on) or ()))


def _with_model(queue: ReviewQueue, proposal: Proposal, yes: bool) -> Proposal:
    request = queue.model_request(proposal)
    return proposal if request is None else queue.with_answer(proposal, _ask(request, yes))


def _without_dangers(chosen: Sequence[Proposal], *, is_all: bool) -> list[Proposal]:
    """Those that may be accepted: what memtui warns of is asked for, or left out of all.

    Raises Refused.
    """
    from memtui.upkeep.checks import dangers_of

    kept = []
    for one in chosen:
        if not (dangers := "; ".join(dangers_of(one))):
            kept.append(one)
        elif is_all:
            click.echo(f"skipped {one.id}: {dangers}", err=True)
        elif sys.stdin.isatty():
            click.echo(f"{one_line(one.title)}\n  {dangers}", err=True)
            if click.confirm("Accept it?", err=True):
                kept.append(one)
        else:
            raise Refused(f"{one.id} is not accepted: {dangers}", do="look at it, then use --yes")
    if not kept:
        raise Refused("there is nothing to accept", do="memtui review lists what is open")
    return kept


def _print_decision(word: str, verb: str, ids: Sequence[str], as_json: bool) -> None:
    if as_json:
        print_json({"decision": verb, "proposals": ids})
    else:
        print(f"{word}: {', '.join(ids)}")


def _is_for_all(proposal: Proposal, kinds: Sequence[str], *, hints: bool) -> bool:
    """Whether `accept --all` makes it: what agents propose and housekeeping by their kind only,
    hints by `--hints`."""
    from memtui.upkeep.proposals import ProposalKind

    is_asked_for = proposal.kind is ProposalKind.AGENT or proposal.is_housekeeping
    return (hints or not proposal.is_hint) and (bool(kinds) or not is_asked_for)


def _offer_purge(
    library: Library,
    queue: ReviewQueue,
    accepted: Sequence[Proposal],
    removed: frozenset[str],
    *,
    is_wanted: bool,
) -> None:
    """Erase removed secrets from what memtui keeps, after asking; say what it does not reach."""
    from memtui.library.review import describe_copies

    if copies := library.find_copies(removed):
        found = describe_copies(copies)
        question = f"memtui itself still has the secret: {found}. Erase it there?"
        warning = "These changes can then no longer be undone."
        if is_wanted or (sys.stdin.isatty() and click.confirm(f"{question} {warning}", err=True)):
            library.purge(copies)
            click.echo(f"erased: {found}", err=True)
        else:
            click.echo(f"memtui itself still has the secret: {found}", err=True)
    left = "".join(f"{one_line(str(file))}; " for file in copies.others)
    click.echo(f"not erased: {left}{queue.unreachable_copies(accepted)}", err=True)


@command
def extract(
    file: TextIO = argument(type=click.File("r", encoding="utf-8", errors="replace")),
    into: str = option(required=True, metavar="STORE", help="Label of the store."),
    entity: str = option(
        "--entity", "-e", default="", help="Entity of facts for which the model names none."
    ),
    do_apply: bool = option("--apply", help="Add the facts that the store accepts."),
    yes: bool = option("--yes", help="Send to the model without asking."),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """Extract facts from a transcript or a daily note with the language model.

    Prints what the store would do with each fact; --apply adds them as one step. FILE may be -.
    """
    from memtui.changes import Act, Change
    from memtui.cli.output import apply_planned
    from memtui.upkeep.model_requests import extraction_request, parse_facts

    library = load_library(stores)
    store = library.store(into)
    facts = parse_facts(_ask(extraction_request(file.read()), yes))
    changes = [
        Change(
            Act.ADD,
            store.label,
            "",
            {
                "content": fact.content,
                "entity": fact.entity or entity,
                "importance": fact.importance,
                "source": "transcript",
            },
        )
        for fact in facts
        if fact.entity or entity
    ]
    if not changes:
        raise Refused("the model found no fact", do="name an entity with --entity")
    planned = library.plan(changes, f"extract {counted(len(changes), 'fact')}")
    return apply_planned(library, planned, not do_apply, as_json)


def _ask(request: ModelRequest, yes: bool) -> str:
    """Show what would be sent, ask, and return the model's answer. Raises Refused, ModelError."""
    from memtui.upkeep.model_requests import ChatServer

    server = ChatServer(load_settings().language_model)
    masked = f", {counted(request.masked, 'secret')} masked" if request.masked else ""
    click.echo(f"To {one_line(server.name)}: {len(request.text):,} characters{masked}", err=True)
    if not yes:
        click.echo(visible(request.text), err=True)
        if not sys.stdin.isatty():
            raise Refused("confirmation required", do="use --yes when not running interactively")
        if not click.confirm("Send this?", err=True):
            raise Refused("nothing was sent")
    return server.complete(request)


def _queue_of(library: Library, clones: Sequence[Path] = ()) -> ReviewQueue:
    from memtui.library.review import ReviewQueue

    return ReviewQueue(library, load_settings().review, clones)


def _scan(queue: ReviewQueue, kinds: Sequence[str]) -> Queue:
    with shown_progress() as report:
        return queue.scan(_kinds(kinds), report)


def _kinds(names: Sequence[str]) -> list[ProposalKind] | None:
    """The kinds with these names. Raises UsageError."""
    from memtui.upkeep.proposals import HOUSEKEEPING, SHOWN, ProposalKind

    known = [*map(str, ProposalKind), HOUSEKEEPING]
    requested = [name for text in names for name in text.split(",")]
    for name in requested:
        if name not in known:
            advice = did_you_mean(name, known, f"one of: {', '.join(known)}")
            raise click.UsageError(f"there is no kind {name!r}: {advice}")
    found = [ProposalKind(name) for name in requested if name != HOUSEKEEPING]
    if HOUSEKEEPING in requested:
        found += [kind for kind in ProposalKind if kind not in SHOWN]
    return found or None


def _print_records(review: ReviewQueue, shown: Sequence[Proposal]) -> None:
    from memtui.upkeep.proposals import to_record

    speakers = _speakers(review, shown)
    records = [
        {**to_record(proposal), "origin": _speaker_record(speakers.get(proposal.id))}
        for proposal in shown
    ]
    print_json({"proposals": records})


def _print_queue(
    library: Library,
    review: ReviewQueue,
    queue: Queue,
    shown: Sequence[Proposal],
    *,
    is_whole: bool,
) -> None:
    """Print the queue; unless it `is_whole`, housekeeping is one line a store."""
    from memtui.library.review_files import group_of, queue_rows
    from memtui.upkeep.proposals import HOUSEKEEPING

    speakers = _speakers(review, [one for one in shown if is_whole or not one.is_housekeeping])
    opened = {group_of(one) for one in shown if one.is_housekeeping} if is_whole else ()
    for row in queue_rows(shown, opened, hints=True):
        one = row.proposal
        if one is None:
            if row.rule is not None:
                print(f"{row.rule.heading} ({row.count}), {row.group}: {row.rule.explanation}")
                continue
            more = "" if is_whole else f"; memtui review --kind {HOUSEKEEPING} lists it"
            name = one_line(library.names.of(row.store) or "memtui")
            print(f"Housekeeping of {name} ({row.count}){more}")
            continue
        mark = "hint" if one.is_hint else "    "
        name = one_line(library.names.of(one.store))
        print(f"  {one.id}  {mark}  {name}  {one_line(one.title)}")
        for line in _says(library, one, review.memories(one)) or [one_line(one.reason)]:
            print(f"                      {line}")
        if one.id in speakers:
            print(f"                      {speakers[one.id].describe()}")
    print(
        f"{queue.counted} to review, {queue.housekeeping} housekeeping, "
        f"{counted(queue.hints, 'hint')}, {queue.declined} declined, {queue.snoozed} snoozed"
    )


def _says(library: Library, proposal: Proposal, memories: Sequence[Memory]) -> list[str]:
    """A line for each memory of a conflict, the newest first: value, who says it, since when."""
    if not proposal.says:
        return []
    when = {memory.ref: memory.when for memory in memories}
    from memtui.upkeep.proposals import shown_sayings

    shown, more = shown_sayings(proposal.says)
    width = max(len(one_line(each.value)) for each in shown)
    lines = [
        f"{one_line(each.value):<{width}}  {_since(when.get(each.ref))}  "
        f"{one_line(library.names.of(each.store))}  {one_line(each.text)}"
        for each in shown
    ]
    return [*lines, *([and_more(more).strip()] if more else [])]


def _since(time: datetime | None) -> str:
    return f"since {time:%Y-%m-%d}" if time is not None else "undated         "


def _speakers(review: ReviewQueue, proposals: Sequence[Proposal]) -> dict[str, Speaker]:
    """Id of a proposal -> who said what its first memory says, where programs' sessions are read.

    Of a whole list not all sessions are read, but those of the memories' projects first.
    """
    if not (sessions := _sessions()):
        return {}
    from memtui.search.mentions import LISTED_BYTES, candidates, find_speakers

    about = {one.id: found[0] for one in proposals if (found := review.memories(one))}
    memories = list({memory.ref: memory for memory in about.values()}.values())
    if len(proposals) > 1:
        sessions = candidates(memories, sessions, LISTED_BYTES)
    by_ref = find_speakers(memories, sessions)
    return {id: by_ref[memory.ref] for id, memory in about.items() if memory.ref in by_ref}


def _speaker_record(speaker: Speaker | None) -> dict[str, Any] | None:
    if speaker is None:
        return None
    session = speaker.origin.session
    return {
        "said_by": speaker.source,
        "role": str(speaker.role),
        "asked": speaker.detail,
        "program": session.program,
        "session": session.id,
        "time": format_time(speaker.time),
    }


def _print_reasons(library: Library, queue: ReviewQueue, proposals: Sequence[Proposal]) -> None:
    """Print what each proposal would do and why, with the memories that it is about, and who said
    what the first of them says, if programs' sessions are read."""
    speakers = _speakers(queue, proposals)
    for one in proposals:
        print(one_line(one.title))
        print(f"  {one_line(one.reason)}")
        memories = queue.memories(one)
        for line in _says(library, one, memories):
            print(f"  {line}")
        gone = {change.ref for change in one.changes if change.act in REMOVING}
        for memory in memories[:_MAX_SHOWN]:
            sign = "-" if memory.ref in gone else " "
            print(f"  {sign} {one_line(memory.ref)}  {one_line(memory.headline)}")
        if len(memories) > _MAX_SHOWN:
            print(f"    {and_more(len(memories) - _MAX_SHOWN)}")
        if one.kind == "agent":
            for name, value in (pair for each in one.changes for pair in each.fields.items()):
                print(f"  {name}: {one_line(str(value))}")
        if one.id in speakers:
            ref = one_line(memories[0].ref)
            print(f"  Origin: {speakers[one.id].describe()}; memtui origin {ref}")
        if one.says:
            print(f"  memtui review agree {one.id} VALUE makes them agree")


def _sessions() -> Sequence[Session]:
    """The sessions of the programs that are on."""
    if not load_settings().session_programs:
        return ()
    from memtui.sessions.programs import chosen_sessions

    return chosen_sessions().sessions


def _write(
    library: Library,
    planned: Planned,
    dry_run: bool,
    as_json: bool,
    ids: Sequence[str] = (),
    done: Callable[[int], object] = lambda _: None,
) -> int:
    if not planned.has_edits:
        raise Refused("there is nothing to change", do="memtui review lists what is open")
    number = None if dry_run else write_action(library, lambda: library.apply(planned)).id
    if number is not None:
        done(number)
    if as_json:
        effects = {"effect": "; ".join(planned.effects)}
        print_json({"done": not dry_run, "action": number, "proposals": ids, **effects})
    elif dry_run:
        print_effects(planned.effects)
        print_dry_run(planned, library)
    else:
        print(f"Accepted (number {number} in the log; memtui undo reverts it)")
        print_effects(planned.effects)
    return 0
