"""Scalar ops on arrays, against NumPy or their definition in MLIR."""

import math
import operator

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, i1, i8, i32, i64
from xdsl.ir import Block

from txc.compiler.interpret.scalar_ops import InterpretError, Scalars, literal
from txc.dialects.kernel import CallOp
from txc.dialects.scalar.builder import scalar_constant
from txc.dialects.types import DTYPES

NAN = math.nan
PAIRS = [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (NAN, 1.0), (1.0, NAN), (NAN, NAN), (0.0, -0.0)]


def expected(predicate: str, a: float, b: float) -> bool:
    nan = math.isnan(a) or math.isnan(b)
    match predicate:
        case "false" | "true":
            return predicate == "true"
        case "ord" | "uno":
            return nan == (predicate == "uno")
    holds = getattr(operator, predicate[1:])(a, b)
    return (nan or holds) if predicate[0] == "u" else (holds and not nan)


@pytest.mark.parametrize(
    "predicate",
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split(),
)
def test_float_comparisons(predicate: str) -> None:
    block = Block(arg_types=[f32, f32])
    op = arith.CmpfOp(block.args[0], block.args[1], predicate)
    a, b = np.array(PAIRS, np.float32).T
    found = Scalars().compute(op, [a, b])
    assert found.tolist() == [expected(predicate, *pair) for pair in PAIRS]


@pytest.mark.parametrize("predicate", "eq ne slt sle sgt sge ult ule ugt uge".split())
def test_integer_comparisons(predicate: str) -> None:
    block = Block(arg_types=[i8, i8])
    op = arith.CmpiOp(block.args[0], block.args[1], predicate)
    a, b = (x.ravel() for x in np.meshgrid(np.array([-128, -1, 0, 1, 127], np.int8), np.array([-1, 0, 5], np.int8)))
    seen = (a.view(np.uint8), b.view(np.uint8)) if predicate[0] == "u" else (a, b)
    np.testing.assert_array_equal(Scalars().compute(op, [a, b]), getattr(operator, predicate[-2:])(*seen))


@pytest.mark.parametrize(
    ("op", "result"),
    [
        (arith.DivUIOp, [255 // 3, 0, 200 // 7]),
        (arith.RemUIOp, [0, 0, 200 % 7]),
        (arith.DivSIOp, [0, 0, -8]),
        (arith.RemSIOp, [-1, 0, 0]),
        (arith.ShRUIOp, [255 >> 3, 9, 200 >> 7]),
        (arith.ShRSIOp, [-1, 9, -1]),
        (arith.ShLIOp, [-8, 9, 0]),
    ],
)
def test_signless_integers_are_read_by_the_op(op, result) -> None:
    block = Block(arg_types=[i8, i8])
    a, b = np.array([-1, 9, -56], np.int8), np.array([3, 0, 7], np.int8)
    found = Scalars().compute(op(block.args[0], block.args[1]), [a, b])
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, np.array(result).astype(np.int8))


def test_conversions() -> None:
    scalars, x = Scalars(), np.array([-1, 3, -128], np.int8)
    block = Block(arg_types=[i8, i1, f32])
    byte, bit, single = block.args
    cases = [
        (arith.ExtUIOp(byte, i32), x, [255, 3, 128]),
        (arith.ExtSIOp(byte, i32), x, [-1, 3, -128]),
        (arith.UIToFPOp(byte, f32), x, [255.0, 3.0, 128.0]),
        (arith.SIToFPOp(byte, f32), x, [-1.0, 3.0, -128.0]),
        (arith.ExtUIOp(bit, i32), np.array([True, False]), [1, 0]),
        (arith.ExtSIOp(bit, i32), np.array([True, False]), [-1, 0]),
        (arith.TruncIOp(byte, i1), np.array([2, 3], np.int8), [False, True]),
        (arith.FPToSIOp(single, i8), np.array([-3.9, 300, NAN, -300], np.float32), [-3, 127, 0, -128]),
        (arith.FPToUIOp(single, i8), np.array([255.5, 300, NAN, -3], np.float32), [-1, -1, 0, 0]),
        (arith.BitcastOp(single, i32), np.array([1.0], np.float32), [0x3F800000]),
    ]
    for op, given, wanted in cases:
        assert scalars.compute(op, [given]).tolist() == wanted, op


def test_literals_wrap_and_keep_signed_zero() -> None:
    assert literal(scalar_constant(255, DTYPES["u8"])) == -1
    assert literal(scalar_constant(True, DTYPES["bool"])).dtype == np.bool_
    assert np.signbit(literal(scalar_constant(-0.0, DTYPES["f32"])))
    assert literal(scalar_constant(1 << 63, DTYPES["u64"])) == -(1 << 63)


def test_registered_maps_are_expanded_from_the_registry() -> None:
    x = np.array([0, 1, -2, NAN], np.float32)
    block = Block(arg_types=[f32])
    sigmoid = Scalars().compute(CallOp("sigmoid", block.args, f32), [x])
    np.testing.assert_allclose(sigmoid, 1 / (1 + np.exp(-x)), rtol=1e-6)
    exp = Scalars().compute(math_dialect.ExpOp(block.args[0]), [x])
    np.testing.assert_allclose(exp, np.exp(x), rtol=3e-7)


def test_a_call_of_what_is_no_map_is_refused() -> None:
    block = Block(arg_types=[f32])
    with pytest.raises(InterpretError, match="sum is a reduction"):
        Scalars().compute(CallOp("sum", block.args, f32), [np.ones(3, np.float32)])


def test_an_unknown_op_is_named() -> None:
    block = Block(arg_types=[i64])
    with pytest.raises(InterpretError, match=r"arith.index_cast is no scalar op"):
        Scalars().compute(arith.IndexCastOp(block.args[0], i64), [np.array([1])])
