"""Save and restore the session of a set of stores: panes, filters, selection, search history.

One JSON file in the state folder, with an entry for each set of stores. Errors are ignored: what
cannot be read is taken as empty, what cannot be written is not saved.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import msgspec
from msgspec import Meta

from memtui.paths import read_private, sole_writer, write_private
from memtui.text.secrets import has_secret

FILE = "session.json"
MAX_SETS = 20
"""Sets of stores with an entry; the least recently used is deleted first."""
MAX_SEARCHES = 100
LONGEST_SEARCH = 2_000
"""Characters of a search that is kept; the file is not read if pasted texts make it huge. One with
a secret is not kept."""


class Session(NamedTuple):
    """The state of the screen."""

    query: str = ""
    """The search line, filters included."""
    selected: str = ""
    """Ref of the memory under the cursor."""
    focus: str = ""
    """Name of the focused pane."""
    panes: dict[str, Annotated[int, Meta(ge=0, le=10_000)]] = {}
    """Sizes of panes that the user set, in columns or rows, by the names of `tui.layout.Sizes`."""
    zoomed: str = ""
    theme: str = ""
    """Chosen in the session; empty: the settings' own."""
    searches: tuple[str, ...] = ()
    """Search history, the latest last."""
    commands: tuple[str, ...] = ()
    """Ids of the actions that were run from the palette, the latest first."""
    seen: str = ""
    """ISO time when the stores were last seen, to mark what is new since."""


def key_for(roots: Iterable[Path]) -> str:
    """Return the key of a set of stores, independent of their order."""
    names = sorted(str(root.absolute()) for root in roots)
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def load(state: Path, key: str) -> Session:
    """Return the last session of these stores, or an empty one. Never raises."""
    values = read_private(state / FILE).get(key)
    return _session(values) if isinstance(values, dict) else Session()


def update(state: Path, key: str, change: Callable[[Session], Session]) -> bool:
    """Change the session on disk, which another memtui of these stores may have written since.

    False when it could not be written. Never raises.
    """
    with contextlib.suppress(OSError), sole_writer(state):
        entries = read_private(state / FILE)
        values = entries.pop(key, None)
        session = change(_session(values) if isinstance(values, dict) else Session())
        searches = [each for each in session.searches if _is_kept(each)]
        query = session.query if _is_kept(session.query) else ""
        entries[key] = {
            **session._asdict(),
            "query": query,
            "searches": searches[-MAX_SEARCHES:],
        }
        newest = dict(list(entries.items())[-MAX_SETS:])
        write_private(state / FILE, json.dumps(newest, indent=1) + "\n")
        return True
    return False


def _is_kept(search: str) -> bool:
    return len(search) <= LONGEST_SEARCH and not has_secret(search)


def _session(values: Mapping[str, Any]) -> Session:
    """Make a session of what the file has; what is not of its type is left out."""
    found: dict[str, Any] = {}
    for name, type in get_type_hints(Session, include_extras=True).items():
        with contextlib.suppress(KeyError, msgspec.ValidationError):
            found[name] = msgspec.convert(values[name], type)
    if not _is_time(found.get("seen", "")):
        found["seen"] = ""
    return Session(**found)


def _is_time(text: str) -> bool:
    """Whether this is an ISO time with its zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
