"""What real programs did to their memory when they tidied it, with invented texts: all of it is
given back byte for byte, and what they wrote themselves stays.

Sources: anthropics/claude-code#47959 (23 topic files deleted in one night, the rest unchanged),
NousResearch/hermes-agent#56464 (a replacement left 5 entries of 28), openclaw/openclaw#84882 (3 of
62 daily notes left) and #6877 (a day written over), openai/codex#11364 (summaries of rollouts
pruned, `MEMORY.md` rewritten).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import Struct

from memtui.library.past_library import library_at
from memtui.library.restoring import plan_restore
from tests.unit.library.test_restoring import AFTER, BEFORE, files, look, texts


def write(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


# ---- Claude Code ---------------------------------------------------------------------------------

PROJECT = "projects/-srv-bells/memory"
TOPICS = {"user": 5, "feedback": 14, "reference": 4}
KEPT = 6


def claude_before(root: Path) -> None:
    names = [f"{kind}_{n}.md" for kind, count in TOPICS.items() for n in range(count)]
    names += [f"project_{n}.md" for n in range(KEPT)]
    for name in names:
        head = f"---\nname: {name[:-3]}\ndescription: What {name} is about\n---\n\n"
        write(root, f"{PROJECT}/{name}", f"{head}The tower of {name} rings – at noon.\n\nTwice.\n")
    lines = [f"- [{name[:-3]}]({name}) — about {name}\n" for name in names]
    write(root, f"{PROJECT}/MEMORY.md", "# Memory\n\n" + "".join(lines))


def claude_after(root: Path) -> None:
    for kind in TOPICS:
        for file in (root / PROJECT).glob(f"{kind}_*.md"):
            file.unlink()
    index = root / PROJECT / "MEMORY.md"
    lines = index.read_text("utf-8").splitlines(keepends=True)
    index.write_text("".join(each for each in lines if "](" not in each or "project_" in each))


# ---- Hermes --------------------------------------------------------------------------------------


def hermes_before(root: Path) -> None:
    entries = [f"Tower {n} is rung by hand, {n} strokes at noon." for n in range(28)]
    write(root, "memories/MEMORY.md", "\n§\n".join(entries))
    write(root, "memories/USER.md", "The person signs as Marit.\n§\nShe reads mail on Mondays.")
    write(root, "memories/MEMORY.md.lock", "")
    write(root, "config.yaml", "memory:\n  memory_enabled: true\n")


def hermes_after(root: Path) -> None:
    entries = (root / "memories" / "MEMORY.md").read_text().split("\n§\n")
    left = [*entries[:4], "Tower 27 is rung by a motor now."]
    write(root, "memories/MEMORY.md", "\n§\n".join(left))


# ---- OpenClaw ------------------------------------------------------------------------------------


def openclaw_before(root: Path) -> None:
    write(root, "AGENTS.md", "# Agents\n\nRead memory/ first.\n")
    write(root, "SOUL.md", "# Soul\n\nCalm.\n")
    write(root, "MEMORY.md", "# Memory\n\n- The bell of Nesvik is late in frost\n")
    for day in range(62):
        name = f"2026-{9 + day // 31:02}-{day % 31 + 1:02}" if day < 61 else "2026-11-01"
        write(root, f"memory/{name}.md", f"# {name}\n\n- Call {day} was about the yard\n- Rain\n")


def openclaw_after(root: Path) -> None:
    days = sorted((root / "memory").glob("*.md"))
    for file in days[:-3]:
        file.unlink()
    write(root, f"memory/{days[-1].name}", "# Published\n\n- An article about bells\n")


# ---- Codex ---------------------------------------------------------------------------------------


def codex_group(n: int) -> str:
    return (
        f"# Task Group: tower {n}\n\nscope: the tower {n}\napplies_to: cwd=/srv/bells\n\n"
        f"## Task 1: ring {n}, success\n\n### rollout_summary_files\n\n"
        f"- rollout_summaries/2026-10-0{n + 1}T08-00-00-ab{n}x-ring.md (cwd=/srv/bells)\n\n"
        f"## Reusable knowledge\n\n- Tower {n} has {n + 3} bells [Task 1]\n"
    )


def codex_before(root: Path) -> None:
    for n in range(6):
        head = f"thread_id: 019a2b00-1f0e-7c42-8d11-5d2a7e9b3c4{n}\ncwd: /srv/bells\n\n"
        name = f"2026-10-0{n + 1}T08-00-00-ab{n}x-ring.md"
        write(root, f"memories/rollout_summaries/{name}", f"{head}# Ring {n}\n\nIt rang.\n")
    write(root, "memories/MEMORY.md", "\n".join(map(codex_group, range(6))))
    write(root, "memories/raw_memories.md", "# Raw Memories\n\nMerged stage-1 raw memories.\n")
    write(root, "memories/memory_summary.md", "v1\n\n# Summary\n\nSix towers.\n")


def codex_after(root: Path) -> None:
    for file in sorted((root / "memories" / "rollout_summaries").iterdir())[:4]:
        file.unlink()
    last = codex_group(5).replace("Tower 5 has 8 bells", "Towers have 3 to 8 bells")
    write(root, "memories/MEMORY.md", last)
    write(root, "memories/memory_summary.md", "v1\n\n# Summary\n\nTowers.\n")
    write(root, "memories/skills/ring/SKILL.md", "---\nname: ring\n---\n\nPull the rope.\n")


class Consolidation(Struct, frozen=True):
    format: str
    before: Callable[[Path], None]
    after: Callable[[Path], None]
    gone: int
    """Files that are deleted."""


CONSOLIDATIONS = [
    Consolidation("claude-code", claude_before, claude_after, 23),
    Consolidation("hermes", hermes_before, hermes_after, 0),
    Consolidation("openclaw", openclaw_before, openclaw_after, 59),
    Consolidation("codex", codex_before, codex_after, 4),
]


@pytest.mark.slow
@pytest.mark.parametrize("each", CONSOLIDATIONS, ids=lambda each: each.format)
def test_a_consolidation_is_taken_back_byte_for_byte(tmp_path: Path, each: Consolidation) -> None:
    root, state = tmp_path / "store", tmp_path / "state"
    each.before(root)
    look(root, state, BEFORE, each.format)
    before = files(root)
    each.after(root)
    after = files(root)
    assert len(before.keys() - after.keys()) == each.gone
    library = look(root, state, AFTER, each.format)
    past = library_at(library, BEFORE + timedelta(seconds=1))
    found = plan_restore(library, past)
    assert found.refused == ()
    written = library.apply(found.planned)
    added = {name: data for name, data in after.items() if name not in before}
    assert files(root) == {**before, **added}
    library.undo(written.id)
    assert files(root) == after


@pytest.mark.slow
@pytest.mark.parametrize("each", CONSOLIDATIONS, ids=lambda each: each.format)
def test_what_is_gone_is_added_to_what_the_program_made_of_it(
    tmp_path: Path, each: Consolidation
) -> None:
    root, state = tmp_path / "store", tmp_path / "state"
    each.before(root)
    before = texts(look(root, state, BEFORE, each.format))
    each.after(root)
    library = look(root, state, AFTER, each.format)
    after = texts(library)
    past = library_at(library, BEFORE + timedelta(seconds=1))
    found = plan_restore(library, past, only_deleted=True)
    assert found.refused == ()
    library.apply(found.planned)
    now = texts(library)
    gone = {text for ref, text in before.items() if ref not in after}
    assert gone
    # A section that was written anew has both texts.
    assert all(any(text in each for each in now.values()) for text in gone)
    for text in after.values():  # a note has its lines again
        assert any(set(text.split("\n")) <= set(each.split("\n")) for each in now.values())
