"""Store comparison: memories that both stores have, and those of one only, which can be copied."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Static

from memtui import text
from memtui.model import Memory
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import ListWindow
from memtui.tui.widgets.status_lines import KeyLine
from memtui.upkeep.store_comparison import StoreComparison

SHARE_CELLS = 6
STORE_CELLS = 16


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A heading, or one memory with the passage that counts."""

    words: str
    memory: Memory | None = None
    share: str = ""
    """How similar a pair is; on its first line."""


def comparison_lines(found: StoreComparison) -> list[ComparedLine]:
    """Lay out the comparison; memories that only one store has come first, for copying."""
    lines: list[ComparedLine] = []
    for label, alone in ((found.left, found.only_left), (found.right, found.only_right)):
        lines.append(ComparedLine(f"only in {label} ({text.number(len(alone))})"))
        lines += [ComparedLine(one.headline, one) for one in alone]
    lines.append(ComparedLine(f"in both ({text.number(len(found.shared))})"))
    for each in found.shared:
        lines.append(ComparedLine(each.left_passage, each.left, f"{each.score:.0%}"))
        lines.append(ComparedLine(each.right_passage, each.right))
    return lines


class ComparisonList(ListWindow):
    """The memories of a comparison below their headings."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[ComparedLine] = []

    def set_lines(self, lines: list[ComparedLine]) -> None:
        """Show these lines; the cursor stays on its memory or near its place."""
        before, at = self.current, self.cursor
        self._lines = lines
        places = [n for n, line in enumerate(lines) if line.memory is not None]
        same = [n for n in places if before and lines[n].memory.ref == before.ref]  # type: ignore[union-attr]
        near = [n for n in places if n >= at] or places[-1:]
        self.reset(cursor=(same or near or [0])[0], top=self.top)

    def cursor_moved(self) -> None:
        if isinstance(self.screen, StoreComparisonScreen):
            self.screen.show_loss()

    @property
    def current(self) -> Memory | None:
        return self._lines[self.cursor].memory if self.cursor < len(self._lines) else None

    def line_count(self) -> int:
        return len(self._lines)

    def selectable(self, index: int) -> bool:
        return self._lines[index].memory is not None

    def draw_key(self, index: int) -> Hashable:
        line = self._lines[index]
        return index, line.words, line.share

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        line, palette = self._lines[index], self.palette
        words = text.one_line(line.words)
        if line.memory is None:
            return Strip([Segment(" " + text.cut(words, width - 1), palette.heading)])
        ground = palette.cursor(focused=True) if selected else Style.null()
        store = text.cut(text.one_line(line.memory.store), STORE_CELLS)
        room = max(1, width - SHARE_CELLS - STORE_CELLS - 3)
        return Strip(
            [
                Segment("▌" if selected else " ", palette.accent + ground),
                Segment(f"{line.share:>{SHARE_CELLS - 1}} ", palette.chosen + ground),
                Segment(text.pad(store, STORE_CELLS) + "  ", palette.faint + ground),
                Segment(text.cut(words, room), palette.text + ground),
            ]
        )


class StoreComparisonScreen(FittingDialog[str]):
    """Dismissed with the ref of the memory to go to, None on escape."""

    AUTO_FOCUS = "ListWindow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("enter", "go", show=False, priority=True),
        Binding("c", "copy", show=False),
        Binding("e", "narrow", show=False),
    ]

    def __init__(
        self,
        labels: tuple[str, str],
        entity: str,
        ask: Callable[[str, Callable[[StoreComparison], None]], None],
        preview: Callable[[Memory, str, Callable[[str], None]], None],
        copy: Callable[[Memory, str, Callable[[bool], None]], None],
    ) -> None:
        """Create the screen; the comparison is computed once it is shown.

        Args:
            labels: of both stores.
            entity: what can be narrowed to; empty: nothing.
            ask: given an entity (empty: everything), has a callback called with the comparison.
            preview: given a memory and a store, has a callback called with what copying loses.
            copy: copies a memory into a store; calls back when it was copied.
        """
        super().__init__()
        self._labels, self._entity = labels, entity
        self._ask, self._preview, self._copy = ask, preview, copy
        self._is_narrowed = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content(text.one_line(" and ".join(self._labels)))
            yield ComparisonList()
            yield Static("", id="comparison-copy", classes="line", markup=False)
            yield KeyLine(id="comparison-keys")

    def on_mount(self) -> None:
        self._compare()

    def _compare(self) -> None:
        self._show_keys()
        box = self.query_one(".box")
        about = f"about {text.one_line(self._entity)}" if self._is_narrowed else ""
        box.border_subtitle = Content(about)
        self._ask(self._entity if self._is_narrowed else "", self.if_open(self._show))

    def _show(self, found: StoreComparison) -> None:
        self.query_one(ComparisonList).set_lines(comparison_lines(found))
        self.show_loss()

    def _other(self, memory: Memory) -> str:
        left, right = self._labels
        return right if memory.store == left else left

    def show_loss(self) -> None:
        """Show below the list what copying the memory under the cursor would lose."""
        memory = self.query_one(ComparisonList).current
        line = self.query_one("#comparison-copy", Static)
        line.update("")
        if memory is None:
            return

        def tell(loss: str) -> None:
            if self.query_one(ComparisonList).current is memory:
                width = max(20, line.size.width - 2)
                words = f"copy to {text.one_line(self._other(memory))}: {text.one_line(loss)}"
                line.update(Content(text.cut(words, width)))

        self._preview(memory, self._other(memory), self.if_open(tell))

    def _show_keys(self) -> None:
        narrow = "everything" if self._is_narrowed else "this entity"
        keys = [("enter", "go to", ""), ("c", "copy to the other", "")]
        keys += [("e", narrow, "")] if self._entity else []
        self.query_one(KeyLine).show(keys, [("esc", "back", "")])

    def action_go(self) -> None:
        memory = self.query_one(ComparisonList).current
        if memory is not None:
            self.dismiss(memory.ref)

    def action_copy(self) -> None:
        memory = self.query_one(ComparisonList).current
        if memory is not None:
            self._copy(memory, self._other(memory), self.if_open(lambda _: self._compare()))

    def action_narrow(self) -> None:
        if self._entity:
            self._is_narrowed = not self._is_narrowed
            self._compare()
