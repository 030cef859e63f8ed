"""All open stores as one, readable and writable: what `cli`, `tui` and tests work with.

Modules that only writing or checking needs are imported by the methods that use them, so that a
start to browse stays fast.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.config import Embedding
from memtui.errors import MemtuiError, RefError, Refused
from memtui.library import looks, opening
from memtui.library.guarded_store import unguarded
from memtui.library.reader import NO_EMBEDDING, LibraryReader
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report, never, silent
from memtui.query import Query
from memtui.search.ranking import DEFAULTS, Weights
from memtui.stores.base import Store
from memtui.stores.sidecar import is_read
from memtui.stores.values import utc_now
from memtui.text import cut_line, masked_always, one_line

if TYPE_CHECKING:
    from memtui.insight.links import Node
    from memtui.insight.versions import VersionHistory
    from memtui.journal import Author, Journal, JournalAction
    from memtui.journal.purging import OwnCopies
    from memtui.library.changing import ChangeWriter
    from memtui.library.indexing import IndexState
    from memtui.library.planning import Planned
    from memtui.library.reverted_edits import RevertedEdit, RevertWatcher
    from memtui.upkeep.checks import TextChecks
    from memtui.upkeep.proposals import Proposal, UpkeepContext


NO_WORDS = Query()
_OPENING = RLock()
"""Held while a journal is opened or closed; not the lock of the rows, which may be held for seconds
that leaving memtui would wait for."""


class Library(LibraryReader):
    """Reads, searches and changes the memories of its stores; may be used from any thread."""

    _journal: Journal | None = None
    _writer: ChangeWriter | None = None
    _text_checks: TextChecks | None = None
    _peeking: RevertWatcher | None = None
    interrupted: tuple[JournalAction, ...] = ()
    """Changes that a process which died left unfinished; known once the journal is open."""

    @classmethod
    def open(
        cls,
        roots: Sequence[Path],
        *,
        cache: Path | None = None,
        state: Path | None = None,
        now: Callable[[], datetime] = utc_now,
        labels: Sequence[str] = (),
        formats: Sequence[str] = (),
        weights: Weights = DEFAULTS,
        embedding: Embedding = NO_EMBEDDING,
    ) -> Library:
        """Return a library of the stores at these paths; nothing is read yet.

        Args:
            roots: a path for each store.
            labels: wanted labels, in the order of `roots`; else the names of the formats.
            formats: names of the formats, or `name:profile`, in the order of `roots`; empty, or too
                few: as they are recognised.
            cache, state, now, weights, embedding: see `Library`.

        Raises:
            StoreError: there is no store at a path.
            ConfigError: a rule is unknown or of the wrong type.
        """
        named = [*formats, *("" for _ in roots)]
        detected = [opening.detect_store(path, named[n]) for n, path in enumerate(roots)]
        stores = opening.open_stores(detected, labels)
        library = cls(
            stores, cache=cache, state=state, now=now, weights=weights, embedding=embedding
        )
        library.sources = opening.sources_of(detected, stores)
        return library

    def only(self, labels: Collection[str]) -> Library:
        """Return a new library of the stores with these labels; nothing is read yet."""
        return self._with([store for store in self.stores if store.label in labels])

    def _with(self, stores: Sequence[Store]) -> Library:
        """A new library like this one, of these stores."""
        library = Library(
            stores,
            cache=self.cache_folder,
            state=self.state_folder,
            now=self.now,
            weights=self.weights,
            embedding=self.semantic.choice,
        )
        labels = {store.label for store in stores}
        library.sources = tuple(source for source in self.sources if source.label in labels)
        return library

    def hold(
        self, words: Query = NO_WORDS, report: Report = silent, cancelled: IsCancelled = never
    ) -> Library:
        """Return a library that has read its asked stores too, as far as they are small; itself if
        no store is asked.

        What was not read is in `StoreState.unreadable`.

        Args:
            words: What it is needed for; of large stores, memories with these words are read first.
            report: Called with what is read and indexed.
            cancelled: Asked as often.
        """
        if not self.queried:
            return self
        from memtui.library.held_stores import held

        library = self._with([held(unguarded(store), words) for store in self.stores])
        library.load(report, cancelled)
        library.index(report, cancelled)
        return library

    @property
    def unheld(self) -> list[str]:
        """What `hold` has not read of the stores that others share."""
        shared = {store.label for store in self.stores if store.is_shared}
        states = (state for state in self.snapshot.stores if state.label in shared)
        return [f"{self.names.of(s.label)}: {item.reason}" for s in states for item in s.unreadable]

    def close(self) -> None:
        """Close the journal; it is opened again when needed."""
        with _OPENING:
            if self._journal is not None:
                self._journal.close()

    def back_up_files(self, cancelled: IsCancelled = never) -> None:
        """Copy JSON files that were read without faults into the state folder, to restore from."""
        if self.state_folder is not None:
            for cache in self.loaded.caches:
                cache.back_up(self.state_folder, cancelled)

    # --- changing --------------------------------------------------------------------------

    def refusal(self, act: Act, memory: Memory) -> str:
        """Return why `act` is not possible on `memory`; "" if it is."""
        store = self.store(memory.store)
        return self.away(memory.store) or store.read_only or store.refusal(act, memory)

    def is_read(self, memory: Memory) -> bool:
        """Whether the program of its store still gives a memory to agents."""
        return is_read(memory, self.store(memory.store))

    def plan(
        self,
        changes: Sequence[Change],
        title: str = "",
        report: Report = silent,
        cancelled: IsCancelled = never,
    ) -> Planned:
        """Work out what these changes would do; nothing is written.

        Args:
            changes: planned in this order, each as if those before it were done.
            title: how the log names them; made from the changes unless given.
            report: called with the changes planned.
            cancelled: asked as often.

        Returns:
            The plan of each change and all edits, for `apply`.

        Raises:
            Refused: a store cannot do one of them.
            Conflict: a file changed since it was read.
            RefError: a ref names no memory.
            Cancelled: `cancelled` became true.
        """
        from memtui.library import planning

        stores = {store.label: store for store in self.stores}
        return planning.plan(changes, stores, self, title, report, cancelled)

    def apply(
        self, planned: Planned, report: Report = silent, author: Author | None = None
    ) -> JournalAction:
        """Make the planned edits, record them in the journal and read what changed.

        Args:
            planned: what `plan` returned.
            report: called with the files written.
            author: the agent that makes the change, for the journal; None: the person.

        Returns:
            The action as the journal has it, with refs that differ from the plan.

        Raises:
            Conflict: a file changed since it was planned; nothing is written into that store.
            SaveError: a file cannot be written.
        """
        action = self._change_writer.apply(planned, report, author)
        self._read_written(action, report, is_own=author is None)
        return action

    def count_accesses(self, refs: Iterable[str]) -> tuple[int, dict[str, MemtuiError]]:
        """Count one access of each memory, in the store's own counts or else in memtui's.

        Only for what an agent or a person asked for; not part of the journal.

        Returns:
            How many were counted, and why none were in a store, by its label.

        Raises:
            Refused: this library is read-only.
        """
        from memtui.stores import accesses

        if self.state_folder is None:
            raise Refused("this library was opened read-only")
        found = accesses.count_accesses(refs, self.stores, self, self.now(), self.state_folder)
        self.refresh()
        return found

    def undo(
        self, number: int | None = None, *, anywhere: bool = False, report: Report = silent
    ) -> JournalAction:
        """Undo an action, read what changed, and return the action.

        Args:
            number: of the action in the log; else the newest one of the open stores.
            anywhere: without a number, the newest one of any store.
            report: called with the files written.

        Raises:
            Refused: there is no such action.
            Conflict: what it wrote has been changed since.
            SaveError: a file cannot be written.
        """
        self._read_before()
        action = self._change_writer.undo(number, anywhere=anywhere, report=report)
        self._read_written(action, report)
        return action

    def redo(
        self, number: int | None = None, *, anywhere: bool = False, report: Report = silent
    ) -> JournalAction:
        """Return an action, redone; `number`, `anywhere`, `report` and errors as of `undo`."""
        self._read_before()
        action = self._change_writer.redo(number, anywhere=anywhere, report=report)
        self._read_written(action, report)
        return action

    def _read_before(self) -> None:
        """Read the stores, unless they are: where a person looks, own changes are told apart."""
        if any(cache.loading for cache in self.loaded.caches) and looks.are_kept(self.state_folder):
            self.load()

    def _read_written(self, action: JournalAction, report: Report, *, is_own: bool = True) -> None:
        if sum(len(store_edits.edits) for store_edits in action.parts) > 1:
            report(Progress("reading what was written"))
        before = self.snapshot
        self.refresh()
        if is_own:
            looks.note_own(self, before)

    def log(
        self, limit: int = 100, *, anywhere: bool = False, void: bool = True
    ) -> list[JournalAction]:
        """Return the newest actions first.

        Args:
            limit: most actions.
            anywhere: of any store, not only of the open ones.
            void: include actions that failed and left nothing on disk.
        """
        return self._change_writer.log(limit, anywhere=anywhere, void=void)

    def action(self, number: int) -> JournalAction | None:
        """The action with this number in the log; None if there is none."""
        return self._opened_journal.get(number)

    @property
    def log_mark(self) -> tuple[object, ...]:
        """Changes whenever an action has changed, here or in another process."""
        return self._opened_journal.mark

    @property
    def index_state(self) -> IndexState:
        """The search index as it is now."""
        return self._index.state

    def node_label(self, node: Node) -> str:
        """Return the name of a node on one safe line; of a memory, its headline."""
        if node.kind == "memory":
            with contextlib.suppress(RefError):
                return one_line(self.get(node.name).headline) or one_line(node.name)
        return one_line(node.name)

    def history(self, memory: Memory, cancelled: IsCancelled = never) -> VersionHistory:
        """Return every version of a memory and of what it replaced or was replaced by.

        Former texts come from memtui's journal, from the versions the store keeps, and from the
        git history of its file. Reads at most for some seconds: call it from a background job.

        Args:
            memory: of any open store.
            cancelled: asked often; what was found until then is returned.
        """
        from memtui.library import former_versions

        lineage = self.lineage(memory)
        return former_versions.find_history(
            lineage, self.store(memory.store), self.state_folder, cancelled
        )

    def plan_rescope(self, memory: Memory, project: str = "", part: str = "") -> Planned:
        """Return the plan that makes a memory hold for all projects of its program, or for one.

        Args:
            memory: the memory.
            project: the entity of the one project; "": all.
            part: words that only one part has, of a memory that is a file of many.

        Raises:
            AlreadyThere: it holds for that.
            Refused: its program keeps nothing apart for all projects, or cannot write there.
            Conflict: a file changed since it was read.
        """
        if memory.status == "proposed":
            raise Refused("it is a proposal: accept it first", where=memory.ref)
        store = self.store(memory.store)
        if parts := store.parts_of(memory):
            found = [part] if part in parts else [each for each in parts if part in each]
            if len(found) != 1:
                why = f"it is a file of {len(parts)} parts, and one of them can be moved"
                raise Refused(why, where=memory.ref, do="name one by words that only it has")
            memory = replace(memory, title="", content=found[0])
        changes = store.rescope(memory, project, self)
        with masked_always():  # the title is kept in the journal
            title = f"promote: {cut_line(memory.headline, 45)}"
        return self.plan(changes, f"{title} to {project}" if project else title)

    def plan_restore_text(self, memory: Memory, former: Memory) -> Planned:
        """Return the plan that gives `memory` the text of `former`, a version of its lineage.

        Raises:
            Refused: its store cannot edit texts.
            Conflict: a file changed since it was read.
        """
        fields: dict[str, str] = {}
        editable = self.store(memory.store).editable
        for name in ("title", "content"):
            value = getattr(former, name)
            if value != getattr(memory, name) and (name in editable or name == "content"):
                fields[name] = value
        change = Change(Act.EDIT, memory.store, memory.ref, fields)
        with masked_always():  # the title is kept in the journal
            title = f"restore text: {cut_line(former.headline, 45)}"
        return self.plan([change], title)

    @property
    def _change_writer(self) -> ChangeWriter:
        """Made when first needed, so that browsing creates no journal. Raises Refused."""
        with _OPENING:
            if self._writer is None:
                if self.state_folder is None:
                    raise Refused("this library was opened read-only")
                from memtui.journal import Journal
                from memtui.library.changing import ChangeWriter
                from memtui.stores import registry

                journal = self._journal = self._journal or Journal(self.state_folder)
                self.interrupted = tuple(journal.recover(registry.row_digest))
                self._writer = ChangeWriter(journal, self.stores, self.places)
            return self._writer

    @property
    def _opened_journal(self) -> Journal:
        _ = self._change_writer  # they are made together
        assert self._journal is not None
        return self._journal

    def find_copies(self, secrets: Collection[str]) -> OwnCopies:
        """Find secrets in what memtui keeps of its own. Raises SaveError, Refused."""
        from memtui.journal import purging

        return purging.find_copies(self._opened_journal, self.cache_folder, secrets)

    def purge(self, copies: OwnCopies) -> None:
        """Erase such copies; the changes that had them cannot be undone. Raises SaveError."""
        from memtui.journal import purging

        purging.purge(self._opened_journal, copies)

    @property
    def journal_fault(self) -> str:
        """What became of a damaged journal, as one line for the person; empty where it is whole."""
        return self._journal.fault if self._journal is not None else ""

    # --- checking --------------------------------------------------------------------------

    def find_reverted(self, since: float) -> list[RevertedEdit]:
        """Return memtui's edits that other programs have reverted.

        First recovers writes that another program made during a save. Call it shortly after a
        change, again soon after that, and at start.

        Args:
            since: Unix seconds; earlier edits are not looked at.
        """
        return self._change_writer.find_reverted(since)

    def decline_reapplying(self, reverted: Iterable[RevertedEdit]) -> None:
        """Leave these edits as another program has reverted them; `find_reverted` returns them no
        more. Raises SaveError."""
        self._opened_journal.decline((each.action.id, each.target) for each in reverted)

    def peek_reverted(self) -> list[RevertedEdit]:
        """Return memtui's edits of the last seven days in these stores that other programs have
        reverted; unlike `find_reverted` writes nothing."""
        from memtui.library import reverted_edits

        if self.state_folder is None:
            return []
        with _OPENING:
            if self._peeking is None:
                self._peeking = reverted_edits.watch_unchanged(self.state_folder)
        return reverted_edits.peek_reverted(self._peeking, self.stores)

    @property
    def text_checks(self) -> TextChecks:
        """Findings in the texts of memories, each text checked once."""
        if self._text_checks is None:
            from memtui.upkeep.checks import TextChecks

            self._text_checks = TextChecks()
        return self._text_checks

    def check(
        self,
        report: Report = silent,
        cancelled: IsCancelled = never,
        context: UpkeepContext | None = None,
    ) -> list[Proposal]:
        """Return what is wrong in texts and files by itself, over memories of every status.

        Texts that an earlier call has seen are not read again. `context` says what stores can do;
        without it, nothing that is found can be accepted. Raises Cancelled.
        """
        from memtui.library import reverted_edits
        from memtui.stores import registry
        from memtui.upkeep import checks
        from memtui.upkeep.proposals import UpkeepContext

        rows = self.numbered_memories()
        texts = self.text_checks.of(rows, report, cancelled, self.loaded.clean_slots())
        if context is None:
            rules = {store.label: registry.upkeep_rules_of(store) for store in self.stores}
            context = UpkeepContext(
                self.now(),
                can=lambda *_: False,
                is_read=self.is_read,
                rules_of=rules.__getitem__,
                program_of=self.names.program_of,
            )
        unreadable = [
            (state.label, item) for state in self.snapshot.stores for item in state.unreadable
        ]
        labels = {os.path.realpath(store.root): store.label for store in self.stores}
        reverted = reverted_edits.findings(self.peek_reverted(), labels)
        memories = list(rows.values())
        self.projects.refresh()
        report(Progress("look into the projects", 0, 1))
        outdated = self.projects.outdated(memories, cancelled)
        remarks = [(store.label, remark) for store in self.stores for remark in store.remarks()]
        found = checks.check_all(
            memories, texts, unreadable, context, outdated, remarks, os.path.exists
        )
        return [*reverted, *found]

    def numbered_memories(self) -> dict[int, Memory]:
        """Every memory by its slot, which changes when the memory does."""
        return self.snapshot.take(self.snapshot.columns.live_slots())
