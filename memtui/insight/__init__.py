"""Statistics, timeline and lineage of memories. No I/O."""
