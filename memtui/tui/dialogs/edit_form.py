"""The form dialog: fields, a live preview of what saving would do, conflicts, drafts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from memtui import text
from memtui.changes import DESTRUCTIVE, Act, Outcome
from memtui.errors import Conflict, MemtuiError, RefError, SaveError
from memtui.files.drafts import DraftFile, FormDraft
from memtui.files.merging import CONFLICT_MARKS, merge_marked
from memtui.journal import JournalAction
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.snapshot import Snapshot
from memtui.model import Memory
from memtui.progress import Progress, Report
from memtui.tui import change_forms, previews
from memtui.tui.change_forms import LABELS, Form, FormField, Kind, value_of
from memtui.tui.dialogs.dialog import FittingDialog, labelled_row
from memtui.tui.dialogs.diff import BOTH, CONFLICT_CHOICES, MINE, THEIRS, ConflictScreen, DiffScreen
from memtui.tui.dialogs.prompts import DISCARD, discard_question
from memtui.tui.jobs import Job
from memtui.tui.previews import Preview, preview, preview_possible
from memtui.tui.widgets.inputs import ChoiceInput, LineInput, TextInput
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, Tone

PREVIEW_DELAY = 0.15
"""Seconds after the last key until the preview is computed."""
_STOPPED = frozenset({Outcome.DEDUPE, Outcome.REJECTED})
DELETED = "deleted this memory"
KEPT = "; your text is still here."
UNRESOLVED = "changed this memory meanwhile"
SHOW_BOTH, AS_NEW = "show both texts", "save as a new memory"
MERGED = "Merged: both changes are in the text, save it if it is right"
MARKED = "marked: keep the lines you want, and remove the marks"
NO_CHANGES = OutcomeLine("No changes yet", Tone.QUIET)


_IN_STORE = frozenset({Act.ADD, Act.EDIT, Act.ACCEPT, Act.SUPERSEDE})
"""Acts whose form names the store in its heading."""


class FormScreen(FittingDialog[Planned | FormDraft]):
    """Dismissed with the saved plan, None if nothing was saved.

    With a draft where the memory is gone and its text is to be saved as a new one.
    """

    BINDINGS = [
        Binding("ctrl+s", "save", "save", priority=True),
        Binding("f4", "force", "save anyway", priority=True),
        Binding("f2", "diff", "diff", priority=True),
        Binding("escape", "cancel", priority=True),
        ("ctrl+c", "cancel"),
        ("enter", "submit"),
        ("down", "app.focus_next"),
        ("up", "app.focus_previous"),
        ("pagedown", "move('move.page_down')"),
        ("pageup", "move('move.page_up')"),
    ]

    def __init__(
        self,
        form: Form,
        *,
        changed: bool = False,
        file: DraftFile | None = None,
        before: Snapshot | None = None,
        has_merged: bool = False,
        notice: str = "",
    ) -> None:
        """`file`: the draft file that unsaved input is kept in, for when the program ends;
        `before`: the memories when the form's one was read, those of now by default; `has_merged`:
        the text may mark both versions of a conflict; `notice`: why it is opened.
        """
        super().__init__()
        self._notice = notice
        has_prose = any(field.kind is Kind.PROSE for field in form.fields)
        self.heading, self.box_classes = form.title, f"form {'full' if has_prose else 'wide'}"
        if form.act in _IN_STORE and len(form.about) < 2:
            self.heading = f"{form.title} in {self.app.store_name(form.store)}"
        self._form, self._base, self._file = form, form.base, file
        library = self.worker.library
        self._before = before or (library.snapshot if library else None)
        self._is_gone = self._is_conflict = False
        """Another program deleted the memory, or changed what was also changed here."""
        self._draft_error_shown = False
        self._initial: dict[str, str] = {}
        self._unsaved = changed
        """The form was opened with text that is not saved anywhere yet."""
        self._timer: Timer | None = None
        self._preview: Preview | None = None
        self.is_previewing = False
        """The preview is not up to date."""
        self._saving = False
        self._has_merged = has_merged
        """Both versions of a conflict were put into the text."""
        self._planning: Job | None = None
        """Of the preview."""

    # Widgets

    def content(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            for field in self._form.fields:
                yield self._row(field)
        yield OutcomeLines()

    def _row(self, field: FormField) -> Widget:
        if field.locked:
            words = f"{text.one_line(field.value)} · {field.locked}"
            shown = Static(Content(words), classes="locked", markup=False)
            return labelled_row(field.label, shown)
        if field.kind is Kind.PROSE:
            return Vertical(TextInput(field.value, name=field.name), classes="prose")
        name, known = field.name, field.known
        line = LineInput(field.value, name=name, known=known, placeholder=field.hint)
        widget = ChoiceInput(known, field.value, name=name) if field.kind is Kind.ONE_OF else line
        return labelled_row(field.label, widget, field.note)

    def on_mount(self) -> None:
        self._initial = self.values()
        if self._base is not None:
            self.query_one(".box").border_subtitle = Content(text.cut_line(self._base.id, 40))
        for widget in self._inputs():
            if widget.name == self._form.focus:
                widget.focus()
        self._update_preview()
        if self._notice:
            self.call_after_refresh(self.app.notify, self._notice, severity="warning", timeout=8)

    def _inputs(self) -> list[TextInput | LineInput | ChoiceInput]:
        return [one for one in self.query() if isinstance(one, TextInput | LineInput | ChoiceInput)]

    def values(self) -> dict[str, str]:
        """The current input, by field name."""
        return {widget.name or "": widget.raw for widget in self._inputs()}

    @property
    def is_changed(self) -> bool:
        return self._unsaved or self.values() != self._initial

    # Preview

    @on(TextArea.Changed)
    @on(Input.Changed)
    @on(ChoiceInput.Changed)
    def _typed(self) -> None:
        if self._initial:
            self.is_previewing = True
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(PREVIEW_DELAY, self._update_preview)

    def _draft(self) -> FormDraft | None:
        form, base, library = self._form, self._base, self.worker.library
        if library is None:
            return None
        roots = {store.label: str(store.root) for store in library.stores}
        before = {name: value_of(base, name) for name in LABELS if name != "kind"} if base else {}
        about = tuple(
            (roots[memory.store], base.id if base and memory is form.base else memory.id)
            for memory in form.about
        )
        root = roots[form.store]
        return FormDraft(form.act, root, about, self.values(), before, self._has_merged)

    def keep_draft(self, *, last: bool = False) -> bool:
        if self._file is None or not self._initial:
            return False
        return self._file.keep(self._draft() if self.is_changed else None, last=last)

    def _keep(self) -> None:
        try:
            self.keep_draft()
        except SaveError as error:
            if not self._draft_error_shown:
                self._draft_error_shown = True
                self.app.notify(str(error), severity="warning")

    def _update_preview(self) -> None:
        self._keep()
        if self._saving:  # a preview would replace the plan that is about to be saved
            self._typed()
            return
        if not self._count_marks() and self._form.changes(self.values(), False):
            self.is_previewing = True
            self._planning = self.worker.run(
                "draft",
                partial(self._planned, self.values(), False),
                self.if_open(self._previewed),
                self.if_open(self._failed),
                on_progress=self.if_open(self._progressed),
            )
        else:
            self._drop_preview()
            self._previewed(None)

    def _drop_preview(self) -> None:
        """Ignore the answer of a job that still plans."""
        if self._planning is not None:
            self._planning.replace()

    def _planned(self, values: dict[str, str], force: bool, library: Library, job: Job) -> Preview:
        """Plan the current input, in a worker.

        Raises:
            Conflict: another program changed a field that was also changed here.
        """
        changes = self._form.changes(values, force)
        if (base := self._base) is not None:
            if self._saving:  # stores compare the text with what was read, and no other field
                library.refresh_files([base.origin.file])
            now = library.follow(base, self._before or library.snapshot)
            others = library.others(base.ref)
            if conflict := change_forms.changed_underneath(base, now, values, others):
                raise conflict
            old, new = (self._form.base or base).ref, now.ref
            changes = [replace(each, ref=new) if each.ref == old else each for each in changes]
        plan = preview_possible if self._form.as_possible else preview
        return plan(library, changes, job)

    def _progressed(self, progress: Progress) -> None:
        if self.is_previewing or self._saving:
            self.say(previews.describe_progress(progress))

    def _previewed(self, found: Preview | None) -> None:
        if not self.query(OutcomeLines):  # it is not shown yet, or no longer
            if self.is_open:
                self.call_later(self._previewed, found)
            return
        self.is_previewing, self._preview, self._is_conflict = False, found, False
        if found is None:
            self.say(*self._meanwhile(), *[NO_CHANGES] * (not self._count_marks()))
        else:
            files = previews.describe_files(found.planned, found.lines)
            self.say(*self._describe(found), *files)

    def _describe(self, found: Preview) -> tuple[OutcomeLine, ...]:
        lines = previews.describe_plan(found.planned, self.worker.find_memory)
        first = self._meanwhile()
        if self._form.as_possible:
            first = previews.describe_count(found.planned, found.left_out)
        return (*first, *previews.describe_left_out(self._form.left_out), *lines)

    def _meanwhile(self) -> tuple[OutcomeLine, ...]:
        """Say that the memory has been superseded, retired or changed since the form was opened."""
        base, read, now = self._form.base, self._base, self._now()
        if base is None or read is None or now is None:
            return ()
        changed = ", ".join(LABELS[name].lower() for name in change_forms.differing(read, now))
        by_others = f"changed meanwhile: {changed}" if changed else ""
        count = self._count_marks()
        marked = f"{text.counted(count, 'conflict')} {MARKED}" if count else ""
        reasons = filter(None, (change_forms.superseded_meanwhile(base, now), by_others, marked))
        return tuple(OutcomeLine(why, Tone.WARNING, "!") for why in reasons)

    def note_change(self) -> None:
        """Show at once that another program changed or deleted the memory."""
        if (base := self._base) is None or self._saving or not self._initial:
            return
        if not self.query(OutcomeLines):  # it is not shown yet, or no longer
            return
        now = self._now()
        if now is None:
            self._say_gone()
        elif self._is_gone or change_forms.differing(base, now):
            self._is_gone = False
            self._update_preview()

    def _now(self) -> Memory | None:
        """The memory as it is now; None if there is none, or it was deleted."""
        library, base, before = self.worker.library, self._base, self._before
        if base is not None and library is not None and before is not None:
            with suppress(RefError):
                return library.follow(base, before)
        return None

    @property
    def _others(self) -> str:
        """Who changed the memory meanwhile, for messages."""
        library, base = self.worker.library, self._base
        return library.others(base.ref if base else "") if library else "another program"

    def _say_gone(self) -> None:
        self._is_gone, self._is_conflict, self._preview = True, False, None
        self._drop_preview()
        self.is_previewing = False
        self.say(OutcomeLine(f"{self._others} {DELETED}{KEPT}", Tone.BAD, "!"))

    def _failed(self, error: MemtuiError) -> None:
        self.is_previewing, self._preview = False, None
        if isinstance(error, RefError) and self._now() is None:
            self._say_gone()
            return
        self._is_conflict = isinstance(error, Conflict) and error.has_texts
        changed = OutcomeLine(f"{self._others} {UNRESOLVED}", Tone.WARNING, "!")
        self.say(changed if self._is_conflict else previews.describe_failure(error))

    @property
    def _stopped(self) -> bool:
        """Whether a rule of the store refuses the change, but can be overridden."""
        return self._preview is not None and self._preview.planned.outcome in _STOPPED

    def labels(self) -> Mapping[str, object]:
        save = self._save_words
        return {
            "save": not self._stopped and not self._is_line and save,
            "force": self._stopped and f"{save} anyway",
            "diff": self._preview and self._preview.lines,
        }

    def keys(self) -> list[tuple[str, str]]:
        words = self._save_words
        save = [("enter", words)] * bool(words and self._is_line and not self._stopped)
        is_taken = isinstance(self.focused, TextInput) and self.focused.max_scroll_y > 0
        more = [("pgdn", "more")][: not is_taken and self.query_one(OutcomeLines).allow_focus()]
        return [*save, *super().keys(), *more, *[("⇥", "next field")] * (len(self.values()) > 1)]

    @property
    def _save_words(self) -> str:
        """What saving does now; empty: nothing."""
        if self._is_gone:
            return AS_NEW if self._has_text else ""
        return SHOW_BOTH if self._is_conflict else "" if self._count_marks() else self._form.save

    @property
    def _has_text(self) -> bool:
        """Whether the input can be a memory of its own."""
        return bool(self.values().get("content", "").strip())

    @property
    def _is_line(self) -> bool:
        """Whether enter saves: there is one field, which is not a text."""
        return len(self.values()) == 1 and not self.query(TextInput)

    # Saving

    def action_save(self) -> None:
        self.acts.start(self._save())

    def action_force(self) -> None:
        if self._stopped:
            self.acts.start(self._save(force=True))

    async def _save(self, *, force: bool = False) -> None:
        """Plan with the current input, confirm destructive changes with a diff, then save."""
        if self._saving:
            return
        if self._is_gone and self._base is not None:
            self._save_as_new(self._base)
            return
        if not self._form.changes(self.values(), force):
            self.app.notify("No changes yet.", timeout=2)
            return
        if self._count_marks():
            self._update_preview()
            self.app.notify(f"Not saved{KEPT}", severity="warning")
            return
        if self._timer is not None:  # a preview would replace the reason why it was not saved
            self._timer.stop()
            self._keep()
        self._saving, self.is_previewing = True, False
        try:
            saved = await self._write(force)
        except MemtuiError as error:
            await self._not_saved(error)
        else:
            if saved is not None:
                self._close(saved)
        finally:
            self._saving = False

    async def _write(self, force: bool) -> Planned | None:
        """Plan and write the input; None if there is nothing to write, or it was not confirmed."""
        found = await self.acts.library(
            partial(self._planned, self.values(), force),
            group="draft",
            on_progress=self.if_open(self._progressed),
        )
        planned = found.planned
        if not planned.has_edits:
            self._previewed(found)
            word = str(planned.outcome) if planned.outcome in _STOPPED else "Not saved"
            self.app.notify(f"{word}{KEPT}", severity="warning")
            return None
        acts = {change.act for change in planned.changes}
        base, now = self._form.base, self._now()
        many = len(planned.plans) > 1 or len(planned.refs) > 2
        ended = base is not None and change_forms.superseded_meanwhile(base, now)
        if planned.supersedes or acts & DESTRUCTIVE or many or ended:
            targets = previews.describe_targets(planned, self.worker.find_memory)
            summary = (*self._describe(found), *(targets if self._form.as_possible else ()))
            dialog = DiffScreen(planned.title, summary, found.lines, yes=self._form.save)
            if await self.acts.show(dialog) is None:
                return None
        self._drop_preview()

        def apply(library: Library, report: Report) -> JournalAction:
            action = library.apply(planned, report)
            if self._file is not None:
                self._file.discard()
            return action

        action = await self.acts.write(apply)
        return planned.with_written_refs(action.refs)

    def _save_as_new(self, base: Memory) -> None:
        """Leave for the form of a new memory, which begins with the input."""
        draft = self._draft()
        if draft is None or not self._has_text:
            self.app.notify(f"{self._others} {DELETED}.", severity="warning")
            return
        values = {name: value_of(base, name) for name in LABELS} | self.values()
        self.dismiss(FormDraft(Act.ADD, draft.root, (), values, {}, draft.has_merged))

    def _count_marks(self) -> int:
        """How many conflicts that are not solved are marked in the text."""
        if not self._has_merged:
            return 0
        lines = [line for prose in self.query(TextInput) for line in prose.raw.split("\n")]
        return max(lines.count(mark) for mark in CONFLICT_MARKS[::2])

    async def _not_saved(self, error: MemtuiError) -> None:
        """Show why it was not saved; the input stays."""
        is_deleted = self._base is not None and (
            (isinstance(error, RefError) and self._now() is None)
            or (isinstance(error, Conflict) and not error.has_texts)
        )
        if isinstance(error, Conflict) and not is_deleted:
            await self._solve(error)
            return
        self._saving = False
        if is_deleted:
            self._say_gone()
        else:
            self._failed(error)
        self.app.notify(f"Not saved{KEPT}", severity="error")

    async def _solve(self, conflict: Conflict) -> None:
        """Reload from disk, then ask which version is kept."""
        await self.acts.library(lambda library, _: library.refresh(), group="draft")
        self._saving = False
        # Both can be edited only where they are the text, and not other fields or a record.
        is_text = any(prose.raw == conflict.yours for prose in self.query(TextInput))
        choices = CONFLICT_CHOICES if is_text else CONFLICT_CHOICES[:-1]
        choice = await self.acts.show(ConflictScreen(conflict, choices=choices))
        if choice is None:
            self._failed(conflict)
            return
        if library := self.worker.library:
            self._base, self._before = self._now() or self._base, library.snapshot
        if choice == THEIRS:
            self.app.notify("Kept the version on disk, discarded yours.")
            self._close(None)
        elif choice == BOTH:
            self._merge(conflict)
        elif choice == MINE:
            await self._save()

    def _merge(self, conflict: Conflict) -> None:
        """Put both texts into the input, marked where they differ."""
        prose = self.query_one(TextInput)
        texts = conflict.base, conflict.yours, conflict.theirs
        merged, count = merge_marked(*(each or "" for each in texts))
        prose.set_raw(merged)
        prose.focus()
        self._has_merged = True
        if count:
            prose.move_cursor((merged.split("\n").index(CONFLICT_MARKS[0]), 0))
        else:
            self.app.notify(MERGED)
        self._update_preview()

    # Moving and closing

    @on(Input.Submitted)
    def action_submit(self) -> None:
        """Go to the next field, or save if there is none."""
        if len(self.values()) > 1:
            self.focus_next()
        else:
            self.action_save()

    def action_diff(self) -> None:
        if (found := self._preview) is not None and found.lines:
            self.app.push_screen(DiffScreen(found.planned.title, (), found.lines))

    def action_cancel(self) -> None:
        """Close; ask first if there are unsaved changes."""
        if self._saving:
            return
        if self.is_changed:
            self.acts.start(self._ask_to_discard())
        else:
            self._close(None)

    async def _ask_to_discard(self) -> None:
        reply = await self.acts.show(discard_question(self._form.save))
        if reply == DISCARD:
            self._close(None)
        elif reply is not None:
            await self._save()

    def _close(self, saved: Planned | None) -> None:
        self._drop_preview()
        if self._file is not None:
            self._file.discard()
        self.dismiss(saved)
