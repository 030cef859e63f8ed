"""Commands on whole stores: `open`, `demo`, `stores`, `embed`, `config`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from memtui.cli.options import command, option
from memtui.cli.output import (
    print_json,
    shown_progress,
)
from memtui.cli.store_selection import (
    find_catalog,
    load_library,
    note_unreadable,
    nothing_open,
    open_library,
    read_library,
    show_stores,
)
from memtui.errors import Refused
from memtui.model import format_time
from memtui.paths import is_place, link_target
from memtui.text import counted, mask_secrets, number, one_line, pad, short_ago

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.store_catalog import StoreSummary
    from memtui.stores.base import SyncState
    from memtui.stores.registry import Explanation

REMOVALS = 20
"""Times that the demo's folder is removed at most, while jobs still write into it."""


@command
def open_(paths: Sequence[str]) -> int:
    """Open the screen on these stores."""
    return show_stores(paths)


@command
def demo() -> int:
    """Open a temporary copy of the sample data; your own stores are not touched."""
    from memtui import child_processes, paths
    from memtui.cli.demo_story import copy_story, turn_on_sessions

    folder = Path(tempfile.mkdtemp(prefix="memtui-demo-"))
    try:
        copy = folder / "laptop"
        copy_story(paths.bundled_folder("sample-data"), copy, datetime.now(UTC))
        os.environ[paths.CACHE_VARIABLE] = str(folder / "cache")
        os.environ[paths.STATE_VARIABLE] = str(folder / "state")
        os.environ[paths.DATA_VARIABLE] = str(folder / "data")
        turn_on_sessions(copy, folder)
        from memtui.stores import registry

        roots = [str(root) for _, root in registry.detect_within(copy)]
        return show_stores(roots, looks=False)
    finally:
        child_processes.kill_all()
        for _ in range(REMOVALS):  # a job that is not waited for may just write into the cache
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)


@command
def stores(
    explain: bool = option(
        help="Print, without opening anything, why each place is taken for a store or not."
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> None:
    """List stores by project and program: label, memories, last write, path, unreadable files.

    Stores that were closed on the screen are marked. Of an Engram that is synchronised with a
    server, says what waits to be sent and what stops it. Of programs that can be told to keep no
    memory, says whether they do, and which file of settings says so. Also lists changes of yours
    that another program has overwritten in the last seven days; the screen can reapply them.
    Folders that are opened only if you name them are mentioned at the end.
    """
    if explain:
        _print_explanations(_explanations(stores), as_json)
        return
    from memtui.stores.registry import format_faults

    for fault in format_faults():
        package = f" of {fault.package}" if fault.package else ""
        message = f"the format {one_line(fault.name)}{package} could not be loaded: {fault.reason}"
        click.echo(message, err=as_json)
    from memtui.files.moved_sidecars import list_homeless
    from memtui.library.store_catalog import project_name

    library, found = _summarize(stores)
    note_unreadable(library)
    overwritten = _overwritten_by_label(library)
    if as_json:
        formats = {state.label: state.format for state in library.snapshot.stores}
        print_json({"stores": [_record(each, formats, overwritten) for each in found]})
        return
    project = None
    for each in found:
        if each.project != project:
            project = each.project
            print(one_line(project_name(each)))
        _print_summary(each, overwritten)
    for line in [] if stores else _not_opened():
        print(f"not opened: {line}")
    for gone in list_homeless():
        kept = f"{counted(gone.entries, 'memory')} in {', '.join(map(str, gone.files))}"
        print(f"kept of {one_line(gone.root)}, which is gone: {one_line(kept)}")


def _explanations(names: Sequence[str]) -> list[Explanation]:
    """What came of each place that is searched: in these paths and stores, or else by default.

    Raises StoreError for a name that is neither a path nor a label.
    """
    from memtui.stores.registry import explain

    if not names:
        return explain(Path.cwd(), Path.home())
    places = [Path(name) for name in names if is_place(name)]
    if labels := [name for name in names if not is_place(name)]:
        places += [store.root for store in open_library(labels).stores]
    return [each for place in places for each in explain(place.absolute())]


def _not_opened() -> Iterator[str]:
    """The folders that are opened only if they are named, and notes that no program reads."""
    from memtui.library.store_catalog import path_from_home
    from memtui.stores.registry import NO_STORES
    from memtui.stores.scanning import unread_notes

    found = _explanations(())
    roots = {each.candidate.root for each in found if each.is_taken and each.format.is_whole}
    for each in (each.candidate for each in found if not each.is_taken):
        path = path_from_home(each.root)
        if each.opens_when_named and NO_STORES.isdisjoint(each.root.parts):
            yield f"{path}; `memtui {path}` opens it"
        elif each.is_unread and roots.isdisjoint((each.root, each.root.parent)):
            for note in unread_notes(each.root, lambda _: False):
                yield f"{path}: {one_line(note.text)}; `memtui {path}` opens them"


def _print_explanations(found: Sequence[Explanation], as_json: bool) -> None:
    if as_json:
        records = [
            {
                "format": each.format.name,
                "path": str(each.candidate.root),
                "taken": each.is_taken,
                "found": each.candidate.found,
                "missing": each.candidate.missing,
                "opens_when_named": each.candidate.opens_when_named,
            }
            for each in found
        ]
        print_json({"places": records})
        return
    if not found:
        print("nothing to explain: no place looks like a store of memories")
    for each in found:
        sign, candidate = "+" if each.is_taken else "-", each.candidate
        print(f"{sign} {pad(each.format.name, 20)}  {one_line(str(candidate.root))}")
        print(f"    found    {one_line(candidate.found)}")
        if candidate.missing:
            named = "; it is opened if you name it" * candidate.opens_when_named
            why = "opened because you named it; " * each.is_taken
            print(f"    missing  {why}{one_line(candidate.missing)}{named * (not each.is_taken)}")


def _summarize(names: Sequence[str]) -> tuple[Library, list[StoreSummary]]:
    """The stores of these names, else all that are known, read and described."""
    from memtui.library.store_catalog import KnownStore, StoreCatalog, contents_of

    if names:
        library = load_library(names)
        listed = [KnownStore(s.root, s.format, s.label) for s in library.stores]
        folder, home = Path.cwd(), Path.home()
        catalog = StoreCatalog(lambda _: library, listed=listed, folder=folder, home=home)
        return library, catalog.describe(listed, contents_of(library))
    catalog = find_catalog(())
    known = catalog.chosen() if catalog.is_listed else catalog.known()
    if not known:
        raise nothing_open(catalog)
    library = catalog.open(known)
    library.load()
    return library, catalog.describe(known, contents_of(library))


Overwritten = Mapping[str, Sequence[tuple[int, str, str]]]
"""Label -> number, title and reason of the changes that were overwritten."""


def _record(
    each: StoreSummary, formats: Mapping[str, str], overwritten: Overwritten
) -> dict[str, Any]:
    label = each.store.label
    return {
        "label": label,
        "format": formats[label],
        "program": each.program,
        "project": str(each.project),
        "path": str(each.store.root),
        "link_to": link_target(each.store.root),
        "open": each.is_open,
        "memories": each.count,
        **({} if each.accuracy == "exact" else {"memories_are": each.accuracy}),
        "last_write": each.last_write.isoformat() if each.last_write else None,
        "writable": not each.read_only,
        "read_only": each.read_only,
        "unreadable": [asdict(item) for item in each.unreadable],
        "remarks": [remark._asdict() for remark in each.remarks],
        "sync": _sync_record(each.sync),
        "switches": [
            {"name": switch.name, "on": switch.is_on, "setting": switch.setting}
            | {"source": switch.source or None}
            for switch in each.switches
        ],
        "overwritten": [
            {"number": number, "title": title, "reason": reason}
            for number, title, reason in overwritten.get(label, ())
        ],
    }


def _sync_record(sync: SyncState | None) -> dict[str, Any] | None:
    if sync is None:
        return None
    time = format_time(sync.last_pull) if sync.last_pull else None
    reasons = [mask_secrets(reason) for reason in sync.reasons]
    return {**sync._asdict(), "reasons": reasons, "last_pull": time}


def _print_summary(each: StoreSummary, overwritten: Overwritten) -> None:
    from memtui.library.store_catalog import describe_switch, describe_sync

    closed = "" if each.is_open else "  closed"
    locked = f"  read-only: {one_line(each.read_only)}" if each.read_only else ""
    age = short_ago(each.last_write, datetime.now(UTC))
    count = number(each.count, each.accuracy)
    print(
        f"  {pad(each.store.label, 18)}  {pad(one_line(each.program), 16)}  "
        f"{count:>8}  {pad(age, 4)}  {one_line(str(each.store.root))}{closed}{locked}"
    )
    if target := link_target(each.store.root):
        print(f"    link to  {one_line(target)}")
    if each.sync is not None:
        print(f"    sync  {describe_sync(each.sync, datetime.now(UTC))}")
    for switch in each.switches:
        print(f"    memory  {describe_switch(switch)}")
    for item in each.unreadable:
        print(f"    unreadable  {one_line(item.file)}: {one_line(item.reason)}")
    for remark in each.remarks:
        print(f"    note  {one_line(remark.path)}: {one_line(remark.text)}")
    for action, title, reason in overwritten.get(each.store.label, ()):
        print(f"    overwritten  {one_line(title)} (number {action} in the log): {reason}")


def _overwritten_by_label(library: Library) -> dict[str, list[tuple[int, str, str]]]:
    """Map each label to number, title and reason of the changes that were overwritten."""
    labels = {os.path.realpath(store.root): store.label for store in library.stores}
    found: dict[str, dict[tuple[int, str, str], None]] = {label: {} for label in labels.values()}
    for reverted in library.peek_reverted():
        key = reverted.action.id, reverted.action.title, reverted.description
        found[labels[os.path.realpath(reverted.store)]][key] = None
    return {label: list(actions) for label, actions in found.items()}


@command
def embed(stores: Sequence[str], as_json: bool) -> None:
    """Compute the embeddings that memories lack, for semantic search (~words, similar).

    Can be interrupted at any time: the next run continues, and an unchanged memory is never
    embedded twice. The model is set under [search.embedding] in config.toml; the default is the one
    of memtui's extra `semantic`, which runs fully offline.
    """
    library = read_library(stores)
    if not library.can_embed:
        raise Refused(
            "no embedding model",
            do='pip install ".[semantic]" in a checkout of memtui, '
            "or name a server under [search.embedding]",
        )
    with shown_progress() as report:
        done = library.embed(report)
    if as_json:
        print_json({"stores": [asdict(store) for store in done]})
        return
    computed, texts = sum(store.made for store in done), sum(store.texts for store in done)
    print(f"{number(computed)} texts embedded, {number(texts)} in total")


@command
def config(
    places: bool = option(help="Print the paths of settings, themes, state, cache."),
) -> None:
    """Print config.toml with every setting explained and commented out."""
    from memtui import config as settings
    from memtui import paths

    if not places:
        print(settings.default_text())
        return
    for name, path in (
        ("settings", paths.config_file()),
        ("themes", paths.user_themes()),
        ("state", paths.state_folder()),
        ("data", paths.data_folder()),
        ("cache", paths.cache_folder()),
    ):
        print(f"{name:<10}{path}")
