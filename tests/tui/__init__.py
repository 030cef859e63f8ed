"""The screen, driven by Textual's pilot over real files in a temporary folder."""
