"""All families of NumPy's functions, imported, and so the whole table of them."""

from .. import fft
from . import (
    conditioning,
    creation,
    data_dependent,
    diagonals,
    differences,
    editing,
    einsum,
    elementwise,
    factorizations,
    fitting,
    indexing,
    joining,
    linalg,
    manipulation,
    numbering,
    order_statistics,
    packing,
    padding,
    products,
    reductions,
    scans,
    scipy_special,
    sets,
    slices,
    sorting,
    statistics,
)
from .registry import FUNCTIONS

__all__ = ["FAMILIES", "FUNCTIONS"]

#: Importing them fills the table.
FAMILIES = (
    data_dependent, conditioning, creation, diagonals, differences, editing, einsum, elementwise, factorizations,
    fitting, indexing, joining, linalg, numbering, order_statistics, packing, padding, products, reductions, scans,
    scipy_special, sets, manipulation, slices, sorting, statistics,
)  # fmt: skip
FUNCTIONS |= fft.FUNCTIONS
