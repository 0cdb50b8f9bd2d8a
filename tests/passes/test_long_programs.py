"""Programs of many ops: no pass recurses along a chain, or takes up what is shared once for every path to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import pytest

from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import function_of, run_stages
from txc.dialects.kernel import GenericOp, RowGroupOp
from txc.passes.cost.instrument import kernels_of
from txc.passes.cost.model import CostModel
from txc.passes.cost.work import operations_of


def kernels(head: str, line: str, times: int, last: str) -> list[str]:
    """The kernels of a function of so many equal lines."""
    source = "\n".join([head, *[f"    {line}"] * times, f"    return {last}"]) + "\n"
    (function,) = parse(source, "long.tx").functions.values()
    module = run_stages(function.graph(), stop_after="buffers").module
    assert module is not None
    return [k.name for k in kernels_of(function_of(module))]


@contextmanager
def recursion_limit(limit: int) -> Iterator[None]:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def test_a_chain_of_a_thousand_ops_is_one_kernel():
    with recursion_limit(1000):
        assert kernels("def f(x: f32[n]) -> f32[n]:", "x = x * 1.01 - 0.25", 500, "x") == ["kernel.generic"]


def test_views_on_the_way_are_followed_as_far():
    line = "x = (x + 1.0).reverse([0]) * 0.5"
    with recursion_limit(1000):
        assert kernels("def f(x: f32[n]) -> f32[n]:", line, 200, "x") == ["kernel.generic"]


def test_what_is_shared_is_taken_up_once():
    # 2¹²⁰ paths lead to the argument.
    assert kernels("def f(x: f32[n]) -> f32[n]:", "x = x * x", 120, "x") == ["kernel.generic"]


CENTRED = "x = x - x.maximum([1]).reshape([n, 1]).broadcast([1, m])"


def test_rows_of_several_nests_are_one_kernel():
    assert kernels("def f(x: f32[n, m]) -> f32[n, m]:", CENTRED, 20, "x") == ["kernel.row_group"]


@pytest.mark.parametrize("times", [40, 97])
def test_rows_of_many_nests_are_kernels_of_bounded_length(times: int):
    source = "\n".join(["def f(x: f32[n, m]) -> f32[n, m]:", *[f"    {CENTRED}"] * times, "    return x\n"])
    (function,) = parse(source, "long.tx").functions.values()
    module = run_stages(function.graph(), stop_after="fused").module
    assert module is not None
    *made, _ = function_of(module).body.block.ops
    groups = [op.nests for op in made if isinstance(op, RowGroupOp)]
    assert len(groups) == len(made)
    costs = CostModel()

    def fit(nests: Sequence[GenericOp]) -> bool:
        return costs.kernel_size_ok(len(nests), sum(map(operations_of, nests)))

    assert all(fit(group) for group in groups)
    # None is shorter than it has to be.
    assert not any(fit([*group, following[0]]) for group, following in pairwise(groups))
