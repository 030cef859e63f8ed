"""A folder of Markdown notes as a store: every note is a shard of its own.

Where the folder's program commits its notes to git, changed files are committed, if git is
installed; nothing that the repository names is run (see `files.git_repository`).

What the format has no word for is derived by these rules:

* title: Serena's and a memory bank's notes are called by their path; others by the frontmatter's
  `title` or `name`, the first heading, or the file's name.
* importance: the person's rating; else high for what every session is given, medium for the rest.
* updated: `updated` or `modified` of the frontmatter, else the file's time of change
  (`extra.updated_from`); created: only as the frontmatter says.
* entity: the folder. An observation of basic-memory is a fact about its note.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import TEXTS, Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.reading import digest
from memtui.model import FILE_TIME, FILE_TIME_KEY, Link, Memory, Place
from memtui.stores import importing
from memtui.stores.base import (
    LoadedText,
    ReadTime,
    StoreView,
    Unreadable,
    WriteRecorder,
    Written,
    loaded_whole,
)
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.listed_texts import shard_of
from memtui.stores.markdown import document_store, documents
from memtui.stores.markdown.document_store import (
    OpenDocument,
    converted_document,
    titled_text,
    with_fields,
    with_heading,
    with_named_title,
)
from memtui.stores.markdown_folder import SETTINGS, profile_of, rules
from memtui.stores.markdown_folder.entries import (
    ENTRY,
    entry_memories,
    named_observations,
    parse_entries,
    plan_delete_entry,
    plan_delete_line,
    plan_edit_entry,
    plan_edit_line,
)
from memtui.stores.markdown_folder.profiles import BASIC, MEMFS, PROFILES, Profile, is_loaded
from memtui.stores.plans import (
    SIDECAR_ACTS,
    ActionSupport,
    plan_duplicate,
)
from memtui.stores.scanning import SUFFIX, CachedFile, read_place_facts
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    content_of,
    created_of,
    importance_of_rating,
    memory_name,
    to_iso_seconds,
    utc_now,
    word_of,
)

MAX_LINKED = 1_000
"""Notes up to which a new or removed one has all others read again, because it may be what they
link to. In a larger folder a link is found again when its own note changes."""


def note_memories(
    document: documents.MarkdownFile,
    profile: Profile,
    label: str,
    find: Callable[[str], str],
    rating: object,
    is_read_only: bool,
    sidecar: Sidecar,
) -> Iterator[Memory]:
    """The note, then its observations where the profile has some.

    Args:
        document: the parsed file.
        profile: the program's rules.
        label: of the store.
        find: the id of the note that a link names, "" if there is none.
        rating: the person's.
        is_read_only: whether a pattern of its program forbids a change.
        sidecar: the ids of observations that memtui edited.
    """
    front = document.frontmatter
    found = documents.outline(document.body)
    created = document.time(documents.CREATED_KEYS)[0] or documents.date_in_path(document.path)
    updated = document.time(documents.UPDATED_KEYS)[0]
    extra = _extra(document, profile)
    if found.headings:
        extra["headings"] = list(found.headings)
    if not updated:
        extra[FILE_TIME_KEY] = FILE_TIME
    if is_read_only or (profile.described and front.get("read_only") is True):
        extra["read_only"] = True
    if is_loaded(profile, document.path):
        extra["loaded_at_start"] = True
    importance = importance_of_rating(rating)
    yield Memory(
        **documents.document_fields(document, label),
        kind="document",
        type=_type(document, profile),
        title=_title(document, profile, found.title),
        entity=posixpath.dirname(document.path),
        created=created,
        updated=updated or document.changed,
        importance=importance or ("high" if is_loaded(profile, document.path) else "medium"),
        tags=documents.words_of(front.get("tags")) if profile.frontmatter else (),
        links=_links(document, profile, find),
        extra=extra,
    )
    if profile.entries:
        yield from entry_memories(document, label)
    if profile.observations:
        for id, each in named_observations(document.path, document.body, sidecar):
            dated = {} if updated else {FILE_TIME_KEY: FILE_TIME}
            yield _fact(id, each, document, label, created, updated or document.changed, dated)


def _extra(document: documents.MarkdownFile, profile: Profile) -> dict[str, Any]:
    extra = document.extra
    if isinstance(extra.get("title"), str):
        del extra["title"]
    if profile.frontmatter and isinstance(extra.get("tags"), list):
        del extra["tags"]
    return extra | {"profile": profile.name}


def _type(document: documents.MarkdownFile, profile: Profile) -> str:
    if profile is MEMFS:
        return "system" if document.path.startswith("system/") else "reference"
    value = document.frontmatter.get("type") if profile.frontmatter else ""
    return value.strip() if isinstance(value, str) else ""


def _title(document: documents.MarkdownFile, profile: Profile, heading: str) -> str:
    if not profile.frontmatter:
        return document.path.removesuffix(SUFFIX)
    return document.name or heading or posixpath.basename(document.path).removesuffix(SUFFIX)


def _links(
    document: documents.MarkdownFile, profile: Profile, find: Callable[[str], str]
) -> tuple[Link, ...]:
    links: dict[tuple[str, str], Link] = {}
    if profile.observations:
        for relation, target, context in rules.relations(document.body):
            link = Link(relation, find(target) or target, note=context)
            links.setdefault((link.relation, link.target), link)
    if profile.references:
        for name in rules.references(document.body):
            target = f"{name}{SUFFIX}"
            links.setdefault(("refers_to", target), Link("refers_to", target))
    known = {target for _, target in links}
    for relation, target in documents.linked_documents(
        documents.outline(document.body), document.path, find
    ):
        if target not in known:
            name = "links_to" if profile is BASIC else relation
            links.setdefault((name, target), Link(name, target))
    return tuple(links.values())


def _fact(
    id: str,
    each: rules.Observation,
    document: documents.MarkdownFile,
    label: str,
    created: datetime | None,
    updated: datetime | None,
    dated: Mapping[str, Any],
) -> Memory:
    extra: dict[str, Any] = {"note": document.path, **dated}
    if each.context:
        extra["context"] = each.context
    return Memory(
        **memory_name(label, id),
        kind="fact",
        type=each.category,
        content=each.text,
        entity=document.path.removesuffix(SUFFIX),
        created=created,
        updated=updated,
        tags=each.tags,
        links=(Link("part_of", document.path),),
        origin=Place(document.file, document.line - 1 + each.line),
        extra=extra,
    )


def link_names(path: str) -> tuple[str, ...]:
    """The names by which a note can be linked to: its path, its stem, and their slugs."""
    name = path.removesuffix(SUFFIX)
    stem = posixpath.basename(name)
    permalink = "/".join(importing.slug(part) for part in name.split("/"))
    return name, stem, permalink, importing.slug(stem)


# ---- acts ----------------------------------------------------------------------------------------

_IN_SIDECAR = SIDECAR_ACTS - {Act.TAG}


def _not_on(act: Act, memory: Memory) -> str:
    if act in _IN_SIDECAR:
        return ""
    if memory.kind == "fact":
        is_entry = ENTRY in memory.extra and act is Act.RETYPE
        return "its type stands in its heading: edit the note" if is_entry else ""
    if memory.extra.get("read_only") and act is not Act.TAG:
        return "its program has marked it read-only"
    untyped = ("serena", "memory-bank", "memfs", "kilo", "learnings")
    if act is Act.RETYPE and memory.extra.get("profile") in untyped:
        return "notes of this program have no type"
    return ""


def _edit(change: Change, memory: Memory, context: document_store.DocumentContext) -> Plan:
    if ENTRY in memory.extra:
        return plan_edit_entry(change, memory, context)
    plan = plan_edit_line if memory.kind == "fact" else document_store.plan_edit
    return plan(change, memory, context)


def _delete(change: Change, memory: Memory, context: document_store.DocumentContext) -> Plan:
    if ENTRY in memory.extra:
        return plan_delete_entry(change, memory, context)
    plan = plan_delete_line if memory.kind == "fact" else document_store.plan_delete
    return plan(change, memory, context)


def _import(change: Change, context: document_store.DocumentContext) -> Plan:
    path, _, line = str(change.fields["id"]).partition("#")
    if line:
        return plan_duplicate(change, "the note that holds this line", context.ref(path))
    return document_store.plan_import(change, context)


# ---- new notes ----------------------------------------------------------------------------------


LONGEST_DESCRIPTION = 120
FRONTMATTER = "front"
"""Key of `extra` of an ADD: keys for the frontmatter of a converted memory."""


def _front(
    change: Change, profile: Profile, path: str, title: str, now: datetime
) -> dict[str, Any]:
    front: dict[str, Any] = {}
    tags = [tag for tag in importing.texts_in(change, "tags") if tag.strip()]
    if profile is MEMFS:
        front["description"] = _description(content_of(change), title)
    elif profile is BASIC:
        name = path.removesuffix(SUFFIX)
        front["title"] = title or posixpath.basename(name)
        front["type"] = word_of(change, "type", "note")
        front["permalink"] = "/".join(importing.slug(part) for part in name.split("/"))
    elif profile.frontmatter and change.fields.get("type"):
        front["type"] = word_of(change, "type", "")
    if profile.tags and tags:
        front["tags"] = tags
    if profile.tags and change.fields.get("created"):
        front["created"] = to_iso_seconds(created_of(change, now))
    return front


def _description(content: str, title: str) -> str:
    """The title, or the first line of the text in plain characters; memfs demands one."""
    line = next((description for description in content.split("\n") if description.strip()), "")
    description = " ".join((title or line).lstrip("# ").split())
    plain = "".join(letter for letter in description if letter.isprintable())
    return plain[:LONGEST_DESCRIPTION] or "a note"


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a note; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.importance != "medium":
        front["importance"] = memory.importance
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "type": memory.type,
        "entity": folder,
        "created": memory.created,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {FRONTMATTER: front},
    }
    stands = "(stands in the frontmatter, if the notes have one)"
    changes = (
        (memory.status != "active", f"status {memory.status} {stands}"),
        importing.kind_change(memory, "document"),
        (memory.entity not in ("", folder), "entity (becomes a folder)"),
        (memory.importance != "medium", f"importance {stands}"),
    )
    return importing.converted(memory, fields, changes, held=("updated",))


class MarkdownFolder(document_store.DocumentStore):
    """One folder of notes, by the rules of the profile that is recognised or chosen."""

    format = "markdown-folder"
    noun = "note"
    acts = ActionSupport(
        editable=document_store.EDITABLE,
        add=document_store.plan_add,
        add_imported=_import,
        handlers={Act.EDIT: _edit, Act.RETYPE: _edit, Act.TAG: _edit, Act.DELETE: _delete},
        unsupported={
            Act.SUPERSEDE: "a note is edited; memtui's log keeps the former text",
            Act.RETIRE: "a note has no status: delete it",
            Act.RESTORE: "a note has no status",
            Act.MERGE: "notes are edited, not merged",
        },
        shard_of=shard_of,
        not_on=_not_on,
    )

    def __init__(
        self, root: Path, label: str, profile: str = "", now: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__(root, label, now)
        self.profile = PROFILES[profile] if profile else profile_of(root)
        file = root.parent / SETTINGS.name
        self._patterns: CachedFile[rules.NamePatterns] = CachedFile(
            file, root.parent, rules.parse_patterns, rules.NO_PATTERNS
        )
        self._not_committed = ""
        self._uncommitted: Sequence[str] = ()
        """Files of changes that could not be committed; the next commit takes them too."""

    def take_rules(self, other: MarkdownFolder) -> None:
        """Use the rules of this other folder; for a copy of some of its files."""
        self.profile = other.profile

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """As `FileStore.refusal`; a link that is part of the text cannot be removed separately."""
        why = super().refusal(act, memory)
        if not why and act is Act.UNLINK and memory is not None:
            entry = self.sidecar.current().entry(memory.id)
            return "" if entry.get("links") else "its links stand in its text: edit the note"
        return why

    def plan(self, change: Change, view: StoreView) -> Plan:
        """As `FileStore.plan`; what the hook of the folder's program would refuse is refused."""
        plan = super().plan(change, view)
        for edit in plan.edits if self.profile.described else ():
            if edit.kind in TEXTS and edit.after is not None:
                path = os.path.relpath(edit.path, self.root).replace(os.sep, "/")
                if why := rules.memfs_fault(path, edit.after):
                    raise Refused(why, where=path, do="fix its frontmatter first")
        return plan

    def place_facts(self) -> Mapping[str, Any]:
        """The profile, which the names of folders above may tell, and the settings beside them."""
        return {"profile": self.profile.name, **self.name_patterns().settings()}

    # ---- reading --------------------------------------------------------------------------------

    def is_document(self) -> Callable[[str], bool]:
        patterns = self.name_patterns()
        return lambda path: not patterns.is_ignored(path.removesuffix(SUFFIX))

    def marks(self, paths: Sequence[str]) -> Callable[[str], str]:
        patterns = self.name_patterns()
        known = digest("\n".join(paths).encode("utf-8", "surrogateescape"))[:8]
        mark = f"{self.profile.name}|{known if len(paths) <= MAX_LINKED else ''}"

        def mark_of(path: str) -> str:
            locked = patterns.is_read_only(path.removesuffix(SUFFIX))
            return f"{mark}|{'read-only' if locked else ''}"

        return mark_of

    def store_faults(self) -> Iterator[Unreadable]:
        if fault := self.name_patterns().fault:
            yield Unreadable(str(self._patterns.path), fault)
        if self._not_committed:
            yield Unreadable(str(self.root / ".git"), self._not_committed)

    def name_patterns(self) -> rules.NamePatterns:
        """Which notes are read-only or ignored by the settings of the folder's program."""
        if not self.profile.references:
            return rules.NO_PATTERNS
        if not os.path.lexists(self._patterns.path):
            return rules.patterns_in(read_place_facts(self.root))
        parsed = self._patterns.current()
        return rules.NamePatterns(fault=parsed.fault) if parsed.fault else parsed.value

    def read_time(self, path: str) -> ReadTime:
        """As the profile says."""
        is_given = is_loaded(self.profile, path)
        return ReadTime.NEXT_SESSION if is_given else self.profile.read_time

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The notes that the folder's program puts into every prompt; () where it puts none."""
        return tuple(
            loaded_whole(memory, f"{self.profile.product.name} gives it to every session")
            for memory in view.memories(self.label)
            if memory.kind == "document" and memory.extra.get("loaded_at_start")
        )

    def memories(self, document: documents.MarkdownFile, sidecar: Sidecar) -> Iterator[Memory]:
        """One note, and its observations."""
        locked = self.name_patterns().is_read_only(document.path.removesuffix(SUFFIX))
        rating = sidecar.entry(document.path).get("rating")
        return note_memories(document, self.profile, self.label, self.find, rating, locked, sidecar)

    def names_of(self, path: str) -> Iterable[str]:
        return link_names(path)

    def find(self, name: str) -> str:
        return super().find(name) or super().find(link_names(name)[2])

    # ---- changing -------------------------------------------------------------------------------

    def check_edit(self, memory: Memory, names: Iterable[str]) -> None:
        if memory.extra.get("read_only") and set(names) - {"tags", "importance"}:
            raise Refused("its program has marked it read-only", where=memory.ref)
        if "type" in names and (why := _not_on(Act.RETYPE, memory)):
            raise Refused(why, where=memory.ref)

    def with_title(self, page: OpenDocument, title: str) -> OpenDocument:
        if not self.profile.frontmatter:
            raise Refused("the title is the file's name", do="edit the text")
        return with_named_title(page, title) or with_heading(page, title)

    def with_type(self, page: OpenDocument, type: str) -> tuple[OpenDocument, Sequence[Edit]]:
        return page.with_field("type", type), ()

    def has_tags(self, page: OpenDocument) -> tuple[bool, bool]:
        may_write = self.profile.tags and not page.memory.extra.get("read_only")
        return self.profile.frontmatter, may_write

    def parts(self, path: str, text: str) -> Mapping[str, str]:
        """Id and text of the observations or entries in a note, if its program has some."""
        body = documents.parse_document(path, "", text, None).body
        if self.profile.entries:
            return {f"{path}#{each.name}": each.text for each in parse_entries(body) if each.text}
        if not self.profile.observations:
            return {}
        found = named_observations(path, body, self.sidecar.current())
        return {id: each.text for id, each in found}

    def new_text(self, change: Change, path: str, title: str, now: datetime) -> str:
        """As the folder's program writes one."""
        text = titled_text("" if self.profile is BASIC else title, content_of(change))
        if text.startswith("---\n"):
            text = f"\n{text}"
        return with_fields(text, _front(change, self.profile, path, title, now))

    def imported_text(self, change: Change, path: str, now: datetime) -> str:
        title = str(change.fields.get("title") or "") if self.profile.frontmatter else ""
        text = self.new_text(change, path, " ".join(title.split()), now)
        front = importing.extra_in(change).get(FRONTMATTER)
        return with_fields(text, front) if self.profile.tags and isinstance(front, dict) else text

    def imported_values(self, change: Change) -> dict[str, Any]:
        values = importing.sidecar_values(change, links=change.fields.get("links") or ())
        if self.profile.tags:
            values["tags"] = None
        return values | dict.fromkeys(("supersedes", "superseded_by"))

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits, and commit the files where the folder's program does."""
        super().apply(edits, recorder)
        files = {edit.path for edit in edits if edit.kind in TEXTS}
        if not files or not self.profile.commits:
            return None
        from memtui.files.git_repository import commit_files

        files.update(self._uncommitted)
        why = commit_files(self.root, sorted(files))
        self._uncommitted = tuple(files) if why else ()
        self._not_committed = f"the last change is written but not committed: {why}" if why else ""
        return Written(tuple(edits), {}, (self._not_committed,)) if why else None


SUPPORT = FormatSupport(
    MarkdownFolder,
    MarkdownFolder,
    transfer=TransferSupport(
        belongings=("*.md", ".obsidian/app.json"),
        convert=convert,
    ),
    upkeep=rules.upkeep_rules(),
)
