"""Commands about the sessions of agents: `sessions` and `origin`."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memtui.cli.options import argument, command, option
from memtui.cli.output import columns, print_json, print_memories, shown_progress
from memtui.cli.store_selection import load_settings, note_incomplete, print_unread, read_library
from memtui.errors import MemtuiError, RefError, Refused, UnreadableFile
from memtui.model import ENDED, format_time, to_record
from memtui.text import (
    and_more,
    column,
    counted,
    cut,
    date,
    excerpt,
    find_passage,
    one_line,
    pad,
    short_ago,
    visible,
)

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.model import Memory
    from memtui.query import Query
    from memtui.search.session_index import Hit
    from memtui.search.uses import Used
    from memtui.sessions import Message, Reading, Session
    from memtui.sessions.origin import Origin
    from memtui.sessions.programs import Found

_WHO = {"user": "you", "assistant": "the agent", "tool": "a tool"}
_VERBS = ("list", "programs", "show", "forget", "on", "off")
PASSAGE_CHARS = 200
"""Characters of a message that a search prints."""
LAST_PROMPTS = 3
"""Prompts of a deleted session that are printed, the last ones."""
ID_CELLS, AGE_CELLS, PROGRAM_CELLS, PROJECT_CELLS = 10, 4, 8, 16
"""Widths of the columns of a printed session."""


@command
def sessions(
    arguments: Sequence[str] = argument(metavar="[VERB] [PROGRAM | ID]"),
    project: str = option(default="", metavar="NAME", help="Only sessions of this project."),
    tools: bool = option(help="With show: print calls of tools and their results too."),
    find: str = option(
        default="",
        metavar="WORDS",
        help="With show: print only the messages with all words, between their neighbours.",
    ),
    yes: bool = option(help="With on: do not ask."),
    delete_index: bool = option(help="Remove the index of all sessions; a search builds it again."),
    *,
    stores: Sequence[str],
    limit: int,
    as_json: bool,
) -> None:
    """List or show the sessions of agents, which memtui only reads.

    \b
    memtui sessions                 list the sessions of the programs that are on
    memtui sessions programs        list the programs, and what each keeps
    memtui sessions show ID         print the memories that a session wrote and used, and its words
    memtui sessions forget ID       leave a session out of every list and search
    memtui sessions on PROGRAM      read the sessions of this program from now on
    memtui sessions off PROGRAM     stop reading them

    No word of a session is read before its program is on. The settings are [sessions] in
    config.toml, where `exclude` leaves out projects. No transcript is ever changed.
    """
    if delete_index:
        from memtui import paths
        from memtui.search.session_index import SessionIndex
        from memtui.sessions import PROGRAMS

        for name in PROGRAMS:
            SessionIndex(paths.cache_folder(), name).discard()
        print("The index of sessions is removed.")
        return
    verb, names = (arguments[0], arguments[1:]) if arguments else ("list", ())
    if verb not in _VERBS:
        raise click.UsageError(f"there is no verb {verb!r}: {', '.join(_VERBS)}")
    if verb in ("show", "on", "off") and len(names) != 1:
        raise click.UsageError(
            f"sessions {verb} needs {'an ID' if verb == 'show' else 'a program'}"
        )
    if verb == "programs":
        _print_programs(as_json)
    elif verb == "on":
        _turn_on(names[0], yes=yes)
    elif verb == "off":
        _turn_off(names[0])
    elif verb == "forget":
        _forget(_find(names[0]))
    elif verb == "show":
        _show(_find(names[0]), stores, words=find, tools=tools, as_json=as_json)
    else:
        _list(project, limit, as_json)


def _found() -> Found:
    """The sessions of the programs that are on; what cannot be read is said on standard error."""
    from memtui.sessions.programs import chosen_sessions

    if not load_settings().session_programs:
        raise Refused(
            "no program's sessions are read",
            do="`memtui sessions programs` lists them, `memtui sessions on PROGRAM` reads one's",
        )
    found = chosen_sessions()
    if found.unreadable:
        note_incomplete()
        print_unread(one_line(str(error)) for error in found.unreadable)
    return found


def _find(id: str) -> Session:
    """The session whose id begins so. Raises RefError."""
    sessions = [each for each in _found().sessions if each.id.startswith(id)]
    exact = [each for each in sessions if each.id == id] or sessions
    if len(exact) != 1:
        names = ", ".join(one_line(each.id) for each in exact[:4])
        what = f"several sessions begin so: {names}" if exact else "there is no such session"
        raise RefError(what, where=one_line(id), do="`memtui sessions` lists them")
    return exact[0]


def _list(project: str, limit: int, as_json: bool) -> None:
    sessions = [
        each for each in _found().sessions if not project or project in (each.project, each.cwd)
    ][:limit]
    if as_json:
        print_json(_session_records(sessions))
        return
    for each in sessions:
        title = one_line(each.title) or ("a subagent" if each.is_sidechain else "")
        _print_row(each.id, each.changed, each.program, each.project, title)
    _warn_of_deletions(sessions, datetime.now(UTC))


def _print_row(id: str, time: datetime | None, what: str, whose: str, text: str) -> None:
    cells = (
        pad(one_line(id)[:ID_CELLS], ID_CELLS),
        pad(short_ago(time, datetime.now(UTC)), AGE_CELLS),
        column(what, PROGRAM_CELLS),
        column(whose, PROJECT_CELLS),
        text,
    )
    print(cut("  ".join(cells), columns()).rstrip())


def _warn_of_deletions(sessions: Sequence[Session], now: datetime) -> None:
    """Say on standard error which of these sessions their programs delete soon."""
    from memtui.sessions.retention import SOON, find_deletions

    deletions = find_deletions(sessions, Path.home(), os.environ)
    for name in dict.fromkeys(each.program for each in sessions):
        soon = [
            (deletion, one_line(each.id)[:ID_CELLS])
            for each in sessions
            if each.program == name
            and (deletion := deletions.get(each.path))
            and deletion.at <= now + SOON
        ]
        if soon:
            first, id = min(soon, key=lambda pair: pair[0].at)
            more = and_more(len(soon) - 1)
            print(f"memtui: {id}{more} will be {first.describe(now)}", file=sys.stderr)


def _session_records(sessions: Sequence[Session]) -> list[dict[str, Any]]:
    from memtui.sessions.retention import find_deletions

    deletions = find_deletions(sessions, Path.home(), os.environ)
    return [
        {
            **_record(each),
            "deleted_at": format_time(deletions[each.path].at) if each.path in deletions else None,
        }
        for each in sessions
    ]


def _record(session: Session) -> dict[str, Any]:
    return {
        "program": session.program,
        "id": session.id,
        "path": str(session.path),
        "cwd": session.cwd,
        "title": session.title,
        "started": format_time(session.started),
        "changed": format_time(session.changed),
        "parent": session.parent,
        "subagent": session.is_sidechain,
        "bytes": session.size,
    }


def _show(
    session: Session, stores: Sequence[str], *, words: str, tools: bool, as_json: bool
) -> None:
    from memtui.sessions import Kind, Reading, find_program

    reading = Reading()
    messages = find_program(session.program).messages(session, reading)
    shown: Iterable[Message] = (
        m for m in messages if tools or m.kind not in (Kind.CALL, Kind.RESULT)
    )
    if words:
        shown = _only_near(shown, words)
    touched = _touched(session, stores)
    if as_json:
        records = [_message_record(message) for message in shown]
        memories = [{"how": how, "ref": memory.ref} for how, memory in touched]
        record = {**_record(session), "memories": memories, "messages": records}
        print_json({**record, "not_understood": reading.skipped})
    else:
        for how, memory in touched:
            print(cut(f"{how}  {one_line(memory.ref)}  {one_line(memory.headline)}", columns()))
        if touched:
            print()
        _print_messages(shown)
    if reading.skipped:
        print(f"memtui: {_describe_skipped(reading)}", file=sys.stderr)


def _only_near(messages: Iterable[Message], words: str) -> Iterator[Message]:
    """The messages with all words and phrases, each between its neighbours."""
    from memtui.query import parse_search
    from memtui.search.query_terms import analyze_terms
    from memtui.search.session_search import NEIGHBOURS
    from memtui.search.text_match import holds_all

    terms = analyze_terms(parse_search(words, datetime.now(UTC)).terms)
    before: deque[Message] = deque(maxlen=NEIGHBOURS)
    behind = 0
    for message in messages:
        if holds_all(message.text, terms):
            yield from before
            yield message
            before.clear()
            behind = NEIGHBOURS
        elif behind:
            yield message
            behind -= 1
        else:
            before.append(message)


def _touched(session: Session, stores: Sequence[str]) -> list[tuple[str, Memory]]:
    """The memories of the open stores that a session wrote, cited or read, and how."""
    from memtui.library.session_memories import find_written
    from memtui.search.uses import find_used

    try:
        library = read_library(stores)
    except MemtuiError:
        if stores:
            raise
        return []  # without any store the session is shown as it is
    written = find_written(library, session)
    memories = [each for store in library.stores for each in library.memories(store.label)]
    used = find_used(memories, session)
    return [
        *(
            ("wrote" if each.is_current else "wrote, changed since", each.memory)
            for each in written
        ),
        *((str(use.kind), use.memory) for use in used),
    ]


def _describe_skipped(reading: Reading) -> str:
    types = ", ".join(f"{count} of {one_line(name)}" for name, count in reading.unknown.items())
    return f"{counted(reading.skipped, 'line')} not understood{f' ({types})' if types else ''}"


def _print_messages(messages: Iterable[Message]) -> None:
    from memtui.sessions import Kind

    for message in messages:
        who = "summary" if message.kind is Kind.SUMMARY else str(message.role)
        name = one_line(message.call.name) if message.call else ""
        print("  ".join(filter(None, (who, name, date(message.time)))))
        for line in visible(message.text).split("\n"):
            print(f"  {line}".rstrip())
        if message.is_cut:
            print("  (cut)")
        print()


def _message_record(message: Message) -> dict[str, Any]:
    return {
        **_said(message),
        "id": message.id,
        "parent": message.parent,
        "cwd": message.cwd,
        "subagent": message.is_sidechain,
        "call": {"name": message.call.name, "id": message.call.id} if message.call else None,
        "file": message.place.path,
        "offset": message.place.offset,
        "length": message.place.length,
    }


def _print_programs(as_json: bool) -> None:
    from memtui.sessions import PROGRAMS, survey
    from memtui.sessions.programs import describe_holdings

    on = load_settings().session_programs
    kept = {name: survey(each, Path.home(), os.environ) for name, each in PROGRAMS.items()}
    if as_json:
        print_json(
            [
                {
                    "program": name,
                    "title": PROGRAMS[name].title,
                    "on": name in on,
                    "paths": [str(root) for root in holdings.roots],
                    "files": holdings.files,
                    "bytes": holdings.size,
                    "deleted": PROGRAMS[name].retention,
                }
                for name, holdings in kept.items()
            ]
        )
        return
    for name, holdings in kept.items():
        state = "on " if name in on else "off"
        about = describe_holdings(PROGRAMS[name], holdings)
        print(f"{name:<{PROGRAM_CELLS}}  {state}  {about}".rstrip())


def _turn_on(name: str, *, yes: bool) -> None:
    from memtui.sessions import find_program, survey
    from memtui.sessions.programs import describe_holdings, describe_terms, turn_on

    program = find_program(name)
    print(describe_holdings(program, survey(program, Path.home(), os.environ)))
    for sentence in describe_terms(program):
        print(sentence)
    if not yes:
        if not sys.stdin.isatty():
            raise Refused("confirmation required", do="use --yes when not running interactively")
        if not click.confirm(f"Read the sessions of {program.title}?"):
            raise Refused("nothing was changed")
    turn_on(name)
    print(f"Sessions of {program.title} are read from now on.")


def _forget(session: Session) -> None:
    from memtui import paths
    from memtui.search.session_search import forget_session

    forget_session(paths.cache_folder(), session)
    print(f"Left out from now on: {one_line(session.id)}. Its transcript is not changed.")


def _turn_off(name: str) -> None:
    from memtui import paths
    from memtui.search.session_index import SessionIndex
    from memtui.sessions import PROGRAMS, find_program
    from memtui.sessions.programs import turn_off

    if name not in load_settings().session_programs:
        find_program(name)
        raise Refused(f"sessions of {PROGRAMS[name].title} are not read")
    turn_off(name)
    SessionIndex(paths.cache_folder(), name).discard()
    print(f"Sessions of {name} are no longer read.")


@command
def origin(ref: str, *, stores: Sequence[str], as_json: bool) -> int:
    """Show the sessions that taught a memory, and those that used it.

    "recorded": the memory names the session. "written here": a call in the session wrote its text;
    what a person said before the call is shown. "looks like": an earlier session of its project
    mentions its rare words, with the share of them. "used": a session cited or read it. Only
    sessions of programs that are on are read.
    """
    from memtui.search.analysis import list_words
    from memtui.search.mentions import origins_of
    from memtui.search.uses import find_uses
    from memtui.sessions.origin import recorded_ids

    memory = read_library(stores).resolve(ref)
    sessions = _found().sessions
    found = origins_of([memory], sessions)[0]
    used = find_uses(memory, sessions)
    known = {each.session.id for each in found} | {each.session.path.stem for each in found}
    gone = [id for id in recorded_ids(memory) if id not in known]
    if as_json:
        print_json(
            {
                "ref": memory.ref,
                "origins": [
                    {
                        "kind": str(each.kind),
                        "session": _record(each.session),
                        "words": _message_record(each.words) if each.words else None,
                        "call": _message_record(each.call) if each.call else None,
                        "strength": str(each.strength) if each.strength else None,
                        "share": round(each.share, 3) if each.strength else None,
                    }
                    for each in found
                ],
                "not_found": gone,
                "used": _used_record(used),
            }
        )
        return 0 if found else 1
    print(visible(memory.headline))
    for each in found:
        _print_origin(each, list_words(memory.full_text))
    for id in gone:
        _print_gone(id)
    _print_uses(used)
    _warn_of_deletions([each.session for each in found], datetime.now(UTC))
    if not found and not gone:
        programs = ", ".join(load_settings().session_programs)
        print(f"\nNo session of {programs} wrote it or mentions it, and it names none.")
    return 0 if found else 1


def _used_record(used: Used) -> dict[str, Any]:
    return {
        "last": format_time(used.last),
        "counted": used.counted,
        "counted_last": format_time(used.counted_last),
        "sessions": [
            {
                "kind": str(use.kind),
                "session": _record(use.session),
                "message": _message_record(use.message),
            }
            for use in used.uses
        ],
    }


def _print_uses(used: Used) -> None:
    """How often a memory was used, and the session that used it last."""
    from memtui.sessions import PROGRAMS

    if used.counted:
        last = f", the last {date(used.counted_last)}" if used.counted_last else ""
        print(f"\nused  {counted(used.counted, 'time')} as its store counts{last}")
    if used.uses:
        use = used.uses[0]
        title, id = PROGRAMS[use.session.program].title, one_line(use.session.id)
        more = and_more(len(used.uses) - 1)
        print(f"\nused  {use.kind} in {title} session {id}, {date(use.message.time)}{more}")


def _print_gone(id: str) -> None:
    """A session that the memory names and that is not there."""
    from memtui.sessions.retention import find_deleted

    if "claude" not in load_settings().session_programs:
        print(f"\nrecorded  {one_line(id)}, which no session that is read has")
        return
    now = datetime.now(UTC)
    deletion, prompts = find_deleted(id, now, Path.home(), os.environ)
    why = deletion.describe(now) if deletion else "which no session that is read has"
    print(f"\nrecorded  {one_line(id)}, {why}")
    for prompt in prompts[-LAST_PROMPTS:]:
        print(f"  you, {date(prompt.time)}: {one_line(prompt.text, PASSAGE_CHARS)}")


def _print_origin(origin: Origin, words: Sequence[str]) -> None:
    from memtui.sessions import PROGRAMS

    session = origin.session
    where = f"{PROGRAMS[session.program].title} session {one_line(session.id)}"
    project = f" in {one_line(session.project)}" if session.project else ""
    said = origin.call or origin.words
    time = said.time if said and said.time else session.started
    print(f"\n{origin.kind}  {where}{project}, {date(time)}")
    if origin.strength is not None and origin.words is not None:
        share = f"{origin.share:.0%} of its words by rarity"
        print(f"  mentioned here ({origin.strength}, {share}) by {_WHO[origin.words.role]}:")
        print(f"  {_passage(origin.words.text, words)}")
    elif origin.words is not None:
        print(f"  you: {one_line(origin.words.text)}")
    if origin.call is not None and origin.call.call is not None:
        print(f"  call: {one_line(origin.call.call.name)}")
    print(f"  memtui sessions show {one_line(session.id)}")


def search_sessions(query: Query, limit: int, as_json: bool) -> list[dict[str, Any]]:
    """Print the messages with all words of a query, each between its neighbours, or return their
    records if `as_json`.

    The best come first, or the newest or oldest if the query asks for that order. The index is
    brought up to date first, in a process that shows its progress.
    """
    from memtui import paths
    from memtui.search.query_terms import analyze_terms
    from memtui.search.session_search import search_chosen

    if not load_settings().session_programs:
        print("memtui: no program's sessions are read; see memtui sessions", file=sys.stderr)
        return []
    sessions = _found().sessions  # says what cannot be read
    programs = load_settings().session_programs
    with shown_progress() as report:
        found, unreadable = search_chosen(paths.cache_folder(), programs, query, limit, report)
    print_unread(map(one_line, unreadable))
    if as_json:
        return [_hit_record(hit, message, sessions) for hit, message in found]
    words = analyze_terms(query.terms).title_words
    for hit, message in found:
        before, behind = _neighbours(hit, message, sessions)
        for each in before[-1:]:
            _print_neighbour(each)
        _print_hit(hit, message, words)
        for each in behind[:1]:
            _print_neighbour(each)
    return []


def search_former(
    library: Library, query: Query, limit: int, as_json: bool
) -> list[dict[str, Any]]:
    """Print the memories that are no longer current, and the former texts of all memories, the
    newest first, or return their records if `as_json`."""
    from memtui.library.former_search import find_former
    from memtui.search.query_terms import analyze_terms

    gone = _no_longer_current(library, query)[:limit]
    former = find_former(library, query)
    found = former.found[: limit - len(gone)]
    if former.left_out:
        print_unread([f"the former versions of {counted(former.left_out, 'more memory')}"])
    if as_json:
        return [*map(to_record, gone)] + [
            {
                "ref": each.memory.ref,
                "time": format_time(each.version.time),
                "origin": str(each.version.origin),
                "note": each.version.note,
                "title": each.version.memory.title,
                "content": each.version.memory.content,
            }
            for each in found
        ]
    words = analyze_terms(query.terms).title_words
    print_memories(gone)
    for each in found:
        change, text = f"{each.version.origin} {each.version.note}", each.version.text
        _print_row(
            each.memory.id, each.version.time, each.memory.store, change, _passage(text, words)
        )
    return []


def _no_longer_current(library: Library, query: Query) -> list[Memory]:
    """The memories that were replaced, retired or deleted; none if the query asks for a status."""
    if query.has_status:
        return []
    found = library.find(query.with_status(*ENDED))
    return [found.rows[int(slot)] for slot in found.slots]


def _passage(text: str, words: Sequence[str]) -> str:
    """The part of a message that has most of the words, on one line."""
    passage = find_passage(text, words)
    return (
        excerpt(text, passage, words, PASSAGE_CHARS) if passage else one_line(text, PASSAGE_CHARS)
    )


def _neighbours(
    hit: Hit, message: Message | None, sessions: Iterable[Session]
) -> tuple[list[Message], list[Message]]:
    """What was said before and behind a hit; nothing where that cannot be read any more."""
    from memtui.search.session_search import read_neighbours

    own = (each for each in sessions if (each.program, each.id) == (hit.program, hit.session))
    if message is not None and (session := next(own, None)) is not None:
        with suppress(UnreadableFile):
            return read_neighbours(session, message)
    return [], []


def _hit_record(hit: Hit, message: Message | None, sessions: Iterable[Session]) -> dict[str, Any]:
    record = {"program": hit.program, "session": hit.session, "score": hit.score}
    if message is None:
        return {**record, "offset": hit.offset, "changed": True}
    before, behind = _neighbours(hit, message, sessions)
    near = {"before": list(map(_said, before)), "after": list(map(_said, behind))}
    return {**record, **_message_record(message), **near}


def _said(message: Message) -> dict[str, Any]:
    return {
        "role": str(message.role),
        "kind": str(message.kind),
        "text": message.text,
        "time": format_time(message.time),
    }


def _print_neighbour(message: Message) -> None:
    """A message beside a hit, below the hit's column of who said it."""
    indent = " " * (ID_CELLS + AGE_CELLS + PROGRAM_CELLS + PROJECT_CELLS + 8)
    who = "you" if message.is_from_person else "agent"
    print(cut(f"{indent}{pad(who, 5)}  {one_line(message.text, PASSAGE_CHARS)}", columns()))


def _print_hit(hit: Hit, message: Message | None, words: Sequence[str]) -> None:
    who = "you" if hit.is_user else "agent"
    text, folder = "(the session changed since it was indexed)", ""
    if message is not None:
        text, folder = _passage(message.text, words), message.cwd.rstrip("/").rpartition("/")[2]
    _print_row(hit.session, hit.time, hit.program, folder, f"{pad(who, 5)}  {text}")
