"""Actions that change the search: query, filters, order, saved filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import query as queries
from memtui import text
from memtui.model import IMPORTANCES, STATUSES
from memtui.tui import appearance
from memtui.tui.layout import Pane
from memtui.tui.view_state import OPPOSITES, ORDER_WORDS, ORDERS, Choice, ViewState

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screens.browse import BrowseScreen

RECENCIES = {
    "24h": "the last 24 hours",
    "7d": "the last 7 days",
    "30d": "the last 30 days",
    "90d": "the last 90 days",
    "1y": "the last year",
}
ALL = "all"
LONGEST_TITLE = 30
"""Cells of a filter's name in the heading of a question."""


class FilterActions:
    """Search line, pickers and saved filters."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {
            "search": self._search,
            "filter.type": partial(self._pick, "type"),
            "filter.importance": partial(self._pick, "importance"),
            "filter.status": partial(self._pick, "status"),
            "filter.recency": self._pick_recency,
            "filter.saved": self._pick_saved,
            "filter.clear": self._clear,
            "order": self._order,
            "order.then": self._order_then,
        }

    def _search(self) -> None:
        if self._screen.is_single and not self._screen.zoomed:
            self._screen.focus_pane(Pane.MEMORIES)  # else what is found would not be seen
        line = self._screen.search_bar.line
        line.focus()
        line.select_all()

    def _clear(self) -> None:
        screen = self._screen
        typed = queries.without_filters(queries.parse_query(screen.view.text, screen.now()))
        screen.set_view(
            ViewState(queries.format_query(replace(typed, sort=None, then=()))),
        )

    async def _order(self) -> None:
        """Choose the order; the one that is in use is marked."""
        screen = self._screen
        screen.settle()
        view = screen.view
        usual = {"": "as usual: newest first, with words best match first"}
        ways = {**usual, **{str(sort): ORDER_WORDS[sort] for sort in ORDERS}}
        now = str(view.chips.sort or "")
        choices = [Choice(way, words, chosen=way == now) for way, words in ways.items()]
        if (way := await screen.acts.pick("Order", choices)) is not None:
            screen.set_view(view.ordered(queries.Sort(way) if way else None))

    async def _order_then(self) -> None:
        """Choose a further key of the order, for memories that are equal by those before."""
        screen = self._screen
        screen.settle()
        view, found = screen.view, screen.found
        first = view.chips.sort or (found.query.order if found else queries.Sort.NEW)
        used = {first, *view.chips.then}
        used |= {way for pair in OPPOSITES.items() if used & {*pair} for way in pair}
        left = [sort for sort in ORDER_WORDS if sort not in used]
        choices = [Choice(str(sort), ORDER_WORDS[sort]) for sort in left]
        then = await screen.acts.pick(f"Order: {ORDER_WORDS[first]}, then", choices)
        if then is not None:
            screen.set_view(view.ordered_then(first, queries.Sort(then)))

    async def _pick(self, field: str) -> None:
        from memtui.tui.dialogs.picker import Picker

        screen = self._screen
        screen.settle()
        chosen = queries.filter_values(screen.view.chips, field)
        counts: Mapping[str, int] = getattr(screen.counted.facets, field) if screen.counted else {}
        picker = Picker(f"Filter by {field}", _choices(field, counts, chosen))
        if (values := await screen.acts.show(picker)) is not None:
            screen.set_view(screen.view.with_values(field, values))

    async def _pick_recency(self) -> None:
        from memtui.tui.dialogs.picker import Picker

        screen = self._screen
        screen.settle()
        since = screen.view.chips.since
        chosen = since.text if since else ""
        spans = {"": "any time", **RECENCIES}
        choices = [Choice(span, words, chosen=span == chosen) for span, words in spans.items()]

        def filtered(span: str) -> ViewState:
            moment = queries.parse_time(span, screen.now()) if span else None
            return screen.view.between(moment, None)

        picker = Picker("Filter by recency", choices, several=False)
        counted = {span: filtered(span).query(screen.now()) for span in spans}
        screen.worker.count(counted, picker.if_open(picker.set_counts))
        if values := await screen.acts.show(picker):
            screen.set_view(filtered(values[0]))

    async def _pick_saved(self) -> None:
        """Open the saved filters, until one is applied or saved; the cursor is on the one in use,
        or on the one that was changed last."""
        from memtui.tui.dialogs.picker import SavedFilterPicker

        screen, under = self._screen, ""
        screen.settle()
        current = queries.format_query(screen.view.whole_query(screen.now()))
        keys = screen.app.press(("filter.saved", "to save it"))
        empty = f"No saved filters. Search or filter first. {keys}".rstrip()
        while True:
            saved = screen.app.read_saved()
            choices = [
                Choice(name, name, note=query, chosen=query == current)
                for name, query in saved.items()
            ]
            if current and current not in saved.values():
                choices.append(Choice("", "Save current filter…", note=current, sign="+"))
            at = list(saved).index(under) if under in saved else 0
            picker = SavedFilterPicker("Saved filters", choices, empty=empty, at=at)
            values = await screen.acts.show(picker)
            if not values:
                return
            name, *act = values
            if act == ["rename"]:
                under = await self._rename(name)
            elif act == ["delete"]:
                under = await self._delete(name)
            elif name:
                screen.set_view(ViewState(saved[name]).settled(screen.now()))
                return
            else:
                await self._save(current)
                return

    async def _delete(self, name: str) -> str:
        """Delete a filter, after a question; return the one to stand on then."""
        app = self._screen.app
        names = list(app.saved)
        at = names.index(name)
        if not await self._confirm("delete", name):
            return name
        app.remove_filter(name)
        return (names[at + 1 :] or names[at - 1 :])[0]

    async def _confirm(self, verb: str, name: str) -> bool:
        """Ask before a saved filter is lost, which no undo brings back."""
        from memtui.tui.dialogs.prompts import ConfirmDialog
        from memtui.tui.widgets.text_window import OutcomeLine, Tone

        screen = self._screen
        title = f"{verb.capitalize()} saved filter “{text.cut_line(name, LONGEST_TITLE)}”?"
        body = (OutcomeLine(text.one_line(screen.app.saved[name]), Tone.QUIET),)
        return await screen.acts.show(ConfirmDialog(title, body, {"y": verb})) is not None

    async def _rename(self, name: str) -> str:
        """Ask for another name of a filter; return the one that it has then."""
        from memtui.tui.dialogs.prompts import PromptDialog

        app = self._screen.app
        query = app.saved[name]
        new = await self._screen.acts.show(PromptDialog("Rename filter", hint=query, value=name))
        if not new or new == name:
            return name
        if new in app.read_saved():
            # Once the filters are open again, which clears what was said before.
            app.call_after_refresh(app.report_refusal, f'there is a filter "{new}" already')
            return name
        app.save_filter(new, query)
        app.remove_filter(name)
        return new

    async def _save(self, current: str) -> None:
        """Save a filter under a name that is asked for."""
        from memtui.tui.dialogs.prompts import PromptDialog

        app = self._screen.app
        name = await self._screen.acts.show(PromptDialog("Save filter", hint=current))
        if name is None:
            return
        is_new = app.read_saved().get(name, current) == current
        if is_new or await self._confirm("replace", name):
            app.save_filter(name, current)
            app.notify(f'Saved filter "{name}".', timeout=3)


_ORDERED: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "importance": (IMPORTANCES, appearance.IMPORTANCE_GLYPHS),
    "status": (STATUSES, appearance.VISIBLE_STATUS_GLYPHS),
}
"""Fields whose values have an order of their own, with the glyphs of the values."""


def _choices(field: str, counts: Mapping[str, int], chosen: tuple[str, ...]) -> list[Choice]:
    """The values to choose from: in their own order where they have one, else most first."""
    values, glyphs = _ORDERED.get(field, ((), {}))
    if values:
        rows = [
            Choice(v, v, counts.get(v, 0), chosen=v in chosen, sign=glyphs[v], field=field)
            for v in values
        ]
        if field == "status":
            rows.append(Choice(ALL, "any status", sum(counts.values()), chosen=ALL in chosen))
        return rows
    folded = {value.casefold() for value in counts}
    known = dict(counts) | {value: 0 for value in chosen if value not in folded}
    return [
        Choice(
            value.casefold(),
            value,
            count,
            chosen=value.casefold() in chosen,
            field=field,
        )
        for value, count in sorted(known.items(), key=lambda item: (-item[1], item[0]))
    ]
