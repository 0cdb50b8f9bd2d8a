"""The bisector finds the step that is wrong, and only that."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from txc.compiler.interpret.kernel import run
from txc.compiler.tools.bisect import Step, bisect, differing
from txc.dialects.attributes import DimAttr, DimsAttr, MapAttr, OrderAttr
from txc.dialects.kernel import KERNEL
from txc.dialects.loop import LOOP

TEXT = """
func.func @f(%x: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> {
  %r = "kernel.generic"(%x) ({
  ^bb0(%a: f32):
    %c = arith.constant 3.0 : f32
    %b = arith.divf %a, %c : f32
    kernel.yield %b : f32
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
      in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
      operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}
"""


class DivideByReciprocal(RewritePattern):
    """x / 3 -> x * (1/3): a rewrite that looks right and changes bits."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.DivfOp, rewriter: PatternRewriter) -> None:
        third = arith.ConstantOp(builtin.FloatAttr(1 / 3, builtin.f32))
        rewriter.replace(op, [third, arith.MulfOp(op.lhs, third.result)])


class Nothing(RewritePattern):
    def match_and_rewrite(self, op, rewriter: PatternRewriter) -> None:
        pass


def module() -> ModuleOp:
    context = Context()
    attributes = Dialect("tx", [], [DimAttr, DimsAttr, MapAttr, OrderAttr])
    for dialect in (builtin.Builtin, func.Func, arith.Arith, KERNEL, LOOP, attributes):
        context.load_dialect(dialect)
    return Parser(context, TEXT).parse_module()


def after(*patterns: RewritePattern) -> Callable[[], list[np.ndarray]]:
    x = np.random.default_rng(0).normal(size=100).astype(np.float32)

    def run_rewritten() -> list[np.ndarray]:
        program = module()
        for pattern in patterns:
            PatternRewriteWalker(pattern).rewrite_module(program)
        return run(program, [x], {})

    return run_rewritten


def test_a_wrong_rewrite_is_named() -> None:
    wrong = DivideByReciprocal()
    report = bisect(
        [Step("fused", after()), Step("nothing", after(Nothing())), Step("reciprocal", after(Nothing(), wrong)),
         Step("buffers", after(Nothing(), wrong))]
    )  # fmt: skip
    assert (report.culprit, report.previous) == ("reciprocal", "nothing")
    assert "reciprocal changes the result of nothing: result 0[" in str(report)
    assert 0 < report.difference.count < 100  # type: ignore[union-attr]


def test_an_allowed_error_is_no_difference() -> None:
    steps = [Step("tensor", after()), Step("canonical", after(DivideByReciprocal()), ulp=1)]
    assert str(bisect(steps)) == "all 2 stages agree: tensor, canonical"


def test_a_step_that_fails_is_guilty() -> None:
    def fails() -> list[np.ndarray]:
        raise ValueError("no such op")

    report = bisect([Step("fused", after()), Step("loops", fails)])
    assert str(report) == "loops changes the result of fused: it fails with ValueError: no such op"


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_what_counts_as_different(kind) -> None:
    one, nan, zero = (np.array([v], kind) for v in (1.0, np.nan, 0.0))
    assert differing([nan], [-nan]) is None
    assert differing([zero], [-zero]) is not None, "signed zeros are different bits"
    assert differing([zero], [-zero], ulp=1) is None
    assert differing([one], [nan], ulp=1e9) is not None
    next_up = np.array([1.0 + float(ml_dtypes.finfo(kind).eps)], kind)
    assert differing([one], [next_up]) is not None
    assert differing([one], [next_up], ulp=2) is None
    assert "became" in str(differing([one], [np.array([1], np.int64)]))
    assert differing([one], [one, one]) == "1 results became 2"
