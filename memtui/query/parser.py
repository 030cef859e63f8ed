r"""Parse a search line into a query.

    query    := sequence ("OR" sequence)*
    sequence := part ("AND"? part)*         with an AND every part is required
    part     := ("-" | "NOT")* ( "(" query ")" | term | field:value | /regex/ )

Parsing never fails and takes time linear in the line: what cannot be used is left out, and a
`Problem` says why and where. Rules, in this order, at the beginning of a word:

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
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import Enum, auto
from itertools import accumulate

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.errors import QueryError
from memtui.query import query_fields
from memtui.query.parsed_query import (
    Condition,
    Group,
    Node,
    Operator,
    Problem,
    Query,
    Sort,
    Span,
    Term,
    TermKind,
    TimeCondition,
)
from memtui.query.periods import parse_time, parse_time_end
from memtui.query.query_fields import ALL_HOLD, FIELDS, Matching, parse_condition

MAX_DEPTH = 30
"""Groups in groups; further parentheses are ignored."""
_FIELD = re.compile(r"([A-Za-z]+):(?![:/\\])")
_VALUE = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"]++)*')
_REGEX = re.compile(r"/(?=\S)((?:[^/\\]++|\\.)+)/(?=\s|\)|$)", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_NO_BLANKS = re.compile(r"\S*")
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
    END = auto()
    """Of the line."""


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
    return FLAG.search(_QUOTED.sub('""', line)) is not None


def tokenize(line: str) -> Iterator[Token]:
    """Yield the tokens of a line, in time linear in its length."""
    is_command = "-" in line and has_flag(line)
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
            at = _end_in_group(line, at) if depth else _NO_BLANKS.match(line, at).end()  # type: ignore[union-attr]
            text = line[start + negated : at]
            kind = TokenKind.WORD if negated else _OPERATORS.get(text, TokenKind.WORD)
            yield Token(kind, start, at, text, negated)


def _is_field(name: str) -> bool:
    return name.lower() in FIELDS or bool(query_fields.suggest_field(name.lower()))


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


def _end_in_group(line: str, at: int) -> int:
    """The end of the word that begins here: a blank, or the `)` that closes the group around it."""
    begin, opened = at, 0
    while True:
        at = _CHUNK.match(line, at).end()  # type: ignore[union-attr]
        letter = line[at : at + 1]
        if letter == "(":
            opened += 1
        elif letter == ")" and (opened or at == begin):
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


_FUZZY = re.compile(r"(.+[^~])~[12]?")
_HAS_LETTER = re.compile(r"[^\W_]|[^\x00-\x7f]")
_OPEN_WORD = re.compile(r"(?!-)(?=.*(?:[^\W_]|[^\x00-\x7f]))[^*?]*(?:\w|[^\x00-\x7f])", re.DOTALL)
"""A word to which more letters may be added."""
_ENDS = (TokenKind.CLOSE, TokenKind.OR, TokenKind.END)
_MARKS = frozenset("*~?\"-()'")
"""Characters of the query language; a word of these alone looks for nothing."""


def parse_query(text: str, now: datetime, *, typing: bool = False) -> Query:
    """Parse a search line; never raises.

    Args:
        text: The line as it is typed.
        now: What relative times are counted from; aware.
        typing: Whether the last word is still being typed, so that it matches as a prefix, and a
            filter at the end may be unfinished.

    Returns:
        The query; its `problems` and `hint` say what was left out.
    """
    return _Parser(text, now, typing, typing).parse()


def parse_search(text: str, now: datetime, *, typing: bool = False) -> Query:
    """As `parse_query`, for a search by a person: the last word is also matched as a prefix.

    So enter on the screen removes no results, and the command finds the same; a space or quotes
    end the word.
    """
    return _Parser(text, now, typing, is_open=True).parse()


class _Parser(Struct):
    """One pass over the tokens of a line."""

    text: str
    now: datetime
    typing: bool
    is_open: bool
    """Whether the last word may be the beginning of a longer one."""
    tokens: Sequence[Token] = ()
    at: int = 0
    problems: list[Problem] = field(default_factory=list)
    sort: tuple[Sort, ...] = ()
    prefer: dict[str, None] = field(default_factory=dict)
    unfinished: bool = False
    """The filter at the end is still being typed."""

    def parse(self) -> Query:
        size = len(self.text)
        self.tokens = (*tokenize(self.text), Token(TokenKind.END, size, size))
        root = self._alternatives(negated=False)
        if root is None:
            parts: tuple[Node, ...] = ()
        elif isinstance(root, Group) and not root.negated and root.operator is not Operator.ANY:
            parts = _split_required(root) if root.operator is Operator.ALL else root.parts
        else:
            parts = (root,)
        query = self._make_query(parts)
        useless = not (parts or query.sort or query.prefer) and bool(self.text.strip())
        if useless and not self.problems and not self.unfinished:
            self.problems.append(
                Problem(f"nothing to look for in {self.text.strip()[:40]}; type a word")
            )
        return replace(
            query,
            hint="; ".join(problem.text for problem in self.problems),
            problems=tuple(self.problems),
            matches_nothing=useless and not self.unfinished,
            is_typed=self.typing,
        )

    def _make_query(self, parts: Iterable[Node]) -> Query:
        """Sort the parts of the top into terms, conditions, times and groups."""
        terms: list[Term] = []
        conditions: list[Condition] = []
        groups: list[Group] = []
        times: dict[str, TimeCondition] = {}
        for part in (_quote_words(part) if isinstance(part, Group) else part for part in parts):
            if isinstance(part, Term):
                terms.append(part)
            elif isinstance(part, Group):
                groups.append(part)
            elif part.field in ("since", "until") and not part.negated:
                parse = parse_time if part.field == "since" else parse_time_end
                times[part.field] = parse(part.values[-1], self.now)
            else:
                conditions.append(part)
        return Query(
            terms=tuple(terms),
            conditions=tuple(conditions),
            since=times.get("since"),
            until=times.get("until"),
            sort=self.sort[0] if self.sort else None,
            groups=tuple(groups),
            then=self.sort[1:],
            prefer=tuple(self.prefer),
        )

    # The grammar

    def _alternatives(self, *, negated: bool) -> Node | None:
        """Sequences with OR between them, up to a `)` or the end."""
        found: list[Node] = []
        while True:
            part = self._sequence(negated=negated)
            if part is not None:
                found.append(part)
            token = self.tokens[self.at]
            if token.kind is not TokenKind.OR:
                return found[0] if len(found) == 1 else _join(Operator.ANY, found)
            self.at += 1
            if part is None or self._ends():
                self._remark(token)

    def _ends(self) -> bool:
        """Whether nothing follows that an operator could join."""
        return self.tokens[self.at].kind in _ENDS

    def _remark(self, token: Token) -> None:
        """Say that an operator joins nothing; a last one may wait for the next word."""
        if not (self.typing and token.end >= len(self.text.rstrip())):
            word = self.text[token.start : token.end]
            text = f'{word} needs a word on each side; "{word}" in quotes is a word'
            self.problems.append(Problem(text, (token.start, token.end), is_error=False))

    def _sequence(self, *, negated: bool) -> Node | None:
        """Parts without OR between them."""
        found: list[Node] = []
        is_all = False
        while (token := self.tokens[self.at]).kind not in _ENDS:
            if token.kind is TokenKind.AND:
                self.at += 1
                is_all = is_all or bool(found)
                if not found or self._ends():
                    self._remark(token)
                continue
            part = self._part(negated=negated)
            if part is not None:
                found.append(part)
        if len(found) == 1:
            return found[0]
        return _join(Operator.ALL if is_all else Operator.SEQUENCE, found)

    def _part(self, *, negated: bool) -> Node | None:
        token = self.tokens[self.at]
        excluded = False
        while token.kind is TokenKind.NOT:
            excluded = not excluded
            self.at += 1
            if self._ends() or self.tokens[self.at].kind is TokenKind.AND:
                self._remark(token)
                return None
            token = self.tokens[self.at]
        self.at += 1
        excluded ^= token.negated
        if token.kind is TokenKind.OPEN:
            node = self._alternatives(negated=negated ^ excluded)
            if self.tokens[self.at].kind is not TokenKind.END:
                self.at += 1
            if node is None:
                return None
            return replace(node, negated=not node.negated) if excluded else node
        return self._leaf(token, excluded, in_negated=negated)

    def _leaf(self, token: Token, excluded: bool, *, in_negated: bool) -> Node | None:
        span = (token.start, token.end)
        if token.kind is TokenKind.FILTER:
            return self._filter(token, excluded, span)
        if token.kind is TokenKind.REGEX:
            try:
                condition = query_fields.parse_regex(token.text, negated=excluded)
            except QueryError as error:
                self.problems.append(Problem(str(error), span))
                return None
            return replace(condition, span=span)
        term = _parse_term(token, excluded)
        if term is None:
            return None
        last = self.is_open and token.end == len(self.text) and not (excluded or in_negated)
        if last and term.kind is TermKind.WORD and _OPEN_WORD.fullmatch(term.text):
            term = replace(term, kind=TermKind.PREFIX, is_open=True)
        return replace(term, span=span)

    def _filter(self, token: Token, excluded: bool, span: Span) -> Node | None:
        """A `field:value`; what is no filter, as sort:, is noted. None if there is no node."""
        name, value = token.field, self.text[token.value_start : token.end]
        try:
            if name not in FIELDS:
                near = query_fields.suggest_field(name)
                raise QueryError(f"unknown field {name}:", do=f"did you mean {near}:?")
            if name == "sort":
                self.sort = query_fields.parse_sort(value)
            elif name == "prefer":
                self.prefer |= dict.fromkeys(parse_condition(name, value).values)
            else:
                condition = parse_condition(name, value, negated=excluded, now=self.now)
                if self.typing and token.end == len(self.text) and not excluded:
                    condition = _begun(condition)
                return _split_flags(replace(condition, span=span), self.now)
        except QueryError as error:
            if self.typing and token.end == len(self.text) and name in FIELDS:
                self.unfinished = True
                self.problems.append(Problem(f"{name}: …", span, is_error=False))
            else:
                self.problems.append(Problem(str(error), span))
        return None


def _begun(part: Condition) -> Condition:
    """The condition whose last value may get more letters: it stands for all that begin so."""
    last = part.values[-1]
    if FIELDS[part.field].matching not in (Matching.VALUE, Matching.TAG) or not last:
        return part
    if FIELDS[part.field].values or last.endswith("*"):
        return part
    return replace(part, values=(*part.values[:-1], f"{last}*"))


def _parse_term(token: Token, negated: bool) -> Term | None:
    """The term of a word or quoted text; None if it has only marks of the language."""
    text = token.text
    if token.kind is TokenKind.QUOTED:
        text = text.strip()
        return Term(text, TermKind.PHRASE, negated) if text else None
    if text in ("AND", "OR", "NOT"):  # of `-NOT`: without the sign only quotes make it a word
        return Term(text, TermKind.PHRASE, negated)
    kind, bare = TermKind.WORD, text.strip("*?")
    if text.startswith("~") and len(text) > 1:
        text, kind = text[1:], TermKind.MEANING
    elif fuzzy := _FUZZY.fullmatch(text):
        text, kind = fuzzy[1], TermKind.FUZZY
    elif not _HAS_LETTER.search(text):
        return None if _MARKS.issuperset(text) else Term(text, kind, negated)
    elif text.endswith("*") and text[:-1] == bare and bare[-1] != ".":
        text, kind = bare, TermKind.PREFIX
    elif "*" in text or "?" in bare or text.startswith("?"):
        kind = TermKind.WILDCARD
    return Term(text, kind, negated) if _HAS_LETTER.search(text) else None


def _split_flags(part: Condition, now: datetime) -> Node:
    """`is:pinned,stale` as an OR of conditions, because some are filters on other fields."""
    if part.field not in ("is", "has") or len(part.values) < 2:
        return part
    each = [
        replace(parse_condition(part.field, value, now=now), span=part.span)
        for value in part.values
    ]
    return Group(Operator.ANY, tuple(each), part.negated, span=part.span)


def _join(operator: Operator, parts: Sequence[Node]) -> Node | None:
    """One node for the parts: flat, with the filters on one field of a sequence merged."""
    flat: list[Node] = []
    for part in parts:
        inner = isinstance(part, Group) and part.operator is operator and not part.negated
        flat += part.parts if inner and isinstance(part, Group) else (part,)
    if operator is Operator.SEQUENCE:
        flat = _merge_conditions(flat)
    elif operator is Operator.ALL:
        flat = list(dict.fromkeys(flat))
    if not flat:
        return None
    if len(flat) == 1:
        return flat[0]
    starts, ends = [part.span[0] for part in flat], [part.span[1] for part in flat]
    return Group(operator, tuple(flat), span=(min(starts), max(ends)))


def _merge_conditions(parts: Iterable[Node]) -> list[Node]:
    """Merge the filters on one field: `type:a type:b` is `type:a,b`, at the place of the first."""
    merged: dict[object, Node] = {}
    values: dict[object, dict[str, Condition]] = {}
    for at, part in enumerate(parts):
        if isinstance(part, Condition) and part.field not in ALL_HOLD:
            key: object = (part.field, part.negated)
            merged.setdefault(key, part)
            values.setdefault(key, {}).update(dict.fromkeys(part.values, part))
        else:
            merged[at] = part
    for key, uses in values.items():
        first = merged[key]
        if isinstance(first, Condition) and len(uses) > len(first.values):
            ranges = {v: r for c in uses.values() for v, r in zip(c.values, c.ranges, strict=False)}
            found = tuple(ranges[value] for value in uses if value in ranges)
            merged[key] = replace(first, values=tuple(uses), ranges=found)
    return list(merged.values())


def _split_required(root: Group) -> tuple[Node, ...]:
    """The parts of an AND at the top: filters and excluded words need no group."""
    fields = [(p.field, p.negated) for p in root.parts if isinstance(p, Condition)]
    outside: list[Node] = []
    inside: list[Node] = []
    for part in root.parts:
        alone = isinstance(part, Condition) and (
            part.field in ALL_HOLD or fields.count((part.field, part.negated)) == 1
        )
        excluded = isinstance(part, Term) and part.negated
        (outside if alone or excluded else inside).append(part)
    if len(inside) > 1:
        return (replace(root, parts=tuple(inside)), *outside)
    for part in inside:
        if isinstance(part, Group) and part.operator is Operator.SEQUENCE and not part.negated:
            filtered = {(p.field, p.negated) for p in part.parts if isinstance(p, Condition)}
            # Side by side, filters on one field would be alternatives.
            return (root,) if filtered.intersection(fields) else (*part.parts, *outside)
    return (*inside, *outside)


def _quote_words(group: Group) -> Node:
    """Make words quoted that cannot stand bare in a group: `a)` would close it, `/a` begin a
    regular expression, `-a` exclude."""
    parts: list[Node] = []
    for part in group.parts:
        if isinstance(part, Group):
            parts.append(_quote_words(part))
        elif isinstance(part, Term) and _needs_quotes(part.text):
            text = part.text.replace('"', "").strip()
            parts.append(replace(part, text=text, kind=TermKind.PHRASE))
        else:
            parts.append(part)
    if group.operator is Operator.ALL:
        parts = list(dict.fromkeys(parts))  # a word and the same in quotes
    return parts[0] if len(parts) == 1 else replace(group, parts=tuple(parts))


def _needs_quotes(text: str) -> bool:
    depths = accumulate((letter == "(") - (letter == ")") for letter in text)
    return text.startswith(("/", "-")) or min(depths, default=0) < 0
