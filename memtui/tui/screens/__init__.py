"""Screens: browse, and what opens over it."""
