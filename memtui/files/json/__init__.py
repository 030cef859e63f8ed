"""Locate and edit single values in a JSON text; all other bytes stay as they are."""
