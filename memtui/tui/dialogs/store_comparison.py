"""Store comparison: memories that both stores have, and those of one only, which can be copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from memtui import text
from memtui.dataclass import dataclass
from memtui.model import Memory
from memtui.tui.dialogs.dialog import FittingDialog, RowList
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


class ComparisonList(RowList[ComparedLine]):
    """The memories of a comparison below their headings."""

    def set_lines(self, lines: list[ComparedLine]) -> None:
        """Show these lines; the cursor stays on its memory or near its place."""
        before, at = self.memory, self.cursor
        places = [n for n, line in enumerate(lines) if line.memory is not None]
        same = [n for n in places if before and lines[n].memory.ref == before.ref]  # type: ignore[union-attr]
        near = [n for n in places if n >= at] or places[-1:]
        self.show_rows(lines, cursor=(same or near or [0])[0], top=self.top)

    @property
    def memory(self) -> Memory | None:
        """The memory under the cursor."""
        return self.current.memory if self.current else None

    def selectable(self, index: int) -> bool:
        return self.rows[index].memory is not None

    def draw_row(self, row: ComparedLine, width: int) -> Sequence[tuple[str, Style]]:
        palette, words = self.palette, text.one_line(row.words)
        if row.memory is None:
            return [(text.cut(words, width - 1), palette.heading)]
        store = text.cut(text.one_line(row.memory.store), STORE_CELLS)
        room = max(1, width - SHARE_CELLS - STORE_CELLS - 3)
        return [
            (f"{row.share:>{SHARE_CELLS - 1}} ", palette.chosen),
            (text.pad(store, STORE_CELLS) + "  ", palette.faint),
            (text.cut(words, room), palette.text),
        ]


class StoreComparisonScreen(FittingDialog[str]):
    """Dismissed with the ref of the memory to go to, None on escape."""

    AUTO_FOCUS = "ListWindow"
    box_classes = "full"
    leave = "back"
    BINDINGS = [
        ("escape,q", "dismiss"),
        Binding("enter", "go", priority=True),
        ("c", "copy"),
        ("e", "narrow"),
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
        self.heading = " and ".join(labels)
        self._labels, self._entity = labels, entity
        self._ask, self._preview, self._copy = ask, preview, copy
        self._is_narrowed = False

    def content(self) -> ComposeResult:
        yield ComparisonList()
        yield Static("", id="comparison-copy", classes="line", markup=False)

    def keys(self) -> list[tuple[str, str]]:
        narrow = [("e", "everything" if self._is_narrowed else "this entity")]
        return [("enter", "go to"), ("c", "copy to the other"), *(narrow if self._entity else [])]

    def on_mount(self) -> None:
        self._compare()

    def _compare(self) -> None:
        self.update_keys()
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

    @on(ComparisonList.Moved)
    def show_loss(self) -> None:
        """Show below the list what copying the memory under the cursor would lose."""
        memory = self.query_one(ComparisonList).memory
        line = self.query_one("#comparison-copy", Static)
        line.update("")
        if memory is None:
            return

        def tell(loss: str) -> None:
            if self.query_one(ComparisonList).memory is memory:
                width = max(20, line.size.width - 2)
                words = f"copy to {text.one_line(self._other(memory))}: {text.one_line(loss)}"
                line.update(Content(text.cut(words, width)))

        self._preview(memory, self._other(memory), self.if_open(tell))

    def action_go(self) -> None:
        memory = self.query_one(ComparisonList).memory
        if memory is not None:
            self.dismiss(memory.ref)

    def action_copy(self) -> None:
        memory = self.query_one(ComparisonList).memory
        if memory is not None:
            self._copy(memory, self._other(memory), self.if_open(lambda _: self._compare()))

    def action_narrow(self) -> None:
        if self._entity:
            self._is_narrowed = not self._is_narrowed
            self._compare()
