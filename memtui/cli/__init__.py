"""The commands: each a few lines over the library, printing plain text or JSON."""
