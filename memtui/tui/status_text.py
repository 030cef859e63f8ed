"""Status texts of the browse screen: progress, counts, empty states, statistics, references."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import query as queries
from memtui import text
from memtui.model import IMPORTANCES, STATUSES
from memtui.progress import Progress
from memtui.query import Condition, Sort
from memtui.tui import appearance, key_bindings
from memtui.tui.memory_detail import Reference
from memtui.tui.view_state import ORDER_WORDS, ViewState
from memtui.tui.widgets.memory_list import Offer
from memtui.tui.widgets.statistics import Row
from memtui.tui.widgets.status_lines import News

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage, Relative
    from memtui.insight.statistics import Statistics
    from memtui.library import SearchResult
    from memtui.library.broken_files import StoreLosses
    from memtui.library.review_files import Queue
    from memtui.stores.base import LimitUse
    from memtui.tui.screens.browse import BrowseScreen

MAX_VALUES = 12
MAX_OFFERS = 5
"""Lines that say what to drop where nothing matches."""
_FOUND = {
    "secret": "secret",
    "planted-text": "planted text",
    "conflict": "disagree",
    "agent": "from agents",
}
"""Kind of proposal -> what the status line counts it as; kinds that are named here come first."""
_REST = "to review"
_LIST_UNREADABLE = ("unreadable", "to list unreadable files")
_LIST_CHANGES = ("changed", "to see and restore them")
"""Actions, and what their keys are for."""


class StatusText:
    """Formats values as texts and rows, and passes them to the widgets of the screen."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._progress = ""
        self.complete = False
        """All stores have been read, so that an empty list means no memories."""
        self._offered: Sequence[ViewState] = ()
        self._offered_for: ViewState | None = None
        self._findings: list[str] = []
        """What the review has found, a piece of the status line each."""

    # Progress

    def show_progress(self, progress: Progress | None) -> None:
        """Show the progress of long work at the end of the search bar."""
        words = ""
        if progress is not None:
            share = f" {progress.done * 100 // progress.total} %" if progress.total else " …"
            words = text.one_line(progress.what) + share
        if words != self._progress:
            self._progress = words
            self._screen.search_bar.set_activity(words)

    # Results

    def show_results(self, found: SearchResult) -> None:
        """Show filter chips, hint, order and counts; an explanation if nothing was found."""
        screen = self._screen
        library = screen.worker.library
        total = library.snapshot.count if library else 0
        right = f"{text.number(found.total)} of {text.number(total)}"
        if library and library.queried:
            right = text.number(*found.count)
            total = found.total or not found.query.is_empty
        if found.is_scan:
            right = f"index not ready, scanning · {right}"
        order = _order_words(found)
        has_status = queries.filter_values(found.query, "status")
        status = "memories" if has_status else "current memories"
        hint = " · ".join(found.hints) if found.total else ""  # else the list says it
        chips = screen.view.chip_list(screen.app.store_name)
        is_said = any(chip.key == "sort" for chip in chips)
        beside = "" if is_said and order == ORDER_WORDS[found.query.order] else order
        screen.chips.show(chips, f"{status}, {order}", hint, right, beside)
        self.show_news()
        if total and not found.total:
            self._offer(found)
        elif not total:
            screen.memories.explain(*self._explain_no_memories())

    def show_news(self) -> None:
        """Show what a person came for, at the beginning of the status line: files that cannot be
        read, what is new since the last look, what the review has found."""
        screen = self._screen
        unreadable, fresh, seen = self._count_unreadable(), len(screen.memories.fresh), ""
        if screen.last_seen is not None:
            seen = f" {text.since(screen.last_seen, screen.now())}"
        news = []
        if unreadable:
            news.append(News("unreadable", f"! {text.number(unreadable)}", " unreadable", True))
        if screen.worker.past is None:
            if fresh:
                news.append(News("changed", f"{text.number(fresh)} new", seen))
            news += [News("queue", words) for words in self._findings]
        screen.chips.show_news(news)

    def show_findings(self, queue: Queue) -> None:
        """Show what the review has found, the most dangerous first; neither hints nor
        housekeeping."""
        counts = Counter(
            _FOUND.get(one.kind, _REST)
            for one in queue.proposals
            if not (one.is_hint or one.is_housekeeping)
        )
        found = [noun for noun in dict.fromkeys(_FOUND.values()) if counts[noun]]
        self._findings = [_count_finding(noun, counts[noun]) for noun in found]
        if counts[_REST]:
            rest = text.number(counts[_REST])
            self._findings.append(f"{rest} more to review" if found else f"{rest} {_REST}")
        self.show_news()

    def _explain_no_memories(self) -> tuple[str, ...]:
        if not self.complete:
            return ("Reading stores…",)
        library = self._screen.worker.library
        if library is not None and not library.stores:
            return self._with_keys(
                "No memory stores were found.", ("stores", "to open a path or the demo")
            )
        if self._count_unreadable():
            return self._with_keys("No readable memories.", _LIST_UNREADABLE)
        return self._with_keys("No memories yet.", ("new", "to add one"))

    # No matches

    @property
    def offers(self) -> Sequence[ViewState]:
        """What a view that finds nothing can be changed to; () if it finds something."""
        return self._offered if self._screen.view == self._offered_for else ()

    def _offer(self, found: SearchResult) -> None:
        """Say that nothing was found, and count in a job what could be dropped."""
        screen = self._screen
        view = screen.view
        if not self.offers:
            screen.memories.explain("No matches.", *found.hints)
        steps = view.relaxed(screen.now(), self._filter_name, typing=screen.is_typing)
        views = {words: relaxed for step in steps for words, relaxed in step.items()}

        def show(counts: Mapping[str, int]) -> None:
            if screen.found is found and screen.view == view:
                shown = list(counts.items())[:MAX_OFFERS]
                self._offered_for, self._offered = view, [views[words] for words, _ in shown]
                offers = [Offer(text.one_line(words), text.number(count)) for words, count in shown]
                screen.memories.explain("No matches.", *found.hints, offers=offers)
                screen.update_keys()

        asked = [{words: screen.query_of(views[words]) for words in step} for step in steps]
        screen.worker.count_first(asked, show)

    def _filter_name(self, part: Condition) -> str:
        """A filter as it is typed, with the names of stores."""
        if part.field == "store":
            part = replace(part, values=tuple(map(self._screen.app.store_name, part.values)))
        name = queries.format_condition(part)
        begun = name.removesuffix("*")  # more letters may follow
        return begun if self._screen.view.text.casefold().endswith(begun) else name

    def _with_keys(self, line: str, purpose: tuple[str, str]) -> tuple[str, ...]:
        """Add a line that names the key to press; `purpose`: action id and purpose."""
        keys = self._screen.app.press(purpose)
        return (line, keys) if keys else (line,)

    def _count_unreadable(self) -> int:
        """Count the files and folders that cannot be read."""
        library = self._screen.worker.library
        stores = library.snapshot.stores if library else ()
        return sum(len(store.unreadable) for store in stores)

    # Statistics and references

    def statistics(self, statistics: Statistics, found: SearchResult) -> list[Row]:
        """Rows of the statistics pane: counts with bars, then times and sizes."""
        query, facets = found.query, found.facets
        groups = [
            ("Type", "type", facets.type),
            ("Importance", "importance", facets.importance),
            ("Status", "status", facets.status),
            ("Store", "store", facets.store),
            ("Kind", "kind", facets.kind),
        ]
        rows: list[Row] = []
        for heading, field, counts in groups:
            names = self._screen.app.store_name if field == "store" else text.one_line
            accuracy = "exact" if found.are_facets_exact else "sampled"
            group = _group(field, counts, queries.filter_values(query, field), names, accuracy)
            if group and (field != "kind" or len(counts) > 1):
                rows += [Row(heading), *group]
        if statistics.limits:
            rows += [
                Row("Loaded at start"),
                *_limit_rows(statistics.limits, self._screen.app.store_name),
            ]
        rows += [Row("Times and sizes"), *self._statistics_facts(statistics)]
        return rows

    def _statistics_facts(self, statistics: Statistics) -> list[Row]:
        now = self._screen.now()
        library = self._screen.worker.library
        is_queried = library is not None and bool(library.queried)
        facts = [Row("shown", fact=text.number(statistics.total, statistics.accuracy))]
        if is_queried:
            facts += [Row(name, fact="not counted") for name in ("pinned", "undated")]
        elif statistics.pinned:
            facts.append(Row("pinned", fact=text.number(statistics.pinned)))
        for name, time in (("newest", statistics.newest), ("oldest", statistics.oldest)):
            if time is not None:  # queried stores say the day only
                when = f"{time:%Y-%m-%d}" if is_queried else text.short_ago(time, now)
                facts.append(Row(name, fact=when))
        if statistics.undated and not is_queried:
            facts.append(Row("undated", fact=text.number(statistics.undated)))
        if statistics.disk:
            facts.append(Row("on disk", fact=text.size(statistics.bytes)))
        return facts

    def references(self, lineage: Lineage) -> list[Reference]:
        """References of a memory for the detail pane, superseding memories first.

        A replacement that is also a link, as in Engram, is one reference.
        """
        linked = {link.id for link in lineage.links if _relation(link) == "supersedes"}
        found = [self._reference("superseded by", relative) for relative in lineage.successors]
        found += [
            self._reference("supersedes", relative)
            for relative in lineage.supersedes
            if relative.id not in linked
        ]
        for relative in lineage.links:
            found.append(self._reference(_relation(relative), relative))
        for relative in lineage.backlinks:
            found.append(self._reference(f"linked from: {_relation(relative)}", relative))
        if lineage.more_backlinks:
            found.append(Reference("linked from", f"+{text.number(lineage.more_backlinks)} more"))
        return found

    def _reference(self, relation: str, relative: Relative) -> Reference:
        memory, link = relative.memory, relative.link
        note = link.note if link else ""
        if memory is None:
            return Reference(relation, relative.id, note=note, is_missing=relative.is_missing)
        age = text.short_ago(memory.when, self._screen.now()) if memory.when else ""
        return Reference(relation, memory.headline[: text.MAX_READ], memory.ref, note, age)


def _count_finding(noun: str, count: int) -> str:
    if noun in ("secret", "planted text"):
        return text.counted(count, noun)
    ending = "s" if (noun, count) == (_FOUND["conflict"], 1) else ""
    return f"{text.number(count)} {noun}{ending}"


MAX_LIMITS = 5
"""Load limits that are shown, the fullest first; `memtui stats` lists all."""


def _limit_rows(limits: Sequence[LimitUse], names: Callable[[str], str]) -> list[Row]:
    """Rows on what size limits leave out, and how full the limit of each text is."""
    titles = [use.title.rpartition("/")[2] for use in limits]  # a project by the end of its path
    count = Counter(titles)
    rows = [
        Row(
            text.one_line(f"{names(use.store)}: {title}" if count[title] > 1 else title),
            fact=f"{use.share:.0%}"
            if use.cut_line is None
            else f"cut at line {text.number(use.cut_line)}",
        )
        for use, title in zip(limits[:MAX_LIMITS], titles, strict=False)
    ]
    more = len(limits) - len(rows)
    return [*rows, Row("others", fact=f"{more} less full")] if more else rows


def describe_losses(
    report: StoreLosses, store: str, keys: Mapping[str, Sequence[str]]
) -> tuple[str, str]:
    """Title and text of the toast about what a store has lost.

    `store`: its name; `keys`: the keys of every action.
    """
    is_listed = report.is_listed
    label, what = text.one_line(store), "unreadable" if is_listed else "missing"
    title = f"{label}: {what}"
    if report.memories:
        became = "became unreadable" if is_listed else "missing"
        title = f"{label}: {text.counted(report.memories, 'memory')} {became}"
    first, *others = report.losses
    words = []
    if first.path:
        name = os.path.relpath(first.path, report.root)
        name = text.file_name(first.path if name in (".", "..") else name)
        words.append(f"{name}: {text.one_line(first.reason)}.")
    if others:
        words.append(f"{text.number(len(others))} more.")
    if report.by:
        words.append(f"Deleted: {report.by}.")
    words.append(key_bindings.press(keys, _LIST_UNREADABLE if is_listed else _LIST_CHANGES))
    return title, " ".join(filter(None, words))


def _order_words(found: SearchResult) -> str:
    """The order of a list, and of what it was made, if that is not all."""
    order = ORDER_WORDS[found.query.order]
    if among := found.among:
        order = f"best of {among}" if found.query.order is Sort.RELEVANCE else f"{order} of {among}"
    return f"{order}, stores joined by rank" if found.is_joined_by_rank else order


def _relation(relative: Relative) -> str:
    return relative.link.relation.replace("_", " ") if relative.link else "linked"


def _group(
    field: str,
    counts: Mapping[str, int],
    chosen: tuple[str, ...],
    shown: Callable[[str], str] = text.one_line,
    accuracy: str = "exact",
) -> list[Row]:
    """One row per value, in its own order if it has one, else by count; `shown` gives its name,
    `accuracy` is that of the counts."""
    order = {"importance": IMPORTANCES, "status": STATUSES}.get(field)
    values = [v for v in order if counts.get(v)] if order else list(counts)
    marks = {
        "importance": appearance.IMPORTANCE_GLYPHS,
        "status": appearance.VISIBLE_STATUS_GLYPHS,
    }.get(field, {})
    longest = max(counts.values(), default=0) or 1
    rows = [
        Row(
            shown(value),
            field,
            value,
            marks.get(value, ""),
            counts[value],
            counts[value] / longest,
            chosen=value.casefold() in chosen,
            accuracy=accuracy,
        )
        for value in values[:MAX_VALUES]
    ]
    if len(values) > MAX_VALUES:
        rest = sum(counts[value] for value in values[MAX_VALUES:])
        rows.append(Row(f"{len(values) - MAX_VALUES} more", fact=text.number(rest, accuracy)))
    return rows
