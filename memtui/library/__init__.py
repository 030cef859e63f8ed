"""All open stores as one: the only door through which faces read and write memories."""

from memtui.library.library import Library
from memtui.library.results import SearchResult
from memtui.library.snapshot import Rows, Snapshot, StoreState
from memtui.search.aggregates import Facets

__all__ = ["Facets", "Library", "Rows", "SearchResult", "Snapshot", "StoreState"]
