"""Build, update and search the Whoosh index of one store; a damaged index is discarded.

It is in a private folder, `whoosh/`, beside a stamp `whoosh.json` with the versions that it was
made with and the checksum of each of its files. If anything is wrong (a version, a checksum, a
link, an exception from Whoosh), the folder is removed: it is a cache, and is built again. Whoosh
answers phrases, patterns, misspelt words and the rest of the query language; a keystroke is
answered by `memtui.search.postings`, which finds the same (a test compares them).
"""

from __future__ import annotations

import json
import logging
import platform
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

from whoosh import query as wq

from memtui import __version__
from memtui.progress import IsCancelled, Report, never, silent
from memtui.query import Term, TermKind
from memtui.search import analysis, cache_files, expansion
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm, analyze_terms
from memtui.search.whoosh_format import TEXT

log = logging.getLogger(__name__)

T = TypeVar("T")


class WhooshIndex:
    """The Whoosh index in the private folder `home`; of several processes, one writes at a time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "whoosh"
        self._stamp = home / "whoosh.json"
        self._index: Any = None
        self._searcher: Any = None
        self._read_stamp = ""
        self._rows = ""
        self._checked: dict[str, tuple[object, ...]] = {}

    def __enter__(self) -> WhooshIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        for opened in (self._searcher, self._index):
            if opened is not None:
                try:
                    opened.close()
                except Exception as error:  # a damaged index may fail to close too
                    log.debug("closing the index: %r", error)
        self._searcher = self._index = None

    # Asking

    def search(
        self,
        terms: Sequence[Term],
        *,
        every: bool = False,
        limit: int | None = None,
        rows: str | None = None,
    ) -> list[str] | None:
        """Find the refs of the memories that match, unranked.

        Args:
            terms: The terms of the query.
            every: Whether all terms must match, not only one.
            limit: The most refs to return; None: all.
            rows: The generation that the index must have been made from; None: any.

        Returns:
            None if there is no index that can be trusted, which is then discarded, or if it was
            made from other rows: another process may have replaced it.
        """

        def ask() -> list[str] | None:
            searcher = self._open()
            if rows is not None and self._rows != rows:
                return None
            looked_for, left_out = build_queries(terms, searcher.reader(), every=every)
            hidden = frozenset(searcher.docs_for_query(left_out))
            found = searcher.docs_for_query(looked_for)
            numbers = (number for number in found if number not in hidden)
            refs = (searcher.stored_fields(number)["ref"] for number in numbers)
            return [ref for _, ref in zip(range(limit or sys.maxsize), refs, strict=False)]

        return self._discard_on_error(ask)

    def digests(self) -> dict[str, str] | None:
        """The digest of each indexed document by ref; None as in `search`."""

        def ask() -> dict[str, str]:
            stored = (fields for _, fields in self._open().reader().iter_docs())
            return {fields["ref"]: fields["sum"] for fields in stored}

        return self._discard_on_error(ask)

    def _discard_on_error(self, ask: Callable[[], T]) -> T | None:
        if not self._stamp.exists():
            self.close()
            return None
        try:
            return ask()
        except Exception as error:  # Whoosh raises anything when its files are damaged
            log.warning("the index in %s is discarded: %r", self.home, error)
            self.discard()
            return None

    def _open(self) -> Any:
        """A searcher on the current index. Raises anything."""
        stamp = self._stamp.read_text(encoding="ascii")
        if self._searcher is not None and stamp == self._read_stamp:
            return self._searcher
        self.close()
        if reason := cache_files.untrusted_reason(self.folder):
            raise ValueError(reason)
        stamped = json.loads(stamp)
        if {name: stamped[name] for name in _versions()} != _versions():
            raise ValueError("made by other versions")
        for name, expected in stamped["files"].items():
            self._check(self.folder / name, expected)
        from whoosh import index, scoring

        from memtui.search.whoosh_format import make_schema

        self._index = index.open_dir(str(self.folder), schema=make_schema())
        if self._index.latest_generation() != stamped["generation"]:
            raise ValueError("a commit was cut short")
        self._searcher = self._index.searcher(weighting=scoring.TF_IDF())
        self._read_stamp, self._rows = stamp, stamped["rows"]
        return self._searcher

    def _check(self, file: Path, expected: str) -> None:
        """Check the checksum of a file, once while it is unchanged. Raises ValueError, OSError."""
        status = file.lstat()
        times = status.st_mtime_ns, status.st_ctime_ns
        fingerprint = (expected, status.st_ino, status.st_size, *times)
        if self._checked.get(file.name) != fingerprint:
            if cache_files.checksum(file) != expected:
                raise ValueError(f"{file.name} is damaged")
            self._checked[file.name] = fingerprint

    # Writing

    def discard(self) -> None:
        """Remove the index; `build` makes a new one."""
        self.close()
        self._checked.clear()
        try:
            self._stamp.unlink(missing_ok=True)
            cache_files.remove_tree(self.folder)
        except OSError as error:
            log.warning("the index in %s cannot be removed: %s", self.home, error)

    def build(
        self,
        documents: Sequence[IndexedDocument],
        report: Report = silent,
        cancelled: IsCancelled = never,
        segment: Segment | None = None,
        rows: str = "",
    ) -> bool:
        """Build a new index beside the old one, then replace that.

        Args:
            documents: All documents of the index.
            report: Is given the postings written and the postings there are.
            cancelled: Is asked as often.
            segment: The postings of exactly these documents, if they are already built.
            rows: The name of the generation that the documents are from.

        Returns:
            False if another process is writing.

        Raises:
            Cancelled, OSError: The old index is unchanged.
        """
        with cache_files.try_lock(self.home / "whoosh.lock") as alone:
            if alone:
                self._build(documents, report, cancelled, segment, rows)
            return alone

    def _build(
        self,
        documents: Sequence[IndexedDocument],
        report: Report,
        cancelled: IsCancelled,
        segment: Segment | None,
        rows: str,
    ) -> None:
        from whoosh import index

        from memtui.search.whoosh_format import commit, make_schema

        for left in self.home.glob("whoosh.*-*"):  # by a process that was killed
            cache_files.remove_tree(left)
        draft = self.home / f"whoosh.new-{secrets.token_hex(4)}"
        draft.mkdir(mode=0o700)
        try:
            made = index.create_in(str(draft), make_schema())
            commit(made, documents, (), report, cancelled, segment, whole=True)
            generation = made.latest_generation()
            made.close()
            self.discard()
            draft.rename(self.folder)
            self._write_stamp(generation, rows)
        finally:
            if draft.exists():
                shutil.rmtree(draft, ignore_errors=True)

    def update(
        self,
        added: Sequence[IndexedDocument],
        removed: Collection[str] = (),
        report: Report = silent,
        rows: str = "",
    ) -> bool:
        """Index new and changed documents and remove others.

        Args:
            added: Documents that are new or changed.
            removed: Refs of documents to remove.
            report: Is given the postings written.
            rows: The name of the generation that the index then covers.

        Returns:
            False if nothing was done: there is no index, or another process is writing it.
        """
        from memtui.search.whoosh_format import commit

        latest = {document.ref: document for document in added}

        def change() -> bool:
            self._open()
            outdated = {*removed, *latest}
            if outdated:
                commit(self._index, list(latest.values()), outdated, report)
            if outdated or rows != self._rows:
                self._write_stamp(self._index.latest_generation(), rows)
            return True

        with cache_files.try_lock(self.home / "whoosh.lock") as alone:
            return alone and bool(self._discard_on_error(change))

    def _write_stamp(self, generation: int, rows: str) -> None:
        """Write the stamp of what the folder holds now. Raises OSError."""
        known = {}
        if self._stamp.exists():
            known = json.loads(self._stamp.read_text(encoding="ascii"))["files"]
        files = {}
        for path in sorted(self.folder.iterdir()):
            path.chmod(0o600)
            if path.suffix in (".seg", ".toc"):
                files[path.name] = known.get(path.name) or cache_files.checksum(path)
        stamped = {**_versions(), "generation": generation, "rows": rows, "files": files}
        draft = self._stamp.with_suffix(f".{secrets.token_hex(4)}")
        cache_files.write_text(draft, json.dumps(stamped))
        draft.replace(self._stamp)


def _versions() -> dict[str, Any]:
    """The versions that the meaning of the files depends on."""
    from whoosh import versionstring

    from memtui.search.whoosh_format import FORMAT_VERSION

    return {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "whoosh": versionstring(),
        "analysis": analysis.VERSION,
        "weights": list(FIELD_WEIGHTS),
        "byteorder": sys.byteorder,
    }


def build_queries(terms: Sequence[Term], reader: Any, *, every: bool = False) -> tuple[Any, Any]:
    """Return the Whoosh queries for what the terms look for, and for what they exclude.

    They are two queries because AndNot over several segments was seen to let excluded ones through.

    Args:
        terms: The terms of the query.
        reader: A Whoosh reader, to expand word forms.
        every: Whether all terms must match, not only one.
    """
    query_terms = analyze_terms(terms)
    optional = [_build_query(query_term, reader) for query_term in query_terms.optional]
    required = [_build_query(query_term, reader) for query_term in query_terms.required]
    excluded = [_build_query(query_term, reader) for query_term in query_terms.excluded]
    if every:
        required, optional = [*required, *optional], []
    if required:
        found = wq.And(required)
    elif optional:
        found = wq.Or(optional)
    else:
        is_asked = any(not term.negated for term in terms)
        found = wq.NullQuery if every or is_asked else wq.Every()
    return found, wq.Or(excluded) if excluded else wq.NullQuery


def _build_query(query_term: QueryTerm, reader: Any) -> Any:
    if not query_term.parts:  # no word, only signs, which the index does not have
        return wq.NullQuery
    match query_term.kind:
        case TermKind.PHRASE:
            return _phrase(query_term)
        case TermKind.WILDCARD:
            return wq.Wildcard(TEXT, query_term.parts[0])
        case TermKind.FUZZY:
            word, most = query_term.parts[0], expansion.max_edit_distance(query_term.parts[0])
            fuzzy = wq.FuzzyTerm(TEXT, word, maxdist=most, prefixlength=1)
            return fuzzy if most else wq.Term(TEXT, word)
        case _:
            return _words(query_term, reader)


def _phrase(query_term: QueryTerm) -> Any:
    if query_term.last_is_prefix:
        *before, last = query_term.parts
        parts = [wq.Term(TEXT, word) for word in before]
        prefix = wq.Prefix(TEXT, last)
        return wq.Sequence([*parts, prefix]) if parts else prefix
    if len(query_term.parts) == 1:
        return wq.Term(TEXT, query_term.parts[0])
    return wq.Phrase(TEXT, list(query_term.parts))


def _words(query_term: QueryTerm, reader: Any) -> Any:
    *before, last = query_term.parts
    if not before:
        ways = [_forms(last, reader)] if query_term.has_forms else []
        ways += [wq.Prefix(TEXT, last)] if query_term.last_is_prefix else []
        return wq.Or(ways)
    parts = [_forms(word, reader) for word in before]
    ways = [_forms(query_term.compound, reader), wq.And([*parts, _forms(last, reader)])]
    ways = ways if query_term.has_forms else []
    if query_term.last_is_prefix:
        ways += [wq.Prefix(TEXT, query_term.compound), wq.And([*parts, wq.Prefix(TEXT, last)])]
    return wq.Or(ways)


def _forms(word: str, reader: Any) -> Any:
    """A query for all words in the index with the stem of this one."""
    stem = analysis.stem(word)
    if stem == word and not analysis.has_forms(word):
        return wq.Term(TEXT, word)
    words = (text.decode() for text in reader.expand_prefix(TEXT, analysis.shared_prefix(word)))
    found = [other for other in words if other == word or analysis.stem(other) == stem]
    return wq.Or([wq.Term(TEXT, other) for other in found]) if found else wq.NullQuery
