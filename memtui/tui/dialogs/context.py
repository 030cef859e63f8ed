"""Context screen: what an agent would get for a task by a recipe, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from memtui import text
from memtui.context import Pack, PackEntry, Recipe
from memtui.errors import MemtuiError
from memtui.tui import key_bindings
from memtui.tui.actions import BY_ID, PACK
from memtui.tui.context_packs import (
    BuiltPack,
    ItemKind,
    PackItem,
    PackRequest,
    compare_packs,
    list_items,
    step_budget,
)
from memtui.tui.dialogs.dialog import FittingDialog, labelled_row
from memtui.tui.dialogs.picker import Picker
from memtui.tui.view_state import Choice
from memtui.tui.widgets.inputs import LineInput
from memtui.tui.widgets.pack_view import (
    PackComparisonList,
    PackList,
    describe_budget,
    describe_compared,
    describe_empty,
    describe_pack,
    explain_compared,
    explain_item,
)
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_window import TextWindow

if TYPE_CHECKING:
    from memtui.tui.controllers.context import ContextActions

LOADED = "loaded"
"""The recipe of what each program loads by itself, which suits every store."""
TYPED = "typed"
"""The recipe with preferred types."""
BEFORE_CHANGE = "before the change"
"""Name of the pack as it was before the stores changed; no recipe has it, for its blanks."""
WIDE_FROM = 110
"""Columns from which the reasons stand beside the pack, not below it."""
LABEL_COLUMNS = 14
"""Width of a label, and the indentation of what follows it."""
CHECK_SECONDS = 0.2
"""Seconds between two looks at whether the stores have changed."""
CHANGES = ("edit", "pin", "retire", "restore", "supersede", "retype", "undo", "redo")
"""Actions of the browse screen that work here too, with the same keys."""


class PackScreen(FittingDialog[str]):
    """Dismissed with the ref of a memory to go to, None on escape."""

    AUTO_FOCUS = ""
    box_classes = "full pack"
    BINDINGS = [
        *key_bindings.bindings(PACK),
        *key_bindings.bindings_of("search", "help", *CHANGES),
        ("escape,q,ctrl+c", "act('escape')"),
        ("tab", "app.focus_next"),
        ("shift+tab", "app.focus_previous"),
    ]

    def __init__(
        self, host: ContextActions, recipes: Sequence[Recipe], request: PackRequest
    ) -> None:
        super().__init__()
        self._host = host
        self._recipes = {recipe.name: recipe for recipe in recipes}
        self.request = request
        self.built: BuiltPack | None = None
        self._before: Pack | None = None
        """What the same request gave before the stores changed."""
        self._error = ""
        self.working = False
        self._take: Callable[[Pack], None] | None = None
        """What the pack that is being built is to be passed to."""
        self._release_keys: Callable[[], None] = lambda: None
        self._recipe = Static("", classes="note", markup=False)
        self._task_line = LineInput(request.task, name="task")
        self._entity = Static("", classes="note", markup=False)
        self._budget = Static("", classes="note", markup=False)
        self._list = PackList()
        self._comparison = PackComparisonList(id="comparison")
        self._why = TextWindow(id="pack-why")

    def content(self) -> ComposeResult:
        yield labelled_row("Recipe", self._recipe)
        yield labelled_row("Task", self._task_line)
        yield labelled_row("Project", self._entity)
        yield labelled_row("Budget", self._budget)
        with Container(id="pack-body"):
            yield self._list
            yield self._comparison
            yield self._why

    def on_mount(self) -> None:
        self._comparison.display = False
        self._fit()
        self._show_fields()
        if self._takes_task:
            self._task_line.focus()
            self._task_line.select_all()  # typing replaces the words of the search
        else:
            self._list.focus()
        self.build()
        self.set_interval(CHECK_SECONDS, self._rebuild_if_stale)

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self._explain)

    def _fit(self) -> None:
        super()._fit()
        width, height = self.app.size
        self.set_class(width >= WIDE_FROM, "-beside")
        self._why.display = height >= 16
        self.call_after_refresh(self._say)

    @property
    def _takes_task(self) -> bool:
        return self._recipes[self.request.recipe].takes == "task"

    def _show_fields(self) -> None:
        """Show the line for the task, or the project that was chosen."""
        for shown, field in ((self._takes_task, self._task_line), (True, self._entity)):
            row = field.parent
            if isinstance(row, Widget):
                row.display = shown if field is self._task_line else not self._takes_task
        room = max(8, self.inner_width - LABEL_COLUMNS)
        for line, chosen, key in (
            (self._entity, self.request.entity or self._all, ("search", "to choose")),
            (self._recipe, self.request.recipe, ("pack.recipe", "for more recipes")),
        ):
            words = f"{chosen} · {self.app.press(key)}"
            if text.width(words) > room:
                words = f"{chosen} · {self.app.key_of(key[0])}"
            line.update(Content(text.cut_line(words, room)))

    @property
    def _all(self) -> str:
        """What is shown where no project is chosen."""
        return "all projects" if self.request.recipe == LOADED else "the newest"

    # Building

    def build(self) -> None:
        """Build the requested pack, in place of one that is being built."""
        self.working, self._error = True, ""
        self._host.build(
            self.request, self.built, self.if_open(self._done), self.if_open(self._failed)
        )
        self._say()

    def _rebuild_if_stale(self) -> None:
        is_left = self.working or self._error  # what failed or was stopped waits for the person
        if self.built is not None and not is_left and self._host.is_stale(self.built):
            self.build()

    def _done(self, built: BuiltPack) -> None:
        former, self.built, self.working = self.built, built, False
        request = replace(built.request, other="")
        if former is not None and replace(former.request, other="") != request:
            self._before = None
        elif former is not None and former.pack.text != built.pack.text:
            self._before = former.pack
        before = former.request if former else None
        is_other = before is None or _asked(before) != _asked(request)
        self._show(is_other=is_other)
        take, self._take = self._take, None
        if take is not None:
            take(built.pack)
        self._release_keys()

    def _failed(self, error: MemtuiError) -> None:
        self.working, self._error, self._take = False, str(error) or "stopped", None
        self._release_keys()
        self._show()

    def ask(self, request: PackRequest) -> None:
        """Ask for another pack."""
        if request != self.request:
            self.request = request
            self.build()

    # Showing

    @property
    def is_comparing(self) -> bool:
        return self._comparison.display

    def _show(self, *, is_other: bool = False) -> None:
        built = self.built
        items = list_items(built.pack, built.whole) if built is not None else []
        recipe = self._recipes[self.request.recipe]
        advice = self._error or describe_empty(recipe, self.request, built, self.app.press)
        if built is not None and items and not any(item.ref for item in items):
            items = [PackItem(ItemKind.NOTE, advice), *items]
        is_folded = self.request.recipe == LOADED
        self._list.show(items, advice, is_other=is_other, is_folded=is_folded)
        if built is not None:
            out = sum(1 for item in items if item.entry and item.is_over_budget)
            self._say_budget(describe_budget(built.pack, built.whole, out))
        if self.is_comparing:
            self._show_comparison()
        self._say()
        self._explain()

    def _show_comparison(self) -> None:
        built = self.built
        if built is None:
            return
        if self.request.other == BEFORE_CHANGE:
            left, right, names = self._before or built.pack, built.pack, ("before", "now")
        else:
            left, right = built.pack, built.other or built.pack
            names = (left.recipe, right.recipe)
        lines = compare_packs(left, right)
        self._comparison.show_rows(lines, cursor=self._comparison.cursor)
        self._moved()
        wide = self.app.size.width >= WIDE_FROM
        tokens = left.tokens, right.tokens
        self._say_budget(describe_compared(lines, names, tokens, wide=wide))

    def _say_budget(self, words: str) -> None:
        self._budget.update(Content(text.cut(words, max(8, self.inner_width - LABEL_COLUMNS))))

    def _say(self) -> None:
        """Show the title, what the task line takes, and the keys."""
        if not self.is_mounted:
            return
        recipe = self._recipes[self.request.recipe]
        box = self.query_one(".box")
        when = f" as of {at}" if (at := self._host.as_of()) else ""
        about = f"Context{when} · {recipe.name}: {recipe.description}"
        room = max(8, self.app.size.width - 8)
        box.border_title = Content(text.cut_line(about, room))
        self._task_line.placeholder = "what the agent is asked to do"
        self._show_fields()
        subtitle = "building…" if self.working else describe_pack(self.built, self._before)
        box.border_subtitle = Content(text.cut(subtitle, room))
        self.update_keys()

    def _explain(self) -> None:
        if self.built is None or not self._why.display:
            return
        width = max(20, self._why.size.width - 2)
        if self.is_comparing:
            lines = explain_compared(self._comparison.current, self._why.palette, width)
        else:
            lines = explain_item(
                self._list.items,
                self._list.at,
                self._why.palette,
                width,
                bars=self.has_class("-beside"),
            )
        self._why.show(lines)

    @on(PackList.Moved)
    @on(PackComparisonList.Moved)
    def _moved(self) -> None:
        self._host.choose(self.entry)
        self._explain()
        self.update_keys()

    @property
    def entry(self) -> PackEntry | None:
        """The entry under the cursor."""
        if self.is_comparing:
            line = self._comparison.current
            return line.entry if line else None
        item: PackItem | None = self._list.item
        return item.entry if item else None

    @property
    def _section(self) -> str:
        """Title of the section whose heading the cursor is on; else empty."""
        item = None if self.is_comparing else self._list.item
        return item.text if item and item.kind is ItemKind.SECTION else ""

    # Keys

    def update_keys(self) -> None:
        keys = self.query_one(KeyLine)
        back = [("esc", "stop" if self.working and self.built is None else "back", "escape")]
        if self._task_line.has_focus:
            keys.show([("enter", "to the pack", ""), ("⇥", "next field", "")], back)
            return
        shown = [name for name in _FOOTER if not self.refusal(name)]
        if self._before is None:
            shown = [name for name in shown if name not in ("undo", "redo")]
        if self.app.size.width < WIDE_FROM:
            shown = [name for name in shown if name not in _WIDE_ONLY]
        labels = {name: BY_ID[name].label for name in shown} | {
            "search": "task" if self._takes_task else "project"
        }
        if self.is_comparing:
            labels["pack.compare"] = "end comparison"
            shown.sort(key=lambda name: name != "pack.compare")
        elif self._section and self._section not in self._list.folded:
            labels["pack.open"] = "fold"
        keys.show(
            [(key, labels[name], name) for name in shown if (key := self.app.key_of(name))],
            [(self.app.key_of("help"), "help", "help"), *back],
        )

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        entry = self.entry
        if action_id == "pack.open" and self._section:
            return ""
        if action_id in _ON_ENTRY and (entry is None or not entry.ref):
            return "this line is not a memory"
        if action_id in CHANGES:
            return self._host.refusal(action_id)
        if action_id in ("pack.copy", "pack.copy.exact", "pack.save"):
            return "" if self.built is not None and self.built.pack.text else "the pack is empty"
        if action_id == "pack.more":
            return "" if self.request.budget is not None else "there is no limit already"
        if action_id == "pack.types":
            is_typed = self.request.recipe == TYPED and self.built is not None
            return "" if is_typed else f"only the recipe {TYPED} prefers types"
        return ""

    def action_act(self, action_id: str) -> None:
        """Run the action, or show why it is not possible."""
        if reason := self.refusal(action_id):
            self.app.report_refusal(reason)
        elif action_id in CHANGES:
            self.app.browse.action_act(action_id)
        else:
            self._own_actions()[action_id]()

    def _own_actions(self) -> Mapping[str, Callable[[], object]]:
        return {
            "escape": self._leave,
            "search": self._task_line.focus if self._takes_task else self._choose_entity,
            "help": self._help,
            "pack.open": self._open,
            "pack.page_in": lambda: self._page_in(self.entry.ref if self.entry else ""),
            "pack.less": lambda: self._step_budget(-1),
            "pack.more": lambda: self._step_budget(1),
            "pack.recipe": self._choose_recipe,
            "pack.recipe.next": lambda: self._step_recipe(1),
            "pack.recipe.previous": lambda: self._step_recipe(-1),
            "pack.compare": self._compare,
            "pack.types": self._choose_types,
            "pack.copy": lambda: self._pass_pack(partial(self._host.copy, exact=False)),
            "pack.copy.exact": lambda: self._pass_pack(partial(self._host.copy, exact=True)),
            "pack.save": lambda: self._pass_pack(self._host.save),
        }

    def _pass_pack(self, take: Callable[[Pack], None]) -> None:
        """Pass on the pack that was asked for, once it is built."""
        if self.working:
            self._take = take
        elif self.built is not None:
            take(self.built.pack)

    def _help(self) -> None:
        from memtui.tui.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen(PACK, self.app.key_overrides))

    def _leave(self) -> None:
        """Stop the work, end the comparison, leave the task line, then the screen."""
        if self.working:
            self._host.stop()
        if self.is_comparing:
            self._end_comparison()
        elif self._task_line.has_focus and self._list.items:
            self._list.focus()
        elif not self.working or self.built is None:
            self.dismiss(None)

    @on(Input.Changed)
    def _typed(self) -> None:
        self.ask(replace(self.request, task=self._task_line.raw))

    @on(Input.Submitted)
    def _entered(self) -> None:
        (self._comparison if self.is_comparing else self._list).focus()
        if self.working:  # the next keys are for the pack that is being built
            self._release_keys()
            self._release_keys = self.app.key_queue.hold()

    @on(PackList.Opened)
    def _opened(self) -> None:
        self.action_act("pack.open")

    def _open(self) -> None:
        """Go to the memory; open or fold the section whose heading the cursor is on."""
        if self._section:
            self._list.fold(self._section)
            self.update_keys()
        else:
            self.dismiss(self.entry.ref if self.entry else None)

    def _choose_recipe(self) -> None:
        choices = [
            Choice(name, name, note=f"{recipe.description} ({recipe.source})")
            for name, recipe in self._recipes.items()
        ]
        self.app.pick("Recipes", choices, self._recipe_chosen)

    def _step_recipe(self, step: int) -> None:
        names = list(self._recipes)
        self._recipe_chosen(names[(names.index(self.request.recipe) + step) % len(names)])

    def _recipe_chosen(self, name: str) -> None:
        self.ask(replace(self.request, recipe=name))

    def _step_budget(self, step: int) -> None:
        if self.built is not None and self.built.whole.tokens:
            budget = step_budget(self.request.budget, self.built.whole.tokens, step)
            self.ask(replace(self.request, budget=budget))

    def _page_in(self, ref: str) -> None:
        if ref:
            self.ask(replace(self.request, page_in=self.request.page_in ^ {ref}))

    def _choose_types(self) -> None:
        if self.built is not None:
            chosen = self.built.request.types
            counts = {**dict.fromkeys(chosen, 0), **self.built.types}
            choices = [
                Choice(name, name, count, chosen=name in chosen, field="type")
                for name, count in counts.items()
                if name
            ]
            picker = Picker("Prefer types", choices, empty="no memory has a type", accept="prefer")
            self.app.ask(picker, lambda types: self.ask(replace(self.request, types=types)))

    def _choose_entity(self) -> None:
        """Choose the project or branch."""
        if self.built is not None:
            choices = [Choice("", self._all)]
            choices += [
                Choice(name, name, note=", ".join(programs), field="entity")
                for name, programs in self.built.projects.items()
            ]
            self.app.pick("Project or branch", choices, self._entity_chosen, accept="choose")

    def _entity_chosen(self, name: str) -> None:
        self.ask(replace(self.request, entity=name))

    # Comparing

    def _compare(self) -> None:
        if self.is_comparing:
            self._end_comparison()
            return
        named = {BEFORE_CHANGE: "this pack, before the stores changed"} if self._before else {}
        named |= {name: recipe.description for name, recipe in self._recipes.items()}
        named.pop(self.request.recipe)
        choices = [Choice(name, name, note=about) for name, about in named.items()]
        self.app.pick("Compare with", choices, self._compare_with, accept="compare")

    def _compare_with(self, other: str) -> None:
        self._comparison.display, self._list.display = True, False
        self._comparison.focus()
        self.ask(replace(self.request, other=other))
        if other == BEFORE_CHANGE:
            self._show()

    def _end_comparison(self) -> None:
        self._comparison.display, self._list.display = False, True
        self._list.focus()
        self.request = replace(self.request, other="")
        self._show()


def _asked(request: PackRequest) -> tuple[str, str, str]:
    return request.recipe, request.task, request.entity


_FOOTER = (
    *("pack.open", "edit", "pin", "retire", "restore", "pack.recipe", "search", "pack.compare"),
    *("pack.copy", "pack.less", "pack.more", "pack.types", "pack.page_in", "undo", "pack.save"),
    "redo",
)
_ON_ENTRY = {*CHANGES, "pack.open", "pack.page_in"} - {"undo", "redo"}
_WIDE_ONLY = frozenset({"restore", "redo"})
