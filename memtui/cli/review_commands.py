"""Commands of the review queue: `review`, `consolidate`, `compact`, `extract`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from memtui import paths
from memtui.changes import Act
from memtui.cli.options import argument, command, option
from memtui.cli.output import (
    print_diffs,
    print_effects,
    print_json,
    shown_progress,
    write_action,
)
from memtui.cli.store_selection import load_library, load_settings, load_whole_library
from memtui.errors import Refused, did_you_mean
from memtui.model import format_time
from memtui.text import and_more, counted, one_line, visible

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.review import ReviewQueue
    from memtui.library.review_files import Queue
    from memtui.search.mentions import Speaker
    from memtui.sessions import Session
    from memtui.upkeep.model_requests import ModelRequest
    from memtui.upkeep.proposals import Proposal, ProposalKind

REMOVING = frozenset({Act.DELETE, Act.RETIRE})
_MAX_SHOWN = 20
"""Memories of a proposal that are listed."""
_VERBS = ("show", "accept", "decline", "snooze", "reopen")


@command
def review(
    arguments: Sequence[str] = argument(metavar="[VERB ID...]"),
    kinds: Sequence[str] = option("--kind", metavar="KIND", help="Only findings of this kind."),
    dry_run: bool = option(help="With accept: print the diff, change nothing."),
    every: bool = option(
        "--all",
        help="With accept: every proposal, or every one of --kind; hints are skipped, and without "
        "--kind agent what agents propose.",
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
    across: bool = option(help="Also find the same memory in different stores."),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """List the review queue, or decide on proposals by their ids.

    \b
    memtui review [PATH...]         list what could be tidied, of these stores
    memtui review show ID           print the diff of a proposal
    memtui review accept ID...      make its changes; undo reverts them as one step
    memtui review accept --all      make the changes of all; hints are skipped
    memtui review decline ID...     never propose it again unless its memories change
    memtui review snooze ID...      not for a week
    memtui review reopen ID...      forget a decision

    Nothing is changed without `accept`. A hint proposes no change: it names memories to look at.
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
        queue.decisions.reopen(ids)
        return 0
    found = _scan(queue, kinds, across=across)
    if verb == "list":
        return _print_queue(queue, found, as_json)
    if every and verb == "accept" and not ids:
        chosen = [one for one in found.proposals if not one.is_hint and _is_for_all(one, kinds)]
    elif not ids or every:
        raise click.UsageError(f"review {verb} needs the id of a proposal")
    else:
        chosen = [found.get(id) for id in ids]
    if verb == "accept" and len(chosen) > 1:
        hints = [one.id for one in chosen if not one.changes]
        if hints:
            click.echo(f"skipped, nothing to accept: {', '.join(hints)}", err=True)
        chosen = [one for one in chosen if one.changes]
    if verb == "show" and not as_json:
        _print_reasons(queue, chosen)
        if not any(one.changes for one in chosen):
            return 0
    if verb in ("decline", "snooze"):
        from memtui.library.review_files import Decision

        queue.decisions.decide(chosen, Decision.DECLINED if verb == "decline" else Decision.SNOOZED)
        word = "Declined" if verb == "decline" else "Snoozed for a week"
        print(f"{word}: {', '.join(proposal.id for proposal in chosen)}")
        return 0
    dry_run = dry_run or verb == "show"
    removed = frozenset() if dry_run else queue.secrets_in(chosen)
    code = _accept(library, queue, chosen, dry_run=dry_run, as_json=as_json)
    if removed:
        _offer_purge(library, queue, chosen, removed, is_wanted=purge)
    return code


def _is_for_all(proposal: Proposal, kinds: Sequence[str]) -> bool:
    """Whether `accept --all` makes it: what agents propose is accepted by its id or kind only."""
    from memtui.upkeep.proposals import ProposalKind

    return proposal.kind is not ProposalKind.AGENT or bool(kinds)


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


_dry = option("--dry-run", help="Print the diffs only (the default).")
_model = option("--model", help="Let the language model of config.toml write it.")
_yes = option("--yes", help="Send to the model without asking.")


@command
def consolidate(
    do_apply: bool = option("--apply", help="Merge each cluster."),
    dry_run: bool = _dry,
    undo_number: int | None = option(
        "--undo", type=int, metavar="ID", help="Undo a consolidation."
    ),
    use_model: bool = _model,
    yes: bool = _yes,
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """Merge clusters of memories that say much the same, and keep their lineage.

    ID is the number that --apply prints, as in `memtui log`. With --model the merged texts are
    written by the language model; what is sent is shown first, with secrets masked.
    """
    library = load_whole_library(stores, is_reading=False)
    if undo_number is not None:
        action = write_action(library, lambda: library.undo(undo_number))
        print(f"Undone: {one_line(action.title)}")
        print_effects(action.effects)
        return 0
    queue = _queue_of(library)
    found = [each for each in _scan(queue, ["cluster"]).proposals if each.changes]
    if use_model:
        from memtui.upkeep.model_requests import merge_request

        found = [
            queue.with_answer(
                proposal, _ask(merge_request([library.get(r) for r in proposal.refs]), yes)
            )
            for proposal in found
        ]
    return _batch(library, queue, found, apply=do_apply and not dry_run, as_json=as_json)


@command
def compact(
    do_apply: bool = option("--apply", help="Make the changes."),
    dry_run: bool = _dry,
    use_model: bool = _model,
    yes: bool = _yes,
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """Compact projects and branches with more events than their limit.

    Without --model only old events of low importance are dropped. With it the oldest low and medium
    ones become one summary each, written by the language model. High ones are never touched. The
    limits are under [review] in config.toml.
    """
    library = load_whole_library(stores, is_reading=False)
    queue = _queue_of(library)
    if use_model:
        from memtui.upkeep.model_requests import parse_summary, summary_request

        found = [
            queue.summarised(entity, batch, parse_summary(_ask(summary_request(batch), yes)))
            for entity, batch in queue.due_batches()
        ]
    else:
        found = [each for each in _scan(queue, ["compaction"]).proposals if each.changes]
    return _batch(library, queue, found, apply=do_apply and not dry_run, as_json=as_json)


@command
def extract(
    file: TextIO = argument(type=click.File("r", encoding="utf-8", errors="replace")),
    into: str = option(required=True, metavar="STORE", help="Label of the store."),
    entity: str = option(
        "--entity", "-e", default="", help="Entity of facts for which the model names none."
    ),
    do_apply: bool = option("--apply", help="Add the facts that the store accepts."),
    yes: bool = _yes,
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


def _batch(
    library: Library, queue: ReviewQueue, found: Sequence[Proposal], *, apply: bool, as_json: bool
) -> int:
    if not found:
        print("[]" if as_json else "nothing to do")
        return 0
    if not as_json:
        _print_reasons(queue, found)
    return _accept(library, queue, found, dry_run=not apply, as_json=as_json)


def _queue_of(library: Library, clones: Sequence[Path] = ()) -> ReviewQueue:
    from memtui.library.review import ReviewQueue

    return ReviewQueue(library, load_settings().review, clones)


def _scan(queue: ReviewQueue, kinds: Sequence[str], *, across: bool = False) -> Queue:
    with shown_progress() as report:
        return queue.scan(_kinds(kinds), report, across=across)


def _kinds(names: Sequence[str]) -> list[ProposalKind] | None:
    from memtui.upkeep.proposals import ProposalKind

    known = [str(kind) for kind in ProposalKind]
    requested = [name for text in names for name in text.split(",")]
    for name in requested:
        if name not in known:
            advice = did_you_mean(name, known, f"one of: {', '.join(known)}")
            raise click.UsageError(f"there is no kind {name!r}: {advice}")
    return [ProposalKind(name) for name in requested] or None


def _print_queue(review: ReviewQueue, queue: Queue, as_json: bool) -> int:
    from memtui.upkeep.proposals import RULES, to_record

    speakers = _speakers(review, queue.proposals)
    if as_json:
        print_json(
            [
                {**to_record(proposal), "origin": _speaker_record(speakers.get(proposal.id))}
                for proposal in queue.proposals
            ]
        )
        return 0
    heading = None
    for proposal in queue.proposals:
        if proposal.kind is not heading:
            heading = proposal.kind
            count = sum(each.kind is heading for each in queue.proposals)
            rule = RULES[heading]
            print(f"{rule.heading} ({count}), {heading}: {rule.explanation}")
        mark = "hint" if proposal.is_hint else "    "
        print(f"  {proposal.id}  {mark}  {one_line(proposal.store)}  {one_line(proposal.title)}")
        print(f"                      {one_line(proposal.reason)}")
        if proposal.id in speakers:
            print(f"                      {speakers[proposal.id].describe()}")
    print(
        f"{counted(queue.acceptable, 'proposal')}, {counted(queue.hints, 'hint')}, "
        f"{queue.declined} declined, {queue.snoozed} snoozed"
    )
    return 0


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


def _print_reasons(queue: ReviewQueue, proposals: Sequence[Proposal]) -> None:
    """Print what each proposal would do and why, with the memories that it is about, and who said
    what the first of them says, if programs' sessions are read."""
    speakers = _speakers(queue, proposals)
    for one in proposals:
        print(one_line(one.title))
        print(f"  {one_line(one.reason)}")
        gone = {change.ref for change in one.changes if change.act in REMOVING}
        memories = queue.memories(one)
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
        if not one.changes:
            print("  A hint: nothing is changed by it.")


def _sessions() -> Sequence[Session]:
    """The sessions of the programs that are on."""
    if not load_settings().session_programs:
        return ()
    from memtui.sessions.programs import chosen_sessions

    return chosen_sessions().sessions


def _accept(
    library: Library,
    queue: ReviewQueue,
    chosen: Sequence[Proposal],
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    planned = queue.plan(chosen)
    if not planned.has_edits:
        raise Refused("there is nothing to change", do="memtui review lists what is open")
    number = None if dry_run else write_action(library, lambda: library.apply(planned)).id
    if number is not None:
        queue.note_accepted(chosen, number)
    if as_json:
        ids = [proposal.id for proposal in chosen]
        effects = {"effect": "; ".join(planned.effects)}
        print_json({"done": not dry_run, "action": number, "proposals": ids, **effects})
    elif dry_run:
        print_effects(planned.effects)
        from memtui.library.planning import in_words

        diffs = in_words(planned.diffs(), library)
        print_diffs(sorted(diffs, key=lambda diff: ".memtui" in diff.path))
    else:
        print(f"Accepted {len(chosen)} (number {number} in the log; memtui undo reverts it)")
        print_effects(planned.effects)
    return 0
