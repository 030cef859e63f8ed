"""Commands about the sessions of agents: `sessions` and `origin`."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memtui.cli.options import DEFAULT_LIMIT, argument, command, limit_option, option
from memtui.cli.output import (
    columns,
    handle_cells,
    print_json,
    print_memories,
    shown_progress,
)
from memtui.cli.store_selection import load_settings, note_incomplete, print_unread, read_library
from memtui.errors import MemtuiError, RefError, Refused, UnreadableFile
from memtui.library.handles import Handles, sole
from memtui.model import ENDED, format_time, to_record
from memtui.text import (
    and_more,
    column,
    counted,
    cut,
    date,
    excerpt,
    find_passage,
    number,
    one_line,
    pad,
    short_ago,
    visible,
)

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.former_search import FormerText
    from memtui.model import Memory
    from memtui.query import Query
    from memtui.search.index.session_index import Hit
    from memtui.search.uses import Used
    from memtui.sessions import Message, Reading, Session
    from memtui.sessions.origin import Origin
    from memtui.sessions.programs import Found

_WHO = {"user": "you", "assistant": "the agent", "tool": "a tool"}
_VERBS = {
    "list": "",
    "programs": "",
    "forgotten": "",
    "show": "an ID",
    "forget": "an ID",
    "recall": "an ID",
    "on": "a program",
    "off": "a program",
}
"""Verb -> what has to follow it."""
PASSAGE_CHARS = 200
"""Characters of a message that a search prints."""
LAST_PROMPTS = 3
"""Prompts of a deleted session that are printed, the last ones."""
AGE_CELLS, PROGRAM_CELLS, PROJECT_CELLS = 4, 8, 16
"""Widths of the columns of a printed session."""


@command
def sessions(
    arguments: Sequence[str] = argument(metavar="[VERB] [PROGRAM | ID]..."),
    project: str = option(default="", metavar="NAME", help="Only sessions of this project."),
    tools: bool = option(help="With show: print calls of tools and their results too."),
    find: str = option(
        default="",
        metavar="WORDS",
        help="With show: print only the messages with all words, between their neighbours.",
    ),
    yes: bool = option(help="With on: do not ask."),
    delete_index: bool = option(help="Remove the index of all sessions; a search builds it again."),
    limit: int = limit_option(DEFAULT_LIMIT, "sessions"),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """List or show the sessions of agents, which memtui only reads.

    \b
    memtui sessions                 list the sessions of the programs that are on
    memtui sessions programs        list the programs, and what each keeps
    memtui sessions show ID         print the memories that a session wrote and used, and its words
    memtui sessions forget ID...    leave sessions out of every list and search
    memtui sessions forgotten       list the ids of those
    memtui sessions recall ID...    list and search them again
    memtui sessions on PROGRAM...   read the sessions of these programs from now on
    memtui sessions off PROGRAM...  stop reading them

    No word of a session is read before its program is on. The settings are [sessions] in
    config.toml, where `exclude` leaves out projects. No transcript is ever changed.
    """
    if delete_index:
        return _delete_index(as_json)
    verb, names = (arguments[0], arguments[1:]) if arguments else ("list", ())
    if verb not in _VERBS:
        raise click.UsageError(f"there is no verb {verb!r}: {', '.join(_VERBS)}")
    if wanted := _VERBS[verb]:
        if not names:
            raise click.UsageError(f"sessions {verb} needs {wanted}")
        if verb == "show" and len(names) > 1:
            raise click.UsageError("sessions show takes one ID")
    elif names:
        raise click.UsageError(f"sessions {verb} takes no name")
    match verb:
        case "programs":
            _print_programs(as_json)
        case "on":
            _turn_on(names, as_json, yes=yes)
        case "off":
            _turn_off(names, as_json)
        case "forget":
            _forget(names, as_json)
        case "forgotten":
            _print_forgotten(as_json)
        case "recall":
            _recall(names, as_json)
        case "show":
            _show(_find(names[0]), stores, words=find, tools=tools, as_json=as_json)
        case _:
            return _list(project, limit, as_json)
    return 0


def _delete_index(as_json: bool) -> int:
    from memtui import paths
    from memtui.search.index.session_index import SessionIndex
    from memtui.sessions import PROGRAMS

    for name in PROGRAMS:
        SessionIndex(paths.cache_folder(), name).discard()
    if as_json:
        print_json({"programs": list(PROGRAMS)})
    else:
        print("The index of sessions is removed.")
    return 0


def _nothing_is_on() -> Refused:
    return Refused(
        "no program's sessions are read",
        do="`memtui sessions programs` lists them, `memtui sessions on PROGRAM` reads one's",
    )


def _found() -> Found:
    """The sessions of the programs that are on; what cannot be read is said on standard error."""
    from memtui.sessions.programs import chosen_sessions

    if not load_settings().session_programs:
        raise _nothing_is_on()
    found = chosen_sessions()
    if found.unreadable:
        note_incomplete()
        print_unread(one_line(str(error)) for error in found.unreadable)
    return found


def _find(text: str) -> Session:
    """The session that a handle, an id or its beginning names. Raises RefError."""
    sessions = {f"{each.program}:{each.id}": each for each in reversed(_found().sessions)}
    found = [name for name, each in sessions.items() if text in (name, each.id)]
    found = found or [name for name, each in sessions.items() if each.id.startswith(text)]
    if not found:
        do = "`memtui sessions` lists them, `memtui sessions forgotten` those left out"
        raise RefError("there is no such session", where=one_line(text), do=do)
    return sessions[sole(text, found, Handles(sessions).beginning)]


def session_handles(sessions: Iterable[Session]) -> dict[tuple[str, str], str]:
    """Program and id of a session -> the shortest text that names it."""
    refs = {(each.program, each.id): f"{each.program}:{each.id}" for each in sessions}
    handles = Handles(set(refs.values()))
    return {key: one_line(handles.beginning(ref)) for key, ref in refs.items()}


def _list(project: str, limit: int, as_json: bool) -> int:
    is_on = bool(load_settings().session_programs)
    every = _found().sessions if is_on or not as_json else []
    sessions = [each for each in every if not project or project in (each.project, each.cwd)]
    shown = sessions[:limit]
    if as_json:
        print_json({"sessions": _session_records(shown)})
        if not is_on:
            raise _nothing_is_on()
        return 0
    handles = session_handles(every)
    cells = handle_cells({each.id: handles[each.program, each.id] for each in shown})
    for each in shown:
        title = one_line(each.title) or ("a subagent" if each.is_sidechain else "")
        name = pad(handles[each.program, each.id], cells)
        _print_row(name, each.last, each.program, each.project, title)
    if not sessions:
        click.echo("no sessions", err=True)
    elif len(shown) < len(sessions):
        rest = f"showing {len(shown)} of {number(len(sessions))}; --limit shows more"
        click.echo(rest, err=True)
    _warn_of_deletions(shown, handles, datetime.now(UTC))
    return 0


def _print_row(name: str, time: datetime | None, what: str, whose: str, text: str) -> None:
    cells = (
        name,
        pad(short_ago(time, datetime.now(UTC)), AGE_CELLS),
        column(what, PROGRAM_CELLS),
        column(whose, PROJECT_CELLS),
        text,
    )
    print(cut("  ".join(cells), columns()).rstrip())


def _warn_of_deletions(
    sessions: Sequence[Session], handles: Mapping[tuple[str, str], str], now: datetime
) -> None:
    """Say on standard error which of these sessions their programs delete soon."""
    from memtui.sessions.retention import SOON, find_deletions

    deletions = find_deletions(sessions, Path.home(), os.environ)
    for name in dict.fromkeys(each.program for each in sessions):
        soon = [
            (deletion, handles[each.program, each.id])
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
        "last": format_time(session.last),
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
        records = [
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
        print_json({"programs": records})
        return
    for name, holdings in kept.items():
        state = "on " if name in on else "off"
        about = describe_holdings(PROGRAMS[name], holdings)
        print(f"{name:<{PROGRAM_CELLS}}  {state}  {about}".rstrip())


def _turn_on(names: Sequence[str], as_json: bool, *, yes: bool) -> None:
    from memtui.sessions import find_program, survey
    from memtui.sessions.programs import describe_holdings, describe_terms, turn_on

    programs = [find_program(name) for name in names]
    for program in programs:
        click.echo(
            describe_holdings(program, survey(program, Path.home(), os.environ)), err=as_json
        )
        for sentence in describe_terms(program):
            click.echo(sentence, err=as_json)
    titles = ", ".join(program.title for program in programs)
    if not yes:
        if not sys.stdin.isatty():
            raise Refused("confirmation required", do="use --yes when not running interactively")
        if not click.confirm(f"Read the sessions of {titles}?", err=True):
            raise Refused("nothing was changed")
    for name in names:
        turn_on(name)
    _print_done("programs", names, f"Sessions of {titles} are read from now on.", as_json)


def _turn_off(names: Sequence[str], as_json: bool) -> None:
    from memtui import paths
    from memtui.search.index.session_index import SessionIndex
    from memtui.sessions import find_program
    from memtui.sessions.programs import turn_off

    on = load_settings().session_programs
    titles = ", ".join(find_program(name).title for name in names)
    for name in names:
        if name not in on:
            raise Refused(f"sessions of {find_program(name).title} are not read")
    for name in names:
        turn_off(name)
        SessionIndex(paths.cache_folder(), name).discard()
    _print_done("programs", names, f"Sessions of {titles} are no longer read.", as_json)


def _print_done(key: str, names: Sequence[str], said: str, as_json: bool) -> None:
    if as_json:
        print_json({key: list(names)})
    else:
        print(one_line(said))


def _forget(texts: Sequence[str], as_json: bool) -> None:
    from memtui import paths
    from memtui.search.session_search import forget_session

    sessions = [_find(text) for text in texts]
    for session in sessions:
        forget_session(paths.cache_folder(), session)
    ids = [session.id for session in sessions]
    said = f"Left out from now on: {', '.join(ids)}. Their transcripts are not changed; "
    back = f"`memtui sessions recall {' '.join(ids)}` lists and searches them again."
    _print_done("sessions", ids, said + back, as_json)


def _print_forgotten(as_json: bool) -> None:
    from memtui.sessions.programs import forgotten

    ids = sorted(forgotten())
    if as_json:
        print_json({"sessions": ids})
        return
    for id in ids:
        print(one_line(id))
    if not ids:
        click.echo("no session is left out", err=True)


def _recall(texts: Sequence[str], as_json: bool) -> None:
    from memtui.sessions.programs import forgotten, recall

    known = {f":{id}": id for id in forgotten()}
    ids = []
    for text in texts:
        found = [ref for ref, id in known.items() if id.startswith(text)]
        if not found:
            do = "`memtui sessions forgotten` lists those that are"
            raise RefError("no such session is left out", where=one_line(text), do=do)
        ids.append(known[sole(text, found, Handles(known).beginning)])
    recall(ids)
    said = f"Listed and searched again: {', '.join(ids)}."
    _print_done("sessions", ids, said, as_json)


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
    is_on = bool(load_settings().session_programs)
    sessions = _found().sessions if is_on or not as_json else []
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
        if not is_on:
            raise _nothing_is_on()
        return 0 if found else 1
    print(visible(memory.headline))
    for each in found:
        _print_origin(each, list_words(memory.full_text))
    for id in gone:
        _print_gone(id)
    _print_uses(used)
    handles = session_handles(sessions)
    _warn_of_deletions([each.session for each in found], handles, datetime.now(UTC))
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
        print(f"\nrecorded  session {one_line(id)}, not found")
        return
    now = datetime.now(UTC)
    deletion, prompts = find_deleted(id, now, Path.home(), os.environ)
    why = deletion.describe(now) if deletion else "not found"
    print(f"\nrecorded  session {one_line(id)}, {why}")
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


class Elsewhere(NamedTuple):
    """What a search found beside the memories that are current."""

    library: Library
    gone: Sequence[Memory]
    """Memories that were replaced, retired or deleted."""
    former: Sequence[FormerText]
    said: Sequence[tuple[Hit, Message | None]]
    """Messages of sessions, None where one changed since it was indexed."""
    sessions: Sequence[Session]
    words: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.gone or self.former or self.said)

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """What is printed as JSON."""
        former = [
            {
                "ref": each.memory.ref,
                "time": format_time(each.version.time),
                "origin": str(each.version.origin),
                "note": each.version.note,
                "title": each.version.memory.title,
                "content": each.version.memory.content,
            }
            for each in self.former
        ]
        return {
            "former": [*map(to_record, self.gone), *former],
            "sessions": [_hit_record(hit, said, self.sessions) for hit, said in self.said],
        }

    def show(self) -> None:
        """Print it, each kind below a heading."""
        if self.gone or self.former:
            print("\nformer versions")
            former = [each.memory for each in self.former]
            handles = self.library.handles([*self.gone, *former])
            print_memories(self.gone, handles)
            for each in self.former:
                change, text = f"{each.version.origin} {each.version.note}", each.version.text
                name = pad(one_line(handles[each.memory.ref]), handle_cells(handles))
                passage = _passage(text, self.words)
                _print_row(name, each.version.time, each.memory.store, change, passage)
        if self.said:
            print("\nsaid in sessions")
            self._show_said()

    def _show_said(self) -> None:
        """Print each message between its neighbours; of two that are the same, or that are beside
        each other, no line twice."""
        handles = session_handles(self.sessions)
        cells = handle_cells(
            {hit.session: handles[hit.program, hit.session] for hit, _ in self.said}
        )
        printed = {_content(hit, message) for hit, message in self.said if message is not None}
        shown: set[object] = set()
        for hit, message in self.said:
            if message is not None and _content(hit, message) in shown:
                continue
            before, behind = _neighbours(hit, message, self.sessions)
            for each in before[-1:]:
                _print_neighbour(hit, each, cells, printed)
            name = pad(handles[hit.program, hit.session], cells)
            _print_hit(name, hit, message, self.words)
            shown.add(message and _content(hit, message))
            for each in behind[:1]:
                _print_neighbour(hit, each, cells, printed)


def _content(hit: Hit, message: Message) -> object:
    """What two copies of a message in sessions of one program have in common."""
    return hit.program, message.role, message.text, message.time


def search_elsewhere(library: Library, query: Query, for_memories: Query, limit: int) -> Elsewhere:
    """Find the memories that are no longer current, the former texts of all memories, the newest
    first, and the messages with all words of a query.

    The best messages come first, or the newest or oldest if the query asks for that order. Their
    index is brought up to date first, in a process that shows its progress.

    Args:
        library: Whose memories are looked at.
        query: What is looked for in sessions.
        for_memories: The same query as memories answer it.
        limit: Most of the former texts, and most messages.
    """
    from memtui.library.former_search import find_former
    from memtui.search.query_terms import analyze_terms

    gone = _no_longer_current(library, for_memories)[:limit]
    former = find_former(library, for_memories)
    if former.left_out:
        print_unread([f"the former versions of {counted(former.left_out, 'more memory')}"])
    said, sessions = _search_sessions(query, limit)
    words = analyze_terms(query.terms).title_words
    found = former.found[: limit - len(gone)]
    return Elsewhere(library, gone, found, said, sessions, words)


def _search_sessions(
    query: Query, limit: int
) -> tuple[list[tuple[Hit, Message | None]], Sequence[Session]]:
    from memtui import paths
    from memtui.search.session_search import search_chosen

    programs = load_settings().session_programs
    if not programs:
        print("memtui: no program's sessions are read; see memtui sessions", file=sys.stderr)
        return [], ()
    sessions = _found().sessions  # says what cannot be read
    with shown_progress() as report:
        found, unreadable = search_chosen(paths.cache_folder(), programs, query, limit, report)
    print_unread(map(one_line, unreadable))
    return found, sessions


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


def _print_neighbour(hit: Hit, message: Message, cells: int, printed: set[object]) -> None:
    """A message beside a hit, below the hit's column of who said it; none that was printed."""
    if _content(hit, message) in printed:
        return
    printed.add(_content(hit, message))
    indent = " " * (cells + AGE_CELLS + PROGRAM_CELLS + PROJECT_CELLS + 8)
    who = "you" if message.is_from_person else "agent"
    print(cut(f"{indent}{pad(who, 5)}  {one_line(message.text, PASSAGE_CHARS)}", columns()))


def _print_hit(name: str, hit: Hit, message: Message | None, words: Sequence[str]) -> None:
    who = "you" if hit.is_user else "agent"
    text, folder = "(the session changed since it was indexed)", ""
    if message is not None:
        text, folder = _passage(message.text, words), message.cwd.rstrip("/").rpartition("/")[2]
    _print_row(name, hit.time, hit.program, folder, f"{pad(who, 5)}  {text}")
