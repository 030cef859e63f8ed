"""memtui's own formats, for tests that hold for each of them."""

from memtui.stores.registry import own_formats

FORMATS = tuple(own_formats())
