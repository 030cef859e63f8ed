"""Changes that ask for a text or a value first: forms, $EDITOR, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from memtui import query as queries
from memtui.changes import Act, Change
from memtui.errors import MemtuiError, RefError, Refused, SaveError
from memtui.files import drafts
from memtui.files.drafts import DraftFile, EditorDraft, FormDraft
from memtui.journal import JournalAction
from memtui.library import Library, planning
from memtui.library.planning import Planned
from memtui.library.snapshot import Snapshot
from memtui.model import Memory
from memtui.stores.base import WritableStore
from memtui.tui import change_forms, change_worker, terminal
from memtui.tui.actions import BY_ID, ActionHandlers
from memtui.tui.change_forms import (
    Form,
    changed_underneath,
    merge_changes,
    resumed,
    superseded_meanwhile,
)
from memtui.tui.change_worker import Preview
from memtui.tui.controllers.changes import WritingController, of_one_store
from memtui.tui.jobs import Job
from memtui.tui.library_worker import ALL
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.tui.dialogs.diff import MergeWay
    from memtui.tui.dialogs.edit_form import FormScreen

Answer = TypeVar("Answer")
KnownValues = Mapping[str, Sequence[str]]
"""Field -> values that are offered while typing."""
MAX_KNOWN = 500
"""Values of a field that are offered while typing."""
MAX_KEEPERS = 5
"""Memories of a merge that can be the one that is kept: a merge is planned for each."""
NEVER = datetime.min.replace(tzinfo=UTC)
_RECORDS = ("fact", "episode", "schema")
"""Kinds that a person may choose between when adding to a store that holds several."""


class FormActions(WritingController):
    """Edit, add, supersede, merge, tag, type, rate, accept, link."""

    _form: FormScreen | None = None
    """The form that is open."""

    def handlers(self) -> ActionHandlers:
        forms = ("edit", "accept", "supersede", "merge", "tag", "rate", "retype")
        return {
            **{action_id: partial(self._open, action_id) for action_id in forms},
            "edit.outside": self._edit_outside,
            "new": self._new,
            "link": self._link,
        }

    # Forms

    def _open(self, action_id: str) -> None:
        """Open the form of an action, about the marked memories or the one that is shown."""
        action, marked = BY_ID[action_id], len(self._screen.memories.marked)
        act, read = action.act, self._selection.reader()
        is_single = action.single and not (action_id == "edit" and marked > 1)
        current = self._selection.current()
        if act is None or (is_single and current is None):
            return

        if act is Act.MERGE:
            self._writer.plan(partial(self._merges, read), self._ask_merge, self._refused)
            return

        def look(library: Library, _: Job) -> Form:
            if is_single and current is not None:
                return self._make(act, library, library.store(current.store), [current])
            memories, left_out = read(), Counter[str]()
            if action_id != "edit":
                memories, left_out = self._selection.able(action_id, memories)
                if not memories:
                    raise Refused(next(iter(left_out)))
            form = self._make(act, library, library.store(memories[0].store), memories)
            return replace(form, left_out=left_out)

        self._writer.plan(look, self._show, self._refused)

    def _merges(
        self, read: Callable[[], list[Memory]], library: Library, job: Job
    ) -> list[MergeWay]:
        """Plan the merges that keep each of the memories, first the newest. Raises Refused."""
        from memtui.tui.dialogs.diff import MergeWay

        memories = read()
        able, reasons = self._selection.able("merge", memories)
        if why := of_one_store(memories) or next(iter(reasons), ""):
            raise Refused(why)
        able.sort(key=lambda one: one.when or NEVER, reverse=True)
        ways: list[MergeWay] = []
        for kept in able[:MAX_KEEPERS]:
            order = [kept, *(other for other in able if other is not kept)]
            try:
                found = change_worker.preview(library, merge_changes(order, kept.content), job)
            except Refused:
                if kept is able[-1] and not ways:
                    raise
                continue
            find = self._screen.worker.find_memory
            ways.append(MergeWay(order, found, change_worker.describe_plan(found.planned, find)))
        return ways

    def _ask_merge(self, ways: list[MergeWay]) -> None:
        from memtui.tui.dialogs.diff import EDIT, MergeScreen

        def answered(answer: tuple[str, int]) -> None:
            what, number = answer
            if what == EDIT:
                self._show(change_forms.merge(ways[number].memories))
            else:
                self._changes.apply(ways[number].preview.planned)

        self._screen.app.ask(MergeScreen(ways), answered)

    def _refused(self, error: MemtuiError) -> None:
        if isinstance(error, Refused):
            self._screen.app.report_refusal(str(error))
        else:
            self._changes.failed(error)

    def _make(
        self, act: Act, library: Library, store: WritableStore, memories: Sequence[Memory]
    ) -> Form:
        """Make the form of an act about these memories; without memories, that of adding one.

        Only what the store can change in them is offered. Raises Refused if that is nothing.
        """
        known = self._known(library, store.label)
        if not memories or act is Act.ADD:
            return change_forms.add(store, known, kinds=_kinds(known))
        memory = memories[0]
        if act is Act.EDIT and len(memories) > 1:
            able = planning.list_able(library, memories, change_forms.SEVERAL)
            if not any(able.values()):
                why = library.refusal(Act.EDIT, memory)
                raise Refused(why or "nothing of these memories can be changed here")
            return change_forms.several(memories, known, able)
        if act is Act.EDIT:
            fields = store.editable & change_forms.LABELS.keys()
            editable = planning.possible_fields(library, memory, fields)
            return change_forms.edit(memory, store, known, editable=editable)
        if act is Act.ACCEPT:
            return change_forms.edit(memory, store, known, act=act)
        if act is Act.SUPERSEDE:
            return change_forms.supersede(memory, store, known)
        if act is Act.MERGE and len(memories) > 1:
            return change_forms.merge(memories)
        if act is Act.MERGE:
            return change_forms.edit(memory, store, known)
        return change_forms.one_field(act, memories, known)

    def _show(
        self,
        form: Form,
        *,
        changed: bool = False,
        draft: EditorDraft | None = None,
        file: DraftFile | None = None,
        before: Snapshot | None = None,
    ) -> None:
        from memtui.tui.dialogs.edit_form import FormScreen

        state = self._screen.app.launch.state
        if file is None and state is not None:
            file = drafts.new_form_draft(state)

        def left(saved: Planned | FormDraft | None) -> None:
            self._form = None
            if isinstance(saved, FormDraft):
                self.resume(file, saved)
            elif saved is not None:
                self._changes.report_written(saved)
                if draft is not None:
                    draft.discard()
            elif draft is not None:
                self._screen.app.notify(f"The unsaved draft is kept in {draft.path}", timeout=10)

        self._form = FormScreen(form, self._writer, changed=changed, file=file, before=before)
        self._screen.app.push_screen(self._form, left)

    def note_change(self) -> None:
        """Tell the form that is open that the memories changed."""
        if self._form is not None and self._form.is_open and self._form.is_mounted:
            self._form.note_change()

    def resume(self, file: DraftFile | None, draft: FormDraft) -> None:
        """Open the form of a draft again, that of a new memory if the draft's is gone; `file` stays
        its file."""
        library = self._screen.worker.library
        if library is None:
            return
        stores = {str(store.root): store for store in library.stores}
        store = stores[draft.root]
        memories = []
        for root, id in draft.about:
            with suppress(KeyError, RefError):
                memories.append(library.get(f"{stores[root].label}:{id}"))
        if not memories and draft.about and not draft.values.get("content"):
            self._screen.app.report_refusal("what this unsaved draft was about is no longer there")
            if file is not None:
                file.discard()
            return
        values = draft.values if memories else {**draft.before, **draft.values}

        self._writer.plan(
            lambda library, _: self._make(draft.act, library, store, memories),
            lambda form: self._show(resumed(form, values, draft.before), changed=True, file=file),
            self._refused,
        )

    def _known(self, library: Library, store: str) -> KnownValues:
        """What types, entities and tags the store knows, to be offered while typing."""
        query = queries.with_filter_values(ALL, "store", (store.casefold(),))
        facets = library.find(query).facets
        return {
            "type": _by_frequency(facets.type),
            "entity": _by_frequency(facets.entity),
            "kind": _by_frequency(facets.kind),
        }

    def _new(self) -> None:
        """Add a memory; ask for its store where several can be written."""
        from memtui.library.store_catalog import path_from_home

        library, memory = self._screen.worker.library, self._selection.current()
        if library is None:
            return
        stores = {store.label: store for store in library.stores if not store.read_only}
        if len(stores) == 1:
            self._new_in(next(iter(stores.values())), memory)
            return
        current = memory.store if memory else ""
        choices = [
            Choice(
                label,
                library.names.of(label),
                chosen=label == current,
                note=path_from_home(store.root),
            )
            for label, store in stores.items()
        ]
        self._screen.app.pick(
            "New memory in",
            choices,
            lambda label: self._new_in(stores[label], memory if label == current else None),
        )

    def _new_in(self, store: WritableStore, memory: Memory | None) -> None:
        chosen = self._screen.entity_controller.chosen_entity()
        entity = chosen or (memory.entity if memory else "")
        types = queries.filter_values(self._screen.view.query(self._screen.now()), "type")
        type = types[0] if len(types) == 1 else ""

        def look(library: Library, _: Job) -> Form:
            values = self._known(library, store.label)
            kinds = _kinds(values, memory.kind if memory else "")
            start = {"entity": entity, "type": type}
            if entity:
                try:
                    start["importance"] = _possible_importance(library, store, entity)
                except Refused:
                    if chosen:
                        raise
                    start["entity"] = ""
            return change_forms.add(store, values, start, kinds=kinds)

        self._writer.plan(look, self._show, self._refused)

    # Links

    def _link(self) -> None:
        from memtui.tui.dialogs.link import LinkScreen

        memory = self._selection.current()
        if memory is None:
            return

        def chosen(link: tuple[str, str]) -> None:
            fields = dict(zip(("relation", "target"), link, strict=True))
            self._changes.plan([Change(Act.LINK, memory.store, memory.ref, fields)])

        self._screen.app.ask(LinkScreen(memory), chosen)

    # $EDITOR

    def _edit_outside(self) -> None:
        """Edit a text in the user's editor, then plan it like any other edit."""
        memory, state = self._selection.current(), self._screen.app.launch.state
        library = self._screen.worker.library
        if memory is None or state is None or library is None:
            return
        before = library.snapshot
        app = self._screen.app
        try:
            draft = drafts.new_draft(memory.content, state)
        except MemtuiError as error:
            app.report_error(error)
            return
        status = terminal.run_editor(app, str(draft.path))
        if status is None:
            draft.discard()
        else:
            self._use_editor_result(memory, before, draft, status)

    def _use_editor_result(
        self, memory: Memory, before: Snapshot, draft: EditorDraft, status: int
    ) -> None:
        try:
            content = draft.read_result()
        except SaveError as error:
            self._screen.app.notify(str(error), severity="warning")
            return
        if content is None:
            draft.discard()
            self._screen.app.notify("No changes.", timeout=2)
        elif status:
            self._screen.app.notify(
                f"The editor ended with status {status}; look before you save.",
                severity="warning",
            )
            self._reopen(memory, before, draft, content)
        else:
            self._save(memory, before, draft, content)

    def _save(self, memory: Memory, before: Snapshot, draft: EditorDraft, content: str) -> None:
        def look(library: Library, job: Job) -> Preview:
            library.refresh_files([memory.origin.file])
            now = library.follow(memory, before)
            changes = [Change(Act.EDIT, now.store, now.ref, {"content": content})]
            who = library.others(now.ref)
            conflict = changed_underneath(memory, now, {"content": content}, who)
            if conflict is not None:
                raise conflict
            if why := superseded_meanwhile(memory, now):
                raise Refused(why)
            return change_worker.preview(library, changes, job)

        def planned(found: Preview) -> None:
            def done(action: JournalAction) -> None:
                draft.discard()
                self._changes.report_written(found.planned.with_written_refs(action.refs))

            self._writer.apply(found.planned, done, failed)

        def failed(error: MemtuiError) -> None:
            self._screen.app.notify(f"Not saved: {error}", severity="error", timeout=8)
            self._reopen(memory, before, draft, content)

        self._writer.plan(look, planned, failed)

    def _reopen(self, memory: Memory, before: Snapshot, draft: EditorDraft, content: str) -> None:
        """Put the text of a failed edit into the form; the draft is kept until it is saved."""
        library = self._screen.worker.library
        if library is None:
            return
        store = library.store(memory.store)
        form = change_forms.edit(memory, store, {}, content=content)
        self._show(form, changed=True, draft=draft, before=before)


def _possible_importance(library: Library, store: WritableStore, entity: str) -> str:
    """The importance that a new memory of an entity begins with: some take high ones only.

    Raises Refused if the entity takes no new memories.
    """
    fields = {"content": "subject predicate object", "entity": entity}
    refusals = []
    for importance in ("medium", "high"):
        change = Change(Act.ADD, store.label, "", fields | {"importance": importance})
        if not (why := change_worker.why_impossible(library, change)):
            return importance
        refusals.append(why)
    raise Refused(refusals[0])


def _kinds(known: KnownValues, first: str = "") -> list[str]:
    """The kinds that a person may choose between, `first` before the others."""
    kinds = [kind for kind in known.get("kind", ()) if kind in _RECORDS]
    return sorted(kinds, key=lambda kind: kind != first)


def _by_frequency(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The values, most used first."""
    return tuple(sorted(counts, key=lambda value: -counts[value])[:MAX_KNOWN])
