"""Which folders and files a format takes for a store of its own, and which it leaves alone.

Each row is a tree, the path in it that is asked about, and the root that is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.formats import EVERY_FORMAT

BY_NAME = {known.name: known for known in EVERY_FORMAT}
KEY = "0123456789abcdef"
NOTE = "- a\n"
ENTITY = '{"type":"entity","name":"a","entityType":"t","observations":[]}\n'
ISSUE = '{"id":"a-1","title":"b","priority":2,"issue_type":"bug"}'
CHUNKS = '{"version":1,"chunks":[]}'
LINKED = "---\npermalink: {}\n---\nx\n"
DESCRIBED = "---\ndescription: who I am\n---\nx\n"

ROWS: Mapping[str, list[tuple[str, str, str | None]]] = {
    "gemini": [
        ("g/tmp/p/memory/MEMORY.md", "g", "g"),
        (".gemini/tmp/p/memory/MEMORY.md", "", ".gemini"),
        ("g/tmp/p/memory/.inbox/private/extraction.patch", "g", "g"),
        ("g/tmp/p/memory/.inbox/global/extraction.patch", "g", "g"),
        ("g/tmp/p/memory/.inbox/other/extraction.patch", "g", None),
        ("g/tmp/p/memory/notes.txt", "g", None),
        (".gemini/GEMINI.md", ".gemini", ".gemini"),
        ("g/GEMINI.md", "g", None),
        ("g/GEMINI.md=## Gemini Added Memories\n- a\n", "g", "g"),
        ("g/GEMINI.md=# Gemini Added Memories\n- a\n", "g", None),
        (".gemini/settings.json", ".gemini", None),
    ],
    "mcp-memory": [
        (f"m/memory.jsonl={ENTITY}", "m", "m/memory.jsonl"),
        (f"m/memory.json={ENTITY}", "m", "m/memory.json"),
        (f"m/other.jsonl={ENTITY}", "m", None),
        (f"m/other.jsonl={ENTITY}", "m/other.jsonl", "m/other.jsonl"),
        ('m/x={"type":"entity","name":"a"}', "m/x", "m/x"),
        ('m/x={"type":"entity","entityType":"a"}', "m/x", "m/x"),
        ('m/x={"type":"entity"}', "m/x", None),
        ('m/x={"type":"relation","relationType":"a"}', "m/x", "m/x"),
        ('m/x={"type":"relation"}', "m/x", None),
        ('m/x={"name":"entity","entityType":"a"}', "m/x", None),
        ('m/x=["type","entity","name"]', "m/x", None),
        ('m/x={"entities":[{"entityType":"t"}]}', "m/x", "m/x"),
        ('m/x=[{"entities":[{"entityType":"t"}]}]', "m/x", None),
        ('m/x={"entities":[],"relations":[]}', "m/x", None),
        ('m/memory.json={"entities":[],"relations":[]}', "m", "m/memory.json"),
        ('m/memory.json={"entities":[]}', "m", None),
        ("m/memory.jsonl=", "m", "m/memory.jsonl"),
        ("m/memory.jsonl= \n", "m", "m/memory.jsonl"),
        ("m/memory.json=", "m", None),
        ("m/memory.jsonl/x", "m", None),
    ],
    "beads": [
        (f"p/.beads/issues.jsonl={ISSUE}", "p", "p/.beads"),
        (f"p/.beads/issues.jsonl={ISSUE}", "p/.beads", "p/.beads"),
        (f"p/.beads/issues.jsonl={ISSUE}", "p/.beads/issues.jsonl", "p/.beads"),
        (f"p/.beads/beads.jsonl={ISSUE}", "p", "p/.beads"),
        (f"p/issues.jsonl={ISSUE}", "p", "p"),
        ('p/issues.jsonl={"id": "a", "title": "b", "priority": 1}', "p", "p"),
        ('p/.beads/issues.jsonl={"_type":"memory","key":"a","value":"b"}', "p", "p/.beads"),
        ('p/.beads/issues.jsonl={"_schema":"beads-jsonl/1"}', "p", "p/.beads"),
        (f"p/.beads/other.jsonl={ISSUE}", "p/.beads", None),
        ('p/issues.jsonl={"id": 7, "title": "from a web API"}', "p", None),
        ("p/issues.jsonl=", "p", None),
        ("p/.beads/beads.db", "p", None),
    ],
    "engram-export": [
        (f"p/.engram/chunks/x & p/.engram/manifest.json={CHUNKS}", "p", "p/.engram"),
        (f"p/.engram/chunks/x & p/.engram/manifest.json={CHUNKS}", "p/.engram", "p/.engram"),
        (f"e/chunks/x & e/manifest.json={CHUNKS}", "e", "e"),
        (f"e/chunks/x & e/engram.db & e/manifest.json={CHUNKS}", "e", None),
        (f"e/manifest.json={CHUNKS}", "e", None),
        ('e/chunks/x & e/manifest.json={"name":"an app"}', "e", None),
        ("e/chunks/x & e/manifest.json=[]", "e", None),
    ],
    "conport": [
        ("p/context_portal/context.db", "p", None),
        ("p/other/context.db/x", "p/other", None),
    ],
    "claude-mem": [
        ("c/claude-mem.db", "c", None),
        ("c/claude-mem.db/x", "c", None),
    ],
    "mem0": [
        ("m/history.db", "m", None),
        ("m/other.db", "m/other.db", None),
    ],
    "openclaw": [
        ("w/SOUL.md & w/USER.md & w/MEMORY.md", "w", "w"),
        ("w/IDENTITY.md & w/USER.md & w/memory.md", "w", "w"),
        ("w/HEARTBEAT.md & w/AGENTS.md & w/memory/2026-11-01.md", "w", "w"),
        ("w/SOUL.md & w/USER.md & w/memory/2026-11-01-later.md", "w/memory", "w"),
        ("w/SOUL.md & w/USER.md & w/memory/2026-11-01-later.md", "w/SOUL.md", None),
        ("workspace/SOUL.md & workspace/USER.md & workspace/MEMORY.md", "", "workspace"),
        ("w/SOUL.md & w/USER.md & w/memory/notes.md", "w", None),
        ("w/SOUL.md & w/USER.md", "w", None),
        ("w/SOUL.md & w/MEMORY.md", "w", None),
        ("w/AGENTS.md & w/USER.md & w/MEMORY.md", "w", None),
        ("w/SOUL.md & w/USER.md & w/MEMORY.md & w/ABOUT.md", "w", None),
        ("w/SOUL.md & w/USER.md & w/MEMORY.md & w/gptme.toml", "w", None),
        ("w/SOUL.md & w/USER.md & w/MEMORY.md & w/entities/x", "w", None),
        ("w/SOUL.md & w/USER.md & w/MEMORY.md & w/memory/entities/x", "w", None),
    ],
    "hermes": [
        (".hermes/memories/MEMORY.md", "", ".hermes"),
        (".hermes/memories/USER.md", ".hermes", ".hermes"),
        (".hermes/memories/MEMORY.md", ".hermes/memories", ".hermes"),
        (".hermes/memories/other.md", ".hermes", None),
        ("h/memories/MEMORY.md", "h", None),
        ("h/memories/MEMORY.md & h/memories/MEMORY.md.lock", "h", "h"),
        ("h/memories/MEMORY.md & h/memories/USER.md.lock", "h", None),
        ("h/memories/MEMORY.md=a\n§\nb", "h", "h"),
        ("h/memories/MEMORY.md=a § b", "h", None),
        ("h/memories/MEMORY.md=a\n§\nb", "h/memories", "h"),
        ("h/MEMORY.md=a\n§\nb", "h", "h"),
        ("h/MEMORY.md=a\n§\nb & h/raw_memories.md", "h", None),
        (".hermes/memories/MEMORY.md & .hermes/memories/memory_summary.md", ".hermes", None),
        ("profiles/a/memories/USER.md & profiles/a/config.yaml", "profiles/a", "profiles/a"),
        ("profiles/a/memories/USER.md", "profiles/a", None),
        ("other/a/memories/USER.md & other/a/config.yaml", "other/a", "other/a"),
        ("h/memories/MEMORY.md & h/SOUL.md", "h", "h"),
        ("h/memories/MEMORY.md & h/SOUL.md", "h/memories", "h"),
        ("h/memories/other.md & h/SOUL.md", "h", None),
    ],
    "codex": [
        ("c/memory_summary.md & c/MEMORY.md", "c", "c"),
        ("c/memory_summary.md & c/raw_memories.md", "c", "c"),
        ("c/memory_summary.md & c/rollout_summaries/x.md", "c", "c"),
        ("c/memory_summary.md & c/extensions/ad_hoc/notes/x.md", "c", "c"),
        ("c/memories/memory_summary.md & c/memories/MEMORY.md", "c", "c/memories"),
        (
            ".codex/memories/memory_summary.md & .codex/memories/MEMORY.md",
            "",
            ".codex/memories",
        ),
        ("c/memory_summary.md", "c", None),
        ("c/MEMORY.md & c/raw_memories.md", "c", None),
    ],
    "ambient": [
        (f"a/projects/{KEY}/project.json", "a", "a"),
        (f"a/projects/{KEY}/project.json", "a/projects", "a"),
        (f"memory/projects/{KEY}/x", "", "memory"),
        (f".ambient/memory/projects/{KEY}/x", "", ".ambient/memory"),
        (".ambient/memory/x.txt", ".ambient/memory", ".ambient/memory"),
        (".other/memory/x.txt", ".other/memory", None),
        (".ambient/other/x.txt", ".ambient/other", None),
        (".ambient/memory=", ".ambient/memory", None),
        (f"a/projects/{KEY}0/x", "a", None),
        (f"a/projects/{KEY}=", "a", None),
        (f"a/other/{KEY}/x", "a/other", None),
    ],
    "agent-memory": [
        ("m/entities/index.json", "m", "m"),
        ("m/entities/index.json", "m/entities", "m"),
        ("memory/entities/index.json", "", "memory"),
        ("m/entities/alice/items.json", "m", "m"),
        ("m/entities/alice/other.json", "m", None),
        ("m/entities/x & m/pipelines/x & m/checkpoints/x & m/metrics/x", "m", "m"),
        ("m/entities/x & m/pipelines/x & m/checkpoints/x", "m", None),
        ("m/entities=", "m", None),
    ],
    "workspace": [
        ("w/ABOUT.md & w/gptme.toml", "w", "w"),
        ("w/ABOUT.md & w/journal/x.md", "w", "w"),
        ("w/ABOUT.md & w/journal=", "w", None),
        ("w/ABOUT.md", "w", None),
        ("w/gptme.toml", "w", None),
        ("workspace/ABOUT.md & workspace/gptme.toml", "", "workspace"),
        ("w/state/ambient-memory/memory-type-map.json", "w", "w"),
        ("w/state/ambient-memory/memory-type-map.json", "w/state/ambient-memory", "w"),
        (
            "w/state/ambient-memory/memory-type-map.json",
            "w/state/ambient-memory/memory-type-map.json",
            "w",
        ),
        ("w/state/ambient-memory/memory-type-map.json", "w/state", None),
    ],
    "simple-memory": [
        ("s/facts.json=[] & s/schema.json=[]", "s", "s"),
        ("s/facts.json=[] & s/episodes.json=[]", "s/facts.json", "s"),
        ("s/facts.json= & s/schema.json=\n", "s", "s"),
        ("s/facts.json=\ufeff[] & s/schema.json=[]", "s", "s"),
        ("s/facts.json=[] & s/schema.json={}", "s", None),
        ("s/facts.json=[]", "s", None),
        ("s/facts.json=[]", "s/facts.json", None),
        ("s/facts.json=[] & s/other.json=[]", "s/other.json", None),
    ],
    "markdown-folder": [
        ("p/.serena/memories/a.md", "p", "p/.serena/memories"),
        ("p/.serena/memories/a.md", "p/.serena", "p/.serena/memories"),
        ("p/.serena/memories/deep/a.md", "p/.serena/memories", "p/.serena/memories"),
        ("p/.serena/memories/node_modules/a.md", "p/.serena/memories", None),
        ("p/.serena/memories/a.txt", "p/.serena/memories", None),
        ("p/.other/memories/a.md", "p/.other/memories", None),
        ("b/activeContext.md & b/progress.md", "b", "b"),
        ("p/.kilocode/rules/memory-bank/brief.md", "p", "p/.kilocode/rules/memory-bank"),
        ("p/.kilocode/rules/memory-bank/other.md", "p", None),
        ("p/.planning/STATE.md", "p", "p/.planning"),
        ("p/.planning/ROADMAP.md", "p", None),
        ("p/.learnings/ERRORS.md", "p", "p/.learnings"),
        ("p/.learnings/other.md", "p", None),
        ("p/memory/MEMORY.md & p/memory/topics/a.md", "p", "p/memory"),
        ("p/memory/MEMORY.md & p/memory/logs/a.md", "p/memory", "p/memory"),
        ("p/memory/MEMORY.md & p/memory/other/a.md", "p", None),
        ("p/memory/MEMORY.md & p/memory/logs/a.md & p/.obsidian/x", "p/memory", None),
        ("p/memory-bank/activeContext.md & p/memory-bank/progress.md", "p", "p/memory-bank"),
        ("b/activeContext.md & b/other.md", "b", None),
        ("agents/x/memory/system/a.md", "agents/x", "agents/x/memory"),
        ("agents/x/memory/system/a.md", "agents/x/memory", "agents/x/memory"),
        ("others/x/memory/system/a.md", "others/x/memory", None),
        (f"m/system/a.md={DESCRIBED}", "m", "m"),
        ("m/system/a.md=---\ndescription: a\nname: b\n---\n", "m", None),
        ("m/system/a.md=---\nother: a\n---\n", "m", None),
        ("v/.obsidian/x & v/AGENTS.md", "v", "v"),
        ("v/.foam/x & v/.claude/x", "v", "v"),
        ("v/logseq/x & v/memory/x", "v", "v"),
        ("v/.obsidian/x & v/a.md", "v", None),
        ("v/.obsidian=", "v", None),
        (f"n/a.md={LINKED.format('a')}", "n", "n"),
        (f"n/a.md={LINKED.format('/articles/')}", "n", None),
        (f"n/a.md={LINKED.format('articles/')}", "n", None),
        (f"n/a.md={LINKED.format('a.html')}", "n", None),
        (f"docs/a.md={LINKED.format('a')}", "docs", None),
        (f"n/a.md={LINKED.format('a')} & n/mkdocs.yml", "n", None),
        (f"s/n/a.md={LINKED.format('a')} & s/_config.yml", "s/n", None),
        ("templates/activeContext.md & templates/progress.md", "templates", None),
        ("p/memory_bank/activeContext.md & p/memory_bank/progress.md", "p", "p/memory_bank"),
        (f"n/top/a.md={LINKED.format('top/a')}", "n", "n"),
        (f"n/Top_Of/a.md={LINKED.format('main/top-of/a')}", "n", "n"),
        (f"n/top/a.md={LINKED.format('else/a')}", "n", None),
        (f"basic-memory/top/a.md={LINKED.format('else/a')}", "basic-memory", "basic-memory"),
        ("n/a.md=---\ntitle: a\n---\n", "n", None),
    ],
    "project-instructions": [
        ("p/AGENTS.md", "p", "p"),
        ("p/CLAUDE.md & p/.git", "p", "p"),
        ("p/.cursor/rules/a.mdc", "p", "p"),
        ("p/.cursor/rules/deep/a.mdc", "p", "p"),
        ("p/.cursor/rules/a.md", "p", None),
        ("p/.github/instructions/a.instructions.md", "p", "p"),
        ("p/.github/instructions/a.md", "p", None),
        ("p/.clinerules=- a", "p", "p"),
        ("p/.clinerules/a.md", "p", "p"),
        ("p/docs/AGENTS.md", "p", None),
        ("node_modules/x/AGENTS.md", "node_modules/x", None),
        ("p/CLAUDE.md & p/.claude/memory/x.md", "p", None),
        ("p/CLAUDE.md & p/.claude/memory/x.md & p/GEMINI.md", "p", "p"),
        ("w/SOUL.md & w/AGENTS.md & w/MEMORY.md", "w", None),
        ("v/.obsidian/x & v/AGENTS.md", "v", None),
        ("v/.obsidian/x & v/AGENTS.md & v/.cursorrules", "v", "v"),
    ],
    "claude-code": [
        ("c/projects/-a/memory/x.md", "c", "c"),
        (".claude/projects/-a/memory/x.md", "", ".claude"),
        ("c/projects/-a/memory/x.txt", "c", None),
        (".claude/CLAUDE.md & .claude/projects/x", "", ".claude"),
        (".claude/CLAUDE.md & .claude/projects/x & .git", "", None),
        ("c/CLAUDE.md & c/projects/x", "c", None),
        (".claude/agent-memory/r/x.md & .claude/projects/x", "", ".claude"),
        ("p/.claude/memory/x.md", "p", "p"),
        ("p/.claude/memory/x.md", "p/.claude", "p"),
        ("p/.claude/agent-memory-local/r/x.md", "p", "p"),
        ("p/.claude/agent-memory/r/x.txt", "p", None),
        ("p/.git & p/.claude/CLAUDE.md", "p", None),
        ("p/.git & p/CLAUDE.md", "p", None),
        ("p/.git & p/AGENTS.md", "p", None),
        ("projects/-a/memory/x.md", "projects/-a/memory", "projects/-a/memory"),
        ("projects/-a/other/x.md", "projects/-a/other", None),
        ("m/MEMORY.md & m/user_role.md", "m", "m"),
        ("memory/MEMORY.md & memory/user_role.md", "", "memory"),
        ("m/MEMORY.md & m/users_role.md", "m", None),
        ("m/MEMORY.md & m/user_role.md & m/SOUL.md", "m", None),
        ("m/MEMORY.md & m/user_role.md & m/memory/x", "m", None),
        ("m/user_role.md", "m", None),
        ("agent-memory/r/MEMORY.md", "agent-memory/r", "agent-memory/r"),
        ("agents/r/MEMORY.md", "agents/r", None),
        ("m/MEMORY.md=- [A](a.md) x & m/a.md", "m", "m"),
        ("m/MEMORY.md=* **[A](<a.md>)** x & m/a.md", "m", "m"),
        ("m/MEMORY.md=see [A](a.md) x & m/a.md", "m", None),
        ("m/MEMORY.md=- [A](a.md) x & m/b.md", "m", None),
    ],
}


def _build(top: Path, tree: str) -> None:
    """Make the files of a tree: paths joined by ` & `, with `=` and their text if it matters."""
    for name in tree.split(" & "):
        path, _, text = name.partition("=")
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or ("" if "=" in name else NOTE), encoding="utf-8")


def _rows() -> Iterator[tuple[str, str, str, str | None]]:
    for name, rows in ROWS.items():
        for row in rows:
            yield (name, *row)


@pytest.mark.parametrize(("name", "tree", "asked", "found"), list(_rows()))
def test_a_store_is_recognised_by_its_marks(
    tmp_path: Path, name: str, tree: str, asked: str, found: str | None
) -> None:
    top = tmp_path / "top"
    _build(top, tree)
    expected = None if found is None else top / found
    assert BY_NAME[name].detect(top / asked) == expected


def _configured(name: str, home: Path, work: Path, variables: Mapping[str, str]) -> list[str]:
    configured = BY_NAME[name].configured
    assert configured is not None
    return [str(path) for path in configured(work, home, variables)]


def _servers(*named: object) -> dict[str, object]:
    return {str(n): {"env": {"MEMORY_FILE_PATH": value}} for n, value in enumerate(named)}


def test_mcp_clients_name_the_graph_in_their_settings(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    files = {
        home / ".claude.json": {
            "mcpServers": _servers("/own", 7, "relative", "/n\0ul") | {"x": {"env": []}, "y": []},
            "projects": {"/p": {"mcpServers": _servers("/of/project")}, "/q": []},
        },
        home / ".gemini/settings.json": {"servers": _servers("${HOME}/g", "${env:HOME}/e")},
        work / ".mcp.json": {"mcpServers": _servers("${workspaceFolder}/w", "${other}/w")},
        work / ".vscode/mcp.json": {"mcpServers": [], "servers": _servers("${userHome}/v")},
        work / ".cursor/mcp.json": ["MEMORY_FILE_PATH"],
    }
    for file, settings in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"\ufeff// mine\n{json.dumps(settings)}", encoding="utf-8")
    (home / ".npm/_npx/0a").mkdir(parents=True)
    cached = "node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl"
    assert _configured("mcp-memory", home, work, {}) == [
        *("/own", "/of/project", f"{home}/g", f"{home}/e", f"{work}/w", f"{home}/v"),
        f"{home}/.npm/_npx/0a/{cached}",
    ]
    other = tmp_path / "config"
    other.mkdir()
    (other / ".claude.json").write_text(json.dumps({"mcpServers": _servers("/first")}))
    variables = {"CLAUDE_CONFIG_DIR": str(other)}
    assert _configured("mcp-memory", home, work, variables)[:2] == ["/first", "/own"]


def test_further_agents_and_profiles_have_folders_of_their_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".openclaw/workspace-b", ".openclaw/other", "state/workspace-c"):
        (home / name).mkdir(parents=True)
    for name in (".hermes/profiles/p", "h/profiles/q", ".letta/agents/x", ".basic-memory"):
        (home / name).mkdir(parents=True)
    b, c = f"{home}/.openclaw/workspace-b", f"{home}/state/workspace-c"
    assert _configured("openclaw", home, tmp_path, {}) == [b]
    assert _configured("openclaw", home, tmp_path, {"OPENCLAW_STATE_DIR": f"{home}/state"}) == [c]
    p, q = f"{home}/.hermes/profiles/p", f"{home}/h/profiles/q"
    assert _configured("hermes", home, tmp_path, {}) == [p]
    assert _configured("hermes", home, tmp_path, {"HERMES_HOME": f"{home}/h"}) == [q]
    assert _configured("hermes", home, tmp_path, {"HERMES_HOME": q}) == [q]
    projects = {"a": "/a", "b": {"path": "~/b"}, "c": "c", "d": "/\0", "e": {"path": 7}, "f": None}
    (home / ".basic-memory/config.json").write_text(json.dumps({"projects": projects}))
    letta = f"{home}/.letta/agents/x/memory"
    assert _configured("markdown-folder", home, tmp_path, {}) == ["/a", f"{home}/b", letta]
    (home / ".basic-memory/config.json").write_text('{"projects": []}')
    assert _configured("markdown-folder", home, tmp_path, {}) == [letta]


def test_a_folder_of_notes_without_a_mark_is_taken_only_as_a_last_resort(tmp_path: Path) -> None:
    plain = BY_NAME["markdown-folder"].fallback
    assert plain is not None
    for tree in (
        "own/a.md",
        "below/x/a.md",
        "deep/x/y/a.md",
        "hidden/node_modules/a.md",
        "t/a.txt",
    ):
        _build(tmp_path, tree)
    found = {name: plain(tmp_path / name) for name in ("own", "below", "deep", "hidden", "t")}
    own, below = tmp_path / "own", tmp_path / "below"
    assert found == {"own": own, "below": below, "deep": None, "hidden": None, "t": None}
    assert plain(tmp_path / "own" / "a.md") is None
