"""Detail pane: one whole memory, wrapped and scrollable, with references to follow."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip

from memtui import text
from memtui.model import Memory
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.memory_detail import DetailLine, DetailLines, Match, MemoryDetail, Reference
from memtui.tui.messages import RefChosen
from memtui.tui.view_state import Choice
from memtui.tui.widgets.line_api import mark_selected
from memtui.tui.widgets.list_window import ListWindow

if TYPE_CHECKING:
    from memtui.library.snapshot import StoreState

LINES_ABOVE = 2
"""Lines above the passage that a search has found."""


NOTHING = DetailLines((), (), lambda _: [], (), 0)


class Detail(ListWindow):
    """Scrolls by line; at most a reference is selected."""

    ALLOW_SELECT = True
    BINDINGS = [*key_bindings.bindings(Pane.DETAIL)]
    has_cursor = False

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id=Pane.DETAIL, title="3 Detail")
        self._now = now
        self.memory: Memory | None = None
        self._references: Sequence[Reference] = ()
        self.words: tuple[str, ...] = ()
        self._searched: tuple[str, ...] = ()
        """The words whose passage has been scrolled to."""
        self._lines = NOTHING
        self._laid_out_for = 0
        self._laid_out_ref = ""
        """Ref of the memory that the lines, scroll and selected reference belong to."""
        self._target = -1
        """Number of the selected reference among those that can be selected; -1 = none."""
        self._matches: Sequence[Match] = ()
        """Where the searched words are, once they are gone through."""
        self._match = -1
        """Number of the match that was gone to last; -1 = none."""
        self._has_match = False
        self._is_behind = False
        """The lines are still those of the previous memory."""
        self._trail: Sequence[str] = ()
        self._raw = False
        self._can_render = False
        """Markdown can be rendered without an import, which would take 0.1 s."""
        self._folded = True
        self._findings: Mapping[str, Sequence[str]] = {}
        self._learned = ("", "", "")
        """Ref of a memory, in what session it was learned, and how often it was used."""
        self.why_none = ""
        """Said where there is no memory."""
        self.stores: Mapping[str, StoreState] = {}
        """By label; files are named from the folder of their store."""

    # Content

    def show(self, memory: Memory | None, words: tuple[str, ...], *, later: bool = False) -> None:
        """Show a memory with these words highlighted; `show_references` adds its references later.

        Another memory starts at its top; a new version of the same one keeps scroll and references.
        `later`: draw it only when `catch_up` is called or its lines are needed.
        """
        if memory is self.memory and words == self.words and not self._is_behind:
            return
        if _ref(memory) != _ref(self.memory):
            self._references = ()
        self.memory, self.words = memory, words
        self._is_behind = True
        if not later:
            self.catch_up()

    def catch_up(self) -> None:
        """Lay out the memory set last, if that was deferred."""
        if self._is_behind:
            self._lay_out()

    def clock_advanced(self, before: datetime) -> None:
        """Draw the ages anew if the memory's is another than it was then."""
        when = self.memory.when if self.memory is not None else None
        if text.ago(when, before) != text.ago(when, self._now()) and self._selection is None:
            self._lay_out()

    def show_findings(self, findings: Mapping[str, Sequence[str]]) -> None:
        """Set the open review proposals, by the refs of the memories."""
        ref = _ref(self.memory)
        is_other = self._findings.get(ref) != findings.get(ref)
        self._findings = findings
        if is_other:
            self._lay_out()

    def show_learned(self, ref: str, words: str, used: str) -> None:
        """Set in what session the memory with this ref was learned, and how often it was used."""
        before, self._learned = self._learned, (ref, words, used)
        if before != self._learned and ref == _ref(self.memory):
            self._lay_out()

    def show_references(self, references: Sequence[Reference]) -> None:
        """Set the references of the shown memory."""
        if list(references) == list(self._references):
            return
        self._references = references
        self._lay_out()

    def set_trail(self, names: Sequence[str]) -> None:
        """Set the headlines of the memories that references were followed from."""
        if list(names) != list(self._trail):
            self._trail = names
            self._is_behind = True

    def toggle_raw(self) -> None:
        """Show the text as it is written, or with its Markdown rendered."""
        self._raw, self._match = not self._raw, -1
        self._lay_out()

    def render_markdown(self, *, ready: bool = True) -> None:
        """Render Markdown from now on: what it needs has been imported."""
        self._can_render = ready
        self._lay_out()

    def toggle_fields(self) -> None:
        """Show the raw fields, scrolled to where they begin, or hide them."""
        self._folded = not self._folded
        self._lay_out()
        if not self._folded:
            self._lines.draw_all()
            lines = self._lines.target_lines
            heading = next((at for at in lines if self._lines[at].folds), 0)
            self.top = max(self.top, min(heading, len(self._lines) - self.page))
            self._settle()
            self.redraw()

    @property
    def targets(self) -> int:
        self.catch_up()
        return sum(1 for line in self._lines.targets if line.ref)

    @property
    def _chosen(self) -> DetailLine | None:
        lines = self._lines.targets
        return lines[self._target] if 0 <= self._target < len(lines) else None

    def step_target(self, step: int) -> None:
        """Select the next reference (1) or the previous one (-1)."""
        self.catch_up()
        self._lines.draw_all()
        lines = self._lines.target_lines
        if not lines:
            return
        at = self._target + step if self._target >= 0 else (step < 0) * -1
        self._target = at % len(lines)
        line = lines[self._target]
        if not self.top <= line < self.top + self.page:
            self.top = max(0, min(line - self.page // 2, len(self._lines) - self.page))
            self._settle()
        self.redraw()

    @property
    def has_match(self) -> bool:
        """Whether the text has a searched word."""
        self.catch_up()
        return self._has_match

    def step_match(self, step: int) -> None:
        """Go to the next searched word (1) or the previous one (-1), from the last to the first."""
        self.catch_up()
        self._matches = self._matches or self._lines.find_matches(self.words)
        if not self._matches:
            return
        view = range(self.top, self.top + self.page)
        if (current := self._current_match) is None or current.line not in view:
            start = view.start if step > 0 else view.stop
            before = sum(match.line < start for match in self._matches)
            self._match = before - (step > 0)
        self._match = (self._match + step) % len(self._matches)
        line = self._matches[self._match].line
        if line not in view:
            self.top = max(0, line - self.page // 3)
            self._settle()
        self._update_subtitle()
        self.redraw()

    @property
    def _current_match(self) -> Match | None:
        return self._matches[self._match] if 0 <= self._match < len(self._matches) else None

    def _update_subtitle(self) -> None:
        place = f"match {self._match + 1} of {text.number(len(self._matches))}"
        parts = ["raw"] * self._raw + [place] * (self._match >= 0)
        self.say_below(Content(" · ".join(parts)))

    def choose(self) -> None:
        """Follow the selected reference, the only one, or the one that is chosen of several."""
        self.catch_up()
        lines = self._lines.targets
        refs = [at for at, line in enumerate(lines) if line.ref]
        if self._chosen is None and len(refs or lines) == 1:
            self._target = refs[0] if refs else 0
        if (chosen := self._chosen) is None:
            if refs:
                self._choose_of([lines[at] for at in refs])
        elif chosen.folds:
            self.toggle_fields()
        else:
            self.post_message(RefChosen(chosen.ref))

    def _choose_of(self, lines: Sequence[DetailLine]) -> None:
        words = ["".join(segment.text for segment in line.segments).strip() for line in lines]
        choices = [Choice(line.ref, each) for line, each in zip(lines, words, strict=True)]
        picker = self.app.picker("Go to", choices)
        self.app.ask(picker, lambda refs: refs and self.post_message(RefChosen(refs[0])))

    def _lay_out(self) -> None:
        width = self.size.width - 1
        self.drop_selection()
        chosen = self._chosen
        is_resized, self._laid_out_for = width != self._laid_out_for, width
        self._is_behind = False
        before, self._lines = self._lines, NOTHING
        if self.memory is not None and width > 0:
            store = self.stores.get(self.memory.store)
            self._lines = MemoryDetail(
                self.memory,
                self._references,
                self.words,
                self.palette,
                self._now(),
                width,
                root=store.root if store else None,
                link_to=store.target if store else "",
                store_name=self.app.store_name(self.memory.store),
                trail=self._trail,
                raw=self._raw or not self._can_render,
                folded=self._folded,
                findings=self._findings.get(self.memory.ref, ()),
                learned=self._learned[1:] if self._learned[0] == self.memory.ref else ("", ""),
            ).lines()
        if _ref(self.memory) != self._laid_out_ref:
            self._laid_out_ref = _ref(self.memory)
            self.top, self._target, self._match, chosen = 0, -1, -1, None
            self._searched = ()
        elif is_resized and self.top and len(before):
            self.top = self._lines.line_at(before.place_of(self.top))
        if chosen is not None:
            self._select_again(chosen.ref)
        self._go_to_passage()
        self._matches = self._lines.find_matches(self.words) if self._match >= 0 else ()
        self._update_subtitle()
        self._settle()
        self.redraw()

    def _select_again(self, ref: str) -> None:
        """Select the nearest reference to this memory, or the fold of the fields if it is empty."""
        lines = self._lines.targets
        same = [at for at, line in enumerate(lines) if (line.ref, line.folds) == (ref, not ref)]
        self._target = min(same, key=lambda at: abs(at - self._target), default=-1)

    def _go_to_passage(self) -> None:
        """Scroll to the passage that a new search has found, if it is further down."""
        if self._lines is NOTHING and self.memory is not None:
            return  # it is not in view
        first, last = self._lines.find_passage(self.words) if self.words else (0, 0)
        self._has_match = last > 0
        if self._searched != self.words:
            self._searched, self._match = self.words, -1
            if self.words:
                self.top = max(0, first - LINES_ABOVE) if last >= self.page else 0

    def _settle(self) -> None:
        """Draw the text as far as it is in view."""
        before = len(self._lines), self.top
        if self.top and self.top + self.page >= len(self._lines):
            self._lines.draw_all()
        self._lines.draw_to(self.top + self.page)
        self.top = max(0, min(self.top, len(self._lines) - self.page))
        if (len(self._lines), self.top) != before:
            self.redraw()

    def scroll_lines(self, lines: int) -> None:
        self.catch_up()
        super().scroll_lines(lines)
        self._settle()

    # Drawing

    def line_count(self) -> int:
        return len(self._lines)

    def draw_key(self, index: int) -> Hashable:
        match = self._current_match
        return index, self._is_selected(index), match if match and match.line == index else None

    def _is_selected(self, index: int) -> bool:
        return self._target >= 0 and index in self._lines.target_lines[self._target :][:1]

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        line = self._lines[index]
        if (match := self._current_match) is not None and match.line == index:
            first, *rest = line.segments
            if first.text.startswith(" "):
                sign = Segment("▸", self.palette.match)
                line = DetailLine((sign, Segment(first.text[1:], first.style), *rest))
            place = Selection(Offset(match.start, index), Offset(match.end, index))
            return mark_selected(Strip(line.segments), place, index)
        if not self._is_selected(index):
            return Strip(line.segments)
        ground = self.palette.cursor(focused=self.has_focus)
        segments = [Segment(s.text, (s.style or Style.null()) + ground) for s in line.segments]
        segments[0] = Segment("▌", self.palette.accent + ground)
        used = sum(text.width(segment.text) for segment in segments)
        return Strip([*segments, Segment(" " * max(0, width - used), ground)])

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.size.width - 1 != self._laid_out_for:  # the first frame comes before its Resize
            self._lay_out()
        return super().render_lines(crop)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if selection.end is None:
            self._lines.draw_all()
        return super().get_selection(selection)

    def draw_empty(self, y: int, width: int) -> Strip:
        if y:
            return Strip([])
        return Strip([Segment(text.cut(f" {self.why_none}", width), self.palette.faint)])

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if index in (lines := self._lines.target_lines):
            self._target = lines.index(index)
            self.redraw()
            self.choose()

    def recolour(self) -> None:
        self._lay_out()
        self.refresh()

    def on_resize(self) -> None:
        if self.size.width - 1 != self._laid_out_for:
            self._lay_out()
        else:
            self._settle()


def _ref(memory: Memory | None) -> str:
    return memory.ref if memory is not None else ""
