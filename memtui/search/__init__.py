"""Search over memories: text analysis, word indexes, filters, counts, ranking and embeddings.

The only package that imports numpy and whoosh; importing the package itself imports neither.
"""

import os

_THREADS = "OPENBLAS_NUM_THREADS"
_is_named = _THREADS in os.environ

# OpenBLAS, which numpy loads, would start a thread for each core that waits busily: 30 ms of
# processor time a start. memtui multiplies on one thread (`nearest_memories.py` says why).
os.environ.setdefault(_THREADS, "1")


def restore_environment() -> None:
    """Take the variable away again once numpy has read it: programs that memtui starts, such as
    the person's editor, inherit the environment."""
    if not _is_named:
        os.environ.pop(_THREADS, None)
