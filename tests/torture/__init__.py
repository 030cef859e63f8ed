"""Break memtui's writing on purpose: kills, failing disks, other programs at the same files.

The same scenarios run small in the normal suite (tests/unit/files) and long by themselves:

    python -m tests.torture --minutes 60 --seed 1

Each scenario works in a folder of its own, raises AssertionError when a promise is broken, and
returns one line with its figures.
"""
