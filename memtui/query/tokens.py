r"""Split a search line into tokens with positions, and format a query as a search line.

Rules, in this order, at the beginning of a word:

- `-` excludes before a letter, a quote, `(`, `/regex/` or a field. It is text before a digit or a
  mark, as a single letter (`-p`), doubled (`--release`), and everywhere in a line that has such a
  flag outside of quotes: that is a pasted command.
- `(` opens a group, and `)` closes one if one is open and the word has no `(` of its own; anywhere
  else they are text: `main()`, `:)`.
- `"` begins quoted text up to the next `"` or the end.
- `/.../` with a blank, `)` or the end behind it is a regular expression; `/usr/bin` is a path.
- `name:value` is a filter if the name is a field, or nearly one. With `:`, `/` or `\` after the
  colon it is text, as are `http://x`, `std::vector`, `12:30`, `src/a.py:12`, `C:\x`.
- `OR`, `AND` and `NOT` are operators in upper case only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct

from memtui.model import UNTYPED
from memtui.query.parsed_query import Condition, Node, Query, Term, TermKind
from memtui.query.query_fields import FIELDS, REGEX, suggest_field

MAX_DEPTH = 30
"""Groups in groups; further parentheses are ignored."""
_FIELD = re.compile(r"([A-Za-z]+):(?![:/\\])")
_VALUE = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"]++)*')
_REGEX = re.compile(r"/(?=\S)((?:[^/\\]++|\\.)+)/(?=\s|\)|$)", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_CHUNK = re.compile(r"[^\s()]*")
_QUOTED = re.compile(r'"[^"]*(?:"|$)')
FLAG = re.compile(r"(?:^|(?<=[\s(]))(?:-[A-Za-z](?=[\s)]|$)|--[A-Za-z])")
"""What marks a line as a pasted command."""


class TokenKind(Enum):
    WORD = auto()
    QUOTED = auto()
    REGEX = auto()
    FILTER = auto()
    OPEN = auto()
    CLOSE = auto()
    OR = auto()
    AND = auto()
    NOT = auto()


_TERM_FORMATS = {
    TermKind.WORD: "{}",
    TermKind.PREFIX: "{}*",
    TermKind.PHRASE: '"{}"',
    TermKind.WILDCARD: "{}",
    TermKind.FUZZY: "{}~",
    TermKind.MEANING: "~{}",
}
_OPERATORS = {"OR": TokenKind.OR, "AND": TokenKind.AND, "NOT": TokenKind.NOT}


class Token(Struct, frozen=True):
    """One token of a line."""

    kind: TokenKind
    start: int
    end: int
    text: str = ""
    """The word, what is in the quotes or slashes, or the value of the filter without quotes."""
    negated: bool = False
    """A `-` stands before it, at `start`."""
    field: str = ""
    """Name of a filter, in lower case."""
    value_start: int = -1
    """Where the value of a filter begins."""


def has_flag(line: str) -> bool:
    """Whether the line has a command's flag outside of quotes, so that `-word` is text."""
    return "-" in line and FLAG.search(_QUOTED.sub('""', line)) is not None


def tokenize(line: str) -> tuple[Token, ...]:
    """Return the tokens of a line, in time linear in its length."""
    return tuple(_tokenize(line))


def _tokenize(line: str) -> Iterator[Token]:
    is_command = has_flag(line)
    depth = ignored = at = 0
    size = len(line)
    while True:
        at = _BLANKS.match(line, at).end()  # type: ignore[union-attr]
        if at >= size:
            return
        start, letter = at, line[at]
        negated = letter == "-" and _excludes(line, at + 1, is_command)
        if negated:
            at += 1
            letter = line[at]
        if letter == "(":
            at += 1
            if depth < MAX_DEPTH:
                depth += 1
                yield Token(TokenKind.OPEN, start, at, negated=negated)
            else:
                ignored += 1
        elif letter == ")" and (depth or ignored):
            at += 1
            if ignored:
                ignored -= 1
            else:
                depth -= 1
                yield Token(TokenKind.CLOSE, start, at)
        elif letter == '"':
            end = line.find('"', at + 1)
            text = line[at + 1 : size if end < 0 else end]
            at = size if end < 0 else end + 1
            yield Token(TokenKind.QUOTED, start, at, text, negated)
        elif letter == "/" and (regex := _REGEX.match(line, at)):
            at = regex.end()
            yield Token(TokenKind.REGEX, start, at, regex[1], negated)
        elif (named := _FIELD.match(line, at)) and _is_field(named[1]):
            value = named.end()
            at = _end_of_value(line, value, bool(depth))
            text = line[value:at].replace('"', "")
            name = named[1].lower()
            yield Token(TokenKind.FILTER, start, at, text, negated, name, value)
        else:
            at = _end_of_word(line, at, bool(depth))
            text = line[start + negated : at]
            kind = TokenKind.WORD if negated else _OPERATORS.get(text, TokenKind.WORD)
            yield Token(kind, start, at, text, negated)


def _is_field(name: str) -> bool:
    return name.lower() in FIELDS or bool(suggest_field(name.lower()))


def _excludes(line: str, at: int, is_command: bool) -> bool:
    """Whether the `-` before this position excludes what follows."""
    letter = line[at : at + 1]
    if letter in ('"', "("):
        return True
    if letter == "/":
        return _REGEX.match(line, at) is not None
    if (named := _FIELD.match(line, at)) and named[1].lower() in FIELDS:
        return True
    is_word = letter.isalpha() or letter in "~*" or letter > "\x7f"
    return bool(letter) and is_word and not is_command


def _end_of_word(line: str, at: int, in_group: bool) -> int:
    """The end of the word that begins here: a blank, or the `)` that closes the group around it."""
    begin, opened = at, 0
    while True:
        at = _CHUNK.match(line, at).end()  # type: ignore[union-attr]
        letter = line[at : at + 1]
        if letter == "(":
            opened += 1
        elif letter == ")" and (opened or not in_group or at == begin):
            opened -= opened > 0
        else:
            return at
        at += 1


def _end_of_value(line: str, at: int, in_group: bool) -> int:
    """The end of a filter's value; quoted parts may hold blanks."""
    if not in_group:
        return _VALUE.match(line, at).end()  # type: ignore[union-attr]
    opened = 0
    while at < len(line):
        letter = line[at]
        if letter == '"':
            end = line.find('"', at + 1)
            at = len(line) if end < 0 else end + 1
            continue
        if letter.isspace() or (letter == ")" and not opened):
            return at
        opened += (letter == "(") - (letter == ")")
        at += 1
    return at


def format_condition(part: Condition) -> str:
    """Return a condition as it is typed: `type:decision,bug`, `entity:"the shop",alice`."""
    sign = "-" * part.negated
    if part.field == REGEX:
        return f"{sign}/{part.values[0]}/"
    values = ",".join(_quote(value or UNTYPED) for value in part.values)
    return f"{sign}{part.field}:{values}"


def format_node(node: Node, *, in_words: bool = False) -> str:
    """Return a `node` of a query as it is typed; `in_words`: excluded terms with NOT."""
    if isinstance(node, Condition):
        return format_condition(node)
    if isinstance(node, Term):
        text = _TERM_FORMATS[node.kind].format(node.text)
        marked = node.kind is TermKind.PHRASE or (not in_words and text[0].isalpha() and text[1:])
        return text if not node.negated else f"-{text}" if marked else f"NOT {text}"
    joint = f" {node.operator} " if node.operator else " "
    inner = joint.join(format_node(part, in_words=in_words) for part in node.parts)
    closing = " )" if "(" in inner.rpartition(" ")[2] else ")"
    return f"{'-' * node.negated}({inner}{closing}"


def format_query(query: Query) -> str:
    """Return the search line that parses to this query; the hint is left out."""
    line = _format_line(query, in_words=False)
    # In a line with a flag, as in a pasted command, `-word` excludes nothing.
    return _format_line(query, in_words=True) if has_flag(line) else line


def _format_line(query: Query, *, in_words: bool) -> str:
    parts: tuple[Node, ...] = (*query.terms, *query.groups)
    pieces = [format_node(part, in_words=in_words) for part in parts]
    pieces += [format_condition(part) for part in query.conditions]
    pieces += [f"since:{_quote(query.since.text)}"] if query.since else []
    pieces += [f"until:{_quote(query.until.text)}"] if query.until else []
    keys = [str(key) for key in (query.sort, *query.then) if key is not None]
    pieces += [f"sort:{','.join(keys)}"] if keys else []
    pieces += [f"prefer:{','.join(map(_quote, query.prefer))}"] if query.prefer else []
    return " ".join(pieces)


def _quote(text: str) -> str:
    return f'"{text}"' if re.search(r"[\s(),]|^[:/\\]", text) else text
