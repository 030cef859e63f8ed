"""What the programs that keep Markdown folders do differently, as profiles.

Sources: Serena's project template; the file names of Cline's memory bank; Letta's page on memory
file systems; Kilo Code's page on its memory bank ("reads all memory bank files" at the start of
every task); get-shit-done's README (STATE.md: decisions and position, read by its commands);
basic-memory's docs/NOTE-FORMAT.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from memtui.stores.base import ReadTime
from memtui.stores.format import Product


class Profile(Struct, frozen=True):
    """How one program uses its folder."""

    name: str
    product: Product
    frontmatter: bool = True
    """Whether its files may have frontmatter; else tags are kept in the sidecar only."""
    tags: bool = True
    """Whether tags may be written into the frontmatter."""
    observations: bool = False
    """Whether lists hold observations and relations."""
    entries: bool = False
    """Whether its notes are logs of entries, see `memtui.stores.markdown_folder.entries`."""
    described: bool = False
    """Whether every file needs a `description`, and `read_only: true` forbids a change."""
    commits: bool = False
    """Whether every change is a commit of the git repository that the folder is."""
    references: bool = False
    """Whether `mem:` and a name refer to a note."""
    loaded: tuple[str, ...] = ()
    """Notes and folders (with a slash) that are given to every session."""
    read_time: ReadTime = ReadTime.OPENED
    """When the program reads the others. Serena, Cline, Letta: on demand; basic-memory: it watches
    the files, and searches an index that is derived from them (formats page of Markdown folders).
    """


SERENA = Profile(
    "serena", Product("Serena", "SE", 3), frontmatter=False, tags=False, references=True
)
BANK_NAMES = (
    *("projectbrief", "productContext", "activeContext", "systemPatterns", "techContext"),
    "progress",
)
BANK = Profile(
    "memory-bank",
    Product("Cline", "CL", 0),
    frontmatter=False,
    tags=False,
    loaded=tuple(f"{name}.md" for name in BANK_NAMES),
)
BASIC = Profile(
    "basic-memory",
    Product("basic-memory", "BM", 2),
    observations=True,
    read_time=ReadTime.INDEXED,
)
MEMFS = Profile(
    "memfs",
    Product("Letta", "LT", 7),
    tags=False,
    described=True,
    commits=True,
    loaded=("system/",),
)
KILO_NAMES = ("brief", "product", "context", "architecture", "tech")
KILO = Profile(
    "kilo",
    Product("Kilo Code", "KC", 1),
    frontmatter=False,
    tags=False,
    loaded=tuple(f"{name}.md" for name in KILO_NAMES),
)
PLANNING = Profile("planning", Product("GSD", "GS", 4), tags=False)
LOGS = ("LEARNINGS.md", "ERRORS.md", "FEATURE_REQUESTS.md")
"""Notes of `LEARNINGS`, by which it is known."""
LEARNINGS = Profile(
    "learnings", Product("Learnings", "LN", 5), frontmatter=False, tags=False, entries=True
)
AGENT = Profile("agent", Product("Agent notes", "AN", 0), loaded=("MEMORY.md",))
VAULT = Profile("vault", Product("Obsidian", "OB", 6))
PLAIN = Profile("plain", Product("Notes", "MD", 5))

PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (SERENA, BANK, KILO, PLANNING, LEARNINGS, AGENT, BASIC, MEMFS, VAULT, PLAIN)
}


def is_loaded(profile: Profile, path: str) -> bool:
    """Whether the note is given to every session."""
    return any(
        path.startswith(each) if each.endswith("/") else path == each for each in profile.loaded
    )
