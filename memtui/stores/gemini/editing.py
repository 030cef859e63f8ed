"""Plan changes and imports of items, and decide on patches of the inbox."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memtui.changes import TEXTS, Act, Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Conflict, Refused
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.format import ConvertedMemory
from memtui.stores.gemini import ADDED, FOLDER, GLOBAL, PROJECTS, is_note, target_of
from memtui.stores.gemini.records import PATCH, apply_patch, parse_patch
from memtui.stores.importing import (
    CONVERTED,
    convert_to_text,
    extra_in,
    plan_listed_import,
    text_with_title,
)
from memtui.stores.listed_texts import LIST_HANDLERS, ListContext, plan_listed_add
from memtui.stores.markdown.items import SECTION, parse_item_file
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, plan_one
from memtui.stores.scanning import planned_text
from memtui.stores.sidecar import is_kept, kept_value
from memtui.stores.values import check_unchanged


def is_patch(memory: Memory) -> bool:
    return memory.type == PATCH and PATCH in memory.extra


def _not_on(act: Act, memory: Memory) -> str:
    if is_patch(memory):
        if act in SIDECAR_ACTS:
            return ""
        if is_kept(memory):
            return "" if act in (Act.RESTORE, Act.DELETE) else "it is declined: restore it first"
        decides = act in (Act.ACCEPT, Act.DECLINE)
        return "" if decides else "it is a proposed patch: accept or decline it"
    if act in (Act.ACCEPT, Act.DECLINE):
        return "it is no proposal"
    return listed_texts.not_on(act, memory)


def _patch_text(memory: Memory, context: ListContext) -> str:
    path = Path(memory.origin.file)
    text = planned_text(path, context.root, context.view)
    if text is None:
        raise Conflict("the patch is gone", where=str(path))
    check_unchanged(memory, text, str(path), None)
    return text


def _accept(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Apply the whole patch exactly, and remove it from the inbox."""
    text = _patch_text(memory, context)
    edits: list[Edit] = []
    refs: dict[str, None] = {memory.ref: None}
    for each in parse_patch(text):
        names = {name for name in (each.old, each.new) if name}
        targets = {target_of(name, str(memory.extra[PATCH]), context.root) for name in names}
        target = targets.pop()
        if not target or targets:
            raise Refused("the patch changes a file that is not its own", where=", ".join(names))
        file = context.root / target
        if any(edit.kind in TEXTS and edit.path == str(file) for edit in edits):
            raise Refused("the patch names a file twice", where=target)
        before = planned_text(file, context.root, context.view)
        after = apply_patch(before, each, target)
        edits.append(text_edit(str(file), before, after))
        ids = [
            {id for id, _ in parse_item_file(target, file, note or "", context.sidecar).items}
            for note in (before, after)
        ]
        refs |= dict.fromkeys(context.ref(id) for id in sorted(ids[0] ^ ids[1]))
    edits.append(text_edit(memory.origin.file, text, None))
    return Plan((change,), tuple(edits), Outcome.DONE, "Applies the patch", tuple(refs))


def _decline(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Remove the patch from the inbox; the sidecar stores it."""
    text = _patch_text(memory, context)
    former = replace(memory, status="retired", pinned=False)
    edits: tuple[Edit, ...] = (text_edit(memory.origin.file, text, None),)
    edits += context.sidecar_entry(memory).set(kept=kept_value(former))
    plan = plan_one(change, memory, edits)
    return replace(plan, supersedes=(memory.ref,), reason="removed from the inbox, kept by memtui")


def _restore(change: Change, memory: Memory, context: ListContext) -> Plan:
    if not is_patch(memory):
        return listed_texts.plan_restore(change, memory, context)
    edits: tuple[Edit, ...] = (text_edit(memory.origin.file, None, memory.content),)
    return plan_one(change, memory, edits + context.sidecar_entry(memory).set(kept=None))


def _add(change: Change, context: ListContext) -> Plan:
    """Add to GEMINI.md (`global`), as Gemini itself does, or to MEMORY.md of a project."""
    entity = str(change.fields.get("entity") or "global").strip("/ ")
    if entity == "global":
        return plan_listed_add(change, context, context.open_list(GLOBAL, context.view), ADDED)
    folder = context.root / PROJECTS / entity / FOLDER
    if "/" in entity or entity in (".", "..") or "\0" in entity or not folder.is_dir():
        raise Refused("there is no project of this name", where=entity, do="name global instead")
    path = f"{PROJECTS}/{entity}/{FOLDER}/MEMORY.md"
    return plan_listed_add(change, context, context.open_list(path, context.view), "")


def _shard_of(memory: Memory) -> str:
    return str(memory.extra[PATCH]) if is_patch(memory) else memory.id.partition("#")[0]


def plan_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one item. Raises Refused."""
    extra = extra_in(change)
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra:
        path, item = GLOBAL, "new"
    if not is_note(path) or not item:
        raise Refused("memories cannot be added here", where=path)
    file = context.open_list(path, context.view)
    return plan_listed_import(change, context, file, str(extra.get(SECTION) or ""))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet of GEMINI.md, which begins with its entity."""
    text = text_with_title(memory).strip()
    if memory.entity and memory.entity != "global" and memory.entity not in text:
        text = f"{memory.entity}: {text}"
    becomes = "entity (becomes global; it stands in the text)"
    changes = [(memory.entity not in ("", "global"), becomes)]
    extra = {CONVERTED: True, SECTION: ADDED}
    return convert_to_text(memory, "global", changes, content=text, extra=extra)


ACTS = ActionSupport(
    editable=listed_texts.EDITABLE,
    add=_add,
    add_imported=plan_import,
    handlers={**LIST_HANDLERS, Act.RESTORE: _restore, Act.ACCEPT: _accept, Act.DECLINE: _decline},
    unsupported={Act.RETYPE: "an item has no type"},
    shard_of=_shard_of,
    not_on=_not_on,
)
