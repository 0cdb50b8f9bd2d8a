"""How many generated cases there are, and that no map, fold, scan or view lacks a pair that its declaration promises.

Cases are all-pairs: `tests/pairwise.py` says what that is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from txc import TxcError
from txc.compiler.frontend.tensor.apply import apply, as_tensor
from txc.dialects.registry import OPS, Map, Op, Reduction, Scan, View
from txc.dialects.types import DTYPES

from ..pairwise import pairs
from . import generated, test_op_matrix, test_op_matrix_maps, test_op_matrix_reductions, test_op_matrix_views
from .generated import Case

#: What the operations page and the README may claim.
AT_LEAST = 20_000
#: Ops without generated cases, and what tests them.
EXCLUDED = {
    "scalar_map": "made of a function of the user's: test_scalar_loops.py",
    "fold": "made of functions of the user's: test_custom_folds.py",
    "running": "made of functions of the user's: test_custom_folds.py",
}
PRODUCT: tuple[type[Op], ...] = (Map, Reduction, Scan, View)
RUN = test_op_matrix_maps.RUN | test_op_matrix_reductions.RUN | test_op_matrix_views.RUN


def declared() -> Iterator[tuple[type[Op], Case]]:
    for op in OPS.values():
        if issubclass(op, PRODUCT) and op.name not in EXCLUDED:
            for name in generated.dtypes_of(op):
                yield from ((op, case) for case in generated.cases(op.name, name))


def left_out(op: type[Op], case: Case) -> str:
    """Why there is no such case."""
    if issubclass(op, (Reduction, Scan)):
        return test_op_matrix_reductions.left_out(op, case)
    return test_op_matrix_views.left_out(op, case) if issubclass(op, View) else ""


def test_there_are_as_many_cases_as_is_said() -> None:
    counted = {"product": len(RUN), **{f"{k}, rank 2": n for k, n in test_op_matrix.COUNTED.items()}}
    print(counted, sum(counted.values()))
    assert all(counted.values()) and sum(counted.values()) >= AT_LEAST


@pytest.mark.parametrize("family", PRODUCT, ids=lambda family: family.__name__)
def test_every_pair_has_a_case(family: type[Op]) -> None:
    """Of op, dtype, layout, kind of array and rank any two that are declared together."""
    promised = {case for op, case in declared() if issubclass(op, family) and not left_out(op, case)}
    run = {case for case in RUN if issubclass(OPS[case.op], family)}
    assert not run - promised, f"{len(run - promised)} cases are none that the op declares: {min(run - promised)}"
    missing = pairs(promised) - pairs(run)
    assert not missing, f"{len(missing)} pairs have no case, of them {min(map(str, missing))}"


def test_every_dtype_has_folds_in_all_memory() -> None:
    """As far as its ops have such cases."""
    for family in (Reduction, Scan):
        named = {op.name for op in OPS.values() if issubclass(op, family)}
        promised = {case._replace(op="") for op, case in declared() if op.name in named and not left_out(op, case)}
        assert {case._replace(op="") for case in test_op_matrix_reductions.RUN if case.op in named} >= promised


def test_every_dtype_has_maps_in_all_memory() -> None:
    """Of one operand and of two, in both layouts, on every kind of array and of every rank."""
    arity = {op.name: op.arity for op in generated.MAPS}
    for count in (1, 2):
        run = {case._replace(op="") for case in test_op_matrix_maps.RUN if arity[case.op] == count}
        assert run >= {case for name in DTYPES for case in generated.cases("", name)}


#: Of one dtype each.
LEFT_OUT = {
    (op, case._replace(dtype="f32" if "f32" in generated.dtypes_of(op) else "bool"))
    for op, case in declared()
    if left_out(op, case)
}


@pytest.mark.parametrize("name", sorted({op.name for op, _ in LEFT_OUT}))
def test_what_is_left_out_is_an_error(name: str) -> None:
    for op, case in LEFT_OUT:
        if op.name != name:
            continue
        shape = generated.shape_of(case.rank, case.kind)
        x = as_tensor(np.zeros(shape, DTYPES[case.dtype].numpy))
        x = x.swap_layout() if case.layout == "col" else x
        if issubclass(op, (Reduction, Scan)):
            given = test_op_matrix_reductions.parameters(op, case.rank)
        else:
            given = test_op_matrix_views.PARAMETERS[op.name](shape)
        with pytest.raises(TxcError):
            apply(op, x, **given)
            pytest.fail(f"{case} is no error")


def test_what_is_excluded_exists_and_has_no_cases() -> None:
    assert set(EXCLUDED) <= {op.name for op in OPS.values() if issubclass(op, PRODUCT)}
    assert not {case.op for case in RUN} & set(EXCLUDED)
