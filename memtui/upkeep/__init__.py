"""Checks for what may be wrong with memories; findings are for a person to judge."""
