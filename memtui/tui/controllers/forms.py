"""Changes that ask for a text or a value first: forms, $EDITOR, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from memtui import query as queries
from memtui.changes import Act, Change
from memtui.errors import MemtuiError, RefError, Refused, SaveError
from memtui.files import drafts
from memtui.files.drafts import DraftFile, EditorDraft, FormDraft
from memtui.library import Library, planning
from memtui.library.planning import Planned
from memtui.library.snapshot import Snapshot
from memtui.model import Memory
from memtui.stores.base import Store
from memtui.tui import change_forms, previews, terminal
from memtui.tui.actions import BY_ID, ActionHandlers
from memtui.tui.change_forms import (
    Form,
    changed_underneath,
    merge_changes,
    resumed,
    superseded_meanwhile,
)
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

    async def _open(self, action_id: str) -> None:
        """Open the form of an action, about the marked memories or the one that is shown."""
        action, marked = BY_ID[action_id], len(self._screen.memories.marked)
        act, read = action.act, self._selection.reader()
        is_single = action.single and not (action_id == "edit" and marked > 1)
        current = self._selection.current()
        if act is None or (is_single and current is None):
            return
        if act is Act.MERGE:
            await self._merge(read)
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

        await self._fill_in(await self._acts.library(look))

    async def _merge(self, read: Callable[[], list[Memory]]) -> None:
        """Let the person choose which of the memories is kept, or write the text."""
        from memtui.tui.dialogs.diff import EDIT, MergeScreen

        ways = await self._acts.library(partial(self._merges, read))
        answer = await self._acts.show(MergeScreen(ways))
        if answer is None:
            return
        what, number = answer
        if what == EDIT:
            await self._fill_in(change_forms.merge(ways[number].memories))
        else:
            await self._changes.apply(ways[number].preview.planned)

    def _merges(
        self, read: Callable[[], list[Memory]], library: Library, job: Job
    ) -> list[MergeWay]:
        """Plan the merges that keep each of the memories, the one with the best text first.

        Raises Refused.
        """
        from memtui.tui.dialogs.diff import MergeWay
        from memtui.upkeep.similar_memories import best_text_first

        memories = read()
        able, reasons = self._selection.able("merge", memories)
        if why := of_one_store(memories) or next(iter(reasons), ""):
            raise Refused(why)
        able = best_text_first(able)
        ways, refused = list[MergeWay](), list[Refused]()
        for kept in able[:MAX_KEEPERS]:
            order = [kept, *(other for other in able if other is not kept)]
            try:
                found = previews.preview(library, merge_changes(order, kept.content), job)
            except Refused as error:
                refused.append(error)
                continue
            find = self._screen.worker.find_memory
            ways.append(MergeWay(order, found, previews.describe_plan(found.planned, find)))
        if not ways:
            raise refused[0]
        return ways

    def _make(self, act: Act, library: Library, store: Store, memories: Sequence[Memory]) -> Form:
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

    async def _fill_in(
        self,
        form: Form,
        *,
        changed: bool = False,
        draft: EditorDraft | None = None,
        file: DraftFile | None = None,
        before: Snapshot | None = None,
        has_merged: bool = False,
        notice: str = "",
    ) -> None:
        """Show a form until it is saved or left, and say what was saved; `notice`: said over it."""
        from memtui.tui.dialogs.edit_form import FormScreen

        state = self._screen.app.launch.state
        if file is None and state is not None:
            file = drafts.new_form_draft(state)
        self._form = FormScreen(
            form,
            changed=changed,
            file=file,
            before=before,
            has_merged=has_merged,
            notice=notice,
        )
        saved = await self._acts.show(self._form)
        self._form = None
        if isinstance(saved, FormDraft):
            await self.resume(file, saved)
        elif saved is not None:
            self._changes.report_written(saved)
            if draft is not None:
                draft.discard()
        elif draft is not None:
            self._screen.app.notify(f"The unsaved draft is kept in {draft.path}", timeout=10)

    def note_change(self) -> None:
        """Tell the form that is open that the memories changed."""
        if self._form is not None and self._form.is_open and self._form.is_mounted:
            self._form.note_change()

    async def resume(self, file: DraftFile | None, draft: FormDraft) -> None:
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

        form = await self._acts.library(
            lambda library, _: self._make(draft.act, library, store, memories)
        )
        await self._fill_in(
            resumed(form, values, draft.before),
            changed=True,
            file=file,
            has_merged=draft.has_merged,
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

    async def _new(self) -> None:
        """Add a memory; ask for its store where several can be written."""
        from memtui.library.store_catalog import path_from_home

        library, memory = self._screen.worker.library, self._selection.current()
        if library is None:
            return
        stores = {store.label: store for store in library.stores if not store.read_only}
        label: str | None = next(iter(stores))
        current = memory.store if memory else ""
        if len(stores) > 1:
            choices = [
                Choice(
                    label,
                    library.names.of(label),
                    chosen=label == current,
                    note=path_from_home(store.root),
                )
                for label, store in stores.items()
            ]
            label = await self._acts.pick("New memory in", choices)
            memory = memory if label == current else None
        if label is not None:
            await self._new_in(stores[label], memory)

    async def _new_in(self, store: Store, memory: Memory | None) -> None:
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

        await self._fill_in(await self._acts.library(look))

    # Links

    async def _link(self) -> None:
        from memtui.tui.dialogs.link import LinkScreen

        memory = self._selection.current()
        if memory is not None and (found := await self._acts.show(LinkScreen(memory))) is not None:
            await self._changes.write(found)

    # $EDITOR

    async def _edit_outside(self) -> None:
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
            return
        try:
            content = draft.read_result()
        except SaveError as error:
            app.notify(str(error), severity="warning")
            return
        if content is None:
            draft.discard()
            app.notify("No changes.", timeout=2)
            return
        notice = f"The editor ended with status {status}; look before you save."
        if not status:
            try:
                planned = await self._acts.library(partial(_plan_text, memory, before, content))
                action = await self._acts.apply(planned)
            except MemtuiError as error:
                notice = f"Not saved: {error}"
            else:
                draft.discard()
                self._changes.report_written(planned.with_written_refs(action.refs))
                return
        # Into the form; the draft is kept until it is saved.
        form = change_forms.edit(memory, library.store(memory.store), {}, content=content)
        await self._fill_in(form, changed=True, draft=draft, before=before, notice=notice)


def _plan_text(
    memory: Memory, before: Snapshot, content: str, library: Library, job: Job
) -> Planned:
    """Plan a text that was edited outside. Raises Conflict, Refused and what planning raises."""
    library.refresh_files([memory.origin.file])
    now = library.follow(memory, before)
    conflict = changed_underneath(memory, now, {"content": content}, library.others(now.ref))
    if conflict is not None:
        raise conflict
    if why := superseded_meanwhile(memory, now):
        raise Refused(why)
    change = Change(Act.EDIT, now.store, now.ref, {"content": content})
    return library.plan([change], "", job.report, job.is_cancelled)


def _possible_importance(library: Library, store: Store, entity: str) -> str:
    """The importance that a new memory of an entity begins with: some take high ones only.

    Raises Refused if the entity takes no new memories.
    """
    fields = {"content": "subject predicate object", "entity": entity}
    refusals = []
    for importance in ("medium", "high"):
        change = Change(Act.ADD, store.label, "", fields | {"importance": importance})
        if not (why := previews.why_impossible(library, change)):
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
