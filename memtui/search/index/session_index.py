"""The Whoosh index over the sessions of one program: where which words were said.

It is in a private folder of the cache. A document is a person's or an agent's text; it has no words
of its own but what finds them again (file, offset and length of the line, a digest of the text), so
the text is read from its file when it is shown. Secrets are masked before words are made.

What was read of each file is noted in `files-N.json`, N being the generation that the next commit
makes. So the notes and the commit become valid together: after a kill between them the notes of the
former generation count, as does the index of the former generation. A file that has only grown is
read from where it ended; any other change reads it anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.reading import open_regular
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.query import Query, TermKind
from memtui.search import analysis, cache_files, expansion
from memtui.search.index.session_segments import (
    FILE,
    NO_TIME,
    PLACE,
    SESSION,
    TEXT,
    Stored,
    is_merge_due,
    keep_all,
    make_schema,
    merge_alike,
    merge_deleted,
    open_writer,
    pack,
    unpack,
    unpack_id,
    whoosh_query,
)
from memtui.search.index.whoosh_patches import Weighting, index
from memtui.search.query_terms import QueryTerm
from memtui.sessions import PROGRAMS, Kind, Message, Reading, Role, Session
from memtui.text import mask_secrets, masked_always

log = logging.getLogger(__name__)

FORMAT_VERSION = 2
"""Incremented when documents are written differently; the folder's name ends with it."""
FIRST_COMMIT, LAST_COMMIT = 1 << 20, 16 << 20
"""Characters of text before the first commit of an update, and between later ones, which grow: the
newest sessions are found after a second, and memory is bounded, however large a file is."""
LITTLE = 4 << 20
"""Bytes that are read without yielding to other programs: a person waits for the newest message."""
LONGEST_WAIT = 10.0
"""Seconds that forgetting waits for another process that writes the index."""
ALIVE_EVERY = 1_000
"""Messages between two reports of progress within a file: a worker that is silent is ended."""
TRIES = 3
"""Times that an index is opened for a search, since another process may be writing it."""
_EDGE_BYTES = 4096
"""Bytes at the beginning and before the end of what was read that tell growth from a rewrite."""


class Hit(Struct, frozen=True):
    """A message that holds the words that were looked for."""

    program: str
    session: str
    is_user: bool
    offset: int
    length: int
    number: int
    """Of several messages of one line, which."""
    digest: int
    """Of the text, when it was indexed."""
    time: datetime | None
    score: float


class Indexed(Struct, frozen=True):
    """What an update did."""

    files: int
    """Files that were read."""
    messages: int
    """Messages that were added."""
    unreadable: tuple[str, ...] = ()


class _File(NamedTuple):
    """What was read of a file."""

    device: int
    inode: int
    size: int
    changed: int
    end: int
    edges: str
    stamps: Mapping[str, str] = {}
    """Id of a session in a database -> its stamp."""


class SessionIndex:
    """The index of one program's sessions in a private folder."""

    def __init__(self, cache: Path, program: str) -> None:
        self.program = program
        self.home = cache / f"sessions-{FORMAT_VERSION}" / program
        self._folder = self.home / "whoosh"

    # ---- writing ---------------------------------------------------------------------------------

    def update(
        self,
        sessions: Sequence[Session],
        report: Report = silent,
        cancelled: IsCancelled = never,
        *,
        unreadable: Collection[str] = (),
        only: Collection[str] | None = None,
        before_long: Callable[[], object] = lambda: None,
    ) -> Indexed | None:
        """Bring the index to exactly these sessions; None if another process is writing.

        What was committed before a Cancelled or OSError stays.

        Args:
            sessions: All of the program, or those in the files that `only` names.
            report: Called with the files done.
            cancelled: Asked between files.
            unreadable: Files that cannot be read for now, such as a database that its program has
                locked; what is indexed of them stays.
            only: Files that may have changed; None: any.
            before_long: Called before more than `LITTLE` is read.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.home.parent, self.home, self._folder):
            folder.chmod(0o700)
        with cache_files.try_lock(self.home / "lock") as alone:
            if not alone:
                return None
            update = partial(
                self._update, sessions, report, cancelled, unreadable, only, before_long
            )
            with masked_always():
                try:
                    return update()
                except (Cancelled, OSError):
                    raise
                except Exception as error:  # Whoosh raises anything when its files are damaged
                    log.info("a new index of sessions in %s: %r", self.home, error)
                    self._discard_files()
                    return update()

    def _update(
        self,
        sessions: Sequence[Session],
        report: Report,
        cancelled: IsCancelled,
        unreadable: Collection[str],
        only: Collection[str] | None,
        before_long: Callable[[], object],
    ) -> Indexed:
        """See `update`."""
        batch = _Batch(*self._open_or_make(), self.home)
        known = dict(batch.known)
        left = set(unreadable) if only is None else {*unreadable, *known} - {*only}
        by_file: dict[str, list[Session]] = {}
        for session in sessions:
            by_file.setdefault(str(session.path), []).append(session)
        batch.remove(set(known) - set(by_file) - set(left))
        if not left:
            batch.keep_only({session.id for session in sessions})
        failed: list[str] = []
        read = 0
        due = [
            (name, state)
            for name in by_file
            if (state := _state(name)) and _is_due(name, state, known)
        ]
        if sum(state.size - (known[n].end if n in known else 0) for n, state in due) > LITTLE:
            before_long()
        seen = batch.known_ids() if due else set()
        for at, (name, state) in enumerate(due):
            if cancelled():
                batch.cancel()
                raise Cancelled
            alive = partial(report, Progress("indexing sessions", at, len(due)))
            alive()
            try:
                self._read_file(name, state, by_file[name], batch, seen, alive)
                read += 1
            except UnreadableFile as error:
                failed.append(str(error))
                batch.note(name, state._replace(changed=0))  # it is read anew
        batch.commit_if_changed()
        batch.merge()
        return Indexed(read, batch.added, tuple(failed))

    def _read_file(
        self,
        name: str,
        state: _File,
        sessions: list[Session],
        batch: _Batch,
        seen: set[int],
        alive: Callable[[], None],
    ) -> None:
        """Add the messages of a file; `alive` is called now and then, since a file may be large.

        Where more than lines at its end has changed, the documents of what it still holds stay and
        the others go. A session of a database is not read again while its stamp is the same.
        """
        before = batch.known.get(name)
        start = before.end if before and _has_grown(name, before, state) else 0
        stamps = {each.id: each.stamp for each in sessions if each.stamp}
        same = dict(before.stamps.items() & stamps.items()) if before else {}
        changed = {each.id for each in sessions} - same.keys()
        if before and same:
            gone = batch.documents_of(name, before.stamps.keys() - same.keys() | changed)
        else:
            gone = batch.documents_of(name) if before and not start else set()
        seen.difference_update(map(unpack_id, gone))
        end, edges = start, _edges(name, state.size)
        for session in sessions:
            if session.id not in changed:
                continue
            reading = Reading()
            for count, (number, message) in enumerate(_numbered(session, reading, start), 1):
                if count % ALIVE_EVERY == 0:
                    alive()
                if message.kind is not Kind.TEXT:
                    continue
                place, time = message.place, message.time
                document = pack(
                    Stored(
                        message.role is Role.USER,
                        place.offset,
                        place.length,
                        number,
                        digest_text(message.text),
                        int(time.timestamp()) if time else NO_TIME,
                        digest_text(message.id) if message.id else 0,
                    )
                )
                if _is_new(message, seen) and document not in gone:
                    batch.add(message, document)
                    if batch.is_large:  # if this is the last commit, the file is read anew
                        batch.note(name, state._replace(changed=0))
                        batch.commit()
                gone.discard(document)
            end = max(end, reading.end)
        batch.remove_documents(name, gone)
        if not end or edges == _edges(name, state.size):
            batch.note(name, state._replace(end=end, edges=_edges(name, end), stamps=stamps))
        else:  # it was rewritten meanwhile, and is read anew
            batch.note(name, state._replace(changed=0))

    def _open_or_make(self) -> tuple[Any, dict[str, _File]]:
        """The index and what it covers; an empty one where there is none that can be trusted."""
        try:
            if reason := cache_files.untrusted_reason(self._folder):
                raise ValueError(reason)
            opened = index.open_dir(str(self._folder), schema=make_schema())
            return opened, self._known(opened)
        except Exception as error:  # as above
            log.info("a new index of sessions in %s: %r", self.home, error)
            self._discard_files()
            self._folder.mkdir(mode=0o700)
            return index.create_in(str(self._folder), make_schema()), {}

    def _known(self, opened: Any) -> dict[str, _File]:
        noted = json.loads(_notes(self.home, opened.latest_generation()).read_bytes())
        return {name: _File(*values) for name, values in noted.items()}

    def discard(self) -> None:
        """Remove the index, if there is one; an update builds it again. Raises OSError."""
        if self.home.exists():
            with cache_files.try_lock(self.home / "lock"):
                self._discard_files()

    def _discard_files(self) -> None:
        cache_files.remove_tree(self._folder)
        for notes in self.home.glob("files-*.json"):
            notes.unlink(missing_ok=True)

    def forget(self, session: str) -> None:
        """Take the postings of a session out for good, if there is an index. Raises OSError.

        If another process writes the index for long, or if this fails, the next update does it.
        """
        if not self._folder.exists():
            return
        end = monotonic() + LONGEST_WAIT
        while True:
            with cache_files.try_lock(self.home / "lock") as alone:
                if alone:
                    batch = _Batch(*self._open_or_make(), self.home)
                    batch.forget(session)
                    return
            if monotonic() > end:
                return
            sleep(0.1)

    # ---- searching -------------------------------------------------------------------------------

    def search(
        self,
        terms: Sequence[QueryTerm],
        limit: int | None,
        within: Query,
        passes: Callable[[Hit], bool] | None = None,
    ) -> list[Hit]:
        """The messages that hold all terms, the best first, at most `limit`; none without an index
        to trust.

        Of the query `within` its times count; `passes` says of each hit whether it is wanted.
        """
        for _ in range(TRIES):
            try:
                return self._search(terms, limit, within, passes)
            except Exception as error:  # as above, or segments were merged and removed meanwhile
                log.info("the index of sessions in %s: %r", self.home, error)
        return []

    def _search(
        self,
        terms: Sequence[QueryTerm],
        limit: int | None,
        within: Query,
        passes: Callable[[Hit], bool] | None,
    ) -> list[Hit]:
        if not self._folder.exists() or cache_files.untrusted_reason(self._folder):
            return []
        opened = index.open_dir(str(self._folder), schema=make_schema())
        if opened.is_empty():
            return []
        with opened.searcher(weighting=Weighting()) as searcher:
            reader = searcher.reader()
            asked = whoosh_query.And(
                [_query(term, lambda word: (TEXT, word) in reader) for term in terms]
            )
            is_timed = within.since is not None or within.until is not None
            takes_all = is_timed or passes is not None
            found = searcher.search(asked, limit=None if takes_all else limit)
            places, names = reader.column_reader(PLACE), reader.column_reader(SESSION)
            hits = (
                self._hit(names[each.docnum], unpack(places[each.docnum]), each.score)
                for each in found
            )
            wanted = (
                hit
                for hit in hits
                if within.is_within(hit.time) and (passes is None or passes(hit))
            )
            return list(islice(wanted, limit))

    def _hit(self, session: str, stored: Stored, score: float) -> Hit:
        is_user, offset, length, number, digest, time, _ = stored
        when = None if time == NO_TIME else datetime.fromtimestamp(time, UTC)
        return Hit(self.program, session, is_user, offset, length, number, digest, when, score)


class _Batch:
    """Documents on their way into the index, committed by size."""

    def __init__(self, opened: Any, known: dict[str, _File], home: Path) -> None:
        """`opened`: the index; `known`: what was read of each file."""
        self.known = dict(known)
        self.added = 0
        self._opened = opened
        self._home = home
        self._writer: Any = None
        self._chars = 0
        self._commit_chars = FIRST_COMMIT
        self._is_changed = self._has_committed = False

    def _open(self) -> Any:
        if self._writer is None:
            self._writer = open_writer(self._opened)
        return self._writer

    def remove(self, names: Collection[str]) -> None:
        """Take out what is of these files."""
        for name in names:
            self.remove_documents(name, self.documents_of(name))
            self._is_changed |= self.known.pop(name, None) is not None

    def documents_of(self, name: str, sessions: Collection[str] | None = None) -> set[bytes]:
        """What is stored of the messages of a file, or of some sessions in it."""
        return {stored for _, stored in self._find(name, sessions)}

    def remove_documents(self, name: str, gone: Collection[bytes]) -> None:
        """Take these of the documents of a file out."""
        if gone:
            self._is_changed = True
            writer = self._open()
            for number, stored in self._find(name):
                if stored in gone:
                    writer.delete_document(number)

    def _find(self, name: str, sessions: Collection[str] | None = None) -> list[tuple[int, bytes]]:
        """Number and column of each document of a file, or of some sessions in it."""
        asked = whoosh_query.Term(FILE, name)
        if sessions is not None:
            either = [whoosh_query.Term(SESSION, session) for session in sessions]
            asked = whoosh_query.And([asked, whoosh_query.Or(either)])
        if self._opened.is_empty():
            return []
        with self._opened.searcher() as searcher:
            places = searcher.reader().column_reader(PLACE)
            return [(number, places[number]) for number in searcher.docs_for_query(asked)]

    def keep_only(self, sessions: Collection[str]) -> None:
        """Forget all sessions that are not among these: one that is left out of a database."""
        with self._opened.searcher() as searcher:
            reader = searcher.reader()
            names = reader.lexicon(SESSION) if reader.doc_count() else ()
            known = {name.decode("utf-8", "surrogatepass") for name in names}
        for session in known.difference(sessions):
            self.forget(session)

    def forget(self, session: str) -> None:
        """Take the postings of a session out for good, and write all that is open."""
        with self._opened.searcher() as searcher:
            numbers = list(searcher.docs_for_query(whoosh_query.Term(SESSION, session)))
        if numbers:
            writer = self._open()
            for number in numbers:
                writer.delete_document(number)
            self._commit(merge_deleted)

    def known_ids(self) -> set[int]:
        """Digests of the ids of all messages in the index: a copy of one is not added."""
        ids: set[int] = set()
        if not self._opened.is_empty():
            with self._opened.searcher() as searcher:
                for segment, _ in searcher.reader().leaf_readers():
                    places = segment.column_reader(PLACE)
                    ids.update(unpack_id(places[number]) for number in segment.all_doc_ids())
        return ids

    def note(self, name: str, state: _File) -> None:
        """Note what was read of a file."""
        self.known[name] = state
        self._is_changed = True

    def add(self, message: Message, document: bytes) -> None:
        """Add one message; `document`: what is stored of it."""
        text = mask_secrets(message.text)
        self._open().add_document(
            **{FILE: message.place.path, SESSION: message.session, PLACE: document, TEXT: text}
        )
        self.added += 1
        self._chars += len(text)

    @property
    def is_large(self) -> bool:
        """Whether it is time for a commit."""
        return self._chars >= self._commit_chars

    def commit_if_changed(self) -> None:
        """Commit at the end, if anything was read or taken out."""
        if self._is_changed:
            self.commit()

    def commit(self) -> None:
        """Write what was added and noted, so that it is found at once."""
        if self.is_large:
            self._commit_chars = min(self._commit_chars * 4, LAST_COMMIT)
        self._commit(keep_all)

    def merge(self) -> None:
        """Merge segments, if there are too many by now."""
        if not self._has_committed:
            return
        if is_merge_due(self._open().segments):
            self._commit(merge_alike)
        else:
            self.cancel()

    def _commit(self, merge: Callable[[Any, list[Any]], list[Any]]) -> None:
        writer = self._open()
        generation = self._opened.latest_generation() + 1
        cache_files.write_text(_notes(self._home, generation), json.dumps(self.known))
        writer.commit(mergetype=merge)
        self._opened = self._opened.refresh()
        self._writer, self._chars, self._is_changed = None, 0, False
        self._has_committed = True
        for notes in self._home.glob("files-*.json"):
            if notes != _notes(self._home, generation):
                notes.unlink(missing_ok=True)

    def cancel(self) -> None:
        """Drop what was not committed."""
        if self._writer is not None:
            self._writer.cancel()
            self._writer = None


def _notes(home: Path, generation: int) -> Path:
    return home / f"files-{generation}.json"


def _state(name: str) -> _File | None:
    """The file as it is now; of a database with its log, which holds the newest rows."""
    try:
        status = os.stat(name)
        log_status = os.stat(f"{name}-wal") if os.path.exists(f"{name}-wal") else None
    except OSError:
        return None
    size, changed = status.st_size, status.st_mtime_ns
    if log_status is not None:
        size, changed = size + log_status.st_size, max(changed, log_status.st_mtime_ns)
    return _File(status.st_dev, status.st_ino, size, changed, 0, "")


def _is_due(name: str, state: _File, known: dict[str, _File]) -> bool:
    before = known.get(name)
    return before is None or before[:4] != state[:4]


def _has_grown(name: str, before: _File, now: _File) -> bool:
    is_same = before[:2] == now[:2] and now.size >= before.end > 0
    return is_same and _edges(name, before.end) == before.edges


def _edges(name: str, end: int) -> str:
    """A digest of the beginning and of what lies before the offset. Empty if it cannot be read."""
    try:
        descriptor, _ = open_regular(Path(name))
    except UnreadableFile:
        return ""
    try:
        first = os.pread(descriptor, min(_EDGE_BYTES, end), 0)
        last = os.pread(descriptor, min(_EDGE_BYTES, end), max(0, end - _EDGE_BYTES))
    finally:
        os.close(descriptor)
    return hashlib.sha256(first + last).hexdigest()[:32]


def _is_new(message: Message, seen: set[int]) -> bool:
    """Whether it is no copy of a message that is there; one without an id never is."""
    if not message.id:
        return True
    id = digest_text(message.id)
    is_new = id not in seen
    seen.add(id)
    return is_new


def digest_text(text: str) -> int:
    """What tells whether a message is still the one that was indexed: six bytes."""
    whole = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(whole[:6], "big")


def _query(term: QueryTerm, known: Callable[[str], bool]) -> Any:
    """`known`: whether a stem is in the index; a last word that is none is a beginning."""
    if not term.parts:  # no word, only signs, which the index does not have
        return whoosh_query.NullQuery
    last = term.parts[-1]
    if term.kind is TermKind.WILDCARD:
        return whoosh_query.Wildcard(TEXT, last)
    if term.kind is TermKind.FUZZY and (most := expansion.max_edit_distance(last)):
        return whoosh_query.FuzzyTerm(TEXT, last, maxdist=most, prefixlength=1)
    words = [whoosh_query.Term(TEXT, analysis.stem(word)) for word in term.parts]
    if term.last_is_prefix and not known(words[-1].text):
        words[-1] = whoosh_query.Prefix(TEXT, last)
    if term.compound:
        return whoosh_query.Or([whoosh_query.And(words), whoosh_query.Term(TEXT, term.compound)])
    return whoosh_query.And(words)


def _numbered(session: Session, reading: Reading, start: int) -> Iterator[tuple[int, Message]]:
    """The messages of a session from an offset on, each with its number among those of its line."""
    line, number = -1, 0
    for message in PROGRAMS[session.program].messages(session, reading, start):
        number = number + 1 if message.place.offset == line else 0
        line = message.place.offset
        yield number, message


def read_message(hit: Hit, sessions: Iterable[Session]) -> Message | None:
    """The message of a hit, from its file as it is now; None if it changed or went."""
    for session in sessions:
        if session.id != hit.session or session.program != hit.program:
            continue
        start = hit.offset if hit.length else max(0, hit.offset - 1)
        try:
            for number, message in _numbered(session, Reading(), start):
                if (message.place.offset, number) == (hit.offset, hit.number):
                    if digest_text(message.text) == hit.digest:
                        return message
                    break
        except UnreadableFile:
            continue
    return None
