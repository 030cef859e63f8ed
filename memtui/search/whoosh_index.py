"""The Whoosh index of one store: which memories hold a phrase, a pattern or a misspelt word.

It is in a private folder, `whoosh/`, beside a stamp `whoosh.json` with the versions that it was
made with, the generation of rows that it covers and the checksum of each of its files. `update`
brings it to exactly the given documents by their digests, in a worker process, and does nothing
where nothing changed. If anything is wrong (a version, a checksum, a link, an exception from
Whoosh), the folder is removed: it is a cache, and is built again.

A document has a ref, a digest of its text, and its words with positions. Filters, order, scores and
counts come from the arrays (`memtui.search.columns`, `postings`), which also answer for memories
that the index does not cover yet, so that no result depends on what was indexed when.
"""

from __future__ import annotations

import io
import logging
import pickle
import platform
import secrets
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, TypeVar

import numpy as np

from memtui import __version__
from memtui.progress import IsCancelled, Progress, Report, never, silent, stoppable
from memtui.query import TermKind
from memtui.sealed_lines import unseal
from memtui.search import analysis, cache_files, expansion
from memtui.search.documents import IndexedDocument, digest_document
from memtui.search.query_terms import QueryTerm

with warnings.catch_warnings():
    # Whoosh's own regular expressions, on the first import under Python 3.12 and later.
    warnings.simplefilter("ignore", SyntaxWarning)
    from whoosh import columns, fields, formats, index, legacy, scoring
    from whoosh import query as whoosh_query
    from whoosh.codec import whoosh3
    from whoosh.filedb import structfile
    from whoosh.util import loading

log = logging.getLogger(__name__)

T = TypeVar("T")

# Whoosh keeps its tables as pickles, which could run code: only classes of an index are read.

ALLOWED = frozenset(
    {
        ("whoosh.codec.whoosh3", "W3Segment"),
        ("whoosh.codec.whoosh3", "W3Codec"),
        ("collections", "defaultdict"),
        ("builtins", "int"),
        ("builtins", "set"),
    }
)
"""The only globals in a pickle of our index; the schema is passed in, so its own is never read."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the index asks for {module_name}.{global_name}")
        return super().find_class(module_name, global_name)


def load(file: IO[bytes]) -> Any:
    """Return as `pickle.load`, but only classes of an index. Raises UnpicklingError."""
    return _Restricted(file).load()


def loads(data: bytes) -> Any:
    """Return as `pickle.loads`, but only classes of an index. Raises UnpicklingError."""
    return load(io.BytesIO(data))


def _refuse(*_: Any, **__: Any) -> Any:
    raise pickle.UnpicklingError("an index of an older Whoosh")


structfile.load_pickle = load
whoosh3.loads = columns.loads = formats.loads = loads
# At least protocol 3: protocol 2, which Whoosh asks for, writes bytes as a function call.
whoosh3.dumps = lambda value, protocol: pickle.dumps(value, max(protocol, 3))
index.pickle = SimpleNamespace(loads=loads, dumps=pickle.dumps, PicklingError=pickle.PicklingError)
index.toc_loaders = {}
legacy.RenamingUnpickler = loading.RenamingUnpickler = _refuse


# The documents

FORMAT_VERSION = 4
"""Incremented when documents or terms are written differently."""
REF, SUM, TEXT = "ref", "sum", "text"
_NO_POSITION = b"-"
"""Compounds have no position in a phrase, but a posting's value may not be empty."""


class _Positions(formats.Positions):  # type: ignore[misc]
    """Positions as four bytes each, smaller and safer to read than Whoosh's pickles."""

    def decode_positions(self, valuestring: bytes) -> list[int]:
        """Return the positions in the value of a posting; none if its length is wrong."""
        if len(valuestring) % 4:
            return []
        places: list[int] = np.frombuffer(valuestring, "<u4").tolist()
        return places


class _Words(fields.FieldType):  # type: ignore[misc]
    """A field with the words of a document, as `memtui.search.analysis` splits its texts."""

    def __init__(self) -> None:
        self.format = _Positions()
        self.analyzer = self.vector = self.column_type = None
        self.scorable = self.stored = self.unique = self.spelling = False
        self.indexed = True
        self.multitoken_query = "default"

    def index(self, value: IndexedDocument, **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        """The postings of a document; between two fields one position is left out."""
        places: dict[str, list[int]] = {}
        at = 0
        for text in value.fields():
            for chunk in analysis.find_chunks(text):
                parts, compounds = analysis.cached_split_chunk(chunk)
                for word in parts:
                    at += 1
                    places.setdefault(word, []).append(at)
                for word in compounds:
                    places.setdefault(word, [])
            at += 1
        for word, found in places.items():
            value_bytes = np.array(found, "<u4").tobytes() or _NO_POSITION
            yield word.encode("utf-8", "surrogatepass"), max(1, len(found)), 1.0, value_bytes


def make_schema() -> Any:
    """The schema; Whoosh is always given it, so that it does not unpickle that of the index."""
    return fields.Schema(
        **{REF: fields.ID(unique=True, stored=True), SUM: fields.STORED(), TEXT: _Words()}
    )


MAX_SEGMENTS = 8
"""Commits before small segments are merged; with 16, an OR query took twice the time."""
MEMORY_MB = 512
_SMALL_SHARE = 0.2
"""With more than this share changed, a new index is built instead of a segment."""


def _versions() -> dict[str, Any]:
    """The versions that the meaning of the files depends on."""
    from whoosh import versionstring

    return {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "whoosh": versionstring(),
        "analysis": analysis.VERSION,
        "byteorder": sys.byteorder,
    }


class WhooshIndex:
    """The Whoosh index in the private folder `home`; of several processes, one writes at a time."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "whoosh"
        self._stamp = home / "whoosh.json"
        self._index: Any = None
        self._searcher: Any = None
        self._read_stamp = b""
        self._rows = ""

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

    def search(self, term: QueryTerm, rows: str | None = None) -> list[str] | None:
        """Find the refs of the memories that hold a term.

        Args:
            term: A phrase, a pattern or a fuzzy word; of words, all must be there as they are.
            rows: The generation that the index must have been made from; None: any.

        Returns:
            None if there is no index that can be trusted, which is then discarded, or if it was
            made from other rows: another process may have replaced it.
        """

        def ask() -> list[str] | None:
            searcher = self._open()
            if rows is not None and self._rows != rows:
                return None
            found = searcher.docs_for_query(_build_query(term))
            return [searcher.stored_fields(number)[REF] for number in found]

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
        stamp = self._stamp.read_bytes()
        if self._searcher is not None and stamp == self._read_stamp:
            return self._searcher
        self.close()
        if reason := cache_files.untrusted_reason(self.folder):
            raise ValueError(reason)
        stamped = cache_files.read_header(self._stamp, _versions())
        self._index = index.open_dir(str(self.folder), schema=make_schema())
        if self._index.latest_generation() != stamped["generation"]:
            raise ValueError("a commit was cut short")
        self._searcher = self._index.searcher(weighting=scoring.TF_IDF())
        self._read_stamp, self._rows = stamp, stamped["rows"]
        return self._searcher

    def discard(self) -> None:
        """Remove the index; `update` makes a new one."""
        self.close()
        try:
            self._stamp.unlink(missing_ok=True)
            cache_files.remove_tree(self.folder)
        except OSError as error:
            log.warning("the index in %s cannot be removed: %s", self.home, error)

    def update(
        self,
        documents: Iterable[IndexedDocument],
        rows: str = "",
        report: Report = silent,
        cancelled: IsCancelled = never,
    ) -> bool:
        """Bring the index to exactly these documents: only those with another digest are written.

        Args:
            documents: All documents of the store; of several with one ref the last counts.
            rows: The name of the generation that they are from.
            report: Is given the documents written and those to write.

        Returns:
            False if another process is writing.

        Raises:
            Cancelled, OSError: There is the old index, or none.
        """
        by_ref = {document.ref: document for document in documents}
        with cache_files.try_lock(self.home / "whoosh.lock") as alone:
            if not alone:
                return False
            known = self._discard_on_error(self._read_digests) or {}
            fresh = [
                document
                for ref, document in by_ref.items()
                if known.get(ref, (0, ""))[1] != digest_document(document)
            ]
            changed = {document.ref for document in fresh}
            outdated = [
                number for ref, (number, _) in known.items() if ref in changed or ref not in by_ref
            ]
            if not known or len(fresh) + len(outdated) > _SMALL_SHARE * len(by_ref):
                self.discard()
                self.folder.mkdir(mode=0o700)
                self._index = index.create_in(str(self.folder), make_schema())
                fresh, outdated = list(by_ref.values()), []
            if fresh or outdated:
                self._commit(fresh, outdated, report, cancelled)
            if fresh or outdated or rows != self._rows:
                self._write_stamp(rows)
        return True

    def change(self, added: Sequence[IndexedDocument], removed: Collection[str], rows: str) -> str:
        """Write a few new or changed documents, and take out those with the `removed` refs.

        Returns:
            The name of what the index then covers; empty if nothing was done, because it is not of
            `rows`, or another process is writing.
        """

        def act() -> str:
            searcher = self._open()
            if self._rows != rows:
                return ""
            refs = {*removed, *(document.ref for document in added)}
            outdated = [
                n for ref in refs for n in searcher.docs_for_query(whoosh_query.Term(REF, ref))
            ]
            self._commit(list(added), outdated, silent, never)
            name = secrets.token_hex(8)
            self._write_stamp(name)
            return name

        with cache_files.try_lock(self.home / "whoosh.lock") as alone:
            return self._discard_on_error(act) or "" if alone else ""

    def _read_digests(self) -> dict[str, tuple[int, str]]:
        """The number and the digest of each document, by ref. Raises anything."""
        stored = self._open().reader().iter_docs()
        return {values[REF]: (number, values[SUM]) for number, values in stored}

    def _commit(
        self,
        added: list[IndexedDocument],
        outdated: list[int],
        report: Report,
        cancelled: IsCancelled,
    ) -> None:
        codec = whoosh3.W3Codec(compression=0)  # uncompressed blocks are a tenth faster to write
        codec.length_stats = False
        writer = self._index.writer(codec=codec, limitmb=MEMORY_MB)
        try:
            for number in outdated:
                writer.delete_document(number)
            for at, document in enumerate(stoppable(added, cancelled)):
                if at % 1024 == 0:
                    report(Progress("indexing", at, len(added)))
                fields = {REF: document.ref, SUM: digest_document(document), TEXT: document}
                writer.add_document(**fields)
            writer.commit(merge=len(writer.segments) >= MAX_SEGMENTS)
        except BaseException:
            if not writer.is_closed:
                writer.cancel()
            raise

    def _write_stamp(self, rows: str) -> None:
        """Write the stamp of what the folder holds now. Raises OSError."""
        paths = sorted(self.folder.iterdir())
        for path in paths:
            path.chmod(0o600)
        files = [f"{self.folder.name}/{p.name}" for p in paths if p.suffix in (".seg", ".toc")]
        generation = self._index.latest_generation()
        about = {**_versions(), "generation": generation, "rows": rows}
        known = unseal(self._stamp.read_bytes())["sums"] if self._stamp.exists() else {}
        cache_files.seal_files(self._stamp, files, about, known)


def _build_query(term: QueryTerm) -> Any:
    if not term.parts:  # no word, only signs, which the index does not have
        return whoosh_query.NullQuery
    *before, last = term.parts
    match term.kind:
        case TermKind.WILDCARD:
            return whoosh_query.Wildcard(TEXT, last)
        case TermKind.FUZZY if most := expansion.max_edit_distance(last):
            return whoosh_query.FuzzyTerm(TEXT, last, maxdist=most, prefixlength=1)
        case TermKind.PHRASE if before and not term.last_is_prefix:
            return whoosh_query.Phrase(TEXT, list(term.parts))
    parts = [whoosh_query.Term(TEXT, word) for word in before]
    parts.append((whoosh_query.Prefix if term.last_is_prefix else whoosh_query.Term)(TEXT, last))
    if not before:
        return parts[0]
    return (whoosh_query.Sequence if term.kind is TermKind.PHRASE else whoosh_query.And)(parts)
