"""Every store format that memtui knows, and which of them a folder holds.

memtui's own formats are listed here. Formats of other packages are declared as entry points of the
group `memtui.stores`, each a `Format`; they are loaded when formats are first asked for. A fault in
one of them is logged and never stops the rest.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from zlib import crc32

from msgspec import Struct

from memtui.stores.format import (
    GENERAL_RULES,
    Candidate,
    Detection,
    Format,
    Product,
    UpkeepRules,
    not_its_own,
    package_of,
)
from memtui.text import one_line, width

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from memtui.files.revert_detection import EditSequence, EditStatus
    from memtui.stores.base import Store

log = logging.getLogger(__name__)

PACKAGES = (
    *(
        "agent_memory",
        "ambient",
        "engram",
        "engram_export",
        "claude_mem",
        "mem0",
        "conport",
        "simple_memory",
        "workspace",
    ),
    *("claude_code", "project_memory", "qwen", "beads", "mcp_memory", "codex", "gemini"),
    *("hermes", "openclaw", "goose", "openwolf", "claude_remember", "memsearch", "vscode_copilot"),
    "markdown_folder",
    "project_instructions",
)
"""memtui's own formats in the order in which they are tried, the least ambiguous first."""

ASKED = ("team", "langgraph", "mem0-postgres")
"""memtui's own formats that lie on a server, so that no folder is searched for them."""

GROUP = "memtui.stores"
"""Entry points of other packages, tried after memtui's own."""

MAX_FOLDERS = 200
"""Folders of one folder that are looked into."""

NO_STORES = {
    *("node_modules", "vendor", "dist", "build", "__pycache__", "template", "templates"),
    *("docs", "doc", "documentation", "example", "examples", "site", "_site", "website"),
}
"""Folders of which a store is opened only if a person names it: what lies there is of somebody
else, or shows how a store looks."""

BADGE_CELLS = 2

_VARIABLE = re.compile(r"\$(\w+)")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_T = TypeVar("_T")


class FormatFault(Struct, frozen=True):
    """A format of another package that could not be loaded."""

    name: str
    """Name of the entry point."""
    package: str
    """Name and version of the package that declares it."""
    reason: str


def own_formats() -> Iterator[Format]:
    """memtui's own formats, each imported when its turn comes."""
    return (import_module(f"memtui.stores.{package}").FORMAT for package in PACKAGES)


def formats() -> Iterator[Format]:
    """All formats: memtui's own, then those of other packages."""
    yield from own_formats()
    yield from _declared_formats()[0]


def format_faults() -> tuple[FormatFault, ...]:
    """The formats of other packages that could not be loaded."""
    return _declared_formats()[1]


@cache
def _declared_formats() -> tuple[tuple[Format, ...], tuple[FormatFault, ...]]:
    found: list[Format] = []
    faults: list[FormatFault] = []
    for entry in _entry_points():
        try:
            known = _checked(entry.load(), {known.name for known in (*own_formats(), *found)})
        except Exception as error:
            log.error("the store format %s could not be loaded", entry.name, exc_info=error)
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            faults.append(FormatFault(entry.name, _package_of(entry), one_line(message)))
        else:
            found.append(known)
    return tuple(found), tuple(faults)


def _entry_points() -> Sequence[EntryPoint]:
    if not _may_be_declared():
        return ()
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def _may_be_declared() -> bool:
    """Whether an installed package declares a format.

    A look into the packages' entry points costs a few milliseconds, and the import of
    importlib.metadata, which is left out where there is none, several times that.
    """
    mark = f"[{GROUP}]".encode()
    for folder in sys.path:
        if os.path.isfile(folder):  # packages in a zip file
            return True
        try:
            names = [name for name in os.listdir(folder or ".") if name.endswith("-info")]
        except OSError:
            continue
        for name in names:
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    if mark in file.read():
                        return True
            except OSError:
                continue
    return False


def _package_of(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else ""


def _checked(loaded: object, used_names: Iterable[str]) -> Format:
    """Return an entry point's format. Raises TypeError or ValueError if it is not usable."""
    if not isinstance(loaded, Format):
        raise TypeError(f"it is a {type(loaded).__name__}, not a memtui.stores.format.Format")
    if not isinstance(loaded.name, str) or not _NAME.fullmatch(loaded.name):
        raise ValueError("its name is not made of lower-case letters, digits and hyphens")
    if loaded.name in used_names:
        raise ValueError(f"there is a format called {loaded.name} already")
    for paths in (loaded.places, loaded.nearby):
        if not isinstance(paths, tuple) or not all(isinstance(path, str) for path in paths):
            raise TypeError("places and nearby must be tuples of texts")
    if isinstance(loaded.product, Product) and width(loaded.product.badge) != BADGE_CELLS:
        raise ValueError("the badge of its product is not two columns wide")
    is_named = isinstance(loaded.load, str) and loaded.load
    if not callable(loaded.detect) or not (callable(loaded.load) or is_named):
        raise TypeError("detect must be a function, load a function or the name of a module")
    return loaded


def _attempt(known: Format, call: Callable[[], _T], otherwise: _T) -> _T:
    """Call a format's function; a fault in a format of another package is logged."""
    if known in own_formats():
        return call()
    try:
        return call()
    except Exception:
        log.exception("the store format %s failed", known.name)
        return otherwise


def _detected(known: Format, path: Path, *, is_named: bool = False) -> Path | None:
    """The root of a store; `is_named`: also of what is opened only where it is named."""
    named = partial(known.detect_named, path, falls_back=False)
    root = _attempt(known, named if is_named else partial(known.detect, path), None)
    return root if isinstance(root, Path) else None


def _candidates(known: Format, path: Path) -> list[Candidate]:
    """What a format says of a path; where it gives no reasons, only that it recognises it."""
    detect, none = known.detect, list[Candidate]()
    if isinstance(detect, Detection):
        return _attempt(known, lambda: list(detect.candidates(path)), none)
    root = _detected(known, path)
    return none if root is None else [Candidate(root, f"{known.name} recognises it")]


def format_of(name: str) -> Format | None:
    """The format with this name; None when this memtui does not know it."""
    if name in ASKED:
        asked: Format = import_module(package_of(name)).FORMAT
        return asked
    return next((known for known in formats() if known.name == name), None)


def upkeep_rules_of(store: Store) -> UpkeepRules:
    """The rules for tidying what an open store holds; the general ones if its format has none."""
    known = format_of(store.format)
    return GENERAL_RULES if known is None else known.upkeep


def detect(path: Path) -> tuple[Format, Path] | None:
    """The format of the store that this path is or directly holds, and the store's root."""
    return next(detect_all(path), None)


def detect_named(path: Path) -> tuple[Format, Path] | None:
    """As `detect` for a path that a person names: also what a format opens only then."""
    found = detect(path)
    for known in formats() if found is None else ():
        root = _attempt(known, partial(known.detect_named, path), None)
        if isinstance(root, Path):
            return known, root
    return found


def detect_all(path: Path) -> Iterator[tuple[Format, Path]]:
    """Every store that this path is or directly holds: one folder may hold two formats."""
    for known in formats():
        root = _detected(known, path)
        if root is not None:
            yield known, root


def claims_at(path: Path) -> tuple[str, ...]:
    """Patterns of the instructions of a project that stores at this place, or in one of its
    folders, read themselves."""
    patterns = list[str]()
    for known in formats():
        root = _detected(known, path) if known.claims else None
        if root is not None and root.is_relative_to(path):
            below = "".join(f"{part}/" for part in root.relative_to(path).parts)
            patterns += [below + pattern for pattern in known.claims]
    return tuple(patterns)


def detect_within(path: Path) -> list[tuple[Format, Path]]:
    """The stores that a path that a person names is or holds; where it is none itself, also those
    that its folders are."""
    near = list(_detected_at(_nearby(path)))
    named = list[tuple[Format, Path]]()
    if not any(_is_same(root, path) for _, root in near):
        own = _detected_at([(known, path) for known in formats()], is_named=True)
        named = [(known, root) for known, root in own if _is_same(root, path)][:1]
    return _without_repeats([*near, *named, *_in_folders(path, named)])


def _detected_at(
    places: Iterable[tuple[Format, Path]], *, is_named: bool = False
) -> Iterator[tuple[Format, Path]]:
    """The stores at these places; `is_named` as in `_detected`."""
    for known, path in places:
        root = _detected(known, path, is_named=is_named)
        if root is not None:
            yield known, root
            if known.linked is not None:
                none: list[Path] = []
                linked = _attempt(known, partial(_list_of, known.linked, root), none)
                yield from ((known, each) for each in linked)


def _nearby(folder: Path) -> Iterator[tuple[Format, Path]]:
    """The places in a folder that formats name."""
    for known in formats():
        for relative in known.nearby:
            above, is_pattern, _ = relative.partition("*")
            paths = _folders(folder / above) if is_pattern else [folder / relative]
            yield from ((known, path) for path in paths)


def _in_folders(path: Path, named: Sequence[tuple[Format, Path]] = ()) -> list[tuple[Format, Path]]:
    """The stores that the folders of a folder are; none where it is a store itself."""
    if named or any(_is_same(root, path) for known, root in detect_all(path) if known.is_whole):
        return []
    return [found for folder in _folders(path) for found in detect_all(folder)]


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _folders(path: Path, *, every: bool = False) -> list[Path]:
    """The folders of a folder that may be stores; `every`: also `NO_STORES`."""
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except (OSError, ValueError):
        return []
    return [path / name for name in names[:MAX_FOLDERS] if every or name.lower() not in NO_STORES]


def _without_repeats(stores: Iterable[tuple[Format, Path]]) -> list[tuple[Format, Path]]:
    found: dict[str, tuple[Format, Path]] = {}
    for known, root in stores:
        found.setdefault(f"{known.name}\0{os.path.realpath(root)}", (known, root))
    return list(found.values())


def _expanded(place: str, home: Path, variables: Mapping[str, str]) -> Path | None:
    """A known place as a path; None when it names a variable that is not set."""
    for name in _VARIABLE.findall(place):
        if not variables.get(name):
            return None
    text = _VARIABLE.sub(lambda match: variables[match[1]], place)
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text)


def _usual_places(home: Path, variables: Mapping[str, str]) -> Iterator[tuple[Format, Path]]:
    for known in formats():
        for place in known.places:
            path = _expanded(place, home, variables)
            if path is not None:
                yield known, path


def _configured_places(
    folder: Path, home: Path, variables: Mapping[str, str]
) -> Iterator[tuple[Format, Path]]:
    """The places that the settings of programs name."""
    for known in formats():
        if known.configured is not None:
            none: list[Path] = []
            find = partial(_list_of, known.configured, folder, home, variables)
            yield from ((known, path) for path in _attempt(known, find, none))


def _list_of(find: Callable[..., Iterable[Path]], *arguments: object) -> list[Path]:
    return list(find(*arguments))


def discover(
    folder: Path, home: Path, variables: Mapping[str, str] = os.environ
) -> list[tuple[Format, Path]]:
    """The stores in a folder and in the places where their programs keep them, then those in its
    folders.

    Each store once, whichever way leads to it. Never raises.
    """
    usual = chain(_nearby(folder), _usual_places(home, variables))
    named = _detected_at(_configured_places(folder, home, variables), is_named=True)
    return _without_repeats([*_detected_at(usual), *named, *_in_folders(folder)])


def searched_places(
    folder: Path, home: Path, variables: Mapping[str, str] = os.environ
) -> list[Path]:
    """Every path where `discover` looks for a store, whether one is there or not."""
    usual = chain(_nearby(folder), _usual_places(home, variables))
    return [path for _, path in chain(usual, _configured_places(folder, home, variables))]


def named_variables() -> set[str]:
    """The variables of the environment that name places of stores."""
    return {
        name for known in formats() for place in known.places for name in _VARIABLE.findall(place)
    }


class Explanation(NamedTuple):
    """A place that was considered as a store, and what came of it."""

    format: Format
    candidate: Candidate
    is_taken: bool


def explain(
    folder: Path,
    home: Path | None = None,
    variables: Mapping[str, str] = os.environ,
) -> list[Explanation]:
    """Say of every place that `discover` considers what convinced it or what was missing.

    Args:
        folder: the folder that is searched.
        home: whose known places are searched too; None: the folder is a path that a person names.
        variables: the environment.

    Returns:
        By path, what is taken first. A place that is taken for a store of one format is not listed
        for what it lacks to be one of another.
    """
    found = detect_within(folder) if home is None else discover(folder, home, variables)
    taken = {(known.name, os.path.realpath(root)) for known, root in found}
    roots = {os.path.realpath(root) for known, root in found if known.is_whole}
    elsewhere = list[tuple[Format, Path]]()
    if home is not None:
        elsewhere += _usual_places(home, variables)
        elsewhere += _configured_places(folder, home, variables)
    folders = _folders(folder, every=True)
    folders += [
        deep for each in folders if each.name.lower() in NO_STORES for deep in _folders(each)
    ]
    below = ((known, each) for each in folders for known in formats())
    explained: dict[tuple[str, str], Explanation] = {}
    for known, path in chain(_nearby(folder), found, elsewhere, below):
        for each in _candidates(known, path):
            key = known.name, os.path.realpath(each.root)
            is_taken = key in taken
            if is_taken or key[1] not in roots:
                if not each.missing and not is_taken:
                    each = each._replace(missing=_why_left(each.root, folder))
                before = explained.get(key)
                if before is None or (before.candidate.missing and not each.missing):
                    explained[key] = Explanation(known, each, is_taken)
    return sorted(explained.values(), key=lambda each: (not each.is_taken, each.candidate.root))


def _why_left(root: Path, folder: Path) -> str:
    """Why a store in a folder is not opened with it."""
    below = root.relative_to(folder).parts[:1] if root.is_relative_to(folder) else ()
    if below and below[0].lower() in NO_STORES:
        return not_its_own(f"it lies in {below[0]}/")
    return not_its_own("the folder above it is a store")


def product_of(format: str, root: Path) -> Product:
    """The program that writes the store at this root.

    Args:
        format: name of its format, or `name:profile`; it is its own name where it is not known.
    """
    name, _, profile = format.partition(":")
    known = format_of(name)
    titled = name if known is None else known.title.partition(":")[0]
    unnamed = Product(titled, (titled[:2].upper() + "  ")[:2], crc32(titled.encode()))
    declared = None if known is None else known.product
    if isinstance(declared, Product):
        return declared
    if known is None or declared is None:
        return unnamed
    return _attempt(known, partial(declared, root, profile), unnamed)


def row_digest(name: str) -> str | None:
    """The digest of the table row of this name as it is now; None when no format knows it."""
    for known in formats():
        if known.database is not None:
            digest = _attempt(known, partial(known.database.row_digest, name), None)
            if digest is not None:
                return digest
    return None


def find_row_statuses(sequences: Sequence[EditSequence]) -> list[tuple[EditSequence, EditStatus]]:
    """The status of each sequence of row edits, as the format that owns the rows finds it."""
    found: list[tuple[EditSequence, EditStatus]] = []
    for known in formats():
        if known.database is not None and sequences:
            found += _attempt(known, partial(known.database.find_statuses, sequences), [])
    return found
