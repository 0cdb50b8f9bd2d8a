"""`txc.tensure`: the functions of the Tensure document, Clojure's names in snake_case, ``!`` as a trailing ``_``.

Each builds the graph that the rest of txc compiles; nothing here computes.
"""

from .algebra import mmul, outer_product
from .conversion import array_to_vector, eseq, scalar_to_number, to_int, to_number
from .creation import array, clone, filled, matrix, ones, scalar, scalar_array, zeros
from .elementwise import arithmetic
from .elementwise.arithmetic import *  # noqa: F403
from .elementwise.broadcasting import broadcast, broadcast_like
from .elementwise.mapping import emap, emap_indexed
from .information import (
    column_count,
    dimension_count,
    dimensionality,
    ecount,
    equals,
    is_array,
    is_matrix,
    is_scalar,
    is_vec,
    rank,
    row_count,
    same_data,
    shape,
)
from .reducing import (
    argmax_along,
    argmin_along,
    emax,
    emean,
    emin,
    estdev,
    esum,
    max_along,
    min_along,
    sum_along,
)
from .sampling import sample_normal, sample_rand_int, sample_uniform, set_rng_seed, set_rng_seed_
from .storage import Tensure
from .views.joining import columns, join_along, partition_along, rows, slices, stack
from .views.reshaping import add_dimension, permute, permute_, reshape, shift, transpose
from .views.selection import select_axis_range, select_range, submatrix
from .views.setting import assign_, fill_, mset, mset_, set_axis_range_, set_range_

__all__ = [
    "Tensure", "add_dimension", "argmax_along", "argmin_along", "array", "array_to_vector", "assign_", "broadcast",
    "broadcast_like", "clone", "column_count", "columns", "dimension_count", "dimensionality", "ecount", "emap",
    "emap_indexed", "emax", "emean", "emin", "equals", "eseq", "estdev", "esum", "fill_", "filled", "is_array",
    "is_matrix", "is_scalar", "is_vec", "join_along", "matrix", "max_along", "min_along", "mmul", "mset", "mset_",
    "ones", "outer_product", "partition_along", "permute", "permute_", "rank", "reshape", "row_count", "rows",
    "same_data", "sample_normal", "sample_rand_int", "sample_uniform", "scalar", "scalar_array", "scalar_to_number",
    "select_axis_range", "select_range", "set_axis_range_", "set_range_", "set_rng_seed", "set_rng_seed_", "shape",
    "shift", "slices", "stack", "submatrix", "sum_along", "to_int", "to_number", "transpose", "zeros",
]  # fmt: skip
__all__ += arithmetic.__all__
