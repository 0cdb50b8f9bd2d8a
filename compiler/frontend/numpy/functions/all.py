"""All families of NumPy's functions, imported, and so the whole table of them."""

from .. import fft
from . import elementwise, scipy_special
from .creation import arrays, diagonals
from .linalg import conditioning, einsum, factorizations, fitting, norms, products
from .registry import FUNCTIONS
from .searching import data_dependent, sets, sorting
from .shaping import editing, indexing, joining, manipulation, numbering, packing, padding, slices
from .statistics import differences, moments, order_statistics, reductions, scans

__all__ = ["FAMILIES", "FUNCTIONS"]

#: Importing them fills the table.
FAMILIES = (
    arrays, conditioning, data_dependent, diagonals, differences, editing, einsum, elementwise, factorizations, fitting,
    indexing, joining, manipulation, moments, norms, numbering, order_statistics, packing, padding, products,
    reductions, scans, scipy_special, sets, slices, sorting,
)  # fmt: skip
FUNCTIONS |= fft.FUNCTIONS
