"""Find who changed a text: the calls of sessions that name its file and lie in the time.

A call counts that writes or removes the file by a path which it names itself, or, of a tool of a
memory server, that has the text. Where calls of several sessions do, those count that have the
text; if several sessions are left, nobody is named.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from memtui.progress import IsCancelled, never
from memtui.sessions.message import Call, Message, Session
from memtui.sessions.origin import (
    FILE_TOOLS,
    MEMORY_TOOLS,
    SHELLS,
    SHORTEST_PART,
    Origin,
    find_in_sessions,
    has_text,
    plain_text,
    texts_in,
    tool_name,
)
from memtui.sessions.programs import PROGRAMS
from memtui.text import one_line

SLACK = timedelta(minutes=1)
"""How much later than its effect a call may be dated: some programs note a turn at its end."""
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)
"""A file of a patch, as Codex and OpenClaw write it."""
_REMOVING = ("delete", "remove", "replace", "edit", "update", "forget")
_OLD_KEYS = ("old_text", "oldtext", "old_string")
"""Keys of arguments that hold a part of what is replaced."""
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_WRITING_EACH = frozenset({"rm", "unlink", "mv", "trash", "trash-put", "shred", "truncate", "tee"})
"""Commands that change every file that they name."""
_WRITING_LAST = frozenset({"cp", "install"})
_SUBSHELLS = frozenset({"sh", "bash", "zsh", "dash"})


class SeenChange(Struct, frozen=True):
    """A text that was changed or removed between two times."""

    file: str
    before: str
    """Empty: it is new."""
    after: str
    """Empty: it is gone."""
    since: datetime | None
    """When it was still as before; None: not known."""
    until: datetime
    """When it was seen to be as after."""


def find_authors(
    changes: Sequence[SeenChange], sessions: Iterable[Session], cancelled: IsCancelled = never
) -> list[Origin | None]:
    """For each change the session whose call made it; None where no call is known to.

    A session that cannot be read is passed over. Raises Cancelled.
    """
    found: list[list[tuple[Origin, bool]]] = [[] for _ in changes]
    """Of each change the calls, and whether they have its text."""
    texts = [(plain_text(each.before), plain_text(each.after)) for each in changes]
    names: dict[str, list[int]] = {}
    for number, each in enumerate(changes):
        for path in {each.file, os.path.realpath(each.file)}:
            names.setdefault(path, []).append(number)
    bases = {os.path.basename(path) for path in names}
    endings = {os.path.splitext(base)[1] for base in bases}

    def names_one(given: str) -> bool:
        return any(each in given for each in endings) and any(each in given for each in bases)

    def changed_by(message: Message, call: Call) -> Iterator[tuple[int, bool]]:
        paths = changed_paths(call, message.cwd, names_one)
        paths = {path for path in paths if os.path.basename(path) in bases}
        named = {n for p in paths for n in (*names.get(p, ()), *names.get(os.path.realpath(p), ()))}
        is_of_server = _is_of_memory_server(tool_name(call))
        if not named and not is_of_server:
            return
        given = _Given.of(call)
        if is_of_server:
            named |= {n for n, each in enumerate(changes) if given.is_of(each.file, *texts[n])}
        for n in sorted(named):
            if message.time is not None and _is_within(changes[n], message.time):
                yield n, given.has(*texts[n])

    within = _in_time(changes, sessions)
    for (number, has_own), origin in find_in_sessions(within, changed_by, cancelled):
        found[number].append((origin, has_own))
    return [_choose(each) for each in found]


def describe_author(origin: Origin) -> str:
    """The program and the session, in words."""
    session = origin.session
    return f"{PROGRAMS[session.program].title}, session {one_line(session.id)}"


def _choose(found: Sequence[tuple[Origin, bool]]) -> Origin | None:
    """The last call, if all that count are of one session."""
    counted = [each for each, has_own in found if has_own] or [each for each, _ in found]
    are_of_one = len({(each.session.program, each.session.id) for each in counted}) == 1
    return counted[-1] if are_of_one else None


def _is_within(change: SeenChange, time: datetime) -> bool:
    return (change.since is None or change.since < time) and time <= change.until + SLACK


def _in_time(changes: Sequence[SeenChange], sessions: Iterable[Session]) -> list[Session]:
    """The sessions in which something was said in the time of a change."""
    starts = [each.since for each in changes]
    since = None if None in starts else min(filter(None, starts), default=None)
    until = max((each.until + SLACK for each in changes), default=None)
    if until is None:
        return []
    return [
        each
        for each in sessions
        if (each.started is None or each.started <= until)
        and (since is None or each.last is None or since <= each.last)
    ]


# ---- texts ---------------------------------------------------------------------------------------


class _Given(Struct, frozen=True):
    """The texts that a call was given."""

    plain: tuple[str, ...]
    replaced: tuple[str, ...]
    """Parts of what it replaces or removes."""
    removes: bool

    @classmethod
    def of(cls, call: Call) -> _Given:
        plain = tuple(map(plain_text, texts_in(call.arguments)))
        return cls(plain, tuple(map(plain_text, _replaced(call.arguments))), _removes(call))

    def has(self, before: str, after: str) -> bool:
        """Whether the new text is among them, or, where there is none, the former one."""
        if after:
            return any(has_text(each, after) for each in self.plain)
        old = any(each and each in before for each in self.replaced)
        return self.removes and (old or any(has_text(each, before) for each in self.plain))

    def is_of(self, file: str, before: str, after: str) -> bool:
        """The same of a tool of a memory server, which names a file by its stem if at all."""
        names_target = {"memory", "user"} & {*self.plain}
        is_meant = not names_target or PurePath(file).stem.lower() in names_target
        return is_meant and self.has(before, after)


def _replaced(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, str) and str(key).lower() in _OLD_KEYS:
                yield each
            else:
                yield from _replaced(each)
    elif isinstance(value, list):
        for each in value:
            yield from _replaced(each)


def _is_of_memory_server(tool: str) -> bool:
    """Whether a tool changes memories that it names by their text; one of files names the file."""
    return tool in MEMORY_TOOLS or (
        tool not in FILE_TOOLS and any(word in tool for word in _REMOVING)
    )


def _removes(call: Call) -> bool:
    """Whether a call may take a text away, by the words of its tool and of its arguments."""
    short = [each for each in texts_in(call.arguments) if len(each) < SHORTEST_PART]
    return any(word in each.lower() for each in (call.name, *short) for word in _REMOVING)


# ---- paths ---------------------------------------------------------------------------------------


def changed_paths(call: Call, folder: str = "", is_meant: Callable[[str], bool] = bool) -> set[str]:
    """The files that a call writes or removes, by the paths that it names.

    Args:
        call: The call.
        folder: The working folder, for relative paths.
        is_meant: Whether a command or a patch may name a file that matters: reading it takes
            longer.
    """
    name = tool_name(call)
    if name not in FILE_TOOLS:
        return set()
    given = [each for each in texts_in(call.arguments) if is_meant(each)]
    own = next((v for k, v in call.arguments.items() if k in ("workdir", "cwd")), "")
    folder = _within(folder, own) if isinstance(own, str) else folder
    found = {_within(folder, path) for each in given for path in _PATCHED.findall(each)}
    if name in SHELLS:
        return found.union(*(_changed_by_command(each, folder) for each in given))
    return found | {_within(folder, path) for path in _paths_in(call.arguments)}


def _paths_in(value: Any) -> Iterator[str]:
    """The values of keys that name a path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(each, str):
                yield from _paths_in(each)
            elif "path" in str(key).lower() or "file" in str(key).lower():
                yield each
    elif isinstance(value, list):
        for each in value:
            yield from _paths_in(each)


def _within(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _changed_by_command(command: str, folder: str) -> set[str]:
    """The files that a command of a shell writes or removes; none of one that is not understood."""
    lexer = shlex.shlex(_HEREDOC.sub(r"\3", command), posix=True, punctuation_chars=";&|<>()\n")
    lexer.whitespace, lexer.commenters = " \t\r", ""
    found: set[str] = set()
    words: list[str] = []
    try:
        for word in (*lexer, ";"):
            if not word or word.strip(";&|()\n"):
                words.append(word)
                continue
            if words[:1] == ["cd"] and len(words) == 2:
                folder = _within(folder, words[1])
            else:
                found |= {_within(folder, each) for each in _changed_by_words(words, folder)}
            words = []
    except ValueError:  # a quotation without an end
        return set()
    return found


def _changed_by_words(words: Sequence[str], folder: str) -> Iterator[str]:
    """The same of one command without `;`, `&&` or `|`."""
    plain = list[str]()
    is_target = False
    for word in words:
        if is_target:
            yield word
        elif not set(word) <= set("<>&"):
            plain.append(word)
        is_target = set(word) <= set("<>&") and ">" in word and not word.endswith("&")
    while plain and (plain[0] == "sudo" or re.fullmatch(r"\w+=.*", plain[0])):
        del plain[0]
    verb, *given = plain or [""]
    verb = os.path.basename(verb)
    if verb == "git" and given[:1] and given[0] in ("rm", "mv", "checkout", "restore"):
        verb, given = "mv", given[1:]
    files = [each for each in given if not each.startswith("-")]
    if verb in _WRITING_EACH:
        yield from files
    elif verb in _WRITING_LAST:
        yield from files[-1:]
    elif verb in ("sed", "perl") and any(re.match(r"-\w*i|--in-place", each) for each in given):
        yield from files
    elif verb in _SUBSHELLS:
        for each in files:
            yield from _changed_by_command(each, folder)
