"""Markdown of a store as styled lines: headings, lists, tables, code, quotes, links.

markdown-it-py parses, nothing else of it is used. Text becomes visible (`text.visible`) before and
after parsing, links are text that names their target, HTML is shown as it is written, and what a
reader would miss (a `*` inside a word, a backslash) is kept. Imported when first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.tui.appearance import Palette

Lines = list[list[Segment]]
Pieces = list[tuple[str, Style]]

NARROWEST = 10
"""Columns that nested blocks keep; below, they are not indented."""
NESTING = 16
"""Depth of blocks from which a part is drawn as it is written."""
MAX_PART_CHARS = 8_000
"""Characters of a part that is parsed; a longer one is drawn as it is written."""
MAX_URL_CHARS = 300
_DEEP = re.compile(rf"^[ \t]*(?:>[ \t]*|(?:[-*+]|\d{{1,9}}[.)])[ \t]+){{{NESTING}}}", re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]]")
_ESCAPED = frozenset("*_`[]#|~>")
"""Characters whose backslash is left out, since they would mean something without it."""
_BULLETS = ("•", "◦", "▪")
_TOKENS = {
    "Comment": "comment",
    "Keyword": "keyword",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Name.Function": "name",
    "Name.Class": "name",
    "Name.Tag": "name",
    "Name.Builtin": "builtin",
    "Name.Decorator": "builtin",
    "Name.Attribute": "builtin",
    "Operator": "operator",
    "Punctuation": "operator",
    "Generic.Inserted": "added",
    "Generic.Deleted": "removed",
}
"""Kind of token in code -> style of the palette."""
_FRONT_MATTER = re.compile(r"---[ \t]*\n.*\n---\s*", re.DOTALL)
PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(
    ["table", "strikethrough"]
)
PARSER.disable(["entity", "html_block", "html_inline", "reference", "text_join"])


class MarkdownRenderer:
    """Draws parts of a Markdown text for a width and a palette."""

    def __init__(
        self,
        palette: Palette,
        width: int,
        *,
        base: Style | None = None,
        words: Sequence[str] = (),
        definitions: Mapping[str, str] | None = None,
    ) -> None:
        self._palette, self._width, self._words = palette, max(4, width), words
        self._base = base or palette.text
        self._references = {
            label: {"title": "", "href": text.visible(target)}
            for label, target in (definitions or {}).items()
        }

    def lines(self, part: str) -> Lines:
        """Draw a part of the text, at most `width` cells wide; a blank line before it remains."""
        shown = text.visible(part)
        lines: Lines = [[]] if part.startswith("\n") else []
        if _FRONT_MATTER.fullmatch(shown):
            return [*lines, *self._code(shown, "yaml", self._width)]
        if len(shown) > MAX_PART_CHARS or _DEEP.search(shown):
            return self._wrapped([(shown, self._base)], self._width)
        root = SyntaxTreeNode(PARSER.parse(shown, {"references": dict(self._references)}))
        drawn = self._stack(root.children, self._width)
        return [*lines, *(drawn or self._wrapped([(shown, self._base)], self._width))]

    # Blocks

    def _stack(self, nodes: Sequence[SyntaxTreeNode], width: int, depth: int = 0) -> Lines:
        """Blocks below each other, parted by a blank line unless a list is tight."""
        lines: Lines = []
        for number, node in enumerate(nodes):
            tight = node.type == "paragraph" and node.hidden
            tight = tight or (number > 0 and nodes[number - 1].hidden)
            if number and not tight:
                lines.append([])
            lines += self._block(node, width, depth)
        return lines

    def _block(self, node: SyntaxTreeNode, width: int, depth: int) -> Lines:
        kinds: dict[str, Callable[[], Lines]] = {
            "paragraph": lambda: self._wrapped(self._inline(node.children, self._base), width),
            "heading": lambda: self._heading(node, width),
            "bullet_list": lambda: self._list(node, width, depth),
            "ordered_list": lambda: self._list(node, width, depth),
            "blockquote": lambda: self._quote(node, width, depth),
            "fence": lambda: self._code(node.content, node.info.strip().split(" ")[0], width),
            "code_block": lambda: self._code(node.content, "", width),
            "hr": lambda: [[Segment("─" * width, self._palette.rule)]],
            "table": lambda: self._table(node, width),
        }
        if node.type in kinds:
            return kinds[node.type]()
        return self._wrapped([(text.visible(node.content), self._base)], width)

    def _heading(self, node: SyntaxTreeNode, width: int) -> Lines:
        level = int(node.tag[1:] or 1)
        style = self._palette.title if level <= 2 else self._palette.heading
        lines = self._wrapped(self._inline(node.children, style), width)
        if level == 1 and lines:
            cells = max(sum(text.width(s.text) for s in line) for line in lines)
            lines.append([Segment("─" * min(width, max(1, cells)), self._palette.rule)])
        return lines

    def _list(self, node: SyntaxTreeNode, width: int, depth: int) -> Lines:
        lines: Lines = []
        number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
        for at, item in enumerate(node.children):
            bullet = _BULLETS[min(depth, len(_BULLETS) - 1)]
            sign = f"{number + at}{item.markup}" if node.type == "ordered_list" else bullet
            loose = any(child.type == "paragraph" and not child.hidden for child in item.children)
            if at and loose:
                lines.append([])
            mark = Segment(sign + " ", self._palette.accent)
            lines += self._indented(item.children, width, depth + 1, mark)
        return lines

    def _indented(
        self, nodes: Sequence[SyntaxTreeNode], width: int, depth: int, mark: Segment
    ) -> Lines:
        """Blocks with a sign before their first line and as much room before the others."""
        cells = text.width(mark.text)
        if width - cells < NARROWEST:
            sign = [Segment(text.cut(mark.text, width), mark.style)]
            return [sign, *self._stack(nodes, width, depth)]
        inner = self._stack(nodes, width - cells, depth) or [[]]
        blank = Segment(" " * cells)
        return [
            [mark if not number else blank, *line] if line or not number else []
            for number, line in enumerate(inner)
        ]

    def _quote(self, node: SyntaxTreeNode, width: int, depth: int) -> Lines:
        bar = Segment("▎ ", self._palette.faint)
        if width - 2 < NARROWEST:
            return self._stack(node.children, width, depth)
        base, self._base = self._base, self._palette.dim
        try:
            inner = self._stack(node.children, width - 2, depth)
        finally:
            self._base = base
        return [[bar, *line] for line in inner]

    def _code(self, source: str, language: str, width: int) -> Lines:
        """Code behind a bar, wrapped where it is wider than the room."""
        source = text.visible(source).strip("\n") + "\n"  # some lexers need the last one
        bar = Segment("│ ", self._palette.rule)
        pieces = _split_lines(list(_highlighted(source, language, self._palette)))[:-1]
        return [[bar, *part] for line in pieces for part in self._wrapped(line, width - 2) or [[]]]

    def _table(self, node: SyntaxTreeNode, width: int) -> Lines:
        palette = self._palette
        rows = [row for part in node.children for row in part.children]
        cells = [
            [self._inline(cell.children, palette.title if not n else self._base) for cell in row]
            for n, row in enumerate([row.children for row in rows])
        ]
        sides = [str(head.attrs.get("style", "")).rpartition(":")[2] for head in rows[0].children]
        widths = [max(map(_cells, column), default=0) for column in zip(*cells, strict=True)]
        if sum(widths) + 3 * (len(widths) - 1) > width:
            return self._records(cells, width)
        edge = Segment(" │ ", palette.rule)
        rule = Segment("─┼─".join("─" * cells for cells in widths), palette.rule)
        lines: Lines = []
        for row in cells:
            line: list[Segment] = []
            for cell, room, side in zip(row, widths, sides, strict=True):
                gap = room - _cells(cell)
                before = {"right": gap, "center": gap // 2}.get(side, 0)
                line += [edge] if line else []
                line += [Segment(" " * before), *self._styled(cell), Segment(" " * (gap - before))]
            lines += [line, [rule]] if not lines else [line]
        return lines

    def _records(self, cells: Sequence[Sequence[Pieces]], width: int) -> Lines:
        """A table that is wider than the room: each row as a list of `header: value`."""
        lines: Lines = []
        head, *rows = cells
        if not rows:
            return [line for name in head for line in self._wrapped(name, width)]
        for row in rows:
            lines += [[]] if lines else []
            for name, cell in zip(head, row, strict=True):
                colon = [(": ", self._base)] if name else []
                lines += self._wrapped([*name, *colon, *cell], width)
        return lines

    # Inline

    def _inline(self, nodes: Sequence[SyntaxTreeNode], style: Style) -> Pieces:
        return [piece for node in nodes for piece in self._inline_one(node, style)]

    def _inline_one(self, node: SyntaxTreeNode, style: Style) -> Iterator[tuple[str, Style]]:
        palette = self._palette
        match node.type:
            case "text":
                yield from self._text(node.content, style)
            case "text_special":
                keeps_escape = node.info == "escape" and node.content not in _ESCAPED
                yield (node.markup if keeps_escape else node.content), style
            case "softbreak" | "hardbreak":
                yield "\n", style
            case "code_inline":
                ink = palette.code("inline")
                plain = ink.color is None
                yield (f"`{node.content}`" if plain else node.content), ink
            case "em" | "strong" | "s":
                look = {"em": Style(italic=True), "strong": Style(bold=True)}
                inner = self._inline(node.children, style + look.get(node.type, Style(strike=True)))
                sign = [(node.markup, style)] if is_literal(node) else []
                yield from [*sign, *inner, *sign]
            case "link":
                yield from self._link(node, style)
            case "image":
                words = "".join(words for words, _ in self._inline(node.children, style))
                target = str(node.attrs.get("src", ""))[:MAX_URL_CHARS]
                yield f"▣ {words or 'image'}", palette.link
                yield f" ({target})", palette.faint
            case _:
                if node.children:
                    yield from self._inline(node.children, style)
                else:
                    yield node.content, style

    def _text(self, words: str, style: Style) -> Iterator[tuple[str, Style]]:
        at = 0
        for found in _URL.finditer(words) if "://" in words else ():
            yield words[at : found.start()], style
            yield found[0], style + self._palette.link
            at = found.end()
        yield words[at:], style

    def _link(self, node: SyntaxTreeNode, style: Style) -> Iterator[tuple[str, Style]]:
        target = _target(node)
        inner = self._inline(node.children, style + self._palette.link)
        yield from inner
        words = "".join(words for words, _ in inner)
        if target not in (words, f"mailto:{words}"):
            yield f" ({target[:MAX_URL_CHARS]})", self._palette.faint

    # Wrapping

    def _wrapped(self, pieces: Pieces, width: int) -> Lines:
        """Wrap styled text; search words in it are highlighted."""
        marked = self._marked(pieces)
        whole = "".join(words for words, _ in marked)
        lines: Lines = []
        at = 0
        for line in text.wrap(whole, max(1, width)) if whole else []:
            at = max(at, whole.find(line, at))
            lines.append(_segments(marked, at, at + len(line)))
            at += len(line)
        return lines

    def _styled(self, pieces: Pieces) -> list[Segment]:
        """Styled text as one line."""
        return [Segment(*piece) for piece in self._marked(pieces)]

    def _marked(self, pieces: Pieces) -> Pieces:
        """The pieces as they are shown, with the search words as pieces of their own."""
        pieces = [(text.visible(words), style) for words, style in pieces if words]
        whole = "".join(words for words, _ in pieces)
        found = text.highlights(whole, self._words) if self._words else []
        if not found:
            return pieces
        marked: Pieces = []
        at = 0
        for words, style in pieces:
            end = at + len(words)
            edges = {edge for span in found for edge in span if at < edge < end}
            for first, last in pairwise(sorted({at, *edges, end})):
                is_match = any(begin <= first < until for begin, until in found)
                ink = style + self._palette.match if is_match else style
                marked.append((whole[first:last], ink))
            at = end
        return marked


def _segments(pieces: Pieces, start: int, end: int) -> list[Segment]:
    """The part of styled pieces from one place of the whole text to another."""
    found: list[Segment] = []
    at = 0
    for words, style in pieces:
        if at < end and at + len(words) > start:
            found.append(Segment(words[max(0, start - at) : end - at], style))
        at += len(words)
        if at >= end:
            break
    return found


def is_literal(node: SyntaxTreeNode) -> bool:
    """Whether the signs of an emphasis are part of the text: `2*3*4`, `__init__`."""
    if node.markup == "__" and len(node.children) == 1 and node.children[0].content.isidentifier():
        return True
    before, after = node.previous_sibling, node.next_sibling
    glued = (before is not None and before.type == "text" and before.content[-1:].isalnum()) or (
        after is not None and after.type == "text" and after.content[:1].isalnum()
    )
    return node.type != "s" and glued


def _target(node: SyntaxTreeNode) -> str:
    """The address of a link as it was written: markdown-it escapes what is not ASCII."""
    return text.one_line(unquote(str(node.attrs.get("href", "")), errors="replace"))


def _cells(pieces: Pieces) -> int:
    return text.width("".join(text.visible(words) for words, _ in pieces))


def _highlighted(source: str, language: str, palette: Palette) -> Iterator[tuple[str, Style]]:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        yield source, palette.code("plain")
        return
    for kind, words in lexer.get_tokens(source):
        names = list(accumulate(kind, "{}.{}".format))
        style = next((_TOKENS[name] for name in names if name in _TOKENS), "plain")
        yield words, palette.code(style)


def _split_lines(pieces: Sequence[tuple[str, Style]]) -> list[Pieces]:
    lines: list[Pieces] = [[]]
    for words, style in pieces:
        first, *rest = words.split("\n")
        lines[-1].append((first, style))
        lines += [[(part, style)] for part in rest]
    return lines
