"""What an agent would be given for a task: recipes, and the packs that they build."""

from memtui.context.building import (
    RECIPES,
    ContextSettings,
    Recipe,
    draft_pack,
    find_recipe,
    list_recipes,
    read_settings,
)
from memtui.context.pack import DroppedEntry, Pack, PackDraft, PackEntry, Section, format_markdown

__all__ = [
    "RECIPES",
    "ContextSettings",
    "DroppedEntry",
    "Pack",
    "PackDraft",
    "PackEntry",
    "Recipe",
    "Section",
    "draft_pack",
    "find_recipe",
    "format_markdown",
    "list_recipes",
    "read_settings",
]
