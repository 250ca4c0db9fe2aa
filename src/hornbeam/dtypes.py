"""Every dtype, sentinel and integer code that crosses a module border, with its reason.

Kernels are compiled once per combination of argument types, so data is brought to
these few types before any kernel sees it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

# --- codes: what training sees of a feature ------------------------------------
# Histogram split finding works on bins: one byte, so that a column of a million rows
# is one megabyte. The largest value of the type stands for "missing".
BIN: Final = np.uint8
MISSING_BIN: Final = 255
MAX_BINS: Final = 255
# What all codes of a column say of its categories together (see `data.facets`).
JOINT_CODE: Final = np.uint16
MAX_JOINT_CODES: Final = 2**16
# Exact split finding works on ranks of the distinct values. Four bytes hold any rank
# of a table with up to 2**31 - 1 rows.
RANK: Final = np.uint32
MISSING_RANK: Final = 2**32 - 1

# --- rows ------------------------------------------------------------------------
# Row numbers inside a fit. int32 halves the traffic of the partition step.
ROW: Final = np.int32
MAX_ROWS: Final = 2**31 - 1
# Number of the class of a row (all outputs share one numbering, see kernels/scan.py).
LABEL: Final = np.int32

# --- statistics ------------------------------------------------------------------
# Weights, sums, impurities and node values. float64 adds integer weights exactly up
# to 2**53, so class counts do not depend on the order of addition.
STAT: Final = np.float64
EPSILON: Final = 2.0**-52  # an impurity or gain this small is none

# --- the stored tree ---------------------------------------------------------------
# Node numbers count through all trees of an ensemble where a kernel needs them so.
NODE: Final = np.int32
MAX_NODES: Final = 2**31 - 1
FEATURE: Final = np.int32
NO_FEATURE: Final = -1
NO_CHILD: Final = 0  # the root is nobody's child, so 0 is free to mean "leaf"
SPLIT_KIND: Final = np.uint8
LEAF: Final = 0
THRESHOLD: Final = 1  # x <= threshold goes to branch 0, else to branch 1
SUBSET: Final = 2  # a category in the node's bit set goes to branch 0, else to branch 1
MULTIWAY: Final = 3  # category number c goes to branch c
LISTED: Final = 4  # a listed category does not go where missing values go, any other does
PLANE: Final = 5  # a weighted sum of columns is compared with the threshold (isolation forest)
WORD: Final = np.uint64  # 64 categories of a bit set
WORD_BITS: Final = 64
NO_CATEGORY: Final = 2**32 - 1  # the empty half of a word that lists categories

# Any NumPy array; the element types are documented where they matter.
Array = np.ndarray[Any, np.dtype[Any]]
