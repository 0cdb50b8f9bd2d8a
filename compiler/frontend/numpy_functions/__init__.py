"""NumPy's functions that are no ufuncs, in terms of ops and methods: one module a family, all in one table."""

from .. import fft_functions
from . import (
    creating,
    diagonals,
    differences,
    elementwise,
    indexing,
    joining,
    linear,
    padding,
    products,
    reductions,
    running,
    shaping,
    statistics,
)
from .table import FUNCTIONS, call

__all__ = ["FAMILIES", "FUNCTIONS", "call"]

#: Importing them fills the table.
FAMILIES = (
    creating, diagonals, differences, elementwise, indexing, joining, linear, padding, products, reductions, running,
    shaping, statistics,
)  # fmt: skip
FUNCTIONS |= fft_functions.FUNCTIONS
