"""The types of the arrays that search computes with."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
"""Whether each of all slots, or of some, is in a set."""
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
