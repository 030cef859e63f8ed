"""Formats of memory on disk, one package each, behind the one protocol in `base`.

Nothing outside learns the name of a format: `registry` lists them all.
"""
