"""Search former texts of memories: in the journal, in git, what was seen, and what a store keeps.

No index holds them. A word is looked for in git's commits, in the journal's edits and in what was
seen; only the versions of the memories that are named so are read. Current and retired memories are
in the arrays, as everything that a store has now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from memtui.files.git_history import GitHistory
from memtui.insight.versions import VERSIONS_KEY, TextVersion
from memtui.journal import as_last_made
from memtui.library import kept_texts
from memtui.library.former_versions import concerns, read_steps
from memtui.library.library import Library
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Query, TermKind
from memtui.search import analysis
from memtui.search.query_terms import QueryTerms, analyze_terms
from memtui.search.text_match import holds_all

MOST_MEMORIES = 60
"""Memories whose versions are read for one search; of each it takes up to a tenth of a second."""
_VARYING = re.compile("[aceinosuyz]")
"""Letters that may have an accent, of up to three bytes."""


class FormerText(Struct, frozen=True):
    """A former text that was found."""

    memory: Memory
    """As it is now."""
    version: TextVersion


class FormerTexts(Struct, frozen=True):
    """The former texts that hold all words, the newest first."""

    found: tuple[FormerText, ...]
    left_out: int = 0
    """Memories whose versions were not read."""


def find_former(library: Library, query: Query, cancelled: IsCancelled = never) -> FormerTexts:
    """Search former texts of the memories that pass the filters of a query, of whatever status.

    The times of the query are those of the text. Call it from a job. Raises Cancelled.
    """
    terms = analyze_terms(query.terms)
    if not (terms.optional or terms.required):
        return FormerTexts(())
    memories = _passing(library, query, cancelled)
    word = _choose_word(terms)
    due = [each for each in memories if each.extra.get(VERSIONS_KEY)]
    due += _in_journal(library, memories, word)
    for store in library.stores:
        own = [each for each in memories if each.store == store.label]
        due += kept_texts.memories_with(
            store, library.state_folder, own, lambda text: word in analysis.fold_text(text)
        )
    due += _in_git(library, memories, word, cancelled)
    due = list({memory.ref: memory for memory in due}.values())
    found = [
        FormerText(memory, version)
        for memory in due[:MOST_MEMORIES]
        for version in _versions(library, memory, cancelled)
        if holds_all(version.text, terms) and query.is_within(version.time)
    ]
    found.sort(key=lambda each: each.version.time.timestamp() if each.version.time else 0.0)
    return FormerTexts(tuple(found[::-1]), max(0, len(due) - MOST_MEMORIES))


def _passing(library: Library, query: Query, cancelled: IsCancelled) -> list[Memory]:
    """The memories that pass the filters, whatever their text and status."""
    asked = replace(query, terms=(), groups=(), since=None, until=None)
    answer = library.find(asked.with_status("all"), cancelled)
    return [answer.rows[int(slot)] for slot in answer.slots]


def _choose_word(terms: QueryTerms) -> str:
    """The longest beginning that every text with all words has; empty if there is none."""
    plain = [
        word if term.kind is TermKind.PHRASE else analysis.prefix_of_stem(analysis.stem(word))
        for term in (*terms.optional, *terms.required)
        if term.kind in (TermKind.WORD, TermKind.PHRASE) and not term.compound
        for word in term.parts
    ]
    return max(filter(str.isascii, plain), key=len, default="")


def _in_journal(library: Library, memories: Iterable[Memory], word: str) -> list[Memory]:
    """The memories with an edit in the journal whose former or later text has the word."""
    steps = read_steps(library.state_folder, as_last_made)
    edits = [
        step.edit
        for step in steps
        if any(
            word in analysis.fold_text(str(side))
            for side in (step.edit.before, step.edit.after)
            if side
        )
    ]
    paths = {edit.path for edit in edits}
    within = (
        each
        for each in memories
        if paths.intersection((each.origin.file, *(place.file for place in each.also)))
    )
    return [each for each in within if any(concerns(edit, each) for edit in edits)]


def _in_git(
    library: Library, memories: Iterable[Memory], word: str, cancelled: IsCancelled
) -> list[Memory]:
    """The memories in files in which a commit added or removed a line with the word."""
    pattern = _VARYING.sub(".{1,3}", re.escape(word)) or "."
    files: set[str] = set()
    for store in library.stores:
        folder = store.root if store.root.is_dir() else store.root.parent
        git = GitHistory.of(folder, cancelled)
        if git is not None:
            files |= git.files_with(folder, pattern)
    real = {os.path.realpath(file) for file in files}
    return [each for each in memories if os.path.realpath(each.origin.file) in real]


def _versions(library: Library, memory: Memory, cancelled: IsCancelled) -> Iterator[TextVersion]:
    """The former texts of a memory itself."""
    if cancelled():
        raise Cancelled
    seen = {memory.full_text}
    for version in reversed(library.history(memory, cancelled).versions):
        if version.memory.ref == memory.ref and version.text not in seen:
            seen.add(version.text)
            yield version
