"""All open stores as one: `cli` and `tui` read and change memories through `Library` only."""

from memtui.library.finding import SearchResult
from memtui.library.library import Library
from memtui.library.snapshot import Rows, Snapshot, StoreState
from memtui.search.aggregates import Facets
