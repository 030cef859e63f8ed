"""Read the settings of programs: where they keep memory, and whether they do at present."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memtui import toml_file
from memtui.files.frontmatter import BadYaml, read_yaml
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.stores.base import MemorySwitch
from memtui.stores.scanning import read_small
from memtui.stores.values import members_of, parse_object

_LARGEST = 32 << 20
"""Bytes of a settings file that is read; `.claude.json` holds the history of every project."""
_COMMENT = r"//[^\n]*|/\*.*?\*/"
_NOT_IN_JSON = re.compile(rf'"(?:\\.|[^"\\])*"|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[}}\]])', re.DOTALL)
"""Comments and commas behind the last member, and texts, which may look like either."""


def find_switch(
    name: str, setting: str, files: Iterable[Path], *, is_on_by_default: bool
) -> MemorySwitch:
    """What the first of these files that has the setting says.

    Args:
        name: what is switched, for people.
        setting: its keys from the outermost, joined by dots.
        files: JSON, TOML or YAML, the one that prevails first; those that are missing or cannot be
            parsed say nothing.
        is_on_by_default: what holds where no file has the setting.
    """
    for file in files:
        value: object = read_settings(file)
        for key in setting.split("."):
            value = members_of(value).get(key)
        if isinstance(value, bool):
            return MemorySwitch(name, value, setting, str(file))
    return MemorySwitch(name, is_on_by_default, setting)


def read_settings(file: Path, word: str = "") -> Mapping[str, Any]:
    """The members of a file of settings, which may be a link; {} for any other, and for one without
    this word, as parsing a large one takes a while. Never raises."""
    text = read_small(Path(os.path.realpath(file)), _LARGEST).removeprefix(BYTE_ORDER_MARK)
    if word not in text:
        return {}
    try:
        if file.suffix == ".toml":
            return toml_file.parse(text)
        if file.suffix == ".yaml":
            return read_yaml(text)
    except (toml_file.BadToml, BadYaml):
        return {}
    return parse_object(text) or parse_object(_NOT_IN_JSON.sub(_text_only, text))


def _text_only(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else ""


def named_path(value: object, home: Path) -> Path | None:
    """The absolute path that a setting names; None for any other value."""
    if not isinstance(value, str) or not value.startswith(("/", "~/")) or "\0" in value:
        return None
    return home / value[2:] if value.startswith("~/") else Path(value)


def system_folder(name: str, mac_name: str) -> Path:
    """The folder of a program's settings for all users of the machine."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support", mac_name)
    return Path("/etc", name)


def layered_files(system: Path, user: Path, *project: Path) -> list[Path]:
    """The settings of Gemini CLI and Qwen Code, the one that prevails first.

    Both merge the system's defaults, then the settings of the user, the project and the system
    (google-gemini/gemini-cli@5411f113, packages/cli/src/config/settings.ts, `mergeSettings`).
    """
    return [system, *project, user, system.with_name("system-defaults.json")]
