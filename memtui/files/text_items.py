"""Merge a text that is a list of items by its items, as records are merged by their ids.

Two files have such texts: Hermes's entries, and the graph of MCP's memory server, where an entity
with all its observations is one line. An item is known by its own text, and by its entity. So a
change of one observation survives what another program does to the others, in the same line too.

All functions are pure, from text to text.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from msgspec import Struct

from memtui.changes import Edit, Kind
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json.editing import put_member, splice
from memtui.files.json.graph import ENTITY, RELATION, Graph, parse_graph
from memtui.files.json.locating import load

_ENTRY, _OBSERVATION, _TYPE = "entry", "observation", "type"


class Item(NamedTuple):
    """One item, and what distinguishes it from all others of its text."""

    kind: str
    group: str
    """The entity; empty where there is one list."""
    text: str
    number: int = 0
    """How many of the same kind, group and text stand above it."""


class ItemChange(Struct, frozen=True):
    """One item replaced, added (`old` None) or removed (`new` None)."""

    old: Item | None
    new: Item | None
    above: Item | None = None
    """The item above the new one, in its list; None: it is the first."""
    owner: str = ""
    """The raw entity of the new item, to make it anew if it is missing."""


class ItemText(ABC):
    """A parsed text."""

    items: Sequence[Item]

    @abstractmethod
    def owner_of(self, item: Item) -> str:
        """The raw entity of an item; empty where there are none."""

    @abstractmethod
    def with_changes(self, changes: Sequence[ItemChange]) -> str:
        """The text with these changes, which all fit it."""


def parse(text: str | None, kind: Kind) -> ItemText:
    """Parse a text; None is one without items. Raises UnreadableFile."""
    return EntryText(text or "") if kind is Kind.ENTRIES else GraphText(text or "")


def is_complete(text: str, kind: Kind) -> bool:
    """Whether a program has finished writing this text."""
    if kind is Kind.ENTRIES:
        return True  # Hermes renames
    last = text.rstrip().rpartition("\n")[2]
    for part in (last, text):  # a line of its own, or the end of one document
        with suppress(UnreadableFile):
            return isinstance(load(part), dict)
    return False


def diff(before: ItemText, after: ItemText) -> list[ItemChange]:
    """What leads from one text to the other; items in another order are no change."""
    old, new = set(before.items), set(after.items)
    gone, places = defaultdict[tuple[str, str, int], list[Item]](list), _places(before, new)
    for item in before.items:
        if item not in new:
            gone[item.kind, item.group, places[item]].append(item)
    changes, above = list[ItemChange](), dict[tuple[str, str], Item]()
    places = _places(after, old)
    for item in after.items:
        if item not in old:
            former = gone[item.kind, item.group, places[item]]
            replaced = former.pop(0) if former and item.kind not in (ENTITY, RELATION) else None
            owner = after.owner_of(item)
            changes.append(ItemChange(replaced, item, above.get(item[:2]), owner))
        above[item[:2]] = item
    return changes + [ItemChange(item, None) for items in gone.values() for item in items]


def _places(text: ItemText, shared: set[Item]) -> dict[Item, int]:
    """Item -> how many items of its list above it are shared with the other text."""
    counts, places = Counter[tuple[str, str]](), dict[Item, int]()
    for item in text.items:
        places[item] = counts[item[:2]]
        counts[item[:2]] += item in shared
    return places


def merge(now: ItemText, changes: Iterable[ItemChange]) -> tuple[str, list[ItemChange]]:
    """The text with those changes that fit it, and the changes that do not.

    A change does not fit if its old item was replaced by another or removed. One whose result is
    there already changes nothing.
    """
    present = set(now.items)
    entities = {item.group for item in present if item.kind == ENTITY}
    fitting, conflicts = [], []
    for change in changes:
        old, new = change.old, change.new
        if new is None:
            if old in present:
                fitting.append(change)
        elif new in present:
            if old in present:
                fitting.append(ItemChange(old, None))
        elif old is not None and old not in present:
            conflicts.append(change)
        elif not (new.kind == _TYPE and old is None and new.group in entities):
            fitting.append(change)
    return now.with_changes(fitting), conflicts


def changed_items(edit: Edit) -> set[Item]:
    """All items that an edit replaces, adds or removes."""
    try:
        changes = diff(parse(edit.before, edit.kind), parse(edit.after, edit.kind))
    except UnreadableFile:
        return set()
    return {item for change in changes for item in (change.old, change.new) if item}


def merge_edit(text: str | None, edit: Edit, where: str) -> str | None:
    """Make an edit in a text that is not the one it was planned on.

    Raises Conflict if another program changed the same item, UnreadableFile.
    """
    before, after = (parse(each, edit.kind) for each in (edit.before, edit.after))
    now = parse(text, edit.kind)
    merged, conflicts = merge(now, diff(before, after))
    if conflicts:
        raise Conflict(
            "another program changed or removed this memory",
            where=where,
            base=edit.before,
            theirs=text,
            yours=edit.after,
        )
    is_empty = edit.after is None and not parse(merged, edit.kind).items
    return None if is_empty else merged


# ---- which changes were reverted -----------------------------------------------------------------


class _History(Struct):
    """The changes of one item, oldest first, each with the number of its edit."""

    changes: list[ItemChange]
    number: int


def find_reverted(edits: Sequence[Edit], text: str | None) -> list[list[ItemChange]]:
    """Return for each edit (newest first) the changes that make again what was reverted of it.

    Raises UnreadableFile.
    """
    reapply: list[list[ItemChange]] = [[] for _ in edits]
    if not edits:
        return reapply
    present = set(parse(text, edits[0].kind).items)
    for history in _item_histories(edits):
        newest = history.changes[-1]
        formers = [change.old for change in history.changes if change.old is not None]
        former = next((old for old in reversed(formers) if old in present), None)
        if former is None and newest.new and _is_reworded(newest.new, present, edits[0]):
            continue
        is_added = history.changes[0].old is None
        if newest.new in present if newest.new is not None else former is None:
            continue
        if former is not None or (is_added and newest.new is not None):
            change = ItemChange(former, newest.new, newest.above, newest.owner)
            reapply[history.number].append(change)
    return reapply


def _is_reworded(item: Item, present: set[Item], newest: Edit) -> bool:
    """Whether Hermes, which can replace an entry, has put a similar one in its place."""
    if item.kind != _ENTRY:
        return False
    new = present.difference(parse(newest.after, newest.kind).items)
    return any(is_similar(item.text, other.text) for other in new)


SIMILAR = 0.6
"""Similarity from which a passage counts as ours, edited (difflib's bound for a close match)."""


def is_similar(first: str, second: str) -> bool:
    """Whether one text may be the other, edited."""
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.quick_ratio() >= SIMILAR and matcher.ratio() >= SIMILAR


def _item_histories(edits: Sequence[Edit]) -> Iterator[_History]:
    histories: dict[tuple[bool, Item], _History] = {}
    """By whether the item is there after the changes so far, and the item."""
    for number in range(len(edits) - 1, -1, -1):
        edit = edits[number]
        changes = diff(parse(edit.before, edit.kind), parse(edit.after, edit.kind))
        for change in changes:
            if _is_of_owner(change, changes):
                continue
            known = histories.pop((True, change.old), None) if change.old else None
            if known is None and change.new is not None:
                known = histories.pop((False, change.new), None)
            so_far = [*known.changes, change] if known else [change]
            end = change.new or change.old
            if end is not None:
                histories[change.new is not None, end] = _History(so_far, number)
    yield from histories.values()


def _is_of_owner(change: ItemChange, changes: Sequence[ItemChange]) -> bool:
    """Whether an entity came or went only along with an observation."""
    item = change.new or change.old
    if item is None or item.kind not in (ENTITY, _TYPE) or (change.old and change.new):
        return False
    others = (other.new or other.old for other in changes)
    return item.kind == _TYPE or any(
        other.kind == _OBSERVATION and other.group == item.group for other in others if other
    )


# ---- Hermes's entries ----------------------------------------------------------------------------

DELIMITER = "\n§\n"
_LINE_END = r"(?:\r\n|\r|\n)"
_DELIMITED = re.compile(f"{_LINE_END}§{_LINE_END}")


def entry_spans(text: str) -> list[tuple[int, int]]:
    """Where the entries of a file start and end, stripped; empty ones are none.

    Hermes reads with universal newlines, so a carriage return counts as a line feed here too.
    """
    found, start = [], 0
    ends = [match.span() for match in _DELIMITED.finditer(text)]
    for end, after in [*ends, (len(text), len(text))]:
        segment = text[start:end]
        if entry := segment.strip():
            at = start + segment.index(entry)
            found.append((at, at + len(entry)))
        start = after
    return found


def entries_in(text: str) -> list[str]:
    """The entries of a file, in order."""
    return [text[start:end] for start, end in entry_spans(text)]


def insert_entry(text: str, place: int, entry: str) -> str:
    """The text with one more entry before the one at this place, or at the end."""
    spans = entry_spans(text)
    if not spans:
        return entry
    if place == 0:
        return splice(text, [(spans[0][0], spans[0][0], entry + DELIMITER)])
    end = spans[min(place, len(spans)) - 1][1]
    return splice(text, [(end, end, DELIMITER + entry)])


def remove_entry(text: str, place: int) -> str:
    """The text without the entry at this place."""
    spans = entry_spans(text)
    start, end = spans[place]
    if place:
        return text[: spans[place - 1][1]] + text[end:]
    return text[:start] + text[spans[1][0] :] if len(spans) > 1 else ""


class EntryText(ItemText):
    """The entries of a file of Hermes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.items = _numbered((_ENTRY, "", entry) for entry in entries_in(text))

    def owner_of(self, item: Item) -> str:  # noqa: ARG002
        return ""

    def with_changes(self, changes: Sequence[ItemChange]) -> str:
        text, items = self._text, list(self.items)
        for change in changes:
            if change.old is not None and change.new is not None:
                place = items.index(change.old)
                text = splice(text, [(*entry_spans(text)[place], change.new.text)])
                items[place] = change.new
            elif change.old is not None:
                place = items.index(change.old)
                text = remove_entry(text, place)
                del items[place]
            elif change.new is not None:
                place = _place_below(change.above, items)
                text = insert_entry(text, place, change.new.text)
                items.insert(place, change.new)
        if entries_in(text) != [each.text for each in items]:
            raise Refused("it would not be read as the same entries", do="remove the § line")
        return text


def _numbered(found: Iterable[tuple[str, str, str]]) -> list[Item]:
    counts = Counter[tuple[str, str, str]]()
    items = []
    for each in found:
        items.append(Item(*each, counts[each]))
        counts[each] += 1
    return items


def _place_below(above: Item | None, items: Sequence[Item]) -> int:
    """Below the item that was above it; at the end if that is gone."""
    if above is None:
        return 0
    return items.index(above) + 1 if above in items else len(items)


# ---- graphs --------------------------------------------------------------------------------------


class GraphText(ItemText):
    """The entities, their types and observations, and the relations of a graph file."""

    def __init__(self, text: str) -> None:
        self._graph = _parsed_graph(text)
        self._lists: list[list[Item]] = []
        """The observations of each entity."""
        observations = _numbered(
            (_OBSERVATION, record.name, str(each))
            for record in self._graph.entities
            for each in record.observations
        )
        rest = iter(observations)
        for record in self._graph.entities:
            self._lists.append([next(rest) for _ in record.observations])
        self._first = dict[str, int]()
        """Name -> the first entity of that name, the one that the server uses."""
        for number, record in enumerate(self._graph.entities):
            self._first.setdefault(record.name, number)
        heads = [(record.name, record.text("entityType")) for record in self._graph.entities]
        self.items = [
            *(Item(ENTITY, name, "") for name in self._first),
            *_numbered((_TYPE, name, type) for name, type in heads),
            *observations,
            *_numbered((RELATION, "", json.dumps(r.triple)) for r in self._graph.relations),
        ]

    def owner_of(self, item: Item) -> str:
        number = self._first.get(item.group)
        return "" if number is None else self._graph.entities[number].raw

    def with_changes(self, changes: Sequence[ItemChange]) -> str:
        graph, raws = self._graph, dict[int, str]()
        for number, changed in self._changed_lists(changes).items():
            raws[number] = self._with_list(number, changed)
        for change in changes:
            if change.new is not None and change.new.kind == _TYPE and change.old is not None:
                number = self._first[change.new.group]
                raw = raws.get(number, graph.entities[number].raw)
                raws[number] = put_member(raw, "entityType", change.new.text)
        places = [(graph.entities[number], raw) for number, raw in raws.items()]
        text = splice(graph.text, [(each.start, each.end, raw) for each, raw in places])
        return _with_new(_without(text, changes), changes)

    def _changed_lists(self, changes: Sequence[ItemChange]) -> dict[int, list[_Observation]]:
        """The entities whose observations change -> the new list of each."""
        lists: dict[int, list[_Observation]] = {}
        where = {item: n for n, items in enumerate(self._lists) for item in items}
        for change in changes:
            item = change.old or change.new
            if item is None or item.kind != _OBSERVATION:
                continue
            number = where[item] if change.old is not None else self._first.get(item.group)
            if number is None:
                continue  # of a new entity
            items = lists.setdefault(
                number, [_Observation(each, each) for each in self._lists[number]]
            )
            news = [each.new for each in items]
            if change.old is not None:
                place = next(n for n, each in enumerate(items) if each.old == change.old)
                items[place] = _Observation(change.old, change.new)
            elif change.new is not None:
                present = [each for each in news if each is not None]
                place = _place_below(change.above, present)
                below = news.index(present[place]) if place < len(present) else len(news)
                items.insert(below, _Observation(None, change.new))
        return lists

    def _with_list(self, number: int, items: Sequence[_Observation]) -> str:
        replaced, removed = dict[int, str](), set[int]()
        inserted = defaultdict[int, list[str]](list)
        index = left = 0
        for old, new in items:
            if old is None:
                inserted[left].append(new.text if new else "")
                continue
            if new is None:
                removed.add(index)
            else:
                left += 1
                if new != old:
                    replaced[index] = new.text
            index += 1
        return self._graph.entities[number].with_observations(replaced, removed, inserted)


class _Observation(NamedTuple):
    """One observation of a list that is changed, before and after."""

    old: Item | None
    new: Item | None


def _without(text: str, changes: Sequence[ItemChange]) -> str:
    """Without the removed relations, and the removed entities that have no observation left."""
    removed = {change.old for change in changes if change.new is None}
    names = {item.group for item in removed if item and item.kind == ENTITY}
    triples = Counter(item.text for item in removed if item and item.kind == RELATION)
    if not names and not triples:
        return text
    graph = parse_graph(text)
    observed = {each.name for each in graph.entities if each.observations}
    gone = [each for each in graph.entities if each.name in names - observed]
    for each in reversed(graph.relations):
        triple = json.dumps(each.triple)
        if triples[triple]:
            triples[triple] -= 1
            gone.append(each)
    return graph.without(gone)


def _with_new(text: str, changes: Sequence[ItemChange]) -> str:
    """With the new entities, each with its new observations, and the new relations."""
    graph = _parsed_graph(text)
    known = {each.name for each in graph.entities}
    entities: dict[str, dict[str, Any]] = {}
    for change in changes:
        item = change.new
        if item is None or not change.owner or item.group in known or item.kind == RELATION:
            continue
        value = entities.setdefault(item.group, _value(change.owner))
        if item.kind == _OBSERVATION:
            value["observations"].append(item.text)
    if entities:
        text = graph.with_new(ENTITY, [*entities.values()])
    added = [change.new for change in changes if change.new and change.new.kind == RELATION]
    triples = [load(item.text) for item in added]
    relations = [{"from": of, "to": to, "relationType": type} for of, type, to in triples]
    return _parsed_graph(text).with_new(RELATION, relations) if relations else text


def _parsed_graph(text: str) -> Graph:
    return parse_graph(text) if text.strip() else Graph(text, (), ())


def _value(owner: str) -> dict[str, Any]:
    """The value of a new entity that has no observation yet."""
    value = {**load(owner), "observations": []}
    value.pop("type", None)
    return value
