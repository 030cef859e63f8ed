"""What an agent would be given for a task: recipes, and the packs that they build."""

from memtui.context.pack import DroppedEntry, Pack, PackDraft, PackEntry, Section, format_markdown
from memtui.context.recipes import RECIPES, Recipe, draft_pack, find_recipe, read_recipes
from memtui.context.sessions import list_projects
from memtui.context.task import task_query
