"""What an agent would be given for a task: recipes, and the packs that they build."""
