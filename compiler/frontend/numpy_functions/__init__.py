"""NumPy's functions that are no ufuncs, in terms of ops and methods: one module a family, all in one table."""

from .. import fft_functions
from . import (
    chosen,
    conditioning,
    creating,
    diagonals,
    differences,
    einsum,
    elementwise,
    factorisations,
    indexing,
    joining,
    linear,
    order_statistics,
    padding,
    products,
    reductions,
    running,
    sets,
    shaping,
    sorting,
    statistics,
)
from .table import FUNCTIONS, call

__all__ = ["FAMILIES", "FUNCTIONS", "call"]

#: Importing them fills the table.
FAMILIES = (
    chosen, conditioning, creating, diagonals, differences, einsum, elementwise, factorisations, indexing, joining,
    linear, order_statistics, padding, products, reductions, running, sets, shaping, sorting, statistics,
)  # fmt: skip
FUNCTIONS |= fft_functions.FUNCTIONS
