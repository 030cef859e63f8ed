"""Claude Code: auto memory of each project, memory of subagents, and CLAUDE.md files.

The package itself says where the files lie. A store is one of three kinds of folder:

* the folder of settings (`$CLAUDE_CONFIG_DIR`, else `~/.claude`): `projects/<slug>/memory/` of each
  project, `agent-memory/<agent>/` of each subagent, `CLAUDE.md`;
* a project: `.claude/memory/`, `.claude/agent-memory/<agent>/`, `.claude/agent-memory-local/`,
  `CLAUDE.md`;
* a single memory folder, as `autoMemoryDirectory` names one, or a link leads to one from
  `projects/<slug>/memory` of a folder of settings.

Topic files lie in a memory folder and in its folders (anthropics/claude-code#76868). A folder of it
that has a MEMORY.md of its own, such as `team/`, is a memory folder too.

A slug is the project's path with every mark turned into a hyphen (older builds keep `_`), so the
path cannot be told from it, and two folders may share one. It is taken from the `cwd` of the
transcripts beside it or from the keys of `.claude.json`, else from the folders that exist, and only
if it gives this slug; otherwise the slug itself is shown. (Source of the layout: formats page of
Claude Code, read off real folders.)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from msgspec import Struct

from memtui.stores.base import MemorySwitch, Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product, not_its_own
from memtui.stores.program_settings import (
    find_switch,
    named_path,
    read_settings,
    system_folder,
)
from memtui.stores.scanning import (
    SKIPPED,
    Entry,
    folders_in,
    has_entry,
    is_link_into,
    is_markdown,
    list_folder,
    notes_below,
    read_place_facts,
    read_small,
    restored_as,
)
from memtui.stores.values import members_of

INDEX = "MEMORY.md"
SUFFIX = ".md"
AGENTS = ("agent-memory", "agent-memory-local")
INSTRUCTIONS = "instructions"
"""Key of the shard and entity of `CLAUDE.md` and the like."""

IN_CONFIG = ("CLAUDE.md",)
IN_PROJECT = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
ALSO_READ = "AGENTS.md"
"""Read in a project that has none of these; it is of other programs too, and of their store."""
RULES = ("rules", ".claude/rules")
"""Folders of further instructions, of settings and of a project."""

_OTHER_PROGRAMS = ("SOUL.md", "IDENTITY.md", "memory", "entities")
"""What other programs keep beside a MEMORY.md of their own."""
_TOPIC_NAME = re.compile(r"(user|feedback|project|reference)_.*\.md")
_INDEX_LINE = re.compile(r"^[-*] +\**\[[^\]\n]*\]\(<?([^()\s/]+\.md)>?\)", re.MULTILINE)
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]")


# ---- recognising --------------------------------------------------------------------------------


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The store that this path is, or directly holds."""
    yield from filter(None, map(judge_config, (path, path / ".claude")))
    yield from filter(None, map(judge_project, (*[path.parent][: path.name == ".claude"], path)))
    yield from filter(None, map(judge_memory_folder, (path, path / "memory")))


CONFIG, PROJECT, MEMORY = "config", "project", "memory"
"""The kinds of folder, as the facts of a restored store have them."""


def kind_of(folder: Path) -> str:
    """Which kind of folder it is; "" if it is none."""
    kinds = ((CONFIG, judge_config), (PROJECT, judge_project), (MEMORY, judge_memory_folder))
    found = next((name for name, judge in kinds if _is_store(judge(folder))), "")
    return found or PROJECT * (judge_project(folder) is not None)


def _is_store(judged: Candidate | None) -> bool:
    return judged is not None and not judged.missing


def judge_config(folder: Path) -> Candidate | None:
    """Whether it is a folder of settings that holds memories."""
    if restored := restored_as(folder, CONFIG):
        return restored
    if is_of_qwen(folder):
        return None
    if has_entry(folder / "projects", lambda entry: _has_markdown(Path(entry.path, "memory"))):
        return Candidate(folder, "projects/ with the memory/ of a project")
    is_home = folder.parent == Path.home()  # what is there is given in every project
    if folder.name != ".claude" or (os.path.lexists(folder.parent / ".git") and not is_home):
        return None
    found = "CLAUDE.md" if os.path.isfile(folder / "CLAUDE.md") else _agents_in(folder)
    if found and os.path.isdir(folder / "projects"):
        return Candidate(folder, f"{found} beside projects/")
    if found and is_home:
        return Candidate(folder, f"{found} in the home folder")
    return None


def judge_project(folder: Path) -> Candidate | None:
    """Whether it is a project with memories; the instructions of others are read as rules, unless a
    person asks for this format."""
    own = folder / ".claude"
    if restored := restored_as(folder, PROJECT):
        return restored
    if _is_store(judge_config(own)):
        return None
    found = "memory" if _has_markdown(own / "memory") else _agents_in(own)
    if found:
        return Candidate(folder, f".claude/{found} with notes")
    named = next((n for n in IN_PROJECT[:2] if os.path.isfile(folder / n)), "")
    if not named or not os.path.lexists(folder / ".git"):
        return None
    return Candidate(folder, named, "notes in .claude/memory or of a subagent")


QWEN = ".qwen"
"""The folder of Qwen Code, which keeps the same layout."""
OF_PROJECTS = (".agents", ".agent")
"""Folders of a project whose `memory` is of agents that share it, see `stores.project_memory`."""


def is_of_qwen(folder: Path) -> bool:
    """Whether a folder with `projects` is Qwen Code's: by its usual name, else by `chats`, where
    only Qwen Code keeps transcripts."""
    if folder.name in (QWEN, ".claude"):
        return folder.name == QWEN
    return has_entry(folder / "projects", lambda each: os.path.isdir(f"{each.path}/chats"))


def _is_of_others(folder: Path) -> bool:
    """Whether a folder of notes lies where another program keeps its own in this layout."""
    if QWEN in folder.parts[-4:-1] or folder.parent.name in OF_PROJECTS:
        return True
    is_in_projects = folder.parent.parent.name == "projects"
    return is_in_projects and is_of_qwen(folder.parents[2])


def _agents_in(folder: Path) -> str:
    """The first folder of the memories of subagents; "" if there are none."""
    found = (
        each
        for each in AGENTS
        if has_entry(folder / each, lambda entry: _has_markdown(Path(entry.path)))
    )
    return next(found, "")


def _has_markdown(folder: Path) -> bool:
    return has_entry(folder, is_markdown)


def judge_memory_folder(folder: Path) -> Candidate | None:
    """Whether it is a memory folder: where one lies, or an index of files beside it."""
    index = folder / INDEX
    if restored := restored_as(folder, MEMORY):
        return restored
    if _is_of_others(folder):
        return None
    if project_config(folder):
        found = "notes where Claude Code keeps those of a project"
        return Candidate(folder, found) if _has_markdown(folder) else None
    if not os.path.isfile(index):
        return None
    other = next((name for name in _OTHER_PROGRAMS if os.path.exists(folder / name)), "")
    if other:
        return Candidate(folder, INDEX, not_its_own(f"another program keeps {other} there"))
    if folder.parent.name in AGENTS:
        return Candidate(folder, f"{INDEX} of a subagent")
    if has_entry(folder, lambda entry: bool(_TOPIC_NAME.match(entry.name))):
        return Candidate(folder, f"{INDEX} and topic files")
    named = next(
        (n for n in _INDEX_LINE.findall(read_small(index))[:20] if os.path.isfile(folder / n)), ""
    )
    if named:
        return Candidate(folder, f"{INDEX} with a line that names {named}")
    return Candidate(folder, INDEX, "a line of it that names a file beside it, or a topic file")


def config_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Where Claude Code keeps the settings of its user."""
    return Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude")


def configured_folders(folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """Memory folders that the setting `autoMemoryDirectory` names, for all or for this folder."""
    config = config_folder(home, variables)
    layers = (config / "settings.json", config / "settings.local.json")
    own = (folder / ".claude" / "settings.json", folder / ".claude" / "settings.local.json")
    for file in (*layers, *own):
        if named := named_path(read_settings(file).get(DIRECTORY), home):
            yield named


SHARED_SETTINGS = ".claude/settings.json"
"""What a project shares of them."""


def settings_files(config: Path, project: Path | None) -> list[Path]:
    """The files of settings that hold in a project, or where none has a say; what prevails first:
    managed, of the project's person, of the project, of the user."""
    managed = system_folder("claude-code", "ClaudeCode") / "managed-settings.json"
    names = (".claude/settings.local.json", SHARED_SETTINGS) if project is not None else ()
    own = [Path(f"{project}/{name}") for name in names]
    return [managed, *own, config / "settings.json"]


DIRECTORY = "autoMemoryDirectory"


def directory_instead(config: Path, project: str) -> tuple[Path, Path] | None:
    """The memory folder that is loaded instead of that in the folder of settings, and the file
    that names it; None where none is named.

    The settings that are managed, the person's own of the project and those of the user are asked,
    not those that a project shares, and relative paths are passed over (release 2.1.74;
    anthropics/claude-code#34146, #51394).
    """
    for file in settings_files(config, Path(project) if project else None):
        if file == Path(project, SHARED_SETTINGS):
            continue
        if named := named_path(read_settings(file).get(DIRECTORY), Path.home()):
            return named, file
    return None


EXCLUDES = "claudeMdExcludes"


def excluded_paths(settings: Iterable[Path]) -> list[tuple[str, Path]]:
    """Patterns of the instruction files that Claude Code does not read, of all settings together,
    each with its file. (code.claude.com, "Exclude specific CLAUDE.md files".)"""
    found = ((read_settings(file, EXCLUDES).get(EXCLUDES), file) for file in settings)
    lists = ((value, file) for value, file in found if isinstance(value, list))
    return [(each, file) for value, file in lists for each in value if isinstance(each, str)]


AUTO_MEMORY = "auto memory"
ENABLED, DISABLE_VARIABLE = "autoMemoryEnabled", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def auto_memory_switch(
    config: Path, project: Path | None, variables: Mapping[str, str]
) -> MemorySwitch:
    """Whether auto memory is on, in this project or where none has a say of its own.

    The variable prevails, of the environment or of `env` in the settings: 1 turns it off, 0 on.
    Then come the settings that are managed, of the project's person, of the project, of the user;
    auto memory is on by default. (Sources: code.claude.com/docs/en/memory and /settings; of the
    values of the variable, a reading of the program 2.1.258 in the benchmarks of cdeust/Cortex.)
    """
    files = settings_files(config, project)
    told = [(f"${DISABLE_VARIABLE}", variables.get(DISABLE_VARIABLE))]
    told += [
        (str(file), members_of(read_settings(file).get("env")).get(DISABLE_VARIABLE))
        for file in files
    ]
    for source, value in told:
        word = str(value).lower()
        if word in _YES or word in _NO:
            return MemorySwitch(AUTO_MEMORY, word in _NO, DISABLE_VARIABLE, source)
    return find_switch(AUTO_MEMORY, ENABLED, files, is_on_by_default=True)


# ---- memory folders -----------------------------------------------------------------------------


class MemoryFolder(Struct, frozen=True):
    """One folder with a MEMORY.md and topic files."""

    key: str
    """Relative to the root, with slashes; `.` for the root itself."""
    path: Path
    kind: str
    """`project` (of a folder of settings), `agent`, `own` (of the project that is the store), or
    empty for a single folder."""
    name: str
    """The slug or the name of the agent."""
    part: str = ""
    """The name of the folder, where it lies in a memory folder and has an index of its own."""

    @property
    def prefix(self) -> str:
        """Prefix of the ids of its files."""
        return "" if self.key == "." else f"{self.key}/"

    @property
    def transcripts(self) -> Path:
        """The folder of the transcripts of its project."""
        return self.path.parents[1 if self.part else 0]


def memory_folders(root: Path, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
    """The memory folders of a store, by name; folders that cannot be listed go to `faults`."""
    yield from with_parts(_memory_folders(root, faults))


def with_parts(folders: Iterable[MemoryFolder]) -> Iterator[MemoryFolder]:
    """The folders, each with those in it that have an index of their own."""
    for folder in folders:
        yield folder
        for name in _parts_of(folder.path):
            key = f"{folder.prefix}{name}"
            yield MemoryFolder(key, folder.path / name, folder.kind, folder.name, name)


def _parts_of(folder: Path) -> list[str]:
    """Names of the folders in a memory folder that have an index of their own."""
    entries, _ = list_folder(folder)
    return [
        entry.name
        for entry in entries
        if entry.name not in SKIPPED
        and entry.is_dir(follow_symlinks=False)
        and os.path.isfile(os.path.join(entry.path, INDEX))
    ]


_BASE = re.compile(
    r"(?:projects/[^/]+/memory|\.claude/memory|(?:\.claude/)?agent-memory(?:-local)?/[^/]+)(?=/)"
)


def folder_key(path: str, file: str) -> str:
    """The key of the memory folder that a topic file or an index is in.

    Args:
        path: relative to the root, with slashes.
        file: absolute.
    """
    found = _BASE.match(path)
    base = found[0] if found else ""
    first, slash, _ = path[len(base) :].lstrip("/").partition("/")
    part = f"{base}/{first}" if base else first
    has_index = slash and os.path.isfile(f"{file.removesuffix(path)}{part}/{INDEX}")
    return part if has_index else base or "."


def _memory_folders(root: Path, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
    if _is_store(judge_memory_folder(root)) and not _is_store(judge_config(root)):
        yield single_folder(root, root.parent.name)
        return
    if os.path.isdir(root / "projects"):
        yield from project_folders(root, faults)
    base = "" if _has_settings(root) else ".claude/"
    if base and os.path.isdir(root / ".claude" / "memory"):
        yield MemoryFolder(".claude/memory", root / ".claude" / "memory", "own", root.name)
    for agents in AGENTS:
        if os.path.isdir(root / base / agents):
            for name, path in _folders(root / base / agents, root, faults):
                yield MemoryFolder(f"{base}{agents}/{name}", path, "agent", name)


def project_folders(root: Path, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
    """The memory folder of each project below a folder of settings, without `linked_folders`."""
    linked, closed = {*linked_folders(root)}, list[Unreadable]()
    for name, path in _folders(root / "projects", root, closed):
        if os.path.isdir(path / "memory") and path / "memory" not in linked:
            yield MemoryFolder(f"projects/{name}/memory", path / "memory", "project", name)
    above = {str(each) for folder in linked for each in folder.parents}
    faults += [fault for fault in closed if fault.file not in above]


def linked_folders(root: Path) -> Iterator[Path]:
    """The memory folders of projects that a link leads to out of a folder of settings.

    People share memory so (anthropics/claude-code#26045): each is a store of its own, whose root is
    the link, so that nothing that is written in it leaves the folder it was opened as.
    """
    projects = root / "projects"
    is_linked = os.path.islink(projects)
    for entry in list_folder(projects)[0]:
        folder = Path(entry.path, "memory")
        may_leave = is_linked or entry.is_symlink() or os.path.islink(folder)
        if may_leave and not is_link_into(folder, root) and _has_markdown(folder):
            yield folder


def single_folder(root: Path, name: str) -> MemoryFolder:
    """The memory folder that is a store by itself: of the project in whose place it lies or lay
    when it was exported; `name`: where it is of no project."""
    former = next(iter(members_of(read_place_facts(root).get("entities"))), "")
    slug = root.parent.name if project_config(root) else former
    return MemoryFolder(".", root, "project" if slug else "", slug or name)


def project_config(root: Path) -> Path | None:
    """The folder of settings above the memory folder of a project; None for any other folder."""
    is_one = root.name == "memory" and root.parent.parent.name == "projects"
    return root.parents[2] if is_one else None


def _has_settings(root: Path) -> bool:
    is_placed = root.name == ".claude" or os.path.isdir(root / "projects")
    return is_placed or restored_as(root, CONFIG) is not None


def _folders(folder: Path, root: Path, faults: list[Unreadable]) -> Iterator[tuple[str, Path]]:
    for found in folders_in(folder, root):
        if isinstance(found, Unreadable):
            faults.append(found)
        else:
            yield found.name, Path(found.path)


def markdown_files(folder: Path, faults: list[Unreadable]) -> list[str]:
    """The Markdown files of a memory folder: the index first, then by folder and name."""
    parts = {*_parts_of(folder)}
    names = [n for n in notes_below(folder, faults) if n.partition("/")[0] not in parts]
    return [str(folder / name) for name in sorted(names, key=lambda name: name != INDEX)]


def instruction_names(root: Path, folders: list[MemoryFolder]) -> list[str]:
    """The instruction files that are read at every start, relative to the root, if they exist."""
    if any(folder.key == "." for folder in folders):
        return []
    in_config = _has_settings(root)
    names = [n for n in (IN_CONFIG if in_config else IN_PROJECT) if os.path.lexists(root / n)]
    rules = RULES[0] if in_config else RULES[1]
    if os.path.isdir(root / rules):
        names += [f"{rules}/{name}" for name in notes_below(root / rules, [])]
    return names


# ---- the path of a project ----------------------------------------------------------------------

MAX_TRANSCRIPTS = 20
MAX_READ = 64 << 10
"""Transcripts that are looked into for the project's path, and bytes of each."""
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_HOME = re.compile(r"-(?:home|Users)-[^-]+(?=-)|-root(?=-)")
"""The home folder at the beginning of a slug."""
MAX_CANDIDATES = 1_000
"""Folders that are looked at to find those that give a slug."""


def slug_of(path: str) -> str:
    """The slug of a path, or of a slug as older builds made it, which kept `_`."""
    return _NOT_IN_SLUG.sub("-", path)


class ProjectPaths:
    """The paths of projects by slug, each found once."""

    def __init__(self, root: Path, chats: str = "") -> None:
        """`chats`: the folder of the transcripts in that of the project."""
        self._root, self._chats = root, chats
        self._found: dict[str, tuple[str, ...]] = {}
        self._known: list[str] | None = None

    def all_of(self, slug: str) -> tuple[str, ...]:
        """The absolute paths of the projects with this slug, that of the newest session first; ()
        if nothing tells one."""
        if slug not in self._found:
            told = self._from_transcripts(slug) or self._from_settings(slug)
            self._found[slug] = tuple(told or self._from_folders(slug))
        return self._found[slug]

    def of(self, slug: str) -> str:
        """The absolute path of the project with this slug; "" if nothing tells it."""
        return next(iter(self.all_of(slug)), "")

    def recorded(self, slug: str) -> str:
        """The same, or the path that a restored store had where it was exported."""
        return self.of(slug) or self._former("paths", slug)

    def _former(self, fact: str, slug: str) -> str:
        former = members_of(read_place_facts(self._root).get(fact)).get(slug)
        return former if isinstance(former, str) and former.isprintable() else ""

    def entity(self, slug: str) -> str:
        """The path from the home folder, else from `/`; the slug itself if it is not known."""
        path = self.of(slug)
        if not path:
            return self._former("entities", slug) or slug
        home = f"{self._root.parent}/"
        return path.removeprefix(home).replace("\\", "/").strip("/") or slug

    def short(self, entity: str) -> str:
        """The last part of a project's path; with the one before where two projects share it. Of a
        slug, what follows the home folder."""
        known = {self.entity(slug) for slug in self._found} | {entity}
        last = _last_part(entity)
        alike = [each for each in known if _last_part(each) == last]
        return last if len(alike) == 1 else "/".join(entity.split("/")[-2:])

    def _from_transcripts(self, slug: str) -> list[str]:
        folder = self._root / "projects" / slug / self._chats
        files = [e for e in list_folder(folder)[0] if e.name.endswith(".jsonl")]
        found: dict[str, None] = {}
        for entry in sorted(files, key=_time, reverse=True)[:MAX_TRANSCRIPTS]:
            for written in dict.fromkeys(_CWD.findall(_beginning(entry.path))):
                with suppress(ValueError):
                    if path := _project_of(json.loads(written), slug):
                        found[path] = None
        return list(found)

    def _from_settings(self, slug: str) -> list[str]:
        if self._known is None:
            files = [self._root / ".claude.json"]
            if self._root.name == ".claude":
                files.append(self._root.parent / ".claude.json")
            tables = [read_settings(file).get("projects") for file in files]
            self._known = [key for table in tables if isinstance(table, dict) for key in table]
        return [key for key in self._known if _project_of(key, slug) == key]

    def _from_folders(self, slug: str) -> list[str]:
        """The one folder that exists and gives this slug, below `/` or in the home folder of the
        settings, wherever that was."""
        slug = slug_of(slug)
        found = _folders_of(Path("/"), slug)
        if not found and (home := _HOME.match(slug)):
            found = _folders_of(self._root.parent, slug[home.end() :])
        return found if len(found) == 1 else []


def _last_part(entity: str) -> str:
    return (
        _HOME.sub("", entity, count=1).lstrip("-") or entity
        if entity[:1] == "-"
        else (entity.rpartition("/")[2])
    )


def _folders_of(top: Path, slug: str) -> list[str]:
    """The folders below `top` whose path from there gives this slug."""
    waiting, found, looked_at = [(top, slug)], list[str](), 0
    while waiting and looked_at < MAX_CANDIDATES:
        folder, rest = waiting.pop()
        looked_at += 1
        for entry in list_folder(folder)[0]:
            part = slug_of(f"/{entry.name}")
            if rest == part and _is_folder(entry):
                found.append(entry.path)
            elif rest.startswith(f"{part}-") and _is_folder(entry):
                waiting.append((Path(entry.path), rest[len(part) :]))
    return found


def _is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def main_worktree(path: str) -> str:
    """The folder of the repository that a folder is a further worktree of; "" if it is none.

    git writes `gitdir: <repository>/.git/worktrees/<name>` into the file `.git` of a worktree. One
    that is gone is known by its place, where Claude Code and others make them.
    """
    written = read_small(Path(path, ".git"), MAX_READ) if os.path.isfile(f"{path}/.git") else ""
    repository, mark, _ = (
        written.strip().removeprefix("gitdir:").strip().partition("/.git/worktrees/")
    )
    if mark:
        return os.path.normpath(os.path.join(path, repository))
    if not os.path.exists(path):
        for place in ("/.claude/worktrees/", "/.worktrees/"):
            repository, mark, _ = path.partition(place)
            if mark and os.path.isdir(repository):
                return repository
    return ""


def _time(entry: Entry) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _beginning(path: str) -> bytes:
    """The first bytes of a regular file; nothing of anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MAX_READ)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _project_of(cwd: object, slug: str) -> str:
    """The folder above `cwd`, or itself, that gives this slug; "" if none does.

    A path of Windows gives it in either case, as its drive is written in both.
    """
    if not isinstance(cwd, str) or not cwd.isprintable():
        return ""
    is_windows = bool(_DRIVE.match(cwd))
    if not is_windows and not cwd.startswith("/"):
        return ""
    path = PureWindowsPath(cwd) if is_windows else PurePosixPath(cwd)
    wanted = slug_of(slug)
    for each in (path, *path.parents):
        given = slug_of(str(each))
        if given == wanted or (is_windows and given.lower() == wanted.lower()):
            return str(each)[0].upper() + str(each)[1:]
    return ""


_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


FORMAT = Format(
    name="claude-code",
    title="Claude Code: auto memory and CLAUDE.md",
    product=Product("Claude Code", "CC", 4),
    places=("$CLAUDE_CONFIG_DIR", "~/.claude"),
    detect=detect,
    claims=(*IN_PROJECT, *(f"{rules}/*" for rules in RULES)),
    configured=configured_folders,
    linked=lambda root: linked_folders(root) if _is_store(judge_config(root)) else (),
    fallback=lambda path: path if judge_project(path) else None,
)
