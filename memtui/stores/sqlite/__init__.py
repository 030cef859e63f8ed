"""What stores in one SQLite file have in common."""
