"""Widgets: they are given values, draw them, and post messages. They open no file."""
