"""All families of NumPy's functions, imported, and so the whole table of them."""

from .. import fft_functions
from . import (
    chosen,
    conditioning,
    creating,
    diagonals,
    differences,
    editing,
    einsum,
    elementwise,
    factorisations,
    fitting,
    indexing,
    joining,
    linear,
    numbering,
    order_statistics,
    packing,
    padding,
    products,
    reductions,
    running,
    scipy_special,
    sets,
    shaping,
    slices,
    sorting,
    statistics,
)
from .table import FUNCTIONS

__all__ = ["FAMILIES", "FUNCTIONS"]

#: Importing them fills the table.
FAMILIES = (
    chosen, conditioning, creating, diagonals, differences, editing, einsum, elementwise, factorisations, fitting,
    indexing, joining, linear, numbering, order_statistics, packing, padding, products, reductions, running,
    scipy_special, sets, shaping, slices, sorting, statistics,
)  # fmt: skip
FUNCTIONS |= fft_functions.FUNCTIONS
