"""Dialogs: modal screens that the controllers open."""
