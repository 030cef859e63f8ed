"""Search over memories: text analysis, word indexes, filters, counts, ranking and embeddings.

The only package that imports numpy and whoosh; importing the package itself imports neither.
"""

import os

# OpenBLAS, which numpy loads, would start a thread for each core that waits busily: 30 ms of
# processor time a start. memtui multiplies on one thread (`nearest_memories.py` says why).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
