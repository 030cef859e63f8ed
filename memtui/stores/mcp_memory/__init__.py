"""The knowledge graph of MCP's reference memory server: one file of entities and relations.

A store is the file itself. The server (`@modelcontextprotocol/server-memory` 2026.8.31,
dist/index.js) takes the variable `MEMORY_FILE_PATH`, which its clients' settings set, else
`memory.jsonl` beside its own program, which for npx lies in npm's cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.program_settings import named_path, read_settings
from memtui.stores.scanning import first_record, is_link_into, list_folder
from memtui.stores.values import members_of

NAMES = ("memory.jsonl", "memory.json")
"""The usual name, and that of the versions before 2025."""
VARIABLE = "MEMORY_FILE_PATH"

_MAX_LOOKED_AT = 4096
"""Bytes of a file that are read to recognise it."""
_MAX_CACHED = 200
_IN_HOME = (
    ".claude.json",
    ".claude/settings.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".config/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".gemini/settings.json",
)
_IN_PROJECT = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json")
_CACHE = ".npm/_npx"
_PROGRAM = "node_modules/@modelcontextprotocol/server-memory/dist"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The graph file that this path is, or directly holds."""
    is_folder = os.path.isdir(path)
    for file in [path / name for name in NAMES] if is_folder else [path]:
        begins = _beginning(file, path if is_folder else None)
        if begins is not None and _is_graph(begins, file.name):
            yield Candidate(file, "it begins with an entity or a relation")
        elif begins is not None and file.name in NAMES:
            yield Candidate(file, file.name, "an entity or a relation at its beginning")


def _beginning(file: Path, root: Path | None) -> str | None:
    """The first characters of a file, None for what is none; `root`: a link must not lead out of
    it."""
    try:
        if not os.path.isfile(file) or (root is not None and not is_link_into(file, root)):
            return None
        with open(file, "rb") as opened:
            begins = opened.read(_MAX_LOOKED_AT).decode("utf-8", "replace")
            return begins.removeprefix(BYTE_ORDER_MARK).lstrip()
    except (OSError, ValueError):
        return None


def _is_graph(text: str, name: str) -> bool:
    """Whether a file of this name begins like a graph."""
    first = first_record(text)
    if first.startswith("{") and '"type"' in first:
        is_entity = '"entity"' in first and ('"entityType"' in first or '"name"' in first)
        is_relation = '"relationType"' in first or '"from_entity"' in first
        return is_entity or ('"relation"' in first and is_relation)
    if text.startswith("{") and '"entities"' in text:
        return '"entityType"' in text or ('"relations"' in text and name in NAMES)
    return not text and name == NAMES[0]


def graph_file(root: Path) -> Path:
    """The file of a store: its root, or the usual name if the root is a folder."""
    if not os.path.isdir(root):
        return root
    return next((root / name for name in NAMES if os.path.lexists(root / name)), root / NAMES[0])


def configured_files(folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The files that the settings of MCP clients name, then those in npm's cache."""
    config = variables.get("CLAUDE_CONFIG_DIR")
    files = [Path(config, ".claude.json")] if config else []
    files += [home / name for name in _IN_HOME] + [folder / name for name in _IN_PROJECT]
    known = {"HOME": str(home), "workspaceFolder": str(folder), "userHome": str(home)}
    for file in files:
        for named in _named_files(read_settings(file, VARIABLE)):
            path = _expanded(named, known)
            if path is not None:
                yield path
    for entry in list_folder(home / _CACHE)[0][:_MAX_CACHED]:
        yield Path(entry.path, _PROGRAM, NAMES[0])


def _named_files(settings: Mapping[str, Any]) -> Iterator[str]:
    """The variable's values in all server tables: of the user, and of each project."""
    for table in [settings, *members_of(settings.get("projects")).values()]:
        for key in ("mcpServers", "servers"):
            for server in members_of(members_of(table).get(key)).values():
                named = members_of(members_of(server).get("env")).get(VARIABLE)
                if isinstance(named, str):
                    yield named


def _expanded(named: str, known: Mapping[str, str]) -> Path | None:
    """An absolute path; None for one that only the server can resolve.

    The server expands `~` (modelcontextprotocol/servers#4447), its clients the variables.
    """
    for name, value in known.items():
        for form in (f"${{{name}}}", f"${{env:{name}}}"):
            named = named.replace(form, value)
    return named_path(named, Path(known["HOME"]))


FORMAT = Format(
    name="mcp-memory",
    title="MCP memory server: a graph of entities in one file",
    product=Product("MCP memory", "MC", 2),
    places=("$MEMORY_FILE_PATH", "~/memory.jsonl", "~/.mcp/memory.jsonl"),
    detect=detect,
    configured=configured_files,
)
