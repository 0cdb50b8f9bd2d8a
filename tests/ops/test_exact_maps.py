"""Ops without rounding freedom: bitwise NumPy's, on every element type."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.attributes import scalar_type
from txc.dialects.registry import OPS, Map, OpError
from txc.dialects.scalar.builder import BodyBuilder
from txc.dialects.types import DTYPES, tensor_type

INTEGERS = [f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)]
FLOATS = ["f16", "f32", "f64"]
UNARY = [
    "negate", "positive", "abs", "square", "sign", "rint", "round", "floor", "ceil", "trunc", "round_half_away",
    "bitwise_not", "logical_not", "isnan", "isinf", "isfinite", "sqrt", "inverse", "cube",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor",
    "left_shift", "right_shift", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and",
    "logical_or", "logical_xor", "cwise_max_propagate", "cwise_min_propagate", "cwise_max_numbers", "cwise_min_numbers",
]  # fmt: skip


def map_op(name: str) -> type[Map]:
    found = OPS[name]
    assert issubclass(found, Map)
    return found


def samples(dtype: str) -> np.ndarray:
    element = DTYPES[dtype]
    rng = np.random.default_rng(7)
    if element.kind == "bool":
        return np.array([False, True])
    if element.is_integer:
        info = np.iinfo(element.numpy)
        edges = [0, 1, 2, 3, 7, 8, 31, 63, 64, info.max, info.max - 1, info.min, info.min + 1]
        edges += [-1, -2, -3] if element.is_signed else []
        edges = [e for e in edges if info.min <= e <= info.max]
        return np.concatenate([np.array(edges, element.numpy), rng.integers(info.min, info.max, 20, element.numpy)])
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 0.49999999999999994, np.inf, -np.inf, np.nan, 1e-310, 6e-8, 3e4]
    drawn = np.concatenate([rng.normal(size=20), 10 ** rng.uniform(-30, 30, 10)])
    with np.errstate(over="ignore"):
        return np.concatenate([edges, drawn]).astype(element.numpy)


def assert_same(got: np.ndarray, expected: np.ndarray, signs_of_zero: bool = True) -> None:
    assert got.dtype == expected.dtype
    same = got == expected
    if got.dtype.kind == "f":
        if signs_of_zero:
            same &= np.signbit(got) == np.signbit(expected)
        same |= np.isnan(got) & np.isnan(expected)
    assert same.all(), np.argwhere(~same)


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str, has_fma: bool):
    op = map_op(name)
    x = samples(dtype)
    if DTYPES[dtype].kind not in op.dtypes:
        with pytest.raises(OpError, match="is not defined on"):
            op.infer([tensor_type(dtype, [3])], {})
        return
    b = NumpyScalarBuilder(has_fma)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) if dtype == "f16" else x
        expected = np.asarray(op.numpy(wide)).astype(op.result_dtype(DTYPES[dtype]).numpy)
    assert_same(op.build(b, b.value(x)).ref, expected, signs_of_zero=name != "sign")


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", BINARY)
def test_binary_at_every_pair(name: str, dtype: str, has_fma: bool):
    op = map_op(name)
    if DTYPES[dtype].kind not in op.dtypes:
        with pytest.raises(OpError, match="is not defined on"):
            op.infer([tensor_type(dtype, [3]), tensor_type(dtype, [3])], {})
        return
    x, y = (np.ravel(v) for v in np.meshgrid(samples(dtype), samples(dtype)))
    b = NumpyScalarBuilder(has_fma)
    with np.errstate(all="ignore"):
        expected = op.numpy(x, y)
    # Which zero is the larger is the one thing that NumPy itself leaves open.
    assert_same(op.build(b, b.value(x), b.value(y)).ref, expected, signs_of_zero=not name.startswith("cwise"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_are_exact_however_large_the_quotient(dtype: type):
    rng = np.random.default_rng(8)
    size = 80 if dtype is np.float32 else 700
    x, y = (np.exp(rng.uniform(-size, size, (2, 2000))) * rng.choice([-1, 1], (2, 2000))).astype(dtype)
    for has_fma in (True, False):
        b = NumpyScalarBuilder(has_fma)
        for name in ("fmod", "remainder", "floor_divide"):
            with np.errstate(all="ignore"):
                expected = map_op(name).numpy(x, y)
            assert_same(map_op(name).build(b, b.value(x), b.value(y)).ref, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_are_exact_beside_multiples_of_the_divisor(dtype: type):
    """Where rounding makes the quotient one too large, up to quotients as long as a float and beyond."""
    rng = np.random.default_rng(9)
    y = rng.uniform(0.5, 1, 4000).astype(dtype)
    n = np.rint(2.0 ** rng.uniform(0, np.finfo(dtype).nmant + 4, y.size)).astype(dtype)
    x = np.concatenate([n * y, np.nextafter(n * y, dtype(0)), np.nextafter(n * y, dtype(np.inf))])
    y = np.tile(y, 3)
    for name in ("fmod", "remainder", "floor_divide"):
        for has_fma in (True, False):
            b = NumpyScalarBuilder(has_fma)
            assert_same(map_op(name).build(b, b.value(x), b.value(-y)).ref, map_op(name).numpy(x, -y))


def test_bodies_keep_what_branches():
    """As one op: of a body in IR both ways would run in every lane."""
    for element, kept in (("f32", True), ("i32", False)):
        block = Block(arg_types=[scalar_type(DTYPES[element])] * 2)
        b = BodyBuilder(block)
        b.op("fmod", *(b.wrap(a, DTYPES[element]) for a in block.args))
        assert ([op.name for op in block.ops] == ["kernel.call"]) is kept


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "i64", "u64"])
def test_integer_powers(dtype: str):
    base, exponent = (np.ravel(v) for v in np.meshgrid(samples(dtype), np.abs(samples(dtype))))
    base, exponent = base[exponent >= 0], exponent[exponent >= 0]
    b = NumpyScalarBuilder()
    assert_same(map_op("pow").build(b, b.value(base), b.value(exponent)).ref, np.power(base, exponent))


def test_fast_extremes_give_the_second_operand_for_nan():
    b = NumpyScalarBuilder()
    x, y = b.value(np.array([np.nan, 1.0, 2.0])), b.value(np.array([1.0, np.nan, 1.0]))
    assert np.array_equal(map_op("cwise_max").build(b, x, y).ref, [1, np.nan, 2], equal_nan=True)
    assert np.array_equal(map_op("cwise_min").build(b, x, y).ref, [1, np.nan, 1], equal_nan=True)


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS])
def test_cast(source: str, target: str):
    x = samples(source)
    b = NumpyScalarBuilder()
    (expected,) = OPS["cast"].evaluate([x], {"dtype": DTYPES[target]})
    assert_same(map_op("cast").build(b, b.value(x), dtype=DTYPES[target]).ref, expected)


def test_casts_out_of_range_saturate():
    b = NumpyScalarBuilder()
    x = b.value(np.array([np.nan, np.inf, -np.inf, 2.0**63, -(2.0**63), 1e30, -1.5, 255.9]))
    signed = map_op("cast").build(b, x, dtype=DTYPES["i64"]).ref
    assert signed.tolist() == [0, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 2**63 - 1, -1, 255]
    unsigned = map_op("cast").build(b, x, dtype=DTYPES["u8"]).ref
    assert unsigned.tolist() == [0, 255, 0, 255, 0, 255, 0, 255]
