"""What the transcripts of every program offer, and what their readers share.

A file of JSON lines, which its program may be writing to, is read in pieces, so that one of
gigabytes costs little memory. A line past `LONGEST_LINE` is passed over. A last line without a line
break may be torn and is left for the next reading.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files.reading import error_text, open_regular, walk
from memtui.sessions.injected import without_injected
from memtui.sessions.message import LONGEST_TEXT, Call, Kind, Message, Place, Reading, Role, Session

LONGEST_LINE = 16 << 20
"""Bytes. A longer line holds images or copies of a history, no words of a person."""
_PIECE = 1 << 20
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON string; the group is half of a character, as where a program cut a text."""


class Line(NamedTuple):
    """One line of a transcript."""

    value: dict[str, Any]
    offset: int
    length: int


def read_lines(path: Path, reading: Reading, start: int = 0) -> Iterator[Line]:
    """Yield the complete lines that are JSON objects, from the offset `start` on.

    What is passed over is counted in `reading`, whose `end` follows. Raises UnreadableFile.
    """
    descriptor, _ = open_regular(path)
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        reading.end = start
        for line in _split(descriptor):
            offset, reading.end = reading.end, reading.end + line.size + 1
            if line.data is None:
                reading.too_long += 1
            elif line.data and not line.data.isspace():
                value = decode_object(line.data)
                if value is None:
                    reading.damaged += 1
                else:
                    yield Line(value, offset, line.size)
    except OSError as error:
        raise UnreadableFile(error_text(error), where=str(path)) from None
    finally:
        os.close(descriptor)


class _Piece(NamedTuple):
    data: bytes | None
    """None: longer than `LONGEST_LINE`."""
    size: int


def _split(descriptor: int) -> Iterator[_Piece]:
    """The lines of an open file that end with a line break."""
    kept: list[bytes] = []
    size = 0
    while data := os.read(descriptor, _PIECE):
        *ended, rest = data.split(b"\n")
        for part in ended:
            size += len(part)
            is_whole = size <= LONGEST_LINE
            yield _Piece(b"".join((*kept, part)) if is_whole else None, size)
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= LONGEST_LINE else []


def read_line(path: Path, offset: int, length: int) -> bytes:
    """The bytes of one line, as `Line` gave its place. Raises UnreadableFile."""
    descriptor, _ = open_regular(path)
    try:
        return os.pread(descriptor, min(length, LONGEST_LINE), offset)
    except OSError as error:
        raise UnreadableFile(error_text(error), where=str(path)) from None
    finally:
        os.close(descriptor)


def decode_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None if it is none. Broken UTF-8 becomes U+FFFD."""
    value = decode_value(line)
    return value if isinstance(value, dict) else None


def decode_value(data: bytes) -> Any:
    """The JSON value; None if it is none. Broken UTF-8 and half characters become U+FFFD."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "replace")
        try:
            return msgspec.json.decode(_ESCAPE.sub(_whole_escape, text))
        except (msgspec.DecodeError, RecursionError):
            return None


def _whole_escape(found: re.Match[str]) -> str:
    return "\ufffd" if found[1] else found[0]


# ---- lines of JSON -------------------------------------------------------------------------------


_COMPRESSED = ".jsonl.zst"
"""End of the names of transcripts that Codex and OpenClaw have compressed."""
HEAD_LINES = 200
"""Lines of a transcript that are read to say what session it is."""
TITLE_CHARS = 120
TAIL_BYTES = 1 << 16
"""Bytes at the end of a transcript that are read to say when something was last said."""


class Transcripts(ABC):
    """The sessions of one program. Nothing of them is ever written, locked or created."""

    name: str
    """As in the settings and on the command line."""
    title: str
    retention: str = ""
    """When the program deletes its sessions, with the name of the setting; empty: never."""
    retention_days: int | None = None
    """Days after which it does so by default."""
    retention_setting: str = ""
    """The dotted name of the setting in `settings_file`: a number of days, or `30d`."""
    retention_off: tuple[str, object] = ("", None)
    """The setting, and its value, with which it deletes none."""
    settings_file: str = "settings.json"
    """The file of its settings, beside its first root."""

    @abstractmethod
    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The folders and databases where the program keeps its sessions; they may not exist."""

    @abstractmethod
    def files(self, root: Path) -> Iterator[Path]:
        """The transcripts of a root, or the database itself."""

    def left_unread(self, root: Path) -> Iterator[UnreadableFile]:
        """What lies in a root and is not read, told in a line each: compressed transcripts, since
        Python reads zstd from 3.14 on."""
        names = [entry.path for entry in walk(root, (_COMPRESSED,))]
        count = sum(not os.path.exists(name.removesuffix(".zst")) for name in names)
        yield from say_unread(root, count, "compressed with zstd")

    @abstractmethod
    def sessions(self, file: Path) -> Iterator[Session]:
        """The sessions in a file. Raises UnreadableFile."""

    @abstractmethod
    def messages(self, session: Session, reading: Reading, start: int = 0) -> Iterator[Message]:
        """The messages of a session in the order of the file.

        Context that the program injects is left out. `start` is the `end` of an earlier reading of
        a file that has only grown since, or of a database the id of a row: those behind it are
        wanted. Raises UnreadableFile.
        """


def say_unread(root: Path, count: int, what: str) -> Iterator[UnreadableFile]:
    """That so many sessions are not read, if there are any."""
    if count:
        told = "1 session is" if count == 1 else f"{count} sessions are"
        yield UnreadableFile(f"{told} {what}, and not read", where=str(root))


class Part(Struct, frozen=True):
    """One message of a line, before it has a place."""

    role: Role
    kind: Kind
    text: str
    call: Call | None = None


def make_texts(role: object, text: str) -> Iterator[Part]:
    """What a person (`user`) or an agent (`assistant`) said, if it is more than blanks and context
    that the program injects."""
    if role == "user" and (text := without_injected(text)):
        yield Part(Role.USER, Kind.TEXT, text)
    elif role == "assistant" and (text := text.strip()):
        yield Part(Role.ASSISTANT, Kind.TEXT, text)


def make_call(name: object, arguments: object, id: object) -> Part:
    """A call of a tool; what is shown and searched of it are the texts among its arguments, in
    their order. The words of a command count as one text."""
    given = object_of(arguments)
    texts = (" ".join(each) if _is_command(each) else each for each in given.values())
    text = "\n".join(text for text in texts if isinstance(text, str))
    return Part(Role.ASSISTANT, Kind.CALL, text, Call(text_of(name), given, text_of(id)))


def make_result(text: str, id: object, *, is_error: bool = False) -> Part:
    """The result of the call with this id; one that the program reports as failed says so."""
    if is_error and not text.startswith("<tool_use_error>"):
        text = f"error: {text}"
    return Part(Role.TOOL, Kind.RESULT, text, Call("", {}, text_of(id)))


class JsonLineTranscripts(Transcripts):
    """A program that appends a line to a file for each message; a file is one session."""

    line_reader: type[LineReader]

    def files(self, root: Path) -> Iterator[Path]:
        """All files of lines."""
        return (Path(entry.path) for entry in walk(root, (".jsonl",)))

    def reader(self, session: Session) -> LineReader:
        """What reads the lines of a session from its beginning."""
        return self.line_reader(session)

    def sessions(self, file: Path) -> Iterator[Session]:
        """The session of the file, from its first lines."""
        changed, size = _status(file)
        session = Session(self.name, file.stem, file, changed=changed, size=size)
        described = self.describe(session, read_lines(file, Reading()))
        yield replace(described, said=self._last_time(described))

    def _last_time(self, session: Session) -> datetime | None:
        """The time of the last message among the last lines; None if none of them has one."""
        start = max(0, session.size - TAIL_BYTES)
        reader, times = self.reader(session), list[datetime | None]()
        for line in read_lines(session.path, Reading(), start):
            times += [message.time for message in reader.read(line, Reading())]
        times += [message.time for message in reader.rest()]
        return max(filter(None, times), default=None)

    def describe(self, session: Session, lines: Iterable[Line]) -> Session:
        """The session with what its first lines say of it."""
        reader, reading = self.reader(session), Reading()
        title = ""
        for number, line in enumerate(lines, 1):
            title = title or title_of(reader.read(line, reading))
            if number >= HEAD_LINES or (title and reader.session.cwd):
                break
        return replace(reader.session, title=reader.session.title or title)

    def lines(self, session: Session, reading: Reading, start: int) -> Iterator[Line]:
        """The lines of a session from the offset `start` on. Raises UnreadableFile."""
        return read_lines(session.path, reading, start)

    def messages(self, session: Session, reading: Reading, start: int = 0) -> Iterator[Message]:
        """See `Transcripts.messages`."""
        reader = self.reader(session)
        for line in self.lines(session, reading, start):
            yield from reader.read(line, reading)
        yield from reader.rest()


class WholeTranscripts(Transcripts):
    """A program whose sessions are files that can only be read as a whole."""

    @abstractmethod
    def read(self, session: Session, reading: Reading) -> tuple[Session, list[Message]]:
        """The session as its file tells it, and all its messages. Raises UnreadableFile."""

    def sessions(self, file: Path) -> Iterator[Session]:
        """The session of the file."""
        changed, size = _status(file)
        head, messages = self.read(
            Session(self.name, file.stem, file, changed=changed, size=size), Reading()
        )
        if messages:
            said = max(filter(None, (each.time for each in messages)), default=None)
            yield replace(head, title=head.title or title_of(messages), said=said)

    def messages(self, session: Session, reading: Reading, start: int = 0) -> Iterator[Message]:  # noqa: ARG002
        """See `Transcripts.messages`; it is always read from its beginning."""
        messages = self.read(session, reading)[1]
        reading.end = 0
        return iter(messages)


def title_of(messages: Iterable[Message]) -> str:
    """The first words of a person."""
    first = next((each.text for each in messages if each.is_from_person), "")
    return " ".join(first.split())[:TITLE_CHARS]


class LineReader(ABC):
    """Makes messages of the lines of one session, one after the other."""

    def __init__(self, session: Session) -> None:
        self.session = session
        """What is known of the session from the lines that were read."""
        self.held: Message | None = None
        """A message that later lines may change."""

    @abstractmethod
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        """The messages of a line. A type that is not known is counted in `reading`."""

    def rest(self) -> Iterator[Message]:
        """What was held back, such as at the end of the file."""
        held, self.held = self.held, None
        if held is not None:
            yield held

    def note(self, **fields: Any) -> None:
        """Note what a line says of the session, unless an earlier one has said it."""
        new = {name: value for name, value in fields.items() if value}
        known = {name for name in new if getattr(self.session, name)}
        if fresh := {name: value for name, value in new.items() if name not in known}:
            self.session = replace(self.session, **fresh)

    def make(
        self,
        part: Part,
        line: Line,
        *,
        id: str = "",
        parent: str = "",
        time: datetime | None = None,
        cwd: str = "",
    ) -> Message:
        """The message of a part of a line."""
        place = Place(str(self.session.path), line.offset, line.length)
        return make_message(self.session, part, place, id=id, parent=parent, time=time, cwd=cwd)

    def make_all(
        self, parts: Iterable[Part], line: Line, id: str, **more: Any
    ) -> Iterator[Message]:
        """The messages of a line with this id, numbered from the second on."""
        for number, part in enumerate(parts):
            yield self.make(part, line, id=f"{id}#{number}" if number else id, **more)


def make_message(
    session: Session,
    part: Part,
    place: Place,
    *,
    id: str = "",
    parent: str = "",
    time: datetime | None = None,
    cwd: str = "",
) -> Message:
    """The message of a part that lies at this place; a long text is cut."""
    return Message(
        session=session.id,
        role=part.role,
        kind=part.kind,
        text=part.text[:LONGEST_TEXT],
        place=place,
        id=id,
        parent=parent,
        time=time,
        cwd=cwd or session.cwd,
        is_sidechain=session.is_sidechain,
        call=part.call,
        is_cut=len(part.text) > LONGEST_TEXT,
    )


def _status(file: Path) -> tuple[datetime, int]:
    """When a file was last written to, and its size. Raises UnreadableFile."""
    try:
        status = file.stat()
    except OSError as error:
        raise UnreadableFile(error_text(error), where=str(file)) from None
    return datetime.fromtimestamp(status.st_mtime, UTC), status.st_size


def text_of(value: object) -> str:
    """A field's text; empty if it is no text."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Mapping[str, Any]:
    """A field's object; empty if it is none."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """A field's list; empty if it is none."""
    return value if isinstance(value, list) else []


def joined_texts(blocks: object, *types: str) -> str:
    """The texts of the blocks of these types (of any, if none is given); a string is its text."""
    if isinstance(blocks, str):
        return blocks
    texts = (
        text_of(block.get("text"))
        for block in list_of(blocks)
        if isinstance(block, dict) and (not types or block.get("type") in types)
    )
    return "\n".join(filter(None, texts))


def _is_command(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
